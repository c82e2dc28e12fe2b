package systemtest

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// The newest snapshot has lost a part. An older snapshot must not be loaded in its place, because
// the events between them are deleted.
func TestLoadSnapshot_DamagedIsNotReplacedByOlder(t *testing.T) {
	t.Parallel()
	for _, byTime := range []bool{false, true} {
		d := openDamaged(t, dynajournal.TableOptions{}, false)
		d.write(9, false)
		d.saveSnapshot(2, 1)
		d.removeSnapshotItem(d.saveSnapshot(8, 1<<20)[3])
		d.deleteTo(8)
		config := d.config
		config.SnapshotNewestByTimestamp = byTime
		j := openJournal(t, config)

		_, found, err := j.LoadSnapshot(t.Context(), "a", dynajournal.SnapshotCriteria{})
		damaged := new(dynajournal.DamagedSnapshotError)
		if found || !errors.As(err, &damaged) || damaged.SequenceNumber != 8 || !errors.Is(err, dynajournal.ErrCorruptItem) || !strings.Contains(err.Error(), "part 2 of 3") {
			t.Errorf("by time %t: found %t, error %v, want that part 2 of the snapshot at 8 is missing", byTime, found, err)
		}
		// A caller may decide to continue with an older snapshot.
		older, found, err := j.LoadSnapshot(t.Context(), "a", dynajournal.SnapshotCriteria{MaxSequenceNumber: 7})
		if !found || err != nil || older.SequenceNumber != 2 {
			t.Errorf("by time %t: below it: %v, %t, %v, want that at 2", byTime, older.SequenceNumber, found, err)
		}
		var all []int64
		failed := 0
		for s, err := range j.Snapshots(t.Context(), "a", dynajournal.SnapshotCriteria{}) {
			all = append(all, s.SequenceNumber)
			if err != nil {
				failed++
			}
		}
		if len(all) != 2 || all[0] != 8 || all[1] != 2 || failed != 1 {
			t.Errorf("by time %t: read %v, %d of them damaged, want 8, damaged, and 2", byTime, all, failed)
		}
	}
}

func TestRecoveryBelowTheLowMarkReportsIt(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(9, false)
	d.deleteTo(6)
	var log bytes.Buffer
	config := d.config
	config.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	j := openJournal(t, config)
	for after, want := range map[int64]string{0: "level=DEBUG", 5: "level=WARN", 6: "", 9: ""} {
		log.Reset()
		w := recoverWriter(t, j, "a", after)
		if w.DeletedTo() != 6 {
			t.Errorf("after %d: deleted to %d, want 6", after, w.DeletedTo())
		}
		var reported string
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, "msg=request") {
				reported += line
			}
		}
		if (reported == "") != (want == "") || !strings.Contains(reported, want) || want != "" && !strings.Contains(reported, "deleted_to=6") {
			t.Errorf("after %d: logged %q, want %s", after, reported, want)
		}
	}
}
