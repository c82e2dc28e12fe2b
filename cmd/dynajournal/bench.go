package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/bench"
)

type benchCommand struct {
	Quick    bool     `help:"Measure for less time and with less data: under a minute. Default: several minutes."`
	Only     []string `type:"workload" placeholder:"NAME" help:"Measure only the workloads whose names begin with NAME. Can be repeated. Workloads: ${workloads}. Default: all."`
	Events   *int     `placeholder:"N" help:"Largest number of stored events of scale-events. Default: 100000, with --quick 10000."`
	Entities *int     `placeholder:"N" help:"Largest number of entities of scale-entities. Default: 10000, with --quick 1000."`

	Network    bool          `help:"Measure over a simulated network: requests are delayed and use TLS, and connections are closed after a while. Default: no network."`
	NetworkP50 time.Duration `name:"network-p50" default:"4ms" placeholder:"DURATION" help:"Median of the delay of a request with --network. Default: ${default}."`
	NetworkP99 time.Duration `name:"network-p99" default:"10ms" placeholder:"DURATION" help:"99th percentile of the delay with --network. Default: ${default}."`
}

// Help returns the text below the help of the flags.
func (*benchCommand) Help() string {
	return "Each figure has a base: the bare AWS SDK doing the same work at the same location. Both alternate " +
		"in rounds. In the workload layouts, which also compares the older layouts, the base is a " +
		"native journal. Projections are also compared with other ways to follow all events. base is 0 if " +
		"the SDK needs nothing. ratio is value / base. Figures are medians of the rounds; percentiles are " +
		"over all operations. cpu is the processor time of this process per event.\n\nWithout --endpoint " +
		"or --aws it starts an embedded engine in its own process, in memory, or with --data in a folder, " +
		"and connects to it over loopback. It creates tables whose names begin with dynajournal-bench-, " +
		"and deletes them at the end. It touches nothing else. On AWS it costs money: a few million " +
		"write units, or a tenth of that with --quick.\n\nWith --network, a proxy in its own process delays " +
		"each request: half of the delay on the way to the service, half on the way back. The delays " +
		"are lognormally distributed. Without --only it measures writes, recoveries, a replay, a hot " +
		"entity and the lag of projections; with --only it measures any workload over the network. In the " +
		"network-open workloads, events arrive at a given rate, and latency is measured from the arrival."
}

// figureResult is one figure.
type figureResult bench.Figure

func (r figureResult) text() string {
	return fmt.Sprintf("%-42s %12s %-12s base %12s  ratio %.3f", r.Name, rounded(r.Value), r.Unit, rounded(r.Base),
		r.Ratio)
}

// rounded formats a number with two decimals only if it is below 100 and not an integer.
func rounded(v float64) string {
	const whole = 100
	if v >= whole || v == float64(int64(v)) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Run runs the command.
func (c *benchCommand) Run(ctx context.Context, s *session) (err error) {
	if c.Events != nil && *c.Events < 1 || c.Entities != nil && *c.Entities < 1 {
		return usagef("--events and --entities must be at least 1")
	}
	if c.NetworkP50 <= 0 || c.NetworkP99 < c.NetworkP50 || c.NetworkP99 > time.Minute {
		return usagef("--network-p50 %v must be positive, and --network-p99 %v must be from --network-p50 to 1m", c.NetworkP50, c.NetworkP99)
	}
	s.err = shared(s.err) // the engine and the network are processes that also write messages
	config, stop, err := s.benchConfig(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	var traffic func() (bench.Traffic, error)
	if c.Network {
		n, err := c.startNetwork(ctx, s, &config)
		if err != nil {
			return err
		}
		stopEngine := stop
		stop = func() error { return errors.Join(n.stop(), stopEngine()) }
		traffic = n.traffic
	}
	shown := &benchProgress{w: s.err}
	defer shown.stop()
	err = bench.Run(ctx, bench.Options{
		Config: config, Quick: c.Quick, Only: c.Only, Events: value(c.Events), Entities: value(c.Entities),
		Traffic:  traffic,
		Progress: shown.step,
		Report: func(f bench.Figure) error {
			shown.clear()
			return errors.Join(s.result.write(figureResult(f)), s.result.flush())
		},
	})
	if errors.Is(err, bench.ErrUnknownWorkload) {
		return usagef("--only: %w", err)
	}
	return err
}

// startNetwork starts the proxy of the flags.
func (c *benchCommand) startNetwork(
	ctx context.Context, s *session, config *dynajournal.Config,
) (*networkProcess, error) {
	if target, err := url.Parse(config.Endpoint); err != nil || target.Scheme != "http" || target.Port() == "" {
		return nil, usagef("--network needs an endpoint http://HOST:PORT, or none for the embedded engine")
	}
	return startNetwork(ctx, s.err, config, c.NetworkP50, c.NetworkP99)
}

// benchConfig returns the configuration for the location of the flags. Without an endpoint it
// starts an embedded engine in its own process, which stop stops.
func (s *session) benchConfig(ctx context.Context) (config dynajournal.Config, stop func() error, err error) {
	config, err = s.location.resolveSet()
	if err != nil {
		return config, nil, err
	}
	stop = func() error { return nil }
	if s.location.Endpoint == "" && !s.location.AWS {
		place := []string{"--memory"}
		if s.location.Data != "" {
			place = []string{"--data", s.location.Data}
		}
		if config.Endpoint, stop, err = serveInProcess(ctx, s.err, place); err != nil {
			return config, nil, fmt.Errorf("start an engine: %w", err)
		}
		config.AccessKeyID, config.SecretAccessKey = "", ""
	}
	if config.AWS, err = s.location.aws(ctx, config.Endpoint); err != nil {
		return config, nil, errors.Join(err, stop())
	}
	return config, stop, nil
}
