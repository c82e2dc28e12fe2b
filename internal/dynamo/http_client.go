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

// writeBuffer is the size in bytes of a connection's write buffer. A request with 25 events of half
// a KB fits in one write.
const writeBuffer = 32 << 10

// baseOf returns the SDK's HTTP client whose settings are the base of ours. It returns nil if the
// caller's HTTP client has another type; that one is used unchanged.
//
// The SDK's loader sets a BuildableClient: some versions always do, others only for a bundle of
// certificates. So only the settings of a BuildableClient that differ from the SDK's defaults come
// from the caller.
func baseOf(client aws.HTTPClient) *awshttp.BuildableClient {
	if client == nil {
		return awshttp.NewBuildableClient()
	}
	base, _ := client.(*awshttp.BuildableClient)
	return base
}

// buildHTTPClient returns an HTTP client with the settings of base, such as its certificates and
// its proxy, changed by o. pool bounds its connections, one for each request in flight.
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
		// DynamoDB never redirects; following a redirect would send a signed request elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// errOwnDial is returned if two dialers are configured.
var errOwnDial = errors.New("AWS.HTTPClient has its own dialer, to which a local address and a " +
	"keep-alive do not apply: set them in that dialer")

// dial is a function of http.Transport that opens connections.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// setDial configures how the transport opens connections. It does not replace the transport's own
// dialer.
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

// hasOwnDialer reports whether the transport's dialer is not the SDK's default. Functions cannot be
// compared, but the addresses of their code can.
func hasOwnDialer(transport *http.Transport) bool {
	standard := awshttp.NewBuildableClient().GetTransport()
	return transport.DialTLSContext != nil ||
		transport.DialContext != nil && codeOf(transport.DialContext) != codeOf(standard.DialContext)
}

func codeOf(d dial) uintptr { return reflect.ValueOf(d).Pointer() }

// bounded returns d with a timeout, or nil if d is nil. It wraps errors as dial errors, after which
// it is certain that nothing was sent.
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

// localAddress returns the address to connect from. Nil means any address.
func localAddress(text string) (net.Addr, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // as in net.Dialer
	}
	ip := net.ParseIP(text)
	if ip == nil {
		return nil, fmt.Errorf("local address %q is not an IP address", text)
	}
	return &net.TCPAddr{IP: ip}, nil
}
