package entity_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/private"
)

// sleeper is a bundle whose time the test sets, with a machine that sleeps while time passes. The
// journals of other machines have the engine's clock.
type sleeper struct {
	*bundle

	start time.Time
	// service is the time that has passed by the engine's clock, local by the machine's wall clock.
	// The machine's monotonic clock stands still.
	service, local atomic.Int64
}

func newSleeper(t testing.TB, change ...func(*dynajournal.Config)) *sleeper {
	t.Helper()
	s := &sleeper{start: time.Now().Truncate(time.Second)}
	others := func(c *dynajournal.Config) {
		private.SetClock(c, clock.New(s.at(&s.service), func() time.Duration { return time.Duration(s.service.Load()) }))
	}
	s.bundle = setupOn(t, dynajournal.TableOptions{}, []embedded.Option{embedded.WithClock(s.at(&s.service))},
		append(change, others)...)
	return s
}

func (s *sleeper) at(passed *atomic.Int64) func() time.Time {
	return func() time.Time { return s.start.Add(time.Duration(passed.Load())) }
}

// machine returns the change of a configuration that makes a journal that of the machine.
func (s *sleeper) machine(c *dynajournal.Config) {
	private.SetClock(c, clock.New(s.at(&s.local), func() time.Duration { return 0 }))
}

// sleep lets time pass, and what is due expire.
func (s *sleeper) sleep(d time.Duration) {
	s.Helper()
	s.service.Add(int64(d))
	s.local.Add(int64(d))
	if _, err := s.engine.SweepExpired(); err != nil {
		s.Error(err)
	}
}

// A machine's monotonic clock stops while it sleeps.
func TestAgeOfAViewCountsTheTimeThatTheMachineSlept(t *testing.T) {
	t.Parallel()
	s := newSleeper(t)
	a := s.open(s.journal(s.machine), accountType(), entity.Options{})
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
