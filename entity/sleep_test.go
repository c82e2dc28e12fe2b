package entity_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
)

// sleeper is a bundle whose time the test sets. It has a machine that sleeps while time passes. The
// journals of other machines use the engine's clock.
type sleeper struct {
	*bundle

	start time.Time
	// service is the time that has passed on the engine's clock. local is the time that has passed
	// on the machine's wall clock. The machine's monotonic clock does not advance.
	service, local atomic.Int64
	// blocked describes the next request of the machine whose response is blocked, or is nil.
	blocked atomic.Pointer[blockedResponse]
}

// blockedResponse holds the response to the next request for an operation on a table.
type blockedResponse struct {
	operation, table  string
	arrived, released chan struct{}
}

func newSleeper(t testing.TB, change ...func(*dynajournal.Config)) *sleeper {
	t.Helper()
	s := &sleeper{start: time.Now().Truncate(time.Second)}
	others := func(c *dynajournal.Config) {
		core.SetClock(c, clock.New(s.at(&s.service), func() time.Duration { return time.Duration(s.service.Load()) }))
	}
	s.bundle = setupOn(t, dynajournal.TableOptions{}, []embedded.Option{embedded.WithClock(s.at(&s.service))},
		append(change, others)...)
	return s
}

func (s *sleeper) at(passed *atomic.Int64) func() time.Time {
	return func() time.Time { return s.start.Add(time.Duration(passed.Load())) }
}

// machine changes a configuration to that of a journal on the machine.
func (s *sleeper) machine(c *dynajournal.Config) {
	core.SetClock(c, clock.New(s.at(&s.local), func() time.Duration { return 0 }))
	inner := c.AWS.HTTPClient
	c.AWS.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		blocked := s.blocked.Load()
		if blocked == nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+blocked.operation) {
			return inner.Do(r)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		response, err := inner.Do(r)
		if bytes.Contains(body, []byte(strconv.Quote(blocked.table))) && s.blocked.CompareAndSwap(blocked, nil) {
			close(blocked.arrived)
			<-blocked.released
		}
		return response, err
	})}
}

// block holds the response to the next request of the machine for an operation on a table. arrived
// is closed when the request is done. The machine gets the response when release is called.
func (s *sleeper) block(operation, table string) (arrived <-chan struct{}, release func()) {
	blocked := &blockedResponse{operation, table, make(chan struct{}), make(chan struct{})}
	s.blocked.Store(blocked)
	return blocked.arrived, func() { close(blocked.released) }
}

// sleep lets time pass, and expires the items that are due.
func (s *sleeper) sleep(d time.Duration) {
	s.Helper()
	s.service.Add(int64(d))
	s.local.Add(int64(d))
	if _, err := s.Engine.SweepExpired(); err != nil {
		s.Error(err)
	}
}

// A machine's monotonic clock stops while it sleeps.
func TestAgeOfAViewCountsTheTimeThatTheMachineSlept(t *testing.T) {
	t.Parallel()
	s := newSleeper(t)
	a := s.open(s.Journal(s.machine), accountType(), entity.Options{})
	do(t, a, "anna", deposit(10))
	do(t, s.accounts(), "anna", deposit(1))
	s.sleep(30 * time.Minute)
	if got, _ := view(t, a, "anna", entity.MaxAge(time.Hour)); got != 10 {
		t.Errorf("a view of the last hour shows %d after half an hour, want 10 from memory", got)
	}
	s.sleep(5 * time.Hour)
	if got, _ := view(t, a, "anna", entity.MaxAge(time.Hour)); got != 11 {
		t.Errorf("a view of the last hour shows %d, want 11", got)
	}
}

// asleep is longer than the items that a purge leaves are stored.
const asleep = dynajournal.DefaultFenceWindow*6/5 + time.Hour

// nextLife lets another machine purge the account anna while the machine sleeps, and then make
// deposits of 1 in its next life. If erased is set, the purge leaves no trace, so that the numbers
// start from 1 again.
func (s *sleeper) nextLife(deposits int, erased bool) {
	s.Helper()
	w, err := s.Journal().Recover(s.Context(), "account|anna", dynajournal.RecoverOptions{}, nil)
	if err == nil {
		_, err = w.Purge(s.Context(), dynajournal.PurgeOptions{Now: erased})
	}
	if err != nil {
		s.Fatal(err)
	}
	s.sleep(asleep)
	other := s.accounts()
	for range deposits {
		do(s, other, "anna", deposit(1))
	}
}

// fromSnapshot opens the accounts of the machine on a snapshot of the account anna without any
// events.
func (s *sleeper) fromSnapshot() *accounts {
	s.Helper()
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 2, Keep: 1, DeleteEvents: true}
	first, saved := saving(s.bundle, kind, entity.Options{})
	do(s, first, "anna", deposit(10))
	do(s, first, "anna", deposit(10))
	if got := <-saved; got.Err != nil || got.DeletedTo != 2 {
		s.Fatalf("%+v, want the events to be deleted", got)
	}
	return s.open(s.Journal(s.machine), kind, entity.Options{})
}

// fromEvents opens the accounts of the machine on events of the account anna.
func (s *sleeper) fromEvents() *accounts {
	s.Helper()
	do(s, s.accounts(), "anna", deposit(20))
	return s.open(s.Journal(s.machine), accountType(), entity.Options{})
}

