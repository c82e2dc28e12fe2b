package projections_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/explore"
)

const (
	projectionsTable = dynajournal.DefaultJournalTable + "-projections"
	effectsTable     = "effects"
	// operationTimeout is Config.OperationTimeout. unused is how long a purged persistence id is
	// not used: a recovery must not see both lives.
	operationTimeout = 3 * time.Second
	unused           = 10 * time.Second
)

// simulation is the state of a history that is being run.
type simulation struct {
	*testing.T
	history
	sum *totals
	// kinds has the projections of each group.
	kinds []kind

	engine *embedded.Engine
	table  *dynamodb.Client
	// records reads the stream of the effects.
	records *dynamodbstreams.Client
	// writers is the journal of the process that writes.
	writers   *dynajournal.Journal
	processes []*process
	stored    []*stored
	oracle    *oracle
	// poisoned is the persistence id whose handlers always fail, or -1.
	poisoned atomic.Int64
	// calm reports whether handlers do not fail. up reports whether all targets can be reached.
	calm, up atomic.Bool

	mu sync.Mutex
	// dice is locked by mu.
	dice *rand.Rand
}

// run runs a history, and returns the first error.
func run(t *testing.T, h history, sum *totals) error {
	t.Helper()
	s := &simulation{T: t, history: h, sum: sum, kinds: allKinds, dice: rand.New(rand.NewPCG(h.seed, 1))}
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0), embedded.WithSeed(h.seed),
		embedded.WithStreamShards(h.shards), embedded.WithClock(s.now))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	s.engine = engine
	s.table, s.records = dynamodb.NewFromConfig(engine.AWSConfig()), dynamodbstreams.NewFromConfig(engine.AWSConfig())
	s.poisoned.Store(-1)
	s.oracle = newOracle(s)
	s.makeTables()
	if s.writers, err = dynajournal.Open(t.Context(), s.config(0)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.writers.Close() }()
	for i := range h.ids {
		s.stored = append(s.stored, &stored{number: i, pid: odd[i], byJVM: h.shared && i%2 == 0, purgeTried: map[int]bool{}})
	}
	for i := range h.processes {
		s.processes = append(s.processes, s.launch(i))
	}
	for i, r := range h.rounds {
		s.round(i, r)
		if s.oracle.failed() != nil {
			break
		}
	}
	for _, p := range s.processes {
		p.end()
	}
	if s.oracle.failed() == nil {
		s.oracle.afterwards()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for fault := range explore.Injected(engine) {
		sum.injected[fault]++
	}
	sum.histories++
	return s.oracle.failed()
}

// now returns the service's time.
func (s *simulation) now() time.Time { return time.Now().Add(s.ahead) }

// random returns a random number below n.
func (s *simulation) random(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dice.IntN(n)
}

// config returns the configuration of a journal of a process whose clock is ahead of the service's.
func (s *simulation) config(ahead time.Duration) dynajournal.Config {
	config := dynajournal.Config{
		AWS: s.engine.AWSConfig(), Retries: 2, BackoffBase: time.Millisecond, BackoffCap: 10 * time.Millisecond,
		AttemptTimeout: 500 * time.Millisecond, OperationTimeout: operationTimeout, FenceWindow: time.Hour,
	}
	start := time.Now()
	core.SetClock(&config, clock.New(func() time.Time { return s.now().Add(ahead) }, func() time.Duration { return time.Since(start) }))
	return config
}

func (s *simulation) makeTables() {
	options := dynajournal.TableOptions{Projections: true, Stream: true, SharedWithJVM: s.shared}
	if err := dynajournal.CreateTables(s.Context(), s.config(0), options); err != nil {
		s.Fatal(err)
	}
	if _, err := s.table.CreateTable(s.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(effectsTable), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage},
	}); err != nil {
		s.Fatal(err)
	}
}

// round runs a round: first writers and disturbances at the same time, until everything is written,
// and then no faults, until everything is handled.
func (s *simulation) round(number int, r round) {
	if r.asleep > 0 {
		s.sleep(number, r.asleep)
	}
	remove := s.inject()
	var under sync.WaitGroup
	for _, id := range s.stored {
		random := rand.New(rand.NewPCG(s.seed, uint64(number*len(odd)+id.number)))
		under.Go(func() { s.writeAny(id, random, s.operations) })
	}
	for _, d := range r.disturbances {
		under.Go(func() {
			time.Sleep(d.after)
			s.disturb(d)
		})
	}
	under.Wait()
	remove()
	s.heal()
	s.oracle.round()
}

