package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"time"
)

// errExited is the error of a function that has called runtime.Goexit, as FailNow of package
// testing does. Nobody knows where it did.
var errExited error = &PanicError{Value: errors.New("it has called runtime.Goexit")}

// apart calls a function in a goroutine of its own, and waits until that goroutine ends. A function
// of the program that calls runtime.Goexit ends that goroutine, and not the worker of the group.
// Then the error is errExited.
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

// Protect calls a function of the program apart. It makes an error of its panic, and of its call of
// runtime.Goexit.
func Protect(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	return apart(func() error { return protect(ctx, limit, do) })
}

// protect calls a function of the program, and makes an error of its panic.
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
