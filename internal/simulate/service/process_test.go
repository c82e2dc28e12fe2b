package service_test

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/explore"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/outbox"
	"github.com/dynajournal/dynajournal/projection/tags"
)

// process is a process of the service. It is killed, stopped or suspended, and starts again on the
// same machine.
type process struct {
	*service

	number  int
	machine *explore.Machine

	still explore.Standstill

	mu   sync.Mutex
	life *life
}

// life is a life of a process.
type life struct {
	*process

	connection *explore.Connection
	journal    *dynajournal.Journal
	hosted     *hosted
	group      *projection.Group
	cancel     context.CancelFunc
	running    sync.WaitGroup
}

// start starts the next life.
func (p *process) start() {
	config := p.config()
	l := &life{process: p, connection: explore.NewConnection(config.AWS.HTTPClient, &p.still)}
	config.AWS.HTTPClient = &http.Client{Transport: l.connection}
	config.Logger = slog.New(slog.DiscardHandler)
	core.SetClock(&config, p.machine.Clock())
	p.insist(func() (err error) {
		l.journal, err = dynajournal.Open(context.Background(), config)
		return err
	})
	p.insist(func() (err error) {
		l.group, err = p.newGroup(l.journal, config.AWS)
		return err
	})
	l.hosted = p.host(l.journal)
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	l.running.Go(func() {
		if err := l.group.Run(ctx); err != nil && !l.connection.Killed() {
			p.fail("Run: %v", err)
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.life = l
}

// now returns the current life.
func (p *process) now() *life {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life
}

// insist calls a function until it succeeds: with faults that takes several attempts.
func (s *service) insist(do func() error) {
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		err := do()
		if err == nil {
			return
		}
		if time.Since(start) > patience {
			s.Fatalf("after %v: %v", patience, err)
		}
	}
}

// newGroup creates the group of projections on a journal.
func (s *service) newGroup(j *dynajournal.Journal, config aws.Config) (*projection.Group, error) {
	index, err := tags.Open(context.Background(), j, tagsTable)
	if err != nil {
		return nil, err
	}
	of := projection.Config{
		Name: "service", Attempts: 1000, ClaimTimeout: 5 * time.Minute, RetryShortest: 100 * time.Millisecond, RetryLongest: 5 * time.Second,
		Logger: slog.New(slog.DiscardHandler),
	}
	if s.swept {
		of.Source = projection.Sweep(projection.SweepOptions{Every: 20 * time.Minute, PerSecond: -1})
	} else {
		of.Source = projection.Streams(dynamodbstreams.NewFromConfig(config), projection.StreamsOptions{
			PerSecond: -1, Poll: 2 * time.Minute, LeaseTimeout: 30 * time.Minute,
		})
	}
	return projection.New(j, of,
		projection.AtLeastOnce("read model", readModel{s}),
		projection.Transactional("effects", effects{s}),
		index.Projection("tags"),
		outbox.New("messages", s.world, message),
	)
}

// sleep lets the machine sleep.
func (p *process) sleep(d time.Duration) {
	if !p.machine.Sleep() {
		return
	}
	p.sum.count("fault machine asleep")
	p.still.Suspend()
	time.Sleep(d)
	p.machine.Wake()
	p.still.Resume()
}

// kill ends the life without a further request.
func (p *process) kill() {
	l := p.now()
	l.connection.Kill()
	l.end()
}

// end ends the life.
func (p *process) end() { p.now().end() }

func (l *life) end() {
	l.cancel()
	l.running.Wait()
	l.hosted.close()
	_ = l.journal.Close()
}
