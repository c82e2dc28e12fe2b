package entity_test

import (
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
)

// A machine whose clock is a day ahead does not store times that later events of other machines
// would have to follow.
func TestNow_WrongClockDoesNotStick(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{}, single)
	start := time.Now()
	config := b.Config
	core.SetClock(&config, clock.New(
		func() time.Time { return time.Now().Add(25 * time.Hour) }, func() time.Duration { return time.Since(start) },
	))
	wrong, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wrong.Close() })
	for _, journal := range []*dynajournal.Journal{wrong, b.Journal()} {
		es, err := entity.Open(journal, accountType(), entity.Options{})
		if err != nil {
			t.Fatal(err)
		}
		now, err := entity.Do(t.Context(), es, "anna", func(tx *accountTx) (time.Time, error) {
			tx.Record(Deposited{1})
			return tx.Now(), nil
		})
		if err != nil || now.After(time.Now().Add(time.Minute)) {
			t.Errorf("the time is %v, %v", now, err)
		}
		if err := es.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
