package systemtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// awsHost is the name of AWS's own endpoint. These tests use it without AWS.
const awsHost = "dynamodb.eu-central-1.amazonaws.com"

// connections counts the connections of a server, and records their addresses.
type connections struct {
	mu     sync.Mutex
	opened int
	open   map[net.Conn]bool
	from   map[string]bool
	// changed is closed and replaced at each change.
	changed chan struct{}
}

func newConnections() *connections {
	return &connections{open: map[net.Conn]bool{}, from: map[string]bool{}, changed: make(chan struct{})}
}

// track is the ConnState function of an http.Server.
func (c *connections) track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		c.opened++
		c.open[conn], c.from[host] = true, true
	case http.StateClosed:
		delete(c.open, conn)
	default:
		return
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// hosts returns the addresses from which connections were opened, in order.
func (c *connections) hosts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.from))
}

// count returns the number of opened connections.
func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened
}

// waitUntilNoneIsOpen fails if a connection stays open.
func (c *connections) waitUntilNoneIsOpen(t *testing.T) {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		c.mu.Lock()
		open, changed := len(c.open), c.changed
		c.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%d connections are open", open)
		}
	}
}

// network is a service at the endpoint of a loaded configuration.
type network struct {
	config dynajournal.Config
	// connections are the journal's connections: to the service, or to the proxy in front of it.
	connections *connections
}

// networks are the ways to reach a service with a configuration from the SDK's loader.
var networks = map[string]func(t *testing.T, service http.Handler) network{
	"an endpoint":                   atEndpoint,
	"an endpoint, the SDK's client": atEndpointBySDK,
	"AWS's endpoint name":           atAWS,
}

// load loads a configuration like a program, but without settings of this machine.
func load(t *testing.T, options ...func(*config.LoadOptions) error) aws.Config {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_CA_BUNDLE": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_DYNAMODB": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	return loadFromEnvironment(t, options...)
}

func loadFromEnvironment(t *testing.T, options ...func(*config.LoadOptions) error) aws.Config {
	t.Helper()
	options = append(options, config.WithRegion("eu-central-1"),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("id", "secret", "")))
	loaded, err := config.LoadDefaultConfig(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// servedWithCount starts a server whose connections are counted.
func servedWithCount(t *testing.T, handler http.Handler) (*httptest.Server, *connections) {
	t.Helper()
	c := newConnections()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = c.track
	server.Start()
	t.Cleanup(server.Close)
	return server, c
}

func atEndpoint(t *testing.T, service http.Handler) network {
	t.Helper()
	server, made := servedWithCount(t, service)
	return network{dynajournal.Config{AWS: load(t), Endpoint: server.URL}, made}
}

// atEndpointBySDK is atEndpoint with the HTTP client that some versions of the loader set.
func atEndpointBySDK(t *testing.T, service http.Handler) network {
	t.Helper()
	n := atEndpoint(t, service)
	n.config.AWS.HTTPClient = awshttp.NewBuildableClient()
	return n
}

// atAWS configures no endpoint. Requests go to AWS's name, which only the proxy knows, over TLS.
// The loader reads the certificate authority from a file.
func atAWS(t *testing.T, service http.Handler) network {
	t.Helper()
	server := httptest.NewUnstartedServer(service)
	certificate, authority := newCertificate(t, awsHost)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	to := server.Listener.Addr().String()
	var made *connections
	var proxy *httptest.Server
	proxy, made = servedWithCount(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tunnel(w, r, to, made)
	}))
	loaded := load(t, config.WithCustomCABundle(strings.NewReader(authority)))
	return network{dynajournal.Config{AWS: loaded, HTTP: dynajournal.HTTPConfig{Proxy: proxy.URL}}, made}
}

