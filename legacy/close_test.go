package legacy_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/legacy"
)

// consumers contains all calls that run the caller's code while they read.
var consumers = map[string]func(ctx context.Context, j *legacy.Journal, code func()) error{
	"Events": func(ctx context.Context, j *legacy.Journal, code func()) error {
		for _, err := range j.Events(ctx, "a", dynajournal.Range{}) {
			if err != nil {
				return err
			}
			code()
		}
		return nil
	},
	"PersistenceIDs": func(ctx context.Context, j *legacy.Journal, code func()) error {
		for _, err := range j.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Segments: 4}) {
			if err != nil {
				return err
			}
			code()
		}
		return nil
	},
	"Recover": func(ctx context.Context, j *legacy.Journal, code func()) error {
		_, err := j.Recover(ctx, "a", dynajournal.RecoverOptions{}, func(legacy.Event) error {
			code()
			return nil
		})
		return err
	},
}

// Close returns while a consumer is busy, even if the consumer itself calls it. The consumer's next
// step returns ErrClosed. If Close waited for the consumer, the bubble would end with a deadlock.
func TestCloseDoesNotWaitForABusyConsumer(t *testing.T) {
	t.Parallel()
	for _, l := range legacy.Layouts() {
		for name, run := range consumers {
			t.Run(l.String()+", "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = engine.Close() })
					config := legacy.Config{Layout: l, Journal: dynajournal.Config{
						AWS: engine.AWSConfig(), SequenceShards: 7, MaxBatchGet: 10, ReplayParallelism: 3,
					}}
					if err := legacy.CreateTable(t.Context(), config); err != nil {
						t.Fatal(err)
					}
					open := func() *legacy.Journal {
						j, err := legacy.Open(t.Context(), config)
						if err != nil {
							t.Fatal(err)
						}
						return j
					}
					fill(t, open())
					inside := open()
					err = run(t.Context(), inside, func() {
						if err := inside.Close(); err != nil {
							t.Errorf("Close: %v", err)
						}
					})
					if !errors.Is(err, dynajournal.ErrClosed) {
						t.Errorf("closed inside, it ended with %v", err)
					}
					j, busy, goOn := open(), make(chan struct{}), make(chan struct{})
					var once sync.Once
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
					if err := j.Close(); err != nil {
						t.Errorf("Close: %v", err)
					}
					close(goOn)
					consumer.Wait()
					if !errors.Is(err, dynajournal.ErrClosed) {
						t.Errorf("closed while it was busy, it ended with %v", err)
					}
				})
			})
		}
	}
}

// fill writes 60 events of one persistence id and one event of each of some others, and closes the
// journal.
func fill(t *testing.T, j *legacy.Journal) {
	t.Helper()
	for pid, n := range map[string]int{"a": 60, "b": 1, "c": 1, "d": 1} {
		w, err := j.Recover(t.Context(), pid, dynajournal.RecoverOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			if _, err := w.Append(t.Context(), "event"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}
