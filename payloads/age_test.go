package payloads_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/payloads"
	"github.com/dynajournal/dynajournal/serialization"
)

// slowStore calls after each time a payload was put.
type slowStore struct {
	*payloads.Memory

	after func()
}

func (s *slowStore) Put(ctx context.Context, key string, data []byte) error {
	err := s.Memory.Put(ctx, key, data)
	if s.after != nil {
		s.after()
	}
	return err
}

// The machine sleeps after it has put a payload and before it puts the event. Meanwhile the payload
// is removed as a leftover. The event is not acknowledged.
func TestEventWhosePayloadIsTooOldIsRejected(t *testing.T) {
	virtual(t, func(t *testing.T) {
		store := &slowStore{Memory: &payloads.Memory{}}
		b := setup(t, func(c *dynajournal.Config) {
			c.Serialization = serialization.NewRegistry(serialization.External(store, 1000))
		})
		b.store = store.Memory
		w := b.recover("a")
		store.after = func() {
			time.Sleep(25 * time.Hour)
			b.want(1, 0) // removes it
		}
		if _, err := w.Append(t.Context(), large("x")); !errors.Is(err, dynajournal.ErrRejected) {
			t.Errorf("error %v, want %v", err, dynajournal.ErrRejected)
		}
		store.after = nil
		b.append(w, large("x"))
		b.want(0, 1)
	})
}

// The same applies if the machine sleeps while the first request of a write waits for its response.
func TestPayloadThatHasBecomeTooOldIsRejected(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var sleeps atomic.Bool
		b := setup(t, func(c *dynajournal.Config) {
			c.Hooks = append(c.Hooks, dynajournal.Hook{OnRequest: func(_ context.Context, r dynajournal.Request) {
				if r.Operation == "PutItem" && sleeps.CompareAndSwap(true, false) {
					time.Sleep(40 * time.Minute)
				}
			}})
		})
		w := b.recover("a")
		sleeps.Store(true)
		// With this many events, a high mark is put first.
		events := append([]any{large("x")}, slices.Repeat([]any{"small"}, 250)...)
		if _, err := w.Append(t.Context(), events...); !errors.Is(err, dynajournal.ErrRejected) || sleeps.Load() {
			t.Errorf("error %v, want %v", err, dynajournal.ErrRejected)
		}
		b.append(w, events...)
		b.want(1, 1) // the payload of the first attempt
	})
}

// sleepy returns a bundle whose machine sleeps, once sleeps is set, after it has put a payload and
// before it puts the item that refers to the payload. Meanwhile all leftovers are removed.
func sleepy(t *testing.T) (b *bundle, sleeps *atomic.Bool) {
	t.Helper()
	store := &slowStore{Memory: &payloads.Memory{}}
	b = setup(t, func(c *dynajournal.Config) {
		c.Serialization = serialization.NewRegistry(serialization.External(store, 1000))
	})
	b.store, sleeps = store.Memory, new(atomic.Bool)
	store.after = func() {
		if sleeps.CompareAndSwap(true, false) {
			time.Sleep(25 * time.Hour)
			b.remove(b.leftovers())
		}
	}
	return b, sleeps
}

// The machine sleeps after it has put a payload and before it puts the snapshot that refers to the
// payload. The snapshot is not saved.
func TestSnapshotWhosePayloadIsTooOldIsRejected(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b, sleeps := sleepy(t)
		metadata := dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 1}
		sleeps.Store(true)
		if _, err := b.journal.SaveSnapshot(t.Context(), metadata, large("x")); !errors.Is(err, dynajournal.ErrRejected) {
			t.Errorf("error %v, want %v", err, dynajournal.ErrRejected)
		}
		if _, ok, err := b.journal.LoadSnapshot(t.Context(), "a", dynajournal.SnapshotCriteria{}); ok || err != nil {
			t.Errorf("a snapshot is saved, error %v", err)
		}
		if _, err := b.journal.SaveSnapshot(t.Context(), metadata, large("x")); err != nil {
			t.Error(err)
		}
		b.want(0, 1)
	})
}

// The same applies to a durable state, and its entity continues.
func TestStateWhosePayloadIsTooOldIsRejected(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b, sleeps := sleepy(t)
		drafts, err := entity.OpenStates(b.journal, entity.StateType[string]{Name: "draft"}, entity.Options{})
		if err != nil {
			t.Fatal(err)
		}
		add := func(tx *entity.Tx[string, string]) (int, error) {
			tx.Record(tx.State() + large("x"))
			return len(tx.State()), nil
		}
		sleeps.Store(true)
		if _, err := entity.Do(t.Context(), drafts, "a", add); !errors.Is(err, dynajournal.ErrRejected) {
			t.Errorf("error %v, want %v", err, dynajournal.ErrRejected)
		}
		if long, err := entity.Do(t.Context(), drafts, "a", add); err != nil || long != len(large("x")) {
			t.Errorf("the state has %d bytes, %v", long, err)
		}
		if err := drafts.Close(t.Context()); err != nil {
			t.Error(err)
		}
		b.want(0, 1)
	})
}

// An entity deletes events after each snapshot, and the machine sleeps while it puts the payload of
// a snapshot. No event that the state needs is deleted.
func TestSnapshot_PayloadTooOldRetainsEvents(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b, sleeps := sleepy(t)
		notes := entity.Type[string, string]{
			Name: "note", Evolve: func(state, event string) string { return state + event },
			Snapshots: entity.Snapshots{Every: 2, Keep: 1, DeleteEvents: true},
		}
		for n := 1; n <= 12; n++ {
			hosted, err := entity.Open(b.journal, notes, entity.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sleeps.Store(n == 8)
			long, err := entity.Do(t.Context(), hosted, "a", func(tx *entity.Tx[string, string]) (int, error) {
				tx.Record(strings.Repeat("x", 500))
				return len(tx.State()), nil
			})
			if err != nil || long != n*500 {
				t.Fatalf("the state after %d commands has %d bytes, %v", n, long, err)
			}
			if err := hosted.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A local clock that is ahead does not turn the payloads of writes in flight into leftovers.
func TestLeftovers_LocalClockAhead(t *testing.T) {
	virtual(t, func(t *testing.T) {
		start := time.Now()
		b := setup(t, func(c *dynajournal.Config) {
			core.SetClock(c, clock.New(
				func() time.Time { return time.Now().Add(25 * time.Hour) },
				func() time.Duration { return time.Since(start) },
			))
		})
		if _, err := b.Config.Serialization.Encode(t.Context(), large("x")); err != nil {
			t.Fatal(err)
		}
		found, err := payloads.Leftovers(t.Context(), b.journal, b.store, payloads.Options{})
		if err != nil || len(found.Leftovers) != 0 || found.Young != 1 {
			t.Errorf("%+v, %v", found, err)
		}
	})
}
