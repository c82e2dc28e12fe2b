package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/bench"
)

type benchCommand struct {
	Quick    bool     `help:"Measure for less time and with less data: under a minute."`
	Only     []string `placeholder:"NAME" help:"Measure only this workload, or those whose names begin so; can be repeated. There are ${workloads}."`
	Events   int      `placeholder:"N" help:"Stored events that scale-events goes up to. Default: 100000, quick 10000."`
	Entities int      `placeholder:"N" help:"Entities that scale-entities goes up to. Default: 10000, quick 1000."`
}

// Help is shown below the flags' help.
func (*benchCommand) Help() string {
	return "Each figure stands beside its base, what the bare AWS SDK needs for the same at the same place; the two take turns. In layouts, which compares the older ones " +
		"as well, the base is a native journal. ratio is value / base. Figures are medians of rounds, percentiles those of all operations. cpu is the processor time " +
		"of this process for an event.\n\n" +
		"Without --endpoint or --aws it starts an embedded engine in a process of its own, in memory or with --data in a folder, and reaches it over loopback. " +
		"It makes tables whose names begin with dynajournal-bench-, and deletes them at the end: nothing else is touched. At AWS it costs money: some million " +
		"write units, a tenth with --quick."
}

// figureResult is one figure.
type figureResult bench.Figure

func (r figureResult) text() string {
	return fmt.Sprintf("%-42s %12s %-12s base %12s  ratio %.3f", r.Name, rounded(r.Value), r.Unit, rounded(r.Base), r.Ratio)
}

// rounded is a number with as many digits as mean something.
func rounded(v float64) string {
	const whole = 100
	if v >= whole || v == float64(int64(v)) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Run runs the command.
func (c *benchCommand) Run(ctx context.Context, s *session) (err error) {
	if c.Events < 0 || c.Entities < 0 {
		return usagef("--events and --entities must not be negative")
	}
	config, stop, err := s.benchConfig(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	shown := &turns{w: s.err}
	defer shown.stop()
	err = bench.Run(ctx, bench.Options{
		Config: config, Quick: c.Quick, Only: c.Only, Events: c.Events, Entities: c.Entities,
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

// benchConfig is where the flags say, or a served engine of its own, which stop ends.
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

// serverPatience is how long a served engine may take to end.
const serverPatience = 10 * time.Second

// serveInProcess serves an engine by this program in another process, so that its processor time is not the client's. It lives on
// when this one is interrupted, until the tables are deleted.
func serveInProcess(ctx context.Context, messages io.Writer, place []string) (endpoint string, stop func() error, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("find this program: %w", err)
	}
	args := append([]string{"serve", "--output", "text", "--addr", "127.0.0.1:0"}, place...)
	process := exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // this very program
	process.Stderr = messages
	process.SysProcAttr = ownProcessGroup()
	out, err := process.StdoutPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		return "", nil, fmt.Errorf("start %s: %w", program, err)
	}
	stop = func() error {
		timer := time.AfterFunc(serverPatience, func() { _ = process.Process.Kill() })
		defer timer.Stop()
		err := process.Process.Signal(syscall.SIGTERM)
		if err != nil { // where there are no signals
			err = process.Process.Kill()
		}
		if err = errors.Join(err, process.Wait()); err != nil {
			return fmt.Errorf("end the engine: %w", err)
		}
		return nil
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	endpoint, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		return "", nil, fmt.Errorf("it did not say where it listens: %w", errors.Join(err, stop()))
	}
	return endpoint, stop, nil
}

// turns shows on a terminal how far a measurement has come.
type turns struct {
	w   io.Writer
	bar *progressbar.ProgressBar // nil until the first step
}

func (t *turns) step(step bench.Step) {
	if !isTerminal(t.w) {
		return
	}
	if t.bar == nil {
		t.bar = progressbar.NewOptions(step.Total, progressbar.OptionSetWriter(t.w), progressbar.OptionClearOnFinish(), progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true))
	}
	t.bar.Describe(step.Workload)
	_ = t.bar.Set(step.Done) // showing it is not worth failing for
}

// clear takes the bar from the line, which a result is going to be on.
func (t *turns) clear() {
	if t.bar != nil {
		_ = t.bar.Clear() // as above
	}
}

func (t *turns) stop() {
	if t.bar != nil {
		_ = t.bar.Finish() // as above
	}
}
