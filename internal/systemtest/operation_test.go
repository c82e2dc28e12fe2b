package systemtest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// TestArgumentsAreCheckedBeforeAnythingElse calls operations on a closed journal. With wrong
// arguments they must name the argument, with correct arguments report that the journal is closed.
func TestArgumentsAreCheckedBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t, embedded.WithSweepInterval(0)).AWSConfig()}
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	w, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	const none = "" // not a persistence id
	operations := map[string]func(ctx context.Context, pid string) error{
		"Recover": func(ctx context.Context, pid string) error {
			_, err := j.Recover(ctx, pid, dynajournal.RecoverOptions{}, nil)
			return err
		},
		"Bounds": func(ctx context.Context, pid string) error { _, err := j.Bounds(ctx, pid); return err },
		"List":   func(ctx context.Context, pid string) error { _, err := j.List(ctx, pid); return err },
		"Events": func(ctx context.Context, pid string) error {
			for _, err := range j.Events(ctx, pid, dynajournal.Range{}) {
				return err
			}
			return nil
		},
		"Records": func(ctx context.Context, pid string) error {
			for _, err := range j.Records(ctx, pid, dynajournal.RecordsOptions{}) {
				return err
			}
			return nil
		},
		"PutRecords": func(ctx context.Context, pid string) error {
			_, err := j.PutRecords(ctx, pid, func(func(dynajournal.Record, error) bool) {}, dynajournal.PutRecordsOptions{})
			return err
		},
		"UpgradeEvents": func(ctx context.Context, pid string) error {
			_, err := j.UpgradeEvents(ctx, pid, dynajournal.UpgradeOptions{})
			return err
		},
		"SaveSnapshot": func(ctx context.Context, pid string) error {
			_, err := j.SaveSnapshot(ctx, dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: 1}, "state")
			return err
		},
		"LoadSnapshot": func(ctx context.Context, pid string) error {
			_, _, err := j.LoadSnapshot(ctx, pid, dynajournal.SnapshotCriteria{})
			return err
		},
		"DeleteSnapshots": func(ctx context.Context, pid string) error {
			_, err := j.DeleteSnapshots(ctx, pid, dynajournal.SnapshotCriteria{})
			return err
		},
		"DeleteTo": func(ctx context.Context, pid string) error {
			to := int64(1)
			if pid == none {
				to = -1
			}
			_, err := w.DeleteTo(ctx, to)
			return err
		},
	}
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		if err := operations[name](t.Context(), none); !errors.Is(err, dynajournal.ErrInvalidArgument) {
			t.Errorf("%s with a wrong argument: %v, want ErrInvalidArgument", name, err)
		}
		if err := operations[name](t.Context(), "a"); !errors.Is(err, dynajournal.ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", name, err)
		}
	}
}
