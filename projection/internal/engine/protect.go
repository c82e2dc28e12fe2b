package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"time"
)

// errExited reports that a function has called runtime.Goexit, as FailNow of package testing does.
// It has no stack, because the place of the call is unknown.
var errExited error = &PanicError{Value: errors.New("the function has called runtime.Goexit")}

// apart calls a function in a goroutine of its own, and waits until that goroutine ends. If the
// function calls runtime.Goexit, it ends that goroutine instead of the group's worker, and the
// error is errExited.
func apart(do func() error) error {
	err := errExited
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = do()
	}()
	<-ended
	return err
}

// Protect calls a function of the program in a goroutine of its own, with a time limit. It converts
// a panic, or a call of runtime.Goexit, to an error.
func Protect(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	return apart(func() error { return protect(ctx, limit, do) })
}

// protect calls a function of the program with a time limit, and converts a panic to an error.
func protect(ctx context.Context, limit time.Duration, do func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{value, debug.Stack()}
		}
	}()
	return do(ctx)
}
