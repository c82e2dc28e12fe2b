//go:build interop

package interop_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// projected is a service with two projections, which read the stream of its table.
type projected struct {
	*service

	gate        *gate
	group       *projection.Group
	all, effect *recordedCalls
}

// recordedCalls is a handler that records its calls.
type recordedCalls struct {
	mu    sync.Mutex
	calls map[string][]string
	gaps  map[string][]projection.Gap
	purge map[string]int
}

func newRecordedCalls() *recordedCalls {
	return &recordedCalls{calls: map[string][]string{}, gaps: map[string][]projection.Gap{}, purge: map[string]int{}}
}

func (p *recordedCalls) Handle(_ context.Context, e dynajournal.Event) error {
	value, err := e.Payload(context.Background())
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[e.PersistenceID] = append(p.calls[e.PersistenceID], eventText(e.SequenceNumber, value))
	return nil
}

func (p *recordedCalls) HandleGap(_ context.Context, gap projection.Gap) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaps[gap.PersistenceID] = append(p.gaps[gap.PersistenceID], gap)
	return nil
}

func (p *recordedCalls) HandlePurge(_ context.Context, purge projection.Purge) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.purge[purge.PersistenceID]++
	p.calls[purge.PersistenceID] = nil
	return nil
}

// transactional records calls as a transactional handler, without items.
type transactional struct{ *recordedCalls }

func (p transactional) Handle(ctx context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
	return nil, p.recordedCalls.Handle(ctx, e)
}

func (p transactional) HandleGap(ctx context.Context, gap projection.Gap) ([]types.TransactWriteItem, error) {
	return nil, p.recordedCalls.HandleGap(ctx, gap)
}

func (p transactional) HandlePurge(ctx context.Context, purge projection.Purge) ([]types.TransactWriteItem, error) {
	return nil, p.recordedCalls.HandlePurge(ctx, purge)
}

// project creates a service with its own tables, and starts the projections.
func project(t *testing.T, pl *plugin, wait time.Duration) *projected {
	t.Helper()
	name := "projected-" + strings.ReplaceAll(t.Name(), "/", "-")
	s := newService(t, dynajournal.Config{JournalTable: name, SnapshotTable: name + "-snapshot"},
		dynajournal.TableOptions{SharedWithJVM: true, Projections: true, Stream: true})
	p := &projected{service: s, gate: newGate(t), all: newRecordedCalls(), effect: newRecordedCalls()}
	s.jvm = pl.start(t, append(tablesSettings(name, name+"-snapshot"), "dynamodb-journal.endpoint="+p.gate.url)...)
	streams := dynamodbstreams.New(dynamodbstreams.Options{
		BaseEndpoint: &s.config.Endpoint, Region: "us-east-1",
		Credentials: aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "interop", SecretAccessKey: "interop"}, ctx.Err()
		}),
	})
	var err error
	p.group, err = projection.New(s.open(t), projection.Config{
		Name: "group", HoleWait: wait, RetryShortest: 10 * time.Millisecond,
		Source: projection.Streams(streams, projection.StreamsOptions{PerSecond: -1, Poll: 10 * time.Millisecond}),
	}, projection.AtLeastOnce("all", p.all), projection.Transactional("effect", transactional{p.effect}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- p.group.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return p
}

// await waits until both projections have handled a number.
func (p *projected) await(t *testing.T, pid string, seq int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	j := p.open(t)
	for _, name := range []string{"group/all", "group/effect"} {
		if err := projection.WaitFor(ctx, j, name, pid, seq); err != nil {
			t.Fatal(err)
		}
	}
}

// check checks the calls of both projections.
func (p *projected) check(t *testing.T, pid string, want []string) {
	t.Helper()
	for side, recorded := range map[string]*recordedCalls{"at least once": p.all, "transactional": p.effect} {
		recorded.mu.Lock()
		if got := recorded.calls[pid]; !slices.Equal(got, want) {
			t.Errorf("%s is called with\n%q, want\n%q", side, got, want)
		}
		recorded.mu.Unlock()
	}
}

func eventText(seq int64, value any) string { return fmt.Sprintf("%d %v", seq, value) }

// eventTexts returns the texts of values with the numbers from first on.
func eventTexts(first int64, values ...any) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = eventText(first+int64(i), v)
	}
	return all
}

