package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/dynajournal/dynajournal/embedded"
)

type serveCommand struct {
	Addr        string   `default:"127.0.0.1:8000" placeholder:"HOST:PORT" help:"Address to listen on. Port 0 picks a free port. Default: ${default}."`
	Fault       values   `placeholder:"SPEC" help:"Inject this fault into requests. Can be repeated. Default: none."`
	Seed        uint64   `placeholder:"N" help:"Seed for the random choices of faults. Default: 0."`
	Throughput  bool     `help:"Throttle as DynamoDB does, at the limits of a partition key and the provisioned capacity of a table. Default: no throttling."`
	AllowOrigin values   `placeholder:"SCHEME://HOST:PORT" help:"Accept requests from web pages of this origin. Can be repeated. Default: none."`
	AllowHost   values   `placeholder:"HOST" help:"Also accept requests to this host name. Can be repeated. Default: none."`
	Control     bool     `help:"Serve the faults at /control/faults, where they can be listed, added and removed while the server runs. Only on a loopback address. Default: off."`
	Log         bool     `help:"Log each request on stderr: operation, tables, status and duration, no keys or values. Default: no log."`
	Without     []string `enum:"partiql,transactions" placeholder:"FEATURE" help:"Disable features that other DynamoDB servers lack: ${enum}. Default: none."`
}

// Help returns the text below the help of the flags.
func (*serveCommand) Help() string {
	return "It prints `listening on http://HOST:PORT` when it is ready, and stops on an interrupt or " +
		"SIGTERM; requests in flight have 10 seconds to finish. There is no authentication: every " +
		"client that reaches the address can read and write everything.\n\nOn a loopback address it " +
		"accepts only requests to localhost, a loopback address, or a name of --allow-host, so that a " +
		"web page can't reach it through its own host name (DNS rebinding). Requests from web pages " +
		"are accepted if their origin is one of --allow-origin. GET /metrics returns metrics in the " +
		"text format of Prometheus.\n\nWith --control, GET /control/faults lists the faults as JSON, " +
		"POST /control/faults adds the fault in the body, DELETE /control/faults/ID removes one, " +
		"and DELETE /control/faults removes all.\n\nA fault is EFFECT[,CLAUSE]…, for example " +
		"throttling,operation=PutItem,probability=0.1 or reset,applied,table=pekko-*,nth=3. Effects: " +
		"throughput-exceeded, throttling, request-limit, expired-token, access-denied, internal-error, " +
		"unavailable, reset, truncated, garbage, slow, hang, unprocessed, statement-errors, " +
		"transaction-conflict, stale-read, index-lag, stale-description. Effects on streams: stream-lag, " +
		"half-page, expired-iterator, trimmed, reader-limit, late-shards, late-latest. Effects on the " +
		"form of responses, which combine with another fault: no-error-checksum, statement-capacity, " +
		"wrong-clock. Clauses with a pattern, in which * matches any text: operation, table, key, " +
		"sort-key, index. Other clauses: nth, every, times, probability, applied, some, code, delay."
}

// options returns the engine's options for the flags.
func (c *serveCommand) options() ([]embedded.Option, error) {
	options := []embedded.Option{embedded.WithSeed(c.Seed)}
	for _, spec := range c.Fault {
		fault, err := embedded.ParseFault(spec)
		if err != nil {
			return nil, usagef("--fault: %w", err)
		}
		options = append(options, embedded.WithFaults(fault))
	}
	if c.Throughput {
		options = append(options, embedded.WithThroughput())
	}
	for _, feature := range c.Without {
		options = append(options, embedded.WithoutFeatures(embedded.Feature(feature)))
	}
	return options, nil
}

// checkAddress returns an error unless an address has the form HOST:PORT with a numeric port.
func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return usagef("--addr %.200q is not HOST:PORT, for example 127.0.0.1:8000", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usagef("--addr %.200q: the port is not a number from 0 to 65535", address)
	}
	return nil
}

// Run runs the command.
func (c *serveCommand) Run(ctx context.Context, s *session) (err error) {
	options, err := c.options()
	if err != nil {
		return err
	}
	if err := checkAddress(c.Addr); err != nil {
		return err
	}
	server := embedded.Server{AllowedHosts: c.AllowHost, AllowedOrigins: c.AllowOrigin, Control: c.Control}
	if err := server.Check(); err != nil {
		return &usageError{err}
	}
	if c.Log {
		server.Log = slog.New(slog.NewTextHandler(s.err, nil))
	}
	engine, err := s.location.openEngine(ctx, s.err, options...)
	if err != nil {
		return err
	}
	defer func() { err = joinClosing(err, engine.Close()) }()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", c.Addr, err)
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		if c.Control {
			return errors.Join(usagef("--control needs a loopback address, not %s: there is no authentication", c.Addr), listener.Close())
		}
		err = s.message("warning: %s can be reached from other machines, and there is no authentication",
			listener.Addr())
	}
	err = errors.Join(err, s.printFolder(s.location), s.result.line("listening on http://"+listener.Addr().String()), s.result.flush())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server.Engine = engine
	return server.Serve(ctx, listener)
}
