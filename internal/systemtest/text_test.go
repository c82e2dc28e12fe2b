package systemtest

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/serialization"
)

// firstError returns the error with which a sequence ends, or nil.
func firstError[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// DynamoDB stores only text, so different ids that are not UTF-8 would become the same id.
func TestIDsThatAreNotUTF8AreRefusedByEveryCall(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, config, dynajournal.TableOptions{})
	j := openJournal(t, config)
	const pid = "a\xff"
	poll := dynajournal.Poll{}
	for name, call := range map[string]func(ctx context.Context) error{
		"Recover": func(ctx context.Context) error {
			_, err := j.Recover(ctx, pid, dynajournal.RecoverOptions{}, noHandler)
			return err
		},
		"Events":         func(ctx context.Context) error { return readError(ctx, j, pid, dynajournal.Range{}) },
		"Events of none": func(ctx context.Context) error { return readError(ctx, j, pid, dynajournal.Range{Limit: new(int64)}) },
		"Bounds": func(ctx context.Context) error {
			_, err := j.Bounds(ctx, pid)
			return err
		},
		"List": func(ctx context.Context) error {
			_, err := j.List(ctx, pid)
			return err
		},
		"Records": func(ctx context.Context) error { return firstError(j.Records(ctx, pid, dynajournal.RecordsOptions{})) },
		"PutRecords": func(ctx context.Context) error {
			_, err := j.PutRecords(ctx, pid, each(nil), dynajournal.PutRecordsOptions{})
			return err
		},
		"UpgradeEvents": func(ctx context.Context) error {
			_, err := j.UpgradeEvents(ctx, pid, dynajournal.UpgradeOptions{})
			return err
		},
		"Verify": func(ctx context.Context) error { return firstError(j.Verify(ctx, pid, dynajournal.VerifyOptions{})) },
		"Repair": func(ctx context.Context) error { return firstError(j.Repair(ctx, pid, dynajournal.VerifyOptions{})) },
		"SaveSnapshot": func(ctx context.Context) error {
			_, err := j.SaveSnapshot(ctx, dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: 1}, "x")
			return err
		},
		"CopySnapshot": func(ctx context.Context) error {
			_, err := j.CopySnapshot(ctx, dynajournal.Snapshot{SnapshotMetadata: dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: 1}})
			return err
		},
		"CopySnapshot with a manifest": func(ctx context.Context) error {
			at := dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 1, Timestamp: time.Now()}
			_, err := j.CopySnapshot(ctx, dynajournal.Snapshot{SnapshotMetadata: at, SerializerManifest: "\xff"})
			return err
		},
		"LoadSnapshot": func(ctx context.Context) error {
			_, _, err := j.LoadSnapshot(ctx, pid, dynajournal.SnapshotCriteria{})
			return err
		},
		"Snapshots": func(ctx context.Context) error {
			return firstError(j.Snapshots(ctx, pid, dynajournal.SnapshotCriteria{}))
		},
		"DeleteSnapshots": func(ctx context.Context) error {
			_, err := j.DeleteSnapshots(ctx, pid, dynajournal.SnapshotCriteria{})
			return err
		},
		"CurrentEventsByPersistenceID": func(ctx context.Context) error { return firstError(j.CurrentEventsByPersistenceID(ctx, pid, 0, 0)) },
		"EventsByPersistenceID":        func(ctx context.Context) error { return firstError(j.EventsByPersistenceID(ctx, pid, 0, 0, poll)) },
		"CurrentPersistenceIDs after": func(ctx context.Context) error {
			return firstError(j.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{After: pid}))
		},
		"CurrentPersistenceIDs with a prefix": func(ctx context.Context) error {
			return firstError(j.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Prefix: "\xff"}))
		},
		"PersistenceIDs with a prefix": func(ctx context.Context) error {
			return firstError(j.PersistenceIDs(ctx, dynajournal.IDsOptions{Prefix: "\xff"}, poll))
		},
	} {
		wantError(t, name, call(t.Context()), dynajournal.ErrInvalidArgument)
	}
}

func TestManifestsThatAreNotUTF8AreRejected(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, config, dynajournal.TableOptions{})
	j := openJournal(t, config)
	w := recoverWriter(t, j, "a", 0)
	manifest := serialization.Payload{SerializerID: 1000, Manifest: "\xff", Bytes: []byte("x")}
	_, err := w.Append(t.Context(), manifest)
	wantError(t, "Append", err, dynajournal.ErrRejected)
	_, err = j.SaveSnapshot(t.Context(), dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 1}, manifest)
	wantError(t, "SaveSnapshot", err, dynajournal.ErrRejected)
	if got := records(t, j, "a", 0); len(got) != 0 {
		t.Errorf("it has written %s", recordsText(got))
	}
}
