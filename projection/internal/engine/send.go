package engine

import (
	"context"
	"errors"
	"time"
)

// Send calls a function that sends a message, and reports it to the hooks.
func (g *Group) Send(ctx context.Context, m Sending, send func(context.Context) error) error {
	hooks := &g.Config.Hooks
	if hooks.StartSend == nil && hooks.OnSend == nil {
		return send(ctx)
	}
	if hooks.StartSend != nil {
		ctx = hooks.StartSend(ctx, m)
	}
	start, err := time.Now(), ErrPanic
	defer func() {
		if hooks.OnSend == nil {
			return
		}
		result := SendFailed
		switch {
		case err == nil:
			result = SendAccepted
		case errors.Is(err, ErrRefused):
			result = SendRefused
		}
		hooks.OnSend(ctx, Sent{m, result, time.Since(start), err})
	}()
	err = send(ctx)
	return err
}
