package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/sqlprojection"
)

// The lag of a projection of SQL is measured by the offsets in its database, and only through its
// group.
func TestLagOfAProjectionOfSQL(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "x", "y")
		b.write("b", "x")
		config := fast()
		config.Attempts = 1
		g := b.group(b.journal, config, sqlprojection.New("effects", b.db, b.dialect, ledger{
			on: func(_ context.Context, _ *sql.Tx, e dynajournal.Event) error {
				if e.PersistenceID == "a" && e.SequenceNumber == 2 {
					return errors.New("wanted")
				}
				return nil
			},
		}))
		stop := b.start(g)
		b.await("b", 1)
		b.until("a is stuck", func() bool { return g.Lag()[0].Stuck == 1 })
		stop()
		b.write("c", "x", "y")
		measured, err := operator.MeasureLag(b.Context(), g, operator.AuditOptions{PerSecond: -1})
		if err != nil || len(measured) != 1 {
			b.Fatalf("%+v, %v", measured, err)
		}
		if m := measured[0]; m.Projection != "group/effects" || m.IDs != 2 || m.Events != 3 || m.Stuck != 1 {
			b.Errorf("measured %+v, want 3 events of 2 persistence ids, of which 1 is stuck", m)
		}
		if all, err := operator.New(b.journal, "").MeasureLag(b.Context(), operator.AuditOptions{PerSecond: -1}); err != nil || len(all) > 0 {
			b.Errorf("without the group: %+v, %v", all, err)
		}
		_, err = operator.New(b.journal, "group/effects").MeasureLag(b.Context(), operator.AuditOptions{PerSecond: -1})
		if !errors.Is(err, projection.ErrUnsupported) {
			b.Errorf("without the group, by its name: %v", err)
		}
	})
}
