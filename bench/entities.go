package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// entityCallers is the number of callers that send commands.
const entityCallers = 64

// distance is the delay of each request to the service of a hot entity.
const distance = 3 * time.Millisecond

// inMemoryCalls is the number of calls without a request that are measured as one operation.
const inMemoryCalls = 1000

// entityWorkloads compare entities with the parts that they are built from.
func entityWorkloads(o Options) []workload {
	const two, three, idle = 2, 3, 10
	return []workload{
		{"entities-hot", two, hotEntity},
		{"entities-contended", two, contendedEntity},
		{"entities-idle", 0, func(ctx context.Context, s *session) error { return idleEntities(ctx, s, idle*o.Entities) }},
		{"entities-many", two, func(ctx context.Context, s *session) error { return manyEntities(ctx, s, o.Entities) }},
		{"entities-memory", three, func(ctx context.Context, s *session) error { return inMemory(ctx, s, o.Entities) }},
	}
}

// counter hosts the measured entities. Their state is the number of events.
type counter = entity.Entities[int, []byte]

func openCounter(j *dynajournal.Journal, name string, options entity.Options) (*counter, error) {
	return entity.Open(j, entity.Type[int, []byte]{
		Name:   name,
		Evolve: func(n int, _ []byte) int { return n + 1 },
	}, options)
}

// count is a command with one event.
func count(tx *entity.Tx[int, []byte]) error {
	tx.Record(payload)
	return nil
}

// hotEntity compares the commands of many callers on one entity with one command at a time, as an
// actor would run them. For both, the service is some milliseconds away.
func hotEntity(ctx context.Context, s *session) (err error) {
	config := s.tables.config
	if s.options.Traffic == nil { // a network makes it slow already
		config.AWS.HTTPClient = distant{config.AWS.HTTPClient}
	}
	j, err := dynajournal.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	hosted, err := openCounter(j, s.workload, entity.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hosted.Close(context.WithoutCancel(ctx))) }()
	ours := &candidate{name: "entities", do: func(ctx context.Context, _ int) (int, error) {
		_, err := hosted.Update(ctx, "hot", count)
		return 1, err
	}}
	var turn sync.Mutex
	base := &candidate{name: "one at a time", do: func(ctx context.Context, _ int) (int, error) {
		turn.Lock()
		defer turn.Unlock()
		_, err := hosted.Update(ctx, "cold", count)
		return 1, err
	}}
	if err := s.compare(ctx, entityCallers, 0, ours, base); err != nil {
		return err
	}
	return s.report("commands", perSecond, median(ours.rates), median(base.rates))
}

// distant is a client of a service that is some milliseconds away.
type distant struct{ inner aws.HTTPClient }

// Do waits, and sends the request.
func (d distant) Do(r *http.Request) (*http.Response, error) {
	time.Sleep(distance)
	if d.inner == nil {
		return http.DefaultClient.Do(r)
	}
	return d.inner.Do(r)
}

// manyEntities compares commands on many entities with appends of the same number of writers.
func manyEntities(ctx context.Context, s *session, entities int) (err error) {
	hosted, writers, err := counterBesideWriters(ctx, s, entities)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hosted.Close(context.WithoutCancel(ctx))) }()
	ours := counts(hosted, entities)
	base := &candidate{name: "journal", do: func(ctx context.Context, _ int) (int, error) {
		_, err := writers[rand.IntN(entities)].Append(ctx, payload) //nolint:gosec // no secret
		return 1, err
	}}
	if err := s.compareInSlices(ctx, entityCallers, ours, base); err != nil {
		return err
	}
	return errors.Join(
		s.reportPairs("commands", perSecond, ours.rates, base.rates),
		s.report("p99", microsecond, ours.percentile(99), base.percentile(99)),
		s.reportPairs("cpu", microsecond, ours.cpu, base.cpu))
}

// counterBesideWriters returns entities that are in memory, and the same number of writers.
func counterBesideWriters(ctx context.Context, s *session, entities int) (*counter, []*dynajournal.Writer, error) {
	writers, err := recoverWriters(ctx, s.journal, s.workload+"-writer", entities)
	if err != nil {
		return nil, nil, err
	}
	hosted, err := loadedCounter(ctx, s, entities)
	return hosted, writers, err
}

// loadedCounter returns entities that are in memory.
func loadedCounter(ctx context.Context, s *session, entities int) (*counter, error) {
	hosted, err := openCounter(s.journal, s.workload, entity.Options{})
	if err != nil {
		return nil, err
	}
	if err := load(ctx, hosted, entities); err != nil {
		return nil, errors.Join(err, hosted.Close(context.WithoutCancel(ctx)))
	}
	return hosted, nil
}

// load loads entities into memory.
func load(ctx context.Context, hosted *counter, entities int) error {
	ids := names("entity", entities)
	return each(ctx, entities, func(ctx context.Context, i int) error {
		_, err := hosted.Update(ctx, ids[i], func(*entity.Tx[int, []byte]) error { return nil })
		return err
	})
}

// inMemory compares calls that need no request with a map read under a mutex and an indirect call.
func inMemory(ctx context.Context, s *session, entities int) (err error) {
	hosted, err := loadedCounter(ctx, s, entities)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hosted.Close(context.WithoutCancel(ctx))) }()
	ids := names("entity", entities)
	var mu sync.Mutex
	loaded := make(map[string]*int, entities)
	for _, id := range ids {
		loaded[id] = new(int)
	}
	sum := 0
	show := func(n int) error { //nolint:unparam // as View demands it
		sum += n
		return nil
	}
	read := func(tx *entity.Tx[int, []byte]) error { return show(tx.State()) }
	each := func(name string, call func(ctx context.Context, id string) error) *candidate {
		return &candidate{name: name, do: func(ctx context.Context, _ int) (int, error) {
			for range inMemoryCalls {
				if err := call(ctx, ids[rand.IntN(entities)]); err != nil { //nolint:gosec // no secret
					return 0, err
				}
			}
			return inMemoryCalls, nil
		}}
	}
	view := each("View", func(ctx context.Context, id string) error {
		_, err := hosted.View(ctx, id, show, entity.InMemory)
		return err
	})
	command := each("Update", func(ctx context.Context, id string) error {
		_, err := hosted.Update(ctx, id, read)
		return err
	})
	base := each("map", func(_ context.Context, id string) error {
		mu.Lock()
		n := loaded[id]
		mu.Unlock()
		return show(*n)
	})
	if err := s.compareInSlices(ctx, 1, view, command, base); err != nil {
		return err
	}
	return errors.Join(
		s.reportPairs("view", nanosecond, view.nanoseconds(), base.nanoseconds()),
		s.reportPairs("command", nanosecond, command.nanoseconds(), base.nanoseconds()))
}
