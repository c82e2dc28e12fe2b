// Command pekko measures the same work done by the real Pekko plug-in and by this journal,
// alternately on one served engine in one run. It builds the programs (Java 17 and Maven must be
// installed), and prints one table.
//
//	go run ./bench/pekko
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/dynajournal/dynajournal/internal/network"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "pekko:", err)
		stop()
		os.Exit(1) //nolint:gocritic // the deferred calls are done
	}
}

// options are the flags.
type options struct {
	rounds  int
	seconds float64
	json    bool
	only    string
	network network.Delay

	// service and endpoint make this process a service of the journal, which executes the requests
	// on its standard input.
	service, endpoint string
}

func run(ctx context.Context) error {
	var o options
	flag.IntVar(&o.rounds, "rounds", 3, "number of rounds of each candidate")
	flag.Float64Var(&o.seconds, "seconds", 3, "duration of a round of persisting")
	flag.BoolVar(&o.json, "json", false, "print a JSON object per line instead of the table")
	flag.StringVar(&o.only, "only", "", "measure only these: journal or entities")
	flag.DurationVar(&o.network.P50, "network-p50", 0, "median of the delay of a request, plain HTTP; 0 is no network")
	flag.DurationVar(&o.network.P99, "network-p99", 0, "99th percentile of the delay of a request")
	flag.StringVar(&o.service, "service", "", "internal: run as the service of this kind of journal")
	flag.StringVar(&o.endpoint, "endpoint", "", "internal: the service's endpoint")
	flag.Parse()
	switch {
	case o.service != "":
		return serve(ctx, o.service, o.endpoint, os.Stdin, os.Stdout)
	case o.rounds < 1 || o.seconds <= 0 || flag.NArg() > 0 || !slices.Contains([]string{"", journals, entities}, o.only):
		return errors.New("wrong usage: see -help")
	}
	folder, err := os.MkdirTemp("", "dynajournal-pekko-*")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	table, err := measureAll(ctx, o, folder)
	if err = errors.Join(err, os.RemoveAll(folder)); err != nil {
		return err
	}
	return table.print(os.Stdout, o.json)
}

// Parts that can be measured alone: values of the flag -only.
const (
	journals = "journal"
	entities = "entities"
)

// measureAll builds all programs in a folder, and measures with them.
func measureAll(ctx context.Context, o options, folder string) (*table, error) {
	say("building")
	built, err := build(ctx, folder)
	if err != nil {
		return nil, err
	}
	t := &table{}
	for _, part := range parts() {
		if o.only != "" && o.only != part.name {
			continue
		}
		c, err := prepare(ctx, o, built, part.serve...)
		if err == nil {
			err = errors.Join(c.run(ctx, t, part.steps(c)), c.close())
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}
