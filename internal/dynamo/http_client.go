package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// writeBuffer is the size in bytes of a connection's buffer: a request of 25 events of half a KB is
// one write.
const writeBuffer = 32 << 10

// baseOf returns the SDK's client whose settings the HTTP client starts from, or nil if the caller
// has an HTTP client of another type, which is used unchanged.
//
// The SDK's loader sets a BuildableClient, in some versions always, in others for a bundle of
// certificates. So only the settings of a BuildableClient that differ from the SDK's defaults are
// the caller's.
func baseOf(client aws.HTTPClient) *awshttp.BuildableClient {
	if client == nil {
		return awshttp.NewBuildableClient()
	}
	base, _ := client.(*awshttp.BuildableClient)
	return base
}

// buildHTTPClient returns an HTTP client with the settings of base, such as its certificates and
// its proxy, except for those of o. It has as many connections as there can be requests in flight.
func buildHTTPClient(base *awshttp.BuildableClient, o HTTPOptions, pool int) (*http.Client, error) {
	transport := base.GetTransport()
	if err := setDial(transport, o); err != nil {
		return nil, err
	}
	transport.MaxConnsPerHost = pool
	transport.MaxIdleConns = pool
	transport.MaxIdleConnsPerHost = pool
	if transport.WriteBufferSize == 0 {
		transport.WriteBufferSize = writeBuffer
	}
	if wait, set := base.GetReadTimeout(); set && transport.ResponseHeaderTimeout == 0 {
		transport.ResponseHeaderTimeout = wait
	}
	if o.Transport != nil {
		o.Transport(transport)
	}
	return &http.Client{
		Transport: transport,
		Timeout:   base.GetTimeout(),
		// DynamoDB never redirects; following one would send a signed request elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// errOwnDial is returned where two dialers are configured.
var errOwnDial = errors.New("AWS.HTTPClient opens connections in a way of its own, to which a local " +
	"address and a keep-alive do not apply: set them in its dialer")

// dial is a function of http.Transport that opens connections.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// setDial configures how the transport opens connections. A dialer of the transport's own stays.
func setDial(transport *http.Transport, o HTTPOptions) error {
	if hasOwnDialer(transport) {
		if o.LocalAddress != "" || o.KeepAlive != 0 {
			return errOwnDial
		}
		transport.DialContext = bounded(transport.DialContext, o.ConnectTimeout)
		transport.DialTLSContext = bounded(transport.DialTLSContext, o.ConnectTimeout)
		return nil
	}
	local, err := localAddress(o.LocalAddress)
	if err != nil {
		return err
	}
	dialer := &net.Dialer{Timeout: o.ConnectTimeout, KeepAlive: o.KeepAlive, LocalAddr: local}
	if o.KeepAlive > 0 { // KeepAlive alone is the pause before the first probe
		dialer.KeepAliveConfig = net.KeepAliveConfig{Enable: true, Idle: o.KeepAlive, Interval: o.KeepAlive}
	}
	transport.DialContext = dialer.DialContext
	return nil
}

// hasOwnDialer reports whether the transport has another dialer than the SDK's default. Functions
// cannot be compared, but the addresses of their code can.
func hasOwnDialer(transport *http.Transport) bool {
	standard := awshttp.NewBuildableClient().GetTransport()
	return transport.DialTLSContext != nil ||
		transport.DialContext != nil && codeOf(transport.DialContext) != codeOf(standard.DialContext)
}

func codeOf(d dial) uintptr { return reflect.ValueOf(d).Pointer() }

// bounded returns d with a timeout, nil for nil. Its errors are those of a dialer, after which it
// is certain that nothing was sent.
func bounded(d dial, timeout time.Duration) dial {
	if d == nil {
		return nil
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		conn, err := d(ctx, network, address)
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
		return conn, nil
	}
}

// localAddress returns the address to connect from; nil is any.
func localAddress(text string) (net.Addr, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // as in net.Dialer
	}
	ip := net.ParseIP(text)
	if ip == nil {
		return nil, fmt.Errorf("local address %q is no IP address", text)
	}
	return &net.TCPAddr{IP: ip}, nil
}
