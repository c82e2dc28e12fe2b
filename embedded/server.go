package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// shutdownGrace is how long requests under way may take after Serve is told to end.
const shutdownGrace = 10 * time.Second

// Serve answers the requests that come in on the listener, which it closes, until ctx ends; then it
// finishes those under way and returns nil. It also ends when the engine's storage fails, with an
// error that matches ErrStorageFailed. The engine stays open. There is no authentication: whoever can
// reach the listener can read and write everything, so let it listen on the loopback interface.
func (e *Engine) Serve(ctx context.Context, listener net.Listener) error {
	serving, stop := context.WithCancel(ctx)
	server := &http.Server{
		Handler: e, ReadHeaderTimeout: time.Minute, IdleTimeout: 5 * time.Minute,
		// Requests that hang by a fault end with serving; others are not stopped by it.
		BaseContext: func(net.Listener) context.Context { return serving },
	}
	finished := make(chan error, 1)
	go func() {
		select {
		case <-serving.Done():
		case <-e.Failed():
		}
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		err := server.Shutdown(grace)
		if err != nil {
			err = errors.Join(err, server.Close())
		}
		finished <- err
	}()
	err := server.Serve(listener)
	stop()
	if shutdown := <-finished; errors.Is(err, http.ErrServerClosed) {
		err = shutdown
	}
	if failed := e.Err(); failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("embedded: serving: %w", err)
	}
	return nil
}
