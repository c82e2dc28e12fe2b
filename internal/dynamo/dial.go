package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// errNotSent is the failure of a try whose context ended before it was sent.
var errNotSent = errors.New("the request was not sent")

func isNotSent(err error) bool { return errors.Is(err, errNotSent) }

// refusedError is the failure of an attempt that its check did not allow: it was not sent.
type refusedError struct{ reason error }

func (e *refusedError) Error() string { return e.reason.Error() }

// Unwrap gives the reason, and that the attempt was not sent.
func (e *refusedError) Unwrap() []error { return []error{e.reason, errNotSent} }

// awsDialer opens TCP connections.
type awsDialer struct {
	keepAlive, connectTimeout time.Duration
	local                     net.Addr
}

func (d *awsDialer) from(address string) error {
	if address == "" {
		return nil
	}
	ip := net.ParseIP(address)
	if ip == nil {
		return fmt.Errorf("local address %q is no IP address", address)
	}
	d.local = &net.TCPAddr{IP: ip}
	return nil
}

func (d *awsDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: d.connectTimeout, KeepAlive: d.keepAlive, LocalAddr: d.local}
	return dialer.DialContext(ctx, network, address) //nolint:wrapcheck // the transport names the connection
}