// tunnel connects a proxy's client with an address, if the client asks for AWS. The server does not
// report the end of such a connection, so tunnel counts it.
func tunnel(w http.ResponseWriter, r *http.Request, to string, made *connections) {
	if r.Method != http.MethodConnect || r.Host != awsHost+":443" {
		http.Error(w, r.Method+" "+r.Host, http.StatusForbidden)
		return
	}
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() {
		_ = client.Close()
		made.track(client, http.StateClosed)
	}()
	service, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", to)
	if err != nil {
		return
	}
	defer service.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(service, client)
		_ = service.(*net.TCPConn).CloseWrite()
	})
	_, _ = io.Copy(client, service)
	_ = client.Close()
	both.Wait()
}

// newCertificate returns a server certificate, and the PEM of the authority that signed it.
func newCertificate(t *testing.T, host string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	return tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}, string(authority)
}

// newService returns an embedded engine with a journal's tables.
func newService(t *testing.T) *embedded.Engine {
	t.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := dynajournal.CreateTables(t.Context(), dynajournal.Config{AWS: engine.AWSConfig()}, dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	return engine
}

// TestLoadedConfig_PoolAndClose recovers often over few connections. None of them may
// be open after Close.
func TestLoadedConfig_PoolAndClose(t *testing.T) {
	const pool, goroutines, recoveries = 20, 50, 500
	for name, at := range networks {
		t.Run(name, func(t *testing.T) {
			n := at(t, newService(t))
			n.config.MaxConnections = pool
			j := openJournal(t, n.config)
			var all sync.WaitGroup
			for g := range goroutines {
				all.Go(func() {
					for i := range recoveries / goroutines {
						if err := recoverOnce(t.Context(), j, fmt.Sprintf("%d-%d", g, i)); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			if err := j.Close(); err != nil {
				t.Error(err)
			}
			n.connections.waitUntilNoneIsOpen(t)
			if most := 2 * pool; n.connections.count() > most { // net/http closes a few connections
				t.Errorf("%d connections, want %d at most", n.connections.count(), most)
			}
		})
	}
}

func TestLoadedConfigUsesTheLocalAddress(t *testing.T) {
	local := "127.0.0.1"
	if runtime.GOOS == "linux" {
		local = "127.0.0.3" // all of 127.0.0.0/8 is local there
	}
	for name, at := range networks {
		t.Run(name, func(t *testing.T) {
			n := at(t, newService(t))
			n.config.HTTP.LocalAddress = local
			mustRecoverOnce(t, n.config)
			if from := n.connections.hosts(); len(from) != 1 || from[0] != local {
				t.Errorf("connections from %v, want %s", from, local)
			}
		})
	}
}

func TestLoadedConfigUsesTheProxy(t *testing.T) {
	service, made := servedWithCount(t, newService(t))
	mustRecoverOnce(t, dynajournal.Config{
		AWS: load(t), Endpoint: "http://dynamodb.invalid", HTTP: dynajournal.HTTPConfig{Proxy: service.URL},
	})
	if made.count() == 0 {
		t.Error("no request came to the proxy")
	}
}

// TestLoadedConfigEndsIdleConnections waits for the end of a connection while the journal is open.
func TestLoadedConfigEndsIdleConnections(t *testing.T) {
	for name, at := range networks {
		t.Run(name, func(t *testing.T) {
			n := at(t, newService(t))
			n.config.HTTP.IdleTimeout = time.Millisecond
			j := openJournal(t, n.config)
			if err := recoverOnce(t.Context(), j, "a"); err != nil {
				t.Fatal(err)
			}
			n.connections.waitUntilNoneIsOpen(t)
		})
	}
}

func TestLoadedConfigBoundsTheWaitForAnAnswer(t *testing.T) {
	for name, at := range networks {
		t.Run(name, func(t *testing.T) {
			engine, hang := newService(t), make(chan struct{})
			var first sync.Once
			n := at(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				first.Do(func() { <-hang })
				engine.ServeHTTP(w, r)
			}))
			defer close(hang) // before the server closes, because that waits for its handlers
			n.config.HTTP.ResponseTimeout = 50 * time.Millisecond
			n.config.AttemptTimeout, n.config.OperationTimeout = time.Minute, time.Minute
			n.config.Retries = -1
			_, err := dynajournal.Open(t.Context(), n.config)
			if err == nil || !strings.Contains(err.Error(), "timeout awaiting response headers") {
				t.Errorf("Open: %v", err)
			}
		})
	}
}

// TestLoadedConfigBoundsTheTimeToConnect uses a DNS that never answers for AWS's name.
func TestLoadedConfigBoundsTheTimeToConnect(t *testing.T) {
	usual := net.DefaultResolver
	defer func() { net.DefaultResolver = usual }()
	net.DefaultResolver = &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
	t.Setenv("HTTPS_PROXY", "")
	_, err := dynajournal.Open(t.Context(), dynajournal.Config{
		AWS: load(t), HTTP: dynajournal.HTTPConfig{ConnectTimeout: 50 * time.Millisecond},
		AttemptTimeout: time.Minute, OperationTimeout: time.Minute, Retries: -1,
	})
	if err == nil || !strings.Contains(err.Error(), awsHost) || !strings.Contains(err.Error(), "i/o timeout") {
		t.Errorf("Open: %v", err)
	}
}

// TestSettingsOfTheSDKsClientStay uses settings of a BuildableClient that the configuration must
// not replace.
func TestSettingsOfTheSDKsClientStay(t *testing.T) {
	server, made := servedWithCount(t, newService(t))
	var dialed sync.Once
	var own bool
	client := awshttp.NewBuildableClient().WithTransportOptions(func(tr *http.Transport) {
		tr.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			dialed.Do(func() { own = true })
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		}
	})
	c := dynajournal.Config{AWS: load(t, config.WithHTTPClient(client)), Endpoint: "http://dynamodb.invalid"}
	mustRecoverOnce(t, c)
	if made.count() == 0 || !own {
		t.Errorf("%d connections, by the client's own function: %v", made.count(), own)
	}
	for name, h := range map[string]dynajournal.HTTPConfig{
		"a local address": {LocalAddress: "127.0.0.1"}, "a keep-alive": {KeepAlive: time.Second},
	} {
		c.HTTP = h
		if _, err := dynajournal.Open(t.Context(), c); !errors.Is(err, dynajournal.ErrInvalidArgument) {
			t.Errorf("%s together with the client's own function: %v", name, err)
		}
	}
}

// TestHTTPClient_CallersIsUsedUnchanged uses an HTTP client with a proxy that Config does not name.
func TestHTTPClient_CallersIsUsedUnchanged(t *testing.T) {
	server, made := servedWithCount(t, newService(t))
	own := server.Client()
	defer own.CloseIdleConnections()
	c := dynajournal.Config{AWS: load(t), Endpoint: server.URL}
	c.AWS.HTTPClient = own
	mustRecoverOnce(t, c)
	if made.count() == 0 {
		t.Error("no request came")
	}
	c.HTTP.LocalAddress = "127.0.0.1"
	if _, err := dynajournal.Open(t.Context(), c); !errors.Is(err, dynajournal.ErrInvalidArgument) {
		t.Errorf("with settings that it would not get: %v", err)
	}
}

// TestCertificatesOfTheEnvironmentCount names the certificate authority in the environment.
func TestCertificatesOfTheEnvironmentCount(t *testing.T) {
	certificate, authority := newCertificate(t, "127.0.0.1")
	server := httptest.NewUnstartedServer(newService(t))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	bundle := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(bundle, []byte(authority), 0o600); err != nil {
		t.Fatal(err)
	}
	c := dynajournal.Config{AWS: load(t), Endpoint: server.URL, Retries: -1}
	if _, err := dynajournal.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "x509") {
		t.Errorf("without the authority: %v", err)
	}
	t.Setenv("AWS_CA_BUNDLE", bundle)
	c.AWS = loadFromEnvironment(t)
	mustRecoverOnce(t, c)
}

func recoverOnce(ctx context.Context, j *dynajournal.Journal, pid string) error {
	_, err := j.Recover(ctx, pid, dynajournal.RecoverOptions{}, nil)
	return err
}

func mustRecoverOnce(t *testing.T, c dynajournal.Config) {
	t.Helper()
	if err := recoverOnce(t.Context(), openJournal(t, c), "a"); err != nil {
		t.Fatal(err)
	}
}
