package systemtest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/journaltest"
)

func TestSnapshotsConform(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	type variant struct {
		transport string
		options   dynajournal.TableOptions
		config    dynajournal.Config
	}
	variants := map[string]variant{
		"envelopes":  {"in process", dynajournal.TableOptions{}, dynajournal.Config{OldSnapshotFormat: true}},
		"compressed": {"in process", dynajournal.TableOptions{}, dynajournal.Config{SnapshotCompression: true}},
		"small items": {"in process", dynajournal.TableOptions{}, dynajournal.Config{
			MaxItemSize: 2000, MaxSnapshotBytes: 100_000,
		}},
		"small items, newest by timestamp": {"in process", dynajournal.TableOptions{}, dynajournal.Config{
			MaxItemSize: 2000, MaxSnapshotBytes: 100_000, SnapshotNewestByTimestamp: true,
		}},
		"small items, compressed": {"in process", dynajournal.TableOptions{}, dynajournal.Config{
			MaxItemSize: 2000, MaxSnapshotBytes: 100_000, SnapshotCompression: true,
		}},
		"small states": {"in process", dynajournal.TableOptions{}, dynajournal.Config{MaxSnapshotBytes: 10_000}},
	}
	for transport := range transports {
		for kind, options := range kinds {
			config := dynajournal.Config{MaxSnapshotBytes: 6 * mib}
			if !testsize.Long {
				if !options.SharedWithJVM {
					continue // its snapshots are stored in the same way
				}
				config.MaxItemSize, config.MaxSnapshotBytes = 40_000, mib/4
			}
			variants[kind+" "+transport] = variant{transport, options, config}
		}
	}
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			skipVariant(t, name)
			t.Parallel()
			suite := journaltest.SnapshotSuite{
				Open: func(tb testing.TB) journaltest.SnapshotStore {
					tb.Helper()
					config := v.config
					config.AWS = transports[v.transport](tb, openEngine(tb))
					createTables(tb, config, v.options)
					return func(tb testing.TB) journaltest.Snapshots {
						tb.Helper()
						return journaltest.AdaptSnapshots(openJournal(tb, config))
					}
				},
				NewestByTimestamp: v.config.SnapshotNewestByTimestamp,
				Largest:           v.config.MaxSnapshotBytes,
			}
			if !v.config.OldSnapshotFormat && !v.config.SnapshotCompression && (suite.Largest == 0 || suite.Largest > 2*dynajournal.DefaultMaxItemSize || v.config.MaxItemSize != 0) {
				suite.Border = func(pid string, s journaltest.Snapshot) int {
					return largestState(pid, s, v.config.MaxItemSize)
				}
			}
			journaltest.RunSnapshots(t, suite)
		})
	}
}

// An item collection of a table with a local index stays full when it has reached 10 GB, so retries
// do not help.
func TestFullItemCollectionIsPermanent(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 10, "split": dynajournal.DefaultMaxItemSize} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig(), ReplayParallelism: 1}
			createTables(t, config, dynajournal.TableOptions{SharedWithJVM: true})
			puts := 0
			j := openJournal(t, relayed(config, func(operation string, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				if operation != "PutItem" {
					return send()
				}
				puts++
				return failure(r, "ItemCollectionSizeLimitExceededException"), nil
			}))
			_, err := j.SaveSnapshot(t.Context(), dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 1}, make([]byte, size))
			if !errors.Is(err, dynajournal.ErrCollectionFull) || !strings.Contains(err.Error(), "10 GB") || !strings.Contains(err.Error(), dynajournal.DefaultSnapshotTable) {
				t.Errorf("got %v, want ErrCollectionFull that names limit and table", err)
			}
			if want := 1; puts != want {
				t.Errorf("%d attempts, want %d", puts, want)
			}
		})
	}
}

// A writer whose snapshot is newer than the journal continues after the snapshot, and so do all
// later writers.
func TestSnapshotBeyondTheJournal(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		for _, c := range []struct{ highest, snapshot int64 }{
			{0, 1}, {0, 5}, {0, 250}, {5, 6}, {5, 98}, {5, 99}, {5, 100}, {5, 250}, {98, 99}, {99, 100}, {99, 250}, {100, 101}, {205, 1000}, {205, 5_000_000},
		} {
			t.Run(fmt.Sprintf("%s, a snapshot at %d of a journal that ends at %d", kind, c.snapshot, c.highest), func(t *testing.T) {
				t.Parallel()
				config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
				createTables(t, config, options)
				j := openJournal(t, config)
				stale := recoverWriter(t, j, "a", 0)
				appendStrings(t, stale, int(c.highest), false)

				w := loseJournal(t, j, "a", c.snapshot)
				wantNext(t, w, c.snapshot+1)
				if b, err := j.Bounds(t.Context(), "a"); err != nil || b.Lowest != c.snapshot+1 || b.Highest != c.snapshot {
					t.Errorf("the bounds are %+v, %v; want %d to %d", b, err, c.snapshot+1, c.snapshot)
				}
				if _, err := stale.Append(t.Context(), "late"); !errors.Is(err, dynajournal.ErrWriterConflict) {
					t.Errorf("the stale writer got %v, want ErrWriterConflict", err)
				}
				for _, after := range []int64{0, c.snapshot} {
					again, replayed := recoverAfter(t, j, "a", after)
					wantNext(t, again, c.snapshot+1)
					if replayed != 0 {
						t.Errorf("after %d, %d events were replayed, want none", after, replayed)
					}
				}
				appendStrings(t, w, 2, false)
				appendStrings(t, w, 3, true)
				again, replayed := recoverAfter(t, j, "a", c.snapshot)
				wantNext(t, again, c.snapshot+6)
				if replayed != 5 {
					t.Errorf("%d events were replayed, want the 5 after the snapshot", replayed)
				}
				again, replayed = recoverAfter(t, openJournal(t, config), "a", 0)
				wantNext(t, again, c.snapshot+6)
				if replayed != 5 {
					t.Errorf("%d events were replayed without the snapshot, want 5", replayed)
				}
				if got := listIDs(t, j, dynajournal.IDsOptions{}); !slices.Equal(got, []string{"a"}) {
					t.Errorf("listed are %q, want a", got)
				}
			})
		}
	}
}

// Two recoveries from the same snapshot beyond the journal overlap. Both continue after it, and one
// of them writes.
func TestSnapshotBeyondTheJournalTwiceAtOnce(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
				createTables(t, config, options)
				other := openJournal(t, config)
				appendStrings(t, recoverWriter(t, other, "a", 0), 3, false)
				requests := 0
				var crossing *dynajournal.Writer
				counting := false
				j := openJournal(t, relayed(config, func(operation string, _ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
					if counting && operation == "PutItem" {
						if requests++; requests == at {
							crossing = loseJournal(t, other, "a", 250)
						}
					}
					return send()
				}))
				counting = true
				w, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{Snapshot: 250, JournalLost: true}, nil)
				if requests < at {
					return
				}
				if err != nil {
					t.Errorf("crossed at put %d: Recover: %v", at, err)
					continue
				}
				wantNext(t, w, 251)
				wantNext(t, crossing, 251)
				_, first := w.Append(t.Context(), "one")
				_, second := crossing.Append(t.Context(), "two")
				if first != nil || !errors.Is(second, dynajournal.ErrWriterConflict) {
					t.Errorf("crossed at put %d: the appends got %v and %v, want success and a conflict", at, first, second)
				}
			}
		})
	}
}
