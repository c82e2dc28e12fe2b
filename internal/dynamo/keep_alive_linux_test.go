package dynamo_test

import (
	"context"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// The option is read back from the system.
func TestKeepAliveIsSetOnTheSocket(t *testing.T) {
	for name, c := range map[string]struct {
		keepAlive    time.Duration
		on, interval int
	}{
		"by default":      {0, 1, 15},
		"as it is set":    {7 * time.Second, 1, 7},
		"negative is off": {-1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var on, interval int
			sent := overHTTP(t, serveOK, func(o *dynamo.Options) {
				o.HTTP.KeepAlive = c.keepAlive
				o.HTTP.Transport = func(tr *http.Transport) {
					inner := tr.DialContext
					tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
						conn, err := inner(ctx, network, address)
						if err == nil {
							on, interval = keepAliveOf(t, conn.(*net.TCPConn))
						}
						return conn, err
					}
				}
			})
			if err := put(t, sent); err != nil {
				t.Fatal(err)
			}
			if on != c.on || c.on == 1 && interval != c.interval {
				t.Errorf("keep-alive %d every %d s, want %d every %d s", on, interval, c.on, c.interval)
			}
		})
	}
}

func keepAliveOf(t *testing.T, conn *net.TCPConn) (on, interval int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	if err := raw.Control(func(fd uintptr) {
		on, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_KEEPALIVE)
		interval, _ = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL)
	}); err != nil {
		t.Error(err)
	}
	return on, interval
}

// The caller's dialer never returns by itself.
func TestDialerOfTheCallerIsBoundedByTheConnectTimeout(t *testing.T) {
	opts := options(nil, func(o *dynamo.Options) {
		o.HTTP.ConnectTimeout, o.AttemptTimeout, o.Retries = 20*time.Millisecond, time.Minute, 0
	})
	opts.AWS.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(tr *http.Transport) {
		tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	if err := put(t, newClient(t, opts)); err == nil || dynamo.MaybeApplied(err) {
		t.Errorf("error %v", err)
	}
}
