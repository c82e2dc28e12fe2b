package service_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/explore"
	"github.com/dynajournal/dynajournal/projection"
)

// process is a process of the service. It is killed, ends, or stands still, and begins again on the
// same machine.
type process struct {
	*service

	number  int
	machine *explore.Machine

	mu   sync.Mutex
	life *life
	// still is closed when the process goes on. It is nil while it does not stand still.
	still chan struct{}
}

// life is a life of a process.
type life struct {
	*process

	dead     atomic.Bool
	client   aws.HTTPClient
	journal  *dynajournal.Journal
	things   *entity.Entities[Thing, Done]
	settings *entity.States[Setting]
	group    *projection.Group
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// begin begins the next life. With faults that takes several attempts.
func (p *process) begin() {
	l := &life{process: p}
	config := p.config()
	l.client = config.AWS.HTTPClient
	config.AWS.HTTPClient = &http.Client{Transport: l}
	config.Logger = slog.New(slog.DiscardHandler)
	core.SetClock(&config, p.machine.Clock())
	for {
		var err error
		if l.journal, err = dynajournal.Open(context.Background(), config); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	l.things, l.settings = p.host(l.journal)
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	var err error
	if l.group, err = p.newGroup(l.journal, config.AWS); err != nil {
		p.Fatal(err)
	}
	l.running.Go(func() {
		if err := l.group.Run(ctx); err != nil && !l.dead.Load() {
			p.fail("Run: %v", err)
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.life = l
}

// now returns the present life.
func (p *process) now() *life {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life
}

// host opens the entities and states on a journal.
func (s *service) host(j *dynajournal.Journal) (*entity.Entities[Thing, Done], *entity.States[Setting]) {
	things, err := entity.Open(j, entity.Type[Thing, Done]{Name: "thing", Evolve: evolve, Tags: tagsOf, Snapshots: s.snapshots}, entity.Options{})
	if err != nil {
		s.Fatal(err)
	}
	settings, err := entity.OpenStates(j, entity.StateType[Setting]{Name: "setting"}, entity.Options{Attempts: 20})
	if err != nil {
		s.Fatal(err)
	}
	return things, settings
}

// newGroup makes the group of projections on a journal.
func (s *service) newGroup(j *dynajournal.Journal, config aws.Config) (*projection.Group, error) {
	var index *projection.TagIndex
	for {
		var err error
		if index, err = projection.OpenTagIndex(context.Background(), j, tagsTable); err == nil {
			break
		}
		if errors.Is(err, projection.ErrNoTagIndex) || errors.Is(err, dynajournal.ErrHeaderMismatch) {
			return nil, err
		}
		time.Sleep(100 * time.Millisecond)
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
		projection.Outbox("messages", s.told, message),
	)
}

var (
	errKilled  = errors.New("the process was killed")
	errExpired = errors.New("the signature has expired")
)

// signatureLife is how old a signature may be: the service rejects a request with an older one.
const signatureLife = 15 * time.Minute

// RoundTrip sends a request, unless the process is dead. While it stands still, neither are
// requests sent nor responses received, whatever their contexts are.
func (l *life) RoundTrip(r *http.Request) (*http.Response, error) {
	signed := time.Now()
	l.wait()
	switch {
	case l.dead.Load():
		return nil, errKilled
	case time.Since(signed) > signatureLife:
		return nil, errExpired
	}
	response, err := l.client.Do(r)
	l.wait()
	if err == nil && l.dead.Load() {
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

// sleep lets the machine sleep.
func (p *process) sleep(d time.Duration) {
	if !p.machine.Sleep() {
		return
	}
	p.sum.count("fault machine asleep")
	p.mu.Lock()
	p.still = make(chan struct{})
	p.mu.Unlock()
	time.Sleep(d)
	p.machine.Wake()
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.still)
	p.still = nil
}

// kill ends the life without a further request.
func (p *process) kill() {
	l := p.now()
	l.dead.Store(true)
	l.end()
}

// end ends the life.
func (p *process) end() { p.now().end() }

func (l *life) end() {
	l.cancel()
	l.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = l.things.Close(ctx)   // of a dead process it fails
	_ = l.settings.Close(ctx) // as well
	_ = l.journal.Close()
}
