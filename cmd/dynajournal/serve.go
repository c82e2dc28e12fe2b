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
	Addr        string   `default:"127.0.0.1:8000" placeholder:"HOST:PORT" help:"Address to listen on; port 0 picks one."`
	Fault       values   `placeholder:"SPEC" help:"Make requests go wrong; can be repeated."`
	Seed        uint64   `placeholder:"N" help:"Seed of what the faults do at random. Default: 0."`
	Throughput  bool     `help:"Throttle as DynamoDB does: by the limits of a partition key, and the provisioned capacity of a table."`
	AllowOrigin values   `placeholder:"ORIGIN" help:"Answer pages of this origin in a browser, as http://localhost:3000; can be repeated."`
	AllowHost   values   `placeholder:"HOST" help:"Answer requests to this name, too; can be repeated."`
	Log         bool     `help:"Log each request on stderr: operation, tables, status and time, no keys or values."`
	Without     []string `enum:"partiql,transactions" placeholder:"FEATURE" help:"Leave out what other servers lack: ${enum}."`
}

// Help returns the text below the help of the flags.
func (*serveCommand) Help() string {
	return "It prints `listening on http://HOST:PORT` when it is ready, and ends with an interrupt or SIGTERM: requests under way have 10 seconds to " +
		"finish. There is no authentication: whoever reaches the address can read and write everything.\n\n" +
		"On a loopback address it answers only requests to localhost, a loopback address, or a name of --allow-host, so that no page in a browser " +
		"gets through by a name of its own (DNS rebinding). Pages in a browser are answered if their origin is one of --allow-origin. " +
		"GET /metrics shows metrics in the text format of Prometheus.\n\n" +
		"A fault is EFFECT[,CLAUSE]…, as throttling,operation=PutItem,probability=0.1 or reset,applied,table=pekko-*,nth=3. Effects: throughput-exceeded, " +
		"throttling, request-limit, expired-token, internal-error, unavailable, reset, truncated, garbage, slow, hang, left-overs, statement-errors, " +
		"transaction-conflict, stale-read, index-lag. Clauses: operation, table, key, sort-key and index with a pattern, in which * is any text; nth, every, " +
		"times, probability; applied, some, code, delay."
}

// options are the engine's options that the flags name.
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
		options = append(options, embedded.Without(embedded.Feature(feature)))
	}
	return options, nil
}

// checkAddress returns an error if an address to listen on is not valid.
func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return usagef("--addr %.200q is no HOST:PORT, as 127.0.0.1:8000", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usagef("--addr %.200q: the port is no number from 0 to 65535", address)
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
	server := embedded.Server{AllowedHosts: c.AllowHost, AllowedOrigins: c.AllowOrigin}
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
		err = s.message("warning: %s can be reached from other machines, and there is no authentication", listener.Addr())
	}
	err = errors.Join(err, s.result.line("listening on http://"+listener.Addr().String()), s.result.flush())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server.Engine = engine
	return server.Serve(ctx, listener)
}
