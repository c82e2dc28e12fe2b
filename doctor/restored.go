package doctor

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// restored compares the newest snapshots of some persistence ids with the journal. A snapshot that
// is ahead of its journal means that only the journal table was restored, or that the tables do not
// belong together. Writers must not start then.
func (e *examination) restored(ctx context.Context, j *dynajournal.Journal, units *readUnits) Check {
	c := Check{Name: "restore.snapshots", Status: StatusOK}
	start, compared := units.now(), 0
	if !j.Native() && len(e.tables[e.names.journal].Indexes) == 0 {
		c.Status, c.Found = StatusUnknown, "without an index, a listing scans the table: dynajournal verify compares all persistence ids"
		return c
	}
	for pid, err := range j.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{}) {
		if err != nil {
			return failed(c.Name, "dynamodb:Query on the index "+e.idsIndex(), err)
		}
		snapshot, ok, err := j.LoadSnapshot(ctx, pid, dynajournal.SnapshotCriteria{})
		if err != nil {
			return failed(c.Name, "dynamodb:Query on "+e.names.snapshots, err)
		}
		if ok {
			bounds, err := j.Bounds(ctx, pid)
			if err != nil {
				return failed(c.Name, "dynamodb:Query on "+e.names.journal, err)
			}
			if snapshot.SequenceNumber > bounds.Highest {
				c.Status = StatusError
				c.Found = fmt.Sprintf("%q has a snapshot at %d, and the journal ends at %d", pid, snapshot.SequenceNumber, bounds.Highest)
				c.Want = "tables that belong together"
				c.Fix = "do not start writers: a table was restored alone, or is the wrong one"
				c.Docs = "operations.md#after-a-restore"
				return c
			}
		}
		if compared++; compared == sampled || units.now()-start > sampleUnits {
			break
		}
	}
	c.Found = fmt.Sprintf("the snapshots of %d persistence ids are not ahead of the journal", compared)
	return c
}
