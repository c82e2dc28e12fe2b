package projections_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/explore"
	"github.com/dynajournal/dynajournal/projection"
)

// process is a process with all groups. It is killed, suspended, or stopped.
type process struct {
	*simulation

	number     int
	still      explore.Standstill
	connection *explore.Connection
	journal    *dynajournal.Journal
	groups     []*projection.Group
	// cancel stops the groups. running waits for them.
	cancel  context.CancelFunc
	running sync.WaitGroup
	// replaced reports whether another process replaces it.
	replaced atomic.Bool
}

func groupName(g int) string { return fmt.Sprint("g", g) }

// wrongs has the errors of the clocks of processes that handle events.
var wrongs = []time.Duration{0, 0, 20 * time.Hour, -20 * time.Hour}

// launch starts a process with all groups. With faults it may need several attempts.
func (s *simulation) launch(number int) *process {
	p := &process{simulation: s, number: number}
	config := s.config(wrongs[s.random(len(wrongs))])
	p.connection = explore.NewConnection(config.AWS.HTTPClient, &p.still)
	config.AWS.HTTPClient = &http.Client{Transport: p.connection}
	config.AWS.RetryMaxAttempts = 1
	for {
		var err error
		if p.journal, err = dynajournal.Open(context.Background(), config); err == nil {
			break
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	reader := dynamodbstreams.NewFromConfig(config.AWS)
	for g := range s.groups {
		p.groups = append(p.groups, p.group(g, reader))
	}
	for _, group := range p.groups {
		p.running.Go(func() {
			if err := group.Run(ctx); err != nil && !p.connection.Killed() {
				s.oracle.fail("Run: %v", err)
			}
		})
	}
	return p
}

// group creates a group with the options of the history.
func (p *process) group(g int, reader *dynamodbstreams.Client) *projection.Group {
	of := &p.history.groups[g]
	config := projection.Config{
		Name: groupName(g), Attempts: of.attempts, StuckAfter: -1, BatchSize: of.batchSize, ClaimTimeout: of.claimTimeout,
		Concurrency: of.concurrency, RetryShortest: 10 * time.Millisecond, RetryLongest: time.Second,
		Logger: slog.New(slog.DiscardHandler),
	}
	switch of.source {
	case streams:
		config.Source = projection.Streams(reader, projection.StreamsOptions{
			LeaseTimeout: of.leaseTimeout, PerSecond: -1, Poll: of.poll,
		})
	case sweeps:
		config.Source = projection.Sweep(projection.SweepOptions{Every: of.poll, PerSecond: -1})
	case triggers:
		config.Source = projection.Sweep(projection.SweepOptions{Every: of.leaseTimeout})
	}
	var all []projection.Projection
	for _, k := range p.kinds {
		all = append(all, k.projection(&handler{p, g, k}))
	}
	group, err := projection.New(p.journal, config, all...)
	if err != nil {
		p.Fatal(err)
	}
	return group
}

// kill stops the process without a further request. Its handlers do nothing more.
func (p *process) kill() {
	p.connection.Kill()
	p.end()
}

// end stops the groups.
func (p *process) end() {
	p.still.Resume()
	p.cancel()
	p.running.Wait()
	_ = p.journal.Close()
}
