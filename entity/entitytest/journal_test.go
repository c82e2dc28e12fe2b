package entitytest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
)

// open opens accounts in a new journal.
func open(t *testing.T, options entity.Options) (*entitytest.Journal, *entity.Entities[Account, Event]) {
	t.Helper()
	j := entitytest.OpenJournal(t, registry(t))
	accounts, err := entity.Open(j.Journal, accountType(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := accounts.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return j, accounts
}

func mustDo(t *testing.T, accounts *entity.Entities[Account, Event], command command, want int) {
	t.Helper()
	if got, err := entity.Do(t.Context(), accounts, "anna", command); err != nil || got != want {
		t.Errorf("%d, %v; want %d", got, err, want)
	}
}

func TestConflict_NextWriteConflicts(t *testing.T) {
	t.Parallel()
	j, accounts := open(t, entity.Options{})
	mustDo(t, accounts, deposit(5), 5)
	j.Conflict("account|anna", Deposited{100})
	mustDo(t, accounts, deposit(1), 106)
	j.Conflict("account|anna")
	mustDo(t, accounts, deposit(1), 107)
	if conflicts := accounts.Stats().Conflicts; conflicts != 2 {
		t.Errorf("there were %d conflicts", conflicts)
	}
}

func TestConflictInACommandHappensEachTimeItIsDecided(t *testing.T) {
	t.Parallel()
	j, accounts := open(t, entity.Options{Attempts: 2})
	mustDo(t, accounts, deposit(5), 5)
	_, err := entity.Do(t.Context(), accounts, "anna", func(tx *Tx) (int, error) {
		j.Conflict("account|anna")
		return deposit(1)(tx)
	})
	if !errors.Is(err, entity.ErrContended) {
		t.Error(err)
	}
}

// The first write is a single event, and the second is an atomic write.
func TestLostResponsesLoseNoCommand(t *testing.T) {
	t.Parallel()
	j, accounts := open(t, entity.Options{})
	mustDo(t, accounts, deposit(5), 5)
	recovered := accounts.Stats().Recoveries
	stop := j.LoseResponses()
	mustDo(t, accounts, deposit(1), 6)
	mustDo(t, accounts, func(tx *Tx) (int, error) {
		tx.Record(Deposited{1}, Deposited{1})
		return tx.State().Balance, nil
	}, 8)
	stop()
	if got := accounts.Stats().Recoveries - recovered; got != 2 {
		t.Errorf("the entity has looked for its events %d times", got)
	}
	mustDo(t, accounts, deposit(1), 9)
}

func TestLostRequestsLeaveTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	j, accounts := open(t, entity.Options{})
	mustDo(t, accounts, deposit(5), 5)
	stop := j.LoseRequests()
	if _, err := entity.Do(t.Context(), accounts, "anna", deposit(1)); !errors.Is(err, entity.ErrOutcomeUnknown) {
		t.Error(err)
	}
	stop()
	mustDo(t, accounts, deposit(1), 6)
}

func TestThrottledWritesFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, accounts := open(t, entity.Options{})
		mustDo(t, accounts, deposit(5), 5)
		stop := j.Throttle()
		if _, err := entity.Do(t.Context(), accounts, "anna", deposit(1)); !errors.Is(err, dynajournal.ErrThrottled) || dynajournal.MaybeApplied(err) {
			t.Error(err)
		}
		if _, err := accounts.View(t.Context(), "anna", func(Account) error { return nil }); err != nil {
			t.Errorf("a read: %v", err)
		}
		stop()
		mustDo(t, accounts, deposit(1), 6)
	})
}

// The clock is virtual, so the delay is exact.
func TestSlow_DelaysWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, accounts := open(t, entity.Options{})
		mustDo(t, accounts, deposit(5), 5)
		stop := j.Slow(time.Second)
		start := time.Now()
		mustDo(t, accounts, deposit(1), 6)
		if took := time.Since(start); took != time.Second {
			t.Errorf("it took %v", took)
		}
		stop()
	})
}

func TestConfigurationOfTheJournalCanBeChanged(t *testing.T) {
	t.Parallel()
	j := entitytest.OpenJournal(t, registry(t), func(c *dynajournal.Config) { c.MaxItemSize = 300 })
	writer, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Append(t.Context(), Deposited{1}); err != nil {
		t.Error(err)
	}
	if _, err := writer.Append(t.Context(), make([]byte, 400)); !errors.Is(err, dynajournal.ErrRejected) {
		t.Error(err)
	}
}
