package sqltest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/dynajournal/dynajournal/projection/sqlprojection"
)

// Many processes start at once, and the table does not exist.
func TestTableIsMadeByManyAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "x", "y")
		var start sync.WaitGroup
		start.Add(1)
		for range 8 {
			g := b.group(b.journal, once(), sqlprojection.New("effects", b.connect(b.source), b.dialect, ledger{}))
			ctx, cancel := context.WithCancel(context.Background())
			over := make(chan error, 1)
			go func() {
				start.Wait()
				over <- g.Run(ctx)
			}()
			b.Cleanup(func() {
				cancel()
				if err := <-over; err != nil {
					b.Errorf("Run: %v", err)
				}
			})
		}
		start.Done()
		b.await("a", 2)
		b.wantEffects("a", "1 x", "2 y")
	})
}

func TestForeignTableIsAnError(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.exec(`CREATE TABLE dynajournal_offsets (name text)`)
		g := b.group(b.journal, once(), sqlprojection.New("effects", b.db, b.dialect, ledger{}))
		if err := g.Run(b.Context()); !errors.Is(err, sqlprojection.ErrNoOffsetsTable) {
			b.Errorf("Run: %v", err)
		}
	})
}

// A program without the permission to create tables runs with a table that was created for it.
func TestTableIsMadeByAnother(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	b.write("a", "x")
	_, schema, _ := strings.Cut(b.source, "search_path=")
	role := "role_" + schema
	b.exec(`CREATE ROLE ` + role + ` LOGIN`)
	b.exec(`GRANT USAGE ON SCHEMA ` + schema + ` TO ` + role)
	b.exec(`GRANT SELECT, INSERT ON effects TO ` + role)
	db := b.connect(strings.Replace(b.source, "user=admin", "user="+role, 1))
	g := b.group(b.journal, once(), sqlprojection.New("effects", db, b.dialect, ledger{}))
	if err := g.Run(t.Context()); !errors.Is(err, sqlprojection.ErrNoOffsetsTable) || !strings.Contains(err.Error(), "42501") {
		t.Errorf("Run without the permission: %v", err)
	}
	b.exec(b.dialect.OffsetsTable())
	b.exec(`GRANT SELECT ON dynajournal_offsets TO ` + role)
	if err := g.Run(t.Context()); !errors.Is(err, sqlprojection.ErrNoOffsetsTable) || !strings.Contains(err.Error(), "42501") {
		t.Errorf("Run without the permission to insert: %v", err)
	}
	b.exec(`GRANT INSERT, UPDATE ON dynajournal_offsets TO ` + role)
	b.start(g)
	b.await("a", 1)
	b.wantEffects("a", "1 x")
}

// A damaged offset makes its persistence id stuck, with an error that reports it.
func TestDamagedOffsetIsAnError(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "x")
		b.write("b", "x")
		stop := b.start(b.group(b.journal, once(), sqlprojection.New("effects", b.db, b.dialect, ledger{})))
		b.await("a", 1)
		stop()
		b.exec(`UPDATE dynajournal_offsets SET seq = -7 WHERE persistence_id = 'a'`)
		b.write("b", "y")
		g := b.run(once(), ledger{})
		b.await("b", 2)
		if err := b.wait("a", 2); err == nil || !strings.Contains(err.Error(), "damaged") {
			b.Errorf("WaitFor: %v", err)
		}
		if err := g.Resume(b.Context(), "effects", "a"); err == nil || !strings.Contains(err.Error(), "damaged") {
			b.Errorf("Resume: %v", err)
		}
		b.exec(`UPDATE dynajournal_offsets SET seq = 1 WHERE persistence_id = 'a'`)
		if err := g.Resume(b.Context(), "effects", "a"); err != nil {
			b.Errorf("Resume: %v", err)
		}
		b.wantEffects("a", "1 x")
	})
}

// A restored database has the effects of its offsets, and gets the later events again.
func TestRestoredDatabaseGetsTheEventsAgain(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "x", "y")
		stop := b.start(b.group(b.journal, once(), sqlprojection.New("effects", b.db, b.dialect, ledger{})))
		b.await("a", 2)
		stop()
		for _, table := range []string{"effects", "dynajournal_offsets"} {
			b.exec(fmt.Sprintf(`CREATE TABLE backup_%[1]s AS SELECT * FROM %[1]s`, table))
		}
		b.write("a", "z")
		b.write("b", "x")
		stop = b.start(b.group(b.journal, once(), sqlprojection.New("effects", b.db, b.dialect, ledger{})))
		b.await("a", 3)
		b.await("b", 1)
		stop()
		for _, table := range []string{"effects", "dynajournal_offsets"} {
			b.exec(fmt.Sprintf(`DELETE FROM %[1]s`, table))
			b.exec(fmt.Sprintf(`INSERT INTO %[1]s SELECT * FROM backup_%[1]s`, table))
		}
		b.wantEffects("a", "1 x", "2 y")
		b.run(once(), ledger{})
		b.await("a", 3)
		b.await("b", 1)
		b.wantEffects("a", "1 x", "2 y", "3 z")
		b.wantEffects("b", "1 x")
	})
}