// The plug-in's events arrive in any order, and one of them arrives last.
func TestProjectionWaitsForAnEventOfAJVMThatLandsLate(t *testing.T) {
	for _, pl := range chosenPlugins(t, pekko110) {
		t.Run(pl.name, func(t *testing.T) {
			p := project(t, pl, time.Hour)
			for _, late := range []int64{2, 100} { // 100 is the first of its partition
				pid := newPID(t)
				from := late - 1
				first := int64(1)
				p.jvm.do(t, request{Op: "write", PID: pid, From: &first, Events: typedAll(t, texts("early", int(from))...)})
				p.await(t, pid, from)
				blocked := p.gate.block(putOf(pid, late))
				go func() {
					defer blocked.release()
					for t.Context().Err() == nil && (p.group.Lag()[0].Missing == 0 || p.group.Lag()[1].Missing == 0) {
						time.Sleep(time.Millisecond)
					}
				}()
				p.jvm.do(t, request{Op: "write", PID: pid, From: &late, Events: typedAll(t, texts("later", 5)...)})
				p.await(t, pid, late+4)
				p.check(t, pid, append(eventTexts(1, texts("early", int(from))...), eventTexts(late, texts("later", 5)...)...))
			}
		})
	}
}

// A JVM service persists single events and atomic writes over partitions, deletes, has an event
// rejected, purges and starts again, while the projections run.
func TestProjectionsOfAJVMService(t *testing.T) {
	for _, pl := range chosenPlugins(t, pekko110) {
		t.Run(pl.name, func(t *testing.T) {
			p := project(t, pl, 2*time.Second)
			const ids = 3
			highest, want := int64(0), [ids][]string{}
			pids := [ids]string{newPID(t), newPID(t), newPID(t)}
			persist := func(atomically bool, values ...any) {
				t.Helper()
				for i, pid := range pids {
					p.persistJVM(t, pid, atomically, values...)
					want[i] = append(want[i], eventTexts(highest+1, values...)...)
				}
				highest += int64(len(values))
			}
			check := func() {
				t.Helper()
				for i, pid := range pids {
					p.await(t, pid, highest)
					p.check(t, pid, want[i])
				}
			}
			for _, pid := range pids {
				p.startJVM(t, pid)
			}
			persist(false, texts("single", 30)...)
			persist(true, texts("atomic", 60)...)
			persist(false, texts("over", 15)...)
			persist(true, texts("more", 7)...)
			check()
			for _, pid := range pids {
				p.jvm.do(t, request{Op: "deleteTo", PID: pid, To: &highest})
			}
			persist(true, texts("behind", 100)...)
			check()
			for _, pid := range pids { // it takes a number, and is never stored
				if a := p.jvm.ask(t, request{Op: "persist", PID: pid, Events: typedAll(t, strings.Repeat("x", 450_000))}); a.Failure == "" {
					t.Fatal("the event is not rejected")
				}
			}
			highest++
			persist(false, "behind it")
			check()
			for _, lag := range p.group.Lag() {
				if lag.Passed != ids || lag.Late != 0 {
					t.Errorf("%+v", lag)
				}
			}
			for _, pid := range pids {
				p.stopJVM(t, pid)
				p.jvm.do(t, request{Op: "purge", PID: pid})
			}
			highest, want = 0, [ids][]string{}
			for _, pid := range pids {
				p.startJVM(t, pid)
			}
			persist(false, texts("again", 5)...)
			for i, pid := range pids {
				p.again(t, pid, highest, want[i])
			}
		})
	}
}

// again waits until both projections have handled a purge, and then the events after it.
func (p *projected) again(t *testing.T, pid string, last int64, want []string) {
	t.Helper()
	for _, recorded := range []*recordedCalls{p.all, p.effect} {
		started := func() bool {
			recorded.mu.Lock()
			defer recorded.mu.Unlock()
			calls := recorded.calls[pid]
			return recorded.purge[pid] > 0 && len(calls) > 0 && strings.HasPrefix(calls[len(calls)-1], fmt.Sprint(last, " "))
		}
		for until := time.Now().Add(time.Minute); !started(); time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("it never begins again")
			}
		}
	}
	p.check(t, pid, want)
}
