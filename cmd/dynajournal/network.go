package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/dynajournal/dynajournal/internal/network"
)

// networkCommand runs a proxy, in a process that bench starts. It first prints its address. Then it
// answers each line of standard input with its counts of connections and requests. It stops at the
// end of standard input.
type networkCommand struct {
	Target string        `required:"" placeholder:"URL" help:"Endpoint of the service, http://HOST:PORT."`
	P50    time.Duration `name:"p50" default:"4ms" help:"Median of the delay of a request. Default: ${default}."`
	P99    time.Duration `name:"p99" default:"10ms" help:"99th percentile of the delay. Default: ${default}."`
	Plain  bool          `help:"Listen without TLS. Default: TLS."`
}

// The mean number of requests and the mean age after which the proxy closes a connection.
const (
	connectionRequests = 10_000
	connectionAge      = 30 * time.Second
)

// networkAddress is the first line that a proxy prints.
type networkAddress struct {
	URL       string `json:"url"`
	Authority string `json:"authority,omitempty"`
}

// Run runs the command.
func (c *networkCommand) Run(ctx context.Context, s *session) (err error) {
	target, err := url.Parse(c.Target)
	if err != nil || target.Scheme != "http" || target.Port() == "" {
		return usagef("--target %.200q is not http://HOST:PORT", c.Target)
	}
	proxy, err := network.Listen(network.Options{
		Target: target.Host, Delay: network.Delay{P50: c.P50, P99: c.P99}, Plain: c.Plain,
		ConnectionRequests: connectionRequests, ConnectionAge: connectionAge,
	})
	if errors.Is(err, network.ErrInvalidDelay) {
		return &usageError{err}
	}
	if err != nil {
		return fmt.Errorf("start a proxy: %w", err)
	}
	defer func() { err = errors.Join(err, proxy.Close()) }()
	lines := json.NewEncoder(s.out)
	if err := lines.Encode(networkAddress{proxy.URL(), string(proxy.Authority())}); err != nil {
		return fmt.Errorf("write the address: %w", err)
	}
	for asked := bufio.NewScanner(s.in); ctx.Err() == nil && asked.Scan(); {
		if err := lines.Encode(proxy.Counts()); err != nil {
			return fmt.Errorf("write the counts: %w", err)
		}
	}
	return nil
}
