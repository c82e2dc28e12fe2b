package service_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/explore"
	"github.com/dynajournal/dynajournal/payloads"
	"github.com/dynajournal/dynajournal/projection/tags"
	"github.com/dynajournal/dynajournal/serialization"
)

const (
	projectionsTable = dynajournal.DefaultJournalTable + "-projections"
	tagsTable        = "tags"
	effectsTable     = "effects"
	fenceWindow      = time.Hour
	// payloadsAbove is the size above which a payload is stored outside of the journal.
	payloadsAbove = 300
	// quietTime is longer than any request takes.
	quietTime = 5 * time.Minute
	// patience is how long the projections may take without faults.
	patience = 6 * time.Hour
)

// service is a history that is being run.
type service struct {
	*testing.T
	history
	sum *totals

	engine    *embedded.Engine
	table     *dynamodb.Client
	auditor   *dynajournal.Journal // of a process without faults
	outside   *payloads.Memory
	processes []*process
	things    []*subject
	settings  []*subject
	world     *world

	mu  sync.Mutex
	err error
	// dice is locked by mu.
	dice *rand.Rand
}

func (s *service) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
		s.trace("wrong: %v", s.err)
	}
}

func (s *service) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *service) random(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dice.IntN(n)
}

func (s *service) trace(format string, args ...any) {
	if *tracing {
		s.Logf("%s %s", time.Now().Format("02 15:04:05.000"), fmt.Sprintf(format, args...))
	}
}

// run runs the history.
func (s *service) run() {
	s.dice = rand.New(rand.NewPCG(s.seed, 2))
	s.outside, s.world = &payloads.Memory{}, newWorld()
	var err error
	if s.engine, err = embedded.OpenMemory(embedded.WithSweepInterval(0), embedded.WithSeed(s.seed), embedded.WithStreamShards(2)); err != nil {
		s.Fatal(err)
	}
	defer func() { _ = s.engine.Close() }()
	s.table = dynamodb.NewFromConfig(s.engine.AWSConfig())
	s.makeTables()
	defer func() { _ = s.auditor.Close() }()
	for i := range s.entities {
		s.things = append(s.things, &subject{pid: fmt.Sprint("thing|t", i)})
	}
	for i := range s.states {
		s.settings = append(s.settings, &subject{pid: fmt.Sprint("setting|s", i)})
	}
	for i := range s.history.processes {
		s.processes = append(s.processes, &process{service: s, number: i, machine: explore.NewMachine(time.Now, s.wrongClocks[i], fenceWindow)})
		s.processes[i].start()
	}
	var backup copied
	for part := range 2 {
		if part > 0 {
			s.pass()
		}
		s.work(part)
		s.awaitEnd()
		if s.failed() == nil {
			s.judge()
		}
		if s.failed() != nil {
			break
		}
		if part == 0 {
			backup = s.copyAll()
		}
	}
	for _, p := range s.processes {
		p.end()
	}
	if s.failed() == nil {
		s.removeLeftovers()
		s.migrate()
	}
	if s.failed() == nil {
		s.restore(backup)
	}
	for fault := range explore.Injected(s.engine) {
		s.sum.count("fault " + fault)
	}
	s.sum.end()
}

func (s *service) config() dynajournal.Config {
	registry := serialization.NewRegistry(serialization.External(s.outside, payloadsAbove))
	for _, err := range []error{
		serialization.JSON[Done](registry, "done"), serialization.JSON[Thing](registry, "thing"), serialization.JSON[Setting](registry, "setting"),
	} {
		if err != nil {
			s.Fatal(err)
		}
	}
	return dynajournal.Config{
		AWS: s.engine.AWSConfig(), Serialization: registry, Retries: 3, FenceWindow: fenceWindow,
		BackoffBase: time.Millisecond, BackoffCap: 20 * time.Millisecond,
		AttemptTimeout: 500 * time.Millisecond, OperationTimeout: 5 * time.Second,
	}
}

// open opens a journal for a process without faults.
func (s *service) open(config dynajournal.Config) *dynajournal.Journal {
	j, err := dynajournal.Open(s.Context(), config)
	if err != nil {
		s.Fatal(err)
	}
	return j
}

