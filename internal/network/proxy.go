package network

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
)

// Options configure a Proxy.
type Options struct {
	// Target is the address of the service, HOST:PORT. It speaks HTTP/1.1 without TLS. Required.
	Target string
	// Delay is the additional time that a request takes. Half of it passes before the service gets
	// the request, the other half before the client gets the response. Defaults to no delay.
	Delay Delay
	// Plain listens without TLS, for a client that can't be given a certificate.
	Plain bool
	// ConnectionRequests is the mean number of requests, and ConnectionAge the mean age, after
	// which a connection is closed, between two requests. The limits of each connection are random,
	// from 0.5 to 1.5 times the mean. 0 means no limit.
	ConnectionRequests int
	ConnectionAge      time.Duration
	// Seed selects the delays and the limits of connections.
	Seed uint64
}

// Counts counts the work of a [Proxy].
type Counts struct {
	// Connections counts the connections from clients.
	// Handshakes counts the TLS handshakes that succeeded.
	// Requests counts the answered requests.
	Connections int64 `json:"connections"`
	Handshakes  int64 `json:"handshakes"`
	Requests    int64 `json:"requests"`
}

// Proxy is a listening proxy. Each connection from a client has its own connection to the service,
// and its requests are carried one after the other. Connections do not wait for each other.
// Bandwidth is not limited.
type Proxy struct {
	options  Options
	listener net.Listener
	tls      *tls.Config // nil without TLS
	// authority is the certificate that clients must trust, in PEM.
	authority []byte
	source    *source

	connections, handshakes, requests atomic.Int64

	stop    context.CancelFunc
	serving sync.WaitGroup
}

// Listen starts a proxy on a free port of this machine.
//
// Errors: [ErrInvalidDelay], and errors of making a certificate and of listening.
func Listen(o Options) (*Proxy, error) {
	if err := o.Delay.check(); err != nil {
		return nil, err
	}
	p := &Proxy{options: o, source: newSource(o.Seed)}
	var err error
	if !o.Plain {
		certificate, authority, err := newCertificate(net.IPv4(127, 0, 0, 1))
		if err != nil {
			return nil, err
		}
		p.authority = authority
		p.tls = &tls.Config{
			Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12,
		}
	}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil { //nolint:noctx // it does not wait
		return nil, fmt.Errorf("listen: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.serving.Go(func() { p.accept(ctx) })
	return p, nil
}

// URL returns the address of the proxy, with its scheme.
func (p *Proxy) URL() string {
	scheme := "https"
	if p.tls == nil {
		scheme = "http"
	}
	return scheme + "://" + p.listener.Addr().String()
}

// Authority returns the certificate that clients must trust, in PEM, or nil without TLS.
func (p *Proxy) Authority() []byte { return p.authority }

// Counts returns the counts so far.
func (p *Proxy) Counts() Counts {
	return Counts{p.connections.Load(), p.handshakes.Load(), p.requests.Load()}
}

// Close closes all connections, and waits for their goroutines.
func (p *Proxy) Close() error {
	p.stop()
	err := p.listener.Close()
	p.serving.Wait()
	if err != nil {
		return fmt.Errorf("close the proxy: %w", err)
	}
	return nil
}

func (p *Proxy) accept(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for example too many open files: try again after a pause
			if !wait(ctx, acceptPause) {
				return
			}
			continue
		}
		p.serving.Go(func() { p.serve(ctx, client) })
	}
}

// acceptPause is how long to wait after a connection could not be accepted.
const acceptPause = 10 * time.Millisecond

// serve carries the requests of a connection. It does not report errors: the client sees that its
// connection is closed.
func (p *Proxy) serve(ctx context.Context, client net.Conn) {
	p.connections.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
	defer func() { _ = client.Close() }()
	if p.tls != nil {
		secure := tls.Server(client, p.tls)
		if !p.delayed(ctx, func() error { return secure.HandshakeContext(ctx) }) {
			return
		}
		p.handshakes.Add(1)
		client = secure
	}
	service, err := new(net.Dialer).DialContext(ctx, "tcp", p.options.Target)
	if err != nil {
		return
	}
	defer func() { _ = service.Close() }()
	defer context.AfterFunc(ctx, func() { _ = service.Close() })()
	p.carry(ctx, client, service)
}

// delayed runs do after the delay of a round trip. It reports whether do succeeded.
func (p *Proxy) delayed(ctx context.Context, do func() error) bool {
	return wait(ctx, p.source.delay(p.options.Delay)) && do() == nil
}

// wait waits for a time, and returns true. It returns false as soon as ctx ends.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	return backoff.Wait(ctx, d) == nil
}