// sleep suspends all processes, for so long that leases and claims expire, and records are trimmed.
// Events are written meanwhile.
func (s *simulation) sleep(number int, d time.Duration) {
	if d > time.Hour {
		s.oracle.collect() // older records are trimmed
	}
	for _, p := range s.processes {
		p.still.Suspend()
	}
	for _, id := range s.stored {
		s.writeAny(id, rand.New(rand.NewPCG(s.seed, uint64(1000+number*len(odd)+id.number))), 2)
	}
	time.Sleep(d)
	for range 2 { // shards are replaced first
		if _, err := s.engine.SweepExpired(); err != nil {
			s.Fatal(err)
		}
	}
	for _, p := range s.processes {
		p.still.Resume()
	}
}

// inject injects faults into requests, until remove is called.
func (s *simulation) inject() (remove func()) {
	var injected []embedded.Fault
	for i, f := range faults {
		if s.rates[i] > 0 {
			f.Probability = float64(s.rates[i]) / 1000
			injected = append(injected, f)
		}
	}
	remove, err := explore.InjectAll(s.engine, injected)
	if err != nil {
		s.Fatal(err)
	}
	return remove
}

func (s *simulation) disturb(d disturbance) {
	if *tracing {
		s.Logf("%v %v", time.Now().Format("15:04:05.000"), d)
	}
	s.mu.Lock()
	i := d.of % len(s.processes)
	p := s.processes[i]
	s.mu.Unlock()
	switch d.what {
	case nothing:
	case kill:
		p.kill()
		s.replace(p)
	case end:
		p.end()
		s.replace(p)
	case pause:
		p.still.Suspend()
		time.Sleep(d.length)
		p.still.Resume()
	case split:
		if err := s.engine.SplitShards(dynajournal.DefaultJournalTable); err != nil {
			s.oracle.fail("split: %v", err)
		}
	case poison:
		s.poisoned.Store(int64(d.of))
	}
}

// replace launches a process that replaces a stopped one. Two disturbances may stop the same
// process.
func (s *simulation) replace(p *process) {
	if !p.replaced.CompareAndSwap(false, true) {
		return
	}
	next := s.launch(p.number)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes[p.number] = next
}

// isDown reports whether the target of a projection is down until the others have handled
// everything.
func (s *simulation) isDown(g int, k kind) bool { return s.groups[g].down && k == s.kinds[0] }

// heal ends all disturbances, and waits until all events are handled. It resumes stuck persistence
// ids. Projections whose targets are down must not delay others.
func (s *simulation) heal() {
	s.poisoned.Store(-1)
	s.calm.Store(true)
	defer s.calm.Store(false)
	s.await(5*time.Minute, func(g int, k kind) bool { return !s.isDown(g, k) })
	s.up.Store(true)
	defer s.up.Store(false)
	s.await(2*time.Hour, func(int, kind) bool { return true })
}

// await waits until some projections have handled all events.
func (s *simulation) await(patience time.Duration, counts func(g int, k kind) bool) {
	for start, pause := time.Now(), 10*time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		unhandled := s.unhandled(counts)
		if unhandled == "" {
			return
		}
		if time.Since(start) > patience {
			s.oracle.fail("after %v without faults: %s", patience, unhandled)
			return
		}
		time.Sleep(pause)
	}
}

// unhandled describes the first projection that counts and has not reached the end of a persistence
// id. It returns an empty text if all have.
func (s *simulation) unhandled(counts func(g int, k kind) bool) string {
	for g := range s.groups {
		for _, k := range s.kinds {
			if !counts(g, k) {
				continue
			}
			for _, id := range s.stored {
				row := s.row(groupName(g)+"/"+k.name(), id.pid)
				if row.stuck {
					s.oracle.stuck(g, k, id, row.reason)
					// Earlier failures may have come from a call that is still under way.
					if err := s.processes[s.random(len(s.processes))].groups[g].Resume(context.Background(), k.name(), id.pid); err != nil {
						return err.Error()
					}
					row = s.row(groupName(g)+"/"+k.name(), id.pid)
				}
				if why := id.reached(row); why != "" {
					return groupName(g) + "/" + k.name() + " " + id.pid + ": " + why
				}
			}
		}
	}
	return ""
}

var errWanted = errors.New("wanted")
