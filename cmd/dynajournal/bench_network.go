package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/bench"
	"github.com/dynajournal/dynajournal/internal/network"
)

// networkProcess is a proxy in its own process: its processor time must not count as the client's.
type networkProcess struct {
	process *exec.Cmd
	in      io.WriteCloser

	mu  sync.Mutex // guards out, and makes each request and its response one step
	out *json.Decoder
}

// startNetwork starts a proxy in front of the endpoint of config, and changes config to go through
// it.
func startNetwork(
	ctx context.Context, messages io.Writer, config *dynajournal.Config, p50, p99 time.Duration,
) (n *networkProcess, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	// Like the engine, the proxy outlives an interrupt of this process, until the tables are
	// deleted.
	n = &networkProcess{process: exec.CommandContext(context.WithoutCancel(ctx), program, //nolint:gosec // this very program
		"network", "--target", config.Endpoint, "--p50", p50.String(), "--p99", p99.String())}
	n.process.Stderr, n.process.SysProcAttr = messages, ownProcessGroup()
	if n.in, err = n.process.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the network: %w", err)
	}
	out, err := n.process.StdoutPipe()
	if err == nil {
		err = n.process.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the network: %w", err)
	}
	n.out = json.NewDecoder(out)
	var address networkAddress
	if err := n.out.Decode(&address); err != nil {
		return nil, fmt.Errorf("start the network: it did not print its address: %w", errors.Join(err, n.stop()))
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(address.Authority))
	config.Endpoint = address.URL
	config.AWS.BaseEndpoint = &address.URL
	config.AWS.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	})
	return n, nil
}

// traffic returns the proxy's counts of connections and requests so far.
func (n *networkProcess) traffic() (bench.Traffic, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var counts network.Counts
	_, err := n.in.Write([]byte("\n"))
	if err == nil {
		err = n.out.Decode(&counts)
	}
	if err != nil {
		return bench.Traffic{}, fmt.Errorf("read the counts of the network: %w", err)
	}
	return bench.Traffic{Connections: counts.Connections, Requests: counts.Requests}, nil
}

func (n *networkProcess) stop() error {
	timer := time.AfterFunc(stopTimeout, func() { _ = n.process.Process.Kill() })
	defer timer.Stop()
	if err := errors.Join(n.in.Close(), n.process.Wait()); err != nil {
		return fmt.Errorf("stop the network: %w", err)
	}
	return nil
}
