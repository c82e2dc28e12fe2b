package systemtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// consume iterates over a sequence, with the caller's code in the loop body.
func consume[T any](all iter.Seq2[T, error], code func()) error {
	for _, err := range all {
		if err != nil {
			return err
		}
		code()
	}
	return nil
}

// consumers are all calls that run the caller's code, code, while they read or write.
var consumers = map[string]func(ctx context.Context, j *dynajournal.Journal, code func()) error{
	"Events": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.Events(ctx, "long", dynajournal.Range{}), code)
	},
	"CurrentEventsByPersistenceID": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.CurrentEventsByPersistenceID(ctx, "long", 0, 0), code)
	},
	"EventsByPersistenceID": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.EventsByPersistenceID(ctx, "long", 0, 0, dynajournal.Poll{}), code)
	},
	"CurrentPersistenceIDs": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{}), code)
	},
	"CurrentPersistenceIDs, sorted": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Sorted: true}), code)
	},
	"CurrentPersistenceIDs by scan": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Scan: true}), code)
	},
	"CurrentPersistenceIDs in segments": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Scan: true, Segments: 4}), code)
	},
	"PersistenceIDs": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.PersistenceIDs(ctx, dynajournal.IDsOptions{}, dynajournal.Poll{}), code)
	},
	"Records": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.Records(ctx, "long", dynajournal.RecordsOptions{}), code)
	},
	"Pace of Records": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.Records(ctx, "long", dynajournal.RecordsOptions{Pace: paceBy(code)}), func() {})
	},
	"Snapshots": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.Snapshots(ctx, "long", dynajournal.SnapshotCriteria{}), code)
	},
	"Verify": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.Verify(ctx, "damaged-0", dynajournal.VerifyOptions{}), code)
	},
	"VerifyAll": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.VerifyAll(ctx, dynajournal.VerifyOptions{}), code)
	},
	"Progress of VerifyAll": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		return consume(j.VerifyAll(ctx, dynajournal.VerifyOptions{Progress: func(string) { code() }}), func() {})
	},
	"Recover": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		_, err := j.Recover(ctx, "long", dynajournal.RecoverOptions{}, func(dynajournal.Event) error {
			code()
			return nil
		})
		return err
	},
	"PutRecords": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		_, err := j.PutRecords(ctx, "copy", recordsAround(code), dynajournal.PutRecordsOptions{})
		return err
	},
	"Pace of PutRecords": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		_, err := j.PutRecords(ctx, "copy", recordsAround(func() {}), dynajournal.PutRecordsOptions{Pace: paceBy(code)})
		return err
	},
	"Pace of UpgradeEvents": func(ctx context.Context, j *dynajournal.Journal, code func()) error {
		_, err := j.UpgradeEvents(ctx, "long", dynajournal.UpgradeOptions{Pace: paceBy(code)})
		return err
	},
}

func paceBy(code func()) func(context.Context, dynajournal.Cost) error {
	return func(context.Context, dynajournal.Cost) error {
		code()
		return nil
	}
}

// recordsAround returns three events, with the caller's code after the second.
func recordsAround(code func()) iter.Seq2[dynajournal.Record, error] {
	return func(yield func(dynajournal.Record, error) bool) {
		for seq := range int64(3) {
			if seq == 2 {
				code()
			}
			if !yield(dynajournal.Record{Kind: dynajournal.RecordEvent, SequenceNumber: seq + 1, WriterUUID: "w", SerializerID: 4}, nil) {
				return
			}
		}
	}
}

// busyJournal creates a journal with many items of all kinds, and damage to find.
func busyJournal(t *testing.T, options dynajournal.TableOptions) dynajournal.Config {
	t.Helper()
	config := dynajournal.Config{AWS: openEngine(t, embedded.WithSweepInterval(0)).AWSConfig(), ReplayParallelism: 3}
	createTables(t, config, options)
	j := openJournal(t, config)
	w := recoverWriter(t, j, "long", 0)
	for range 8 {
		appendStrings(t, w, 100, true)
	}
	for i := range 5 {
		metadata := dynajournal.SnapshotMetadata{PersistenceID: "long", SequenceNumber: int64(i + 1)}
		if _, err := j.SaveSnapshot(t.Context(), metadata, "state"); err != nil {
			t.Fatal(err)
		}
		p := spanning(3)
		p.highs = []int64{500}
		putAll(t, dynamodb.NewFromConfig(config.AWS), p.attributes(fmt.Sprintf("damaged-%d", i), int64(j.SequenceShards())))
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	return config
}

// Close returns while a consumer is busy, and leaves no goroutine of the journal. The consumer's
// next step gets ErrClosed. If Close waited for the consumer, the bubble would end with a deadlock.
func TestCloseDoesNotWaitForABusyConsumer(t *testing.T) {
	for kind, options := range kinds {
		config := busyJournal(t, options)
		for name, run := range consumers {
			t.Run(kind+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					j := openJournal(t, config)
					busy, goOn := make(chan struct{}), make(chan struct{})
					var once sync.Once
					var err error
					var consumer sync.WaitGroup
					consumer.Go(func() {
						err = run(t.Context(), j, func() {
							once.Do(func() {
								close(busy)
								<-goOn
							})
						})
					})
					<-busy
					synctest.Wait() // until the journal has read ahead
					if err := j.Close(); err != nil {
						t.Errorf("Close: %v", err)
					}
					synctest.Wait() // until goroutines that have just ended are gone
					if n := goroutinesOf("github.com/dynajournal/dynajournal/internal/"); n > 0 {
						t.Errorf("%d goroutines of the journal are left after Close", n)
					}
					close(goOn)
					consumer.Wait()
					if !errors.Is(err, dynajournal.ErrClosed) {
						t.Errorf("it ended with %v, want %v", err, dynajournal.ErrClosed)
					}
				})
			})
		}
	}
}

