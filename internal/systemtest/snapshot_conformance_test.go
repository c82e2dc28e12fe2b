package systemtest

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

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
			variants[kind+" "+transport] = variant{transport, options, dynajournal.Config{MaxSnapshotBytes: testsize.Of(2, 6) * mib}}
		}
	}
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			standsForAll(t, name)
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

// largestState is how many bytes of a state fit beside the other attributes of its item, by DynamoDB's rule: names and
// values, a byte for each two digits of a number and one more.
func largestState(pid string, s journaltest.Snapshot, maxItemSize int) int {
	number := func(n int64) int { return (len(strconv.FormatInt(n, 10))+1)/2 + 1 }
	taken := len("par") + len("journal-P-") + len(pid) + len("seq") + number(s.SequenceNumber) +
		len("ts") + number(s.Timestamp.UnixMilli()) + len("pay_data") + len("ser_id") + number(4)
	if maxItemSize == 0 {
		maxItemSize = dynajournal.DefaultMaxItemSize
	}
	return maxItemSize - taken
}

// relay stands between a journal and its engine: on sends a request, or does something else.
type relay struct {
	inner aws.HTTPClient
	on    func(operation string, r *http.Request, send func() (*http.Response, error)) (*http.Response, error)
}

// Do hands a request on.
func (c *relay) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return c.on(operation, r, func() (*http.Response, error) { return c.inner.Do(r) })
}

// relayed is a configuration whose requests go through on.
func relayed(config dynajournal.Config, on func(operation string, r *http.Request, send func() (*http.Response, error)) (*http.Response, error)) dynajournal.Config {
	config.AWS.HTTPClient = &relay{config.AWS.HTTPClient, on}
	return config
}

// failure is DynamoDB's answer to a request that it refuses.
func failure(r *http.Request, code string) *http.Response {
	body := fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"as the test wants it"}`, code)
	return answerOf(r, http.StatusBadRequest, body)
}

// answerOf is an answer with the checksum that DynamoDB sends.
func answerOf(r *http.Request, status int, body string) *http.Response {
	sum := strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Crc32": {sum}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

// A partition of a table with a local index that has reached 10 GB stays full: it is no use to try again.
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
				t.Errorf("it was tried %d times, want %d", puts, want)
			}
		})
	}
}

// A writer whose snapshot is newer than the journal goes on after the snapshot, and so do all that come after it.
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

				w, replayed := recoverAfter(t, j, "a", c.snapshot)
				wantNext(t, w, c.snapshot+1)
				if replayed != 0 {
					t.Errorf("%d events were replayed, want none", replayed)
				}
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
					t.Errorf("%d events were replayed, want the 5 behind the snapshot", replayed)
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

// Two recoveries from the same snapshot beyond the journal cross each other: both go on after it, and one of them writes.
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
							crossing, _ = recoverAfter(t, other, "a", 250)
						}
					}
					return send()
				}))
				counting = true
				w, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{After: 250}, nil)
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

func recoverAfter(tb testing.TB, j *dynajournal.Journal, pid string, after int64) (w *dynajournal.Writer, replayed int) {
	tb.Helper()
	w, err := j.Recover(tb.Context(), pid, dynajournal.RecoverOptions{After: after}, func(dynajournal.Event) error {
		replayed++
		return nil
	})
	if err != nil {
		tb.Fatalf("recover %q after %d: %v", pid, after, err)
	}
	return w, replayed
}

func wantNext(tb testing.TB, w *dynajournal.Writer, want int64) {
	tb.Helper()
	if got, err := w.NextSequenceNumber(tb.Context()); err != nil || got != want {
		tb.Errorf("the writer goes on at %d, %v; want %d", got, err, want)
	}
}
