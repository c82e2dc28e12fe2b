package systemtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// asAJVM stores events of a persistence id like the plug-in, with the high marks whose keys fit.
func asAJVM(t *testing.T, client *dynamodb.Client, pid string, events int) {
	t.Helper()
	p := &planted{model: model{items: map[int64]modelItem{}}}
	for seq := range int64(events) {
		p.plantEvent(seq+1, modelBatch{}, modelWriters[0])
	}
	for mark := int64(modelBlock); mark <= int64(events); mark += modelBlock {
		if len(fmt.Sprintf("journal-SH-%s-0", pid)) <= 2048 {
			p.highs = append(p.highs, mark)
		}
	}
	putAll(t, client, p.attributes(pid, dynajournal.DefaultSequenceShards))
}

// longID returns an id that is not a prefix of longer ids.
func longID(size int) string {
	name := fmt.Sprintf("%d-", size)
	return name + strings.Repeat("x", size-len(name))
}

// All events that a JVM can write are read, even if this package's writers refuse the persistence
// id because its later keys would exceed the limit.
func TestIDsWhoseLaterKeysWouldNotFitAreRead(t *testing.T) {
	t.Parallel()
	testsize.NeedsLong(t, "its ids are long")
	testsize.NoRace(t, "it does one thing after the other")
	for name, c := range map[string]struct {
		limit  int
		create func(t *testing.T, config dynajournal.Config)
		events map[int]int // number of events, by the length of the id
	}{
		"an index with par": {1024, func(t *testing.T, config dynajournal.Config) {
			t.Helper()
			createPlainTable(t, config, pluginIndex("par"))
		}, map[int]int{995: 250, 996: 250, 1011: 250, 1012: 250, 1013: 250, 1014: 250}},
		"an index without": {2048, func(t *testing.T, config dynajournal.Config) {
			t.Helper()
			createTables(t, config, kinds["shared"])
		}, map[int]int{1013: 3, 1014: 3, 2019: 250, 2020: 250, 2035: 250, 2036: 999}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
			client := dynamodb.NewFromConfig(config.AWS)
			c.create(t, config)
			j := openJournal(t, config)
			for size, events := range c.events {
				asAJVM(t, client, longID(size), events)
				checkLongID(t, j, longID(size), events, size <= c.limit-len("journal-SH--")-17)
			}
			for _, opts := range []dynajournal.IDsOptions{{}, {Scan: true}, {Scan: true, Segments: 3}, {Sorted: true}, {After: longID(1011)}} {
				want := 0
				for size := range c.events {
					if opts.Scan || size <= c.limit-len("journal-P--0") {
						// the index leaves out keys that do not fit
						want++
					}
				}
				checkLongIDsListed(t, j, opts, want)
			}
			for f, err := range j.VerifyAll(t.Context(), dynajournal.VerifyOptions{}) {
				// The high mark at 100 did not fit although event 100 did, as after a JVM's
				// rejection.
				if err != nil || f.Kind != dynajournal.FindingMissingHighMark {
					t.Errorf("VerifyAll: %.40s: %s %s, %v", f.PersistenceID, f.Kind, f.Detail, err)
				}
			}
			for f, err := range j.RepairAll(t.Context(), dynajournal.VerifyOptions{}) {
				if err != nil || f.Kind != dynajournal.FindingUnchecked || len(f.PersistenceID) <= c.limit-29 {
					t.Errorf("RepairAll: %.40s: %s %s, %v", f.PersistenceID, f.Kind, f.Detail, err)
				}
			}
		})
	}
}

func checkLongID(t *testing.T, j *dynajournal.Journal, pid string, events int, writable bool) {
	t.Helper()
	want := fmt.Sprintf("1-%d", events)
	if got := numbersText(numbersOf(readEvents(t, j, pid, dynajournal.Range{}))); got != want {
		t.Errorf("%.5s: Events gave %s, want %s", pid, got, want)
	}
	if got := readBounds(t, j, pid); got.Highest != int64(events) {
		t.Errorf("%.5s: Bounds gave %+v", pid, got)
	}
	listing, err := j.List(t.Context(), pid)
	if err != nil || numbersText(listing.SequenceNumbers) != want {
		t.Errorf("%.5s: List gave %s, %v", pid, numbersText(listing.SequenceNumbers), err)
	}
	if n := len(records(t, j, pid, 0)); n != events {
		t.Errorf("%.5s: Records gave %d", pid, n)
	}
	live := 0
	for _, err := range j.EventsByPersistenceID(t.Context(), pid, 0, int64(events), dynajournal.Poll{}) {
		if err != nil {
			t.Errorf("%.5s: %v", pid, err)
		}
		live++
	}
	if live != events {
		t.Errorf("%.5s: the live query gave %d events", pid, live)
	}
	for _, err := range j.Snapshots(t.Context(), pid, dynajournal.SnapshotCriteria{}) {
		if !errors.Is(err, dynajournal.ErrTableNotFound) {
			t.Errorf("%.5s: Snapshots: %v", pid, err)
		}
	}
	if !writable {
		_, err := j.Recover(t.Context(), pid, dynajournal.RecoverOptions{}, noHandler)
		wantError(t, "Recover", err, dynajournal.ErrInvalidArgument)
		_, err = j.PutRecords(t.Context(), pid, each(nil), dynajournal.PutRecordsOptions{})
		wantError(t, "PutRecords", err, dynajournal.ErrInvalidArgument)
		for _, err := range j.Repair(t.Context(), pid, dynajournal.VerifyOptions{}) {
			wantError(t, "Repair", err, dynajournal.ErrInvalidArgument)
		}
	}
}

func checkLongIDsListed(t *testing.T, j *dynajournal.Journal, opts dynajournal.IDsOptions, want int) {
	t.Helper()
	listed := 0
	for _, err := range j.CurrentPersistenceIDs(t.Context(), opts) {
		if err != nil {
			t.Errorf("%+.40v: %v", opts, err)
		}
		listed++
	}
	if opts.After == "" && listed != want {
		t.Errorf("%+v: %d ids are listed, want %d", opts, listed, want)
	}
}

func TestIDsWithoutAKeyAreRefused(t *testing.T) {
	t.Parallel()
	j := openFresh(t, kinds["shared"])
	wantError(t, "Events", readError(t.Context(), j, longID(2037), dynajournal.Range{}), dynajournal.ErrInvalidArgument)
	for _, err := range j.CurrentPersistenceIDs(t.Context(), dynajournal.IDsOptions{After: longID(2037)}) {
		wantError(t, "CurrentPersistenceIDs", err, dynajournal.ErrInvalidArgument)
	}
	for pid, err := range j.CurrentPersistenceIDs(t.Context(), dynajournal.IDsOptions{Prefix: longID(2037)}) {
		t.Errorf("CurrentPersistenceIDs gave %q, %v", pid, err)
	}
}