// Close may be called in code that the journal has called. It returns there, and the journal's call
// ends with ErrClosed.
func TestCloseInsideOfAConsumer(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		config := busyJournal(t, options)
		for name, run := range consumers {
			t.Run(kind+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					j := openJournal(t, config)
					err := run(t.Context(), j, func() {
						if err := j.Close(); err != nil {
							t.Errorf("Close: %v", err)
						}
					})
					if !errors.Is(err, dynajournal.ErrClosed) {
						t.Errorf("it ended with %v, want %v", err, dynajournal.ErrClosed)
					}
				})
			})
		}
	}
}

// A consumer that writes to the closed journal gets ErrClosed.
func TestWriteInAConsumerOfAClosedJournal(t *testing.T) {
	t.Parallel()
	j := openJournal(t, busyJournal(t, dynajournal.TableOptions{}))
	w := recoverWriter(t, j, "other", 0)
	err := consume(j.Events(t.Context(), "long", dynajournal.Range{}), func() {
		if err := j.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if _, err := w.Append(t.Context(), "late"); !errors.Is(err, dynajournal.ErrClosed) {
			t.Errorf("Append: %v, want %v", err, dynajournal.ErrClosed)
		}
		if _, err := w.DeleteTo(t.Context(), 1); !errors.Is(err, dynajournal.ErrClosed) {
			t.Errorf("DeleteTo: %v, want %v", err, dynajournal.ErrClosed)
		}
	})
	if !errors.Is(err, dynajournal.ErrClosed) {
		t.Errorf("it ended with %v, want %v", err, dynajournal.ErrClosed)
	}
}

// A loop that is left after Close receives no more elements.
func TestLoopThatIsLeftAfterClose(t *testing.T) {
	t.Parallel()
	config := busyJournal(t, dynajournal.TableOptions{})
	leave := func(all iter.Seq2[string, error], j *dynajournal.Journal) {
		for range all {
			if err := j.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			break
		}
	}
	for _, opts := range []dynajournal.IDsOptions{{}, {Scan: true, Segments: 4}} {
		j := openJournal(t, config)
		leave(j.CurrentPersistenceIDs(t.Context(), opts), j)
	}
	j := openJournal(t, config)
	for range j.Events(t.Context(), "long", dynajournal.Range{}) {
		_ = j.Close()
		break
	}
	j = openJournal(t, config)
	for range j.VerifyAll(t.Context(), dynajournal.VerifyOptions{}) {
		_ = j.Close()
		break
	}
}

// Close among many consumers, some busy, some reading and some waiting for connections, returns and
// ends them all.
func TestCloseAmongManyConsumers(t *testing.T) {
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			config := busyJournal(t, options)
			config.MaxConnections = 4
			before := goleak.IgnoreCurrent()
			j, err := dynajournal.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			const each = 3
			goOn, started := make(chan struct{}), make(chan struct{}, 1000)
			var all sync.WaitGroup
			for name, run := range consumers {
				if name == "PutRecords" || name == "Pace of PutRecords" {
					continue // several concurrent calls would find each other's events
				}
				for n := range each {
					all.Go(func() {
						var once sync.Once
						for {
							err := run(t.Context(), j, func() {
								once.Do(func() { started <- struct{}{} })
								if n == 0 {
									<-goOn
								}
							})
							if err == nil {
								continue
							}
							if !errors.Is(err, dynajournal.ErrClosed) {
								t.Errorf("%s ended with %v, want %v", name, err, dynajournal.ErrClosed)
							}
							return
						}
					})
				}
			}
			for range len(consumers) {
				<-started
			}
			if err := j.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			close(goOn)
			all.Wait()
			if err := goleak.Find(before); err != nil {
				t.Error(err)
			}
		})
	}
}

// goroutinesOf counts the goroutines that run code of packages whose path begins with packages,
// except goroutines that run the caller's code, which is in this package.
func goroutinesOf(packages string) int {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	n := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, packages) && !strings.Contains(stack, "internal/systemtest.") {
			n++
		}
	}
	return n
}

// Close waits for the read-ahead of a busy consumer, even if a request does not end with its
// context.
func TestClose_WaitsForReadAhead(t *testing.T) {
	config := busyJournal(t, dynajournal.TableOptions{})
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		j := openJournal(t, relayed(config, func(_ string, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			if bytes.Contains(body, []byte("-P-long-2")) {
				// the first event needs the partitions 0 and 1
				<-answer
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			return send()
		}))
		busy, goOn := make(chan struct{}), make(chan struct{})
		var consumer sync.WaitGroup
		consumer.Go(func() {
			var once sync.Once
			_ = consume(j.Events(t.Context(), "long", dynajournal.Range{}), func() {
				once.Do(func() {
					close(busy)
					<-goOn
				})
			})
		})
		<-busy
		synctest.Wait() // until a page is requested ahead
		closed := make(chan error, 1)
		go func() { closed <- j.Close() }()
		synctest.Wait()
		select {
		case err := <-closed:
			t.Errorf("Close returned while a page was read ahead: %v", err)
			closed <- err
		default:
		}
		close(answer)
		if err := <-closed; err != nil {
			t.Errorf("Close: %v", err)
		}
		close(goOn)
		consumer.Wait()
	})
}