func (s *service) makeTables() {
	if err := dynajournal.CreateTables(s.Context(), s.config(), dynajournal.TableOptions{Projections: true, Stream: true}); err != nil {
		s.Fatal(err)
	}
	s.auditor = s.open(s.config())
	if err := tags.Create(s.Context(), s.auditor, tagsTable, tags.IndexOptions{Lanes: 2}); err != nil {
		s.Fatal(err)
	}
	if _, err := s.table.CreateTable(s.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(effectsTable), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
	}); err != nil {
		s.Fatal(err)
	}
}

// work lets callers use the service, during faults and disturbances.
func (s *service) work(part int) {
	remove := s.inject()
	var working sync.WaitGroup
	for c := range s.callers {
		r := rand.New(rand.NewPCG(s.seed, uint64(10+part*100+c)))
		working.Go(func() {
			for n := range s.operations {
				time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
				s.operate(r, fmt.Sprintf("%d.%d.%d", part, c, n))
			}
		})
	}
	working.Go(func() {
		for range 3 + s.random(3) {
			time.Sleep(time.Duration(s.random(9_000)) * time.Millisecond)
			s.disturb()
		}
	})
	working.Wait()
	remove()
}

// inject injects faults into requests, until remove is called.
func (s *service) inject() (remove func()) {
	var injected []embedded.Fault
	for _, f := range faults {
		if s.rate > 0 {
			f.fault.Probability = min(s.rate*f.weight, 0.3)
			injected = append(injected, f.fault)
		}
	}
	remove, err := explore.InjectAll(s.engine, injected)
	if err != nil {
		s.Fatal(err)
	}
	return remove
}

// stills has the durations for which a process is suspended.
var stills = []time.Duration{2 * time.Second, 2 * time.Second, 40 * time.Second, 40 * time.Second, 10 * time.Minute, fenceWindow + time.Minute}

// disturb kills, stops or suspends a process, or sets its clock.
func (s *service) disturb() {
	p := s.processes[s.random(len(s.processes))]
	switch s.random(6) {
	case 0, 1:
		s.trace("kill %d", p.number)
		s.sum.count("fault process killed")
		p.kill()
		p.start()
	case 2:
		s.trace("end %d", p.number)
		s.sum.count("fault process ended")
		p.end()
		p.start()
	case 3, 4:
		d := stills[s.random(len(stills))]
		s.trace("%d stands still for %v", p.number, d)
		p.sleep(d)
	case 5:
		by := []time.Duration{4 * time.Minute, -4 * time.Minute, 25 * time.Hour, -25 * time.Hour}[s.random(4)]
		if p.machine.Step(by) {
			s.trace("the clock of %d is set by %v", p.number, by)
			s.sum.count("fault clock set")
		}
	}
}

// pass lets a fence window pass while no process runs, and removes the items that have expired.
func (s *service) pass() {
	for _, p := range s.processes {
		p.end()
	}
	time.Sleep(fenceWindow + time.Minute)
	if _, err := s.engine.SweepExpired(); err != nil {
		s.Fatal(err)
	}
	for _, p := range s.processes {
		p.start()
	}
}

// awaitEnd waits until the late requests have arrived, and all projections agree with the journal.
func (s *service) awaitEnd() {
	time.Sleep(quietTime)
	s.readNew()
	if s.swept { // sweeps do not find a persistence id that was purged and is not used again
		for _, b := range s.things {
			s.processes[0].now().group.Trigger(b.pid)
		}
	}
	for start, pause := time.Now(), 100*time.Millisecond; s.failed() == nil; pause = min(2*pause, time.Minute) {
		why := s.disagreement()
		if why == "" {
			return
		}
		if time.Since(start) > patience {
			s.fail("after %v without faults: %s", patience, why)
		}
		time.Sleep(pause)
	}
}

// item is an item of a table.
type item = map[string]types.AttributeValue

func (s *service) items(table string) []item {
	var all []item
	pages := dynamodb.NewScanPaginator(s.table, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, page.Items...)
	}
	return all
}
