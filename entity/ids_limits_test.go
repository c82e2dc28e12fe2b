package entity_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// A process with smaller limits does not remove ids that another process remembers.
func TestLargerLimitsOfCommandIDsWin(t *testing.T) {
	t.Parallel()
	large := entity.CommandIDs{Last: 50, Period: time.Nanosecond, Most: 50}
	small := entity.CommandIDs{Last: 2, Period: time.Nanosecond, Most: 2}
	t.Run("snapshots", func(t *testing.T) {
		t.Parallel()
		b := setup(t, dynajournal.TableOptions{})
		kind := accountType()
		kind.Snapshots = entity.Snapshots{Every: 5, Keep: 1, DeleteEvents: true}
		n := 0
		for _, limits := range []entity.CommandIDs{large, small, small} {
			a, saved := saving(b, kind, entity.Options{CommandIDs: limits})
			for range 5 {
				do(t, a, "anna", deposit(1), entity.CommandID(fmt.Sprint("c-", n)))
				n++
			}
			if s := <-saved; s.Err != nil {
				t.Fatal(s.Err)
			}
		}
		for name, limits := range map[string]entity.CommandIDs{"large": large, "small": small} {
			a := b.open(b.Journal(), kind, entity.Options{CommandIDs: limits})
			for i := range n {
				wantDuplicate(t, a, fmt.Sprint("c-", i), int64(i+1))
			}
			if t.Failed() {
				t.Fatalf("limits are %s", name)
			}
		}
	})
	t.Run("states", func(t *testing.T) {
		t.Parallel()
		b := setupStates(t, dynajournal.TableOptions{})
		n := 0
		for _, limits := range []entity.CommandIDs{large, small, small} {
			s := b.counters(entity.Options{CommandIDs: limits})
			for range 5 {
				doCount(t, s, n+1, count(1), entity.CommandID(fmt.Sprint("c-", n)))
				n++
			}
		}
		s := b.counters(entity.Options{CommandIDs: small})
		for i := range n {
			_, err := entity.Do(t.Context(), s, "anna", count(1), entity.CommandID(fmt.Sprint("c-", i)))
			wantError(t, "a command that is repeated", err, entity.ErrDuplicate)
		}
	})
}

// A process uses its own limits if no larger ones are stored.
func TestSmallLimitsOfCommandIDsHoldAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := accountType()
	kind.Snapshots.Every = 2
	small := entity.CommandIDs{Last: 2, Period: time.Nanosecond, Most: 2}
	a, saved := saving(b, kind, entity.Options{CommandIDs: small})
	for i := range 4 {
		do(t, a, "anna", deposit(1), entity.CommandID(fmt.Sprint("c-", i)))
		if i%2 == 1 {
			<-saved
		}
	}
	other := b.open(b.Journal(), kind, entity.Options{CommandIDs: small})
	wantDuplicate(t, other, "c-3", 4)
	do(t, other, "anna", deposit(1), entity.CommandID("c-0"))
}
