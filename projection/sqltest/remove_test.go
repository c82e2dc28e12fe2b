package sqltest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/sqlprojection"
)

func TestRemovedProjectionLeavesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		remove := func() (int64, error) {
			return sqlprojection.RemoveOffsets(b.Context(), b.journal, b.db, b.dialect, "group/effects")
		}
		if n, err := remove(); n != 0 || err != nil {
			b.Errorf("without a table: %d, %v", n, err)
		}
		b.write("a", "x")
		two := []projection.Projection{
			sqlprojection.New("effects", b.db, b.dialect, ledger{}), sqlprojection.New("effects2", b.db, b.dialect, ledger{}),
		}
		stop := b.start(b.group(b.journal, once(), two...))
		b.await("a", 1)
		if err := sqlprojection.WaitFor(b.Context(), b.journal, b.db, b.dialect, "group/effects2", "a", 1); err != nil {
			b.Fatal(err)
		}
		if _, err := remove(); !errors.Is(err, projection.ErrInUse) {
			b.Errorf("while it runs: %v", err)
		}
		stop()
		const more = 2000 // two statements, and one that finds the rest
		var rows []string
		for i := range more {
			rows = append(rows, fmt.Sprintf("('journal', 'group/effects', 'i%d', 1, '', '')", i))
		}
		b.exec(`INSERT INTO dynajournal_offsets (journal, projection, persistence_id, seq, writer, run) VALUES ` +
			strings.Join(rows, ", "))
		if n, err := remove(); n != more+1 || err != nil {
			b.Errorf("%d, %v", n, err)
		}
		if _, err := operator.New(b.journal, "group/effects").Remove(b.Context(), operator.RemoveOptions{}); err != nil {
			b.Error(err)
		}
		var left int
		if err := b.db.QueryRowContext(b.Context(), `SELECT count(*) FROM dynajournal_offsets`).Scan(&left); left != 1 || err != nil {
			b.Errorf("%d rows are left: %v", left, err)
		}
		if _, err := sqlprojection.RemoveOffsets(b.Context(), b.journal, nil, b.dialect, "group/effects"); !errors.Is(err, dynajournal.ErrInvalidArgument) {
			b.Errorf("no database: %v", err)
		}
	})
}