// An entity is purged, or erased, while a machine that has it in memory sleeps. If the clocks of
// the machine were set back, they show no time passing: then only a response shows it.
func TestViewAfterASleepShowsTheNextLife(t *testing.T) {
	t.Parallel()
	for from, open := range map[string]func(*sleeper) *accounts{"events": (*sleeper).fromEvents, "a snapshot": (*sleeper).fromSnapshot} {
		for _, back := range []time.Duration{0, asleep} {
			for n := range 10 {
				deposits, erased := n/2, n%2 == 0
				t.Run(fmt.Sprintf("from %s, set back by %v, %d deposits, erased %v", from, back, deposits, erased), func(t *testing.T) {
					t.Parallel()
					s := newSleeper(t)
					a := open(s)
					if got, _ := view(t, a, "anna"); got != 20 {
						t.Fatalf("it shows %d, want 20", got)
					}
					s.nextLife(deposits, erased)
					s.local.Add(-int64(back))
					if got, _ := view(t, a, "anna"); got != deposits {
						t.Errorf("it shows %d, want %d", got, deposits)
					}
					if got := do(t, a, "anna", balance, entity.Fresh()); got != deposits {
						t.Errorf("a fresh command reads %d, want %d", got, deposits)
					}
				})
			}
		}
	}
}

// As above, but a command is the first to notice, because its write is refused.
func TestCommandAfterASleepIsDecidedOnTheNextLife(t *testing.T) {
	t.Parallel()
	for from, open := range map[string]func(*sleeper) *accounts{"events": (*sleeper).fromEvents, "a snapshot": (*sleeper).fromSnapshot} {
		for _, loading := range []string{"command", "view"} {
			for n := range 10 {
				deposits, erased := n/2, n%2 == 0
				t.Run(fmt.Sprintf("from %s by a %s, %d deposits, erased %v", from, loading, deposits, erased), func(t *testing.T) {
					t.Parallel()
					s := newSleeper(t)
					a := open(s)
					if loading == "command" {
						do(t, a, "anna", balance)
					} else {
						view(t, a, "anna")
					}
					s.nextLife(deposits, erased)
					if got := do(t, a, "anna", deposit(1)); got != deposits+1 {
						t.Errorf("the balance is %d, want %d", got, deposits+1)
					}
					if got, _ := view(t, s.accounts(), "anna"); got != deposits+1 {
						t.Errorf("another process shows %d, want %d", got, deposits+1)
					}
				})
			}
		}
	}
}

// A machine sleeps while it deletes the snapshots before the one that it has saved.
func TestSnapshot_MachineSleepsBeforeDeletion(t *testing.T) {
	t.Parallel()
	kind := snapshotsOf(entity.Snapshots{Every: 2, Keep: 1, DeleteEvents: true})
	for name, operation := range map[string]string{
		"before it looks for them": "PutItem", // of the snapshot
		"before it deletes them":   "Query",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSleeper(t)
			a, saved := saving(s.bundle, kind, entity.Options{}, s.machine)
			do(t, a, "anna", deposits(2))
			wantError(t, "the first snapshot", (<-saved).Err, nil)
			arrived, release := s.block(operation, dynajournal.DefaultSnapshotTable)
			do(t, a, "anna", deposits(2))
			<-arrived
			s.nextLife(0, true)
			next, savedNext := saving(s.bundle, kind, entity.Options{})
			do(t, next, "anna", deposits(2))
			wantError(t, "the snapshot of the next life", (<-savedNext).Err, nil)
			release()
			wantError(t, "the snapshot that slept", (<-saved).Err, dynajournal.ErrTooLate)
			if got := snapshots(t, s.Journal()); !slices.Equal(got, []int64{2}) {
				t.Errorf("the snapshots are %v, want 2", got)
			}
			if got, version := view(t, s.open(s.Journal(), kind, entity.Options{}), "anna"); got != 2 || version != 2 {
				t.Errorf("the balance is %d at %d, want 2 at 2", got, version)
			}
		})
	}
}

// wantPadded checks the state of the counter anna.
func (s *sleeper) wantPadded(want int64, letter string) {
	s.Helper()
	version, err := s.counters(entity.Options{}).View(s.Context(), "anna", func(c Counter) error {
		if c.Count != 1 || c.Padding != strings.Repeat(letter, 3000) {
			s.Errorf("%d with %d bytes", c.Count, len(c.Padding))
		}
		return nil
	})
	if err != nil || version != want {
		s.Errorf("version %d, %v; want %d", version, err, want)
	}
}

// A machine sleeps while it deletes parts. Meanwhile the state is purged and used again. The
// versions continue, so the machine spares the parts of the next life.
func TestStates_MachineSleepsDuringSweep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		operation string // before the sweep
		do        func(s *sleeper, a *counters) error
		version   int64 // of the next life
	}{
		"of a purge": {"PutItem", func(s *sleeper, a *counters) error {
			return a.Purge(s.Context(), "anna")
		}, 3},
		"after a put": {"BatchWriteItem", func(s *sleeper, a *counters) error {
			_, err := entity.Do(s.Context(), a, "anna", pad(3000, "b"))
			return err
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSleeper(t, withCounters(t), smallItems)
			first := s.counters(entity.Options{})
			doCount(t, first, 1, pad(3000, "a"))
			closed(t, first)
			a := s.counters(entity.Options{}, s.machine)
			wantCount(t, a, 1, 1)
			arrived, release := s.block(c.operation, dynajournal.DefaultSnapshotTable)
			done := make(chan error, 1)
			go func() { done <- c.do(s, a) }()
			<-arrived
			other := s.counters(entity.Options{})
			if err := other.Purge(t.Context(), "anna"); err != nil {
				t.Fatal(err)
			}
			s.sleep(asleep)
			doCount(t, other, 1, pad(3000, "c"))
			closed(t, other)
			release()
			if err := <-done; err != nil {
				t.Error(err)
			}
			closed(t, a)
			s.wantPadded(c.version, "c")
		})
	}
}
