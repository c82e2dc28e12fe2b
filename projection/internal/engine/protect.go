package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"time"
)

// errGoexit is the value of the PanicError of a function that has called runtime.Goexit, as
// FailNow of package testing does.
var errGoexit = errors.New("it has called runtime.Goexit")

// Protect calls a function of the program, and makes an error of its panic. The function runs in a
// goroutine of its own: one that calls runtime.Goexit ends that goroutine, and not the worker of
// the group.
func Protect(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		var err error
		returned := false
		defer func() {
			switch value := recover(); {
			case value != nil:
				err = &PanicError{value, debug.Stack()}
			case !returned:
				err = &PanicError{errGoexit, debug.Stack()}
			}
			ended <- err
		}()
		err = do(ctx)
		returned = true
	}()
	return <-ended
}
