package service_test

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy/migration"
)

// migrate copies the journal into other tables, and compares it. Durable states are not copied.
func (s *service) migrate() {
	config := s.config()
	config.JournalTable, config.SnapshotTable = "copied-journal", "copied-snapshots"
	if err := dynajournal.CreateTables(context.Background(), config, dynajournal.TableOptions{}); err != nil {
		s.Fatal(err)
	}
	to := s.open(config)
	defer func() { _ = to.Close() }()
	source := migration.Current{Journal: s.auditor}
	summary, err := migration.Run(context.Background(), source, to, migration.Options{})
	if err != nil {
		s.fail("migrate: %v: %+v", err, summary)
		return
	}
	s.sum.add("persistence ids copied", int(summary.PersistenceIDs))
	compared, err := migration.Verify(context.Background(), source, to, migration.Options{})
	if err != nil || compared.Different > 0 {
		s.fail("the copy is not equal: %v: %+v", err, compared)
	}
	h := s.host(to)
	defer h.close()
	s.wantStates(h, s.things, "in the copy")
}
