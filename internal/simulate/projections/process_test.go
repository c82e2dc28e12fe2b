package projections_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// process is a process with all groups. It is killed, stands still, or ends.
type process struct {
	*simulation

	number  int
	client  aws.HTTPClient
	journal *dynajournal.Journal
	groups  []*projection.Group
	// cancel ends the groups, running are their ends.
	cancel  context.CancelFunc
	running sync.WaitGroup
	dead    atomic.Bool
	// replaced reports that another process takes its place.
	replaced atomic.Bool

	mu sync.Mutex
	// still is closed when the process goes on. It is nil while it does not stand still.
	still chan struct{}
}

func groupName(g int) string { return fmt.Sprint("g", g) }

// wrongs are the errors of the clocks of processes that handle events.
var wrongs = []time.Duration{0, 0, 20 * time.Hour, -20 * time.Hour}

// launch starts a process with all groups. With faults that takes several attempts.
func (s *simulation) launch(number int) *process {
	p := &process{simulation: s, number: number}
	config := s.config(wrongs[s.random(len(wrongs))])
	p.client = config.AWS.HTTPClient
	config.AWS.HTTPClient = &http.Client{Transport: p}
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
			if err := group.Run(ctx); err != nil && !p.dead.Load() {
				s.oracle.fail("Run: %v", err)
			}
		})
	}
	return p
}

// group makes a group as the history has it.
func (p *process) group(g int, reader *dynamodbstreams.Client) *projection.Group {
	of := &p.history.groups[g]
	config := projection.Config{
		Name: groupName(g), Attempts: of.attempts, BatchSize: of.batchSize, ClaimTimeout: of.claimTimeout,
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

var errKilled = errors.New("the process was killed")

// RoundTrip sends a request, unless the process is dead. While it stands still, neither are
// requests sent nor responses received, whatever their contexts are.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	p.wait()
	if p.dead.Load() {
		return nil, errKilled
	}
	response, err := p.client.Do(r)
	p.wait()
	if err == nil && p.dead.Load() {
		_ = response.Body.Close()
		return nil, errKilled
	}
	return response, err
}

// wait returns when the process does not stand still.
func (p *process) wait() {
	for {
		p.mu.Lock()
		still := p.still
		p.mu.Unlock()
		if still == nil {
			return
		}
		<-still
	}
}

func (p *process) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.still == nil {
		p.still = make(chan struct{})
	}
}

func (p *process) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.still != nil {
		close(p.still)
		p.still = nil
	}
}

// kill ends the process without a further request. Its handlers do nothing more.
func (p *process) kill() {
	p.dead.Store(true)
	p.end()
}

// end ends the groups.
func (p *process) end() {
	p.resume()
	p.cancel()
	p.running.Wait()
	_ = p.journal.Close()
}
