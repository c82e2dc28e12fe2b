package payloads_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/payloads"
	"github.com/dynajournal/dynajournal/serialization"
)

// slowStore calls after when a payload was put.
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

// The machine sleeps between the put of a payload and that of its event, and meanwhile the payload
// is removed as a leftover. The event is not acknowledged then.
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

// The same holds if the machine sleeps while the first request of a write waits for its response.
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
		// The high mark of so many events is put first.
		events := append([]any{large("x")}, slices.Repeat([]any{"small"}, 250)...)
		if _, err := w.Append(t.Context(), events...); !errors.Is(err, dynajournal.ErrRejected) || sleeps.Load() {
			t.Errorf("error %v, want %v", err, dynajournal.ErrRejected)
		}
		b.append(w, events...)
		b.want(1, 1) // that of the first attempt
	})
}

// A local clock that is ahead makes no leftovers of payloads of writes that are under way.
func TestClockThatIsAheadMakesNoLeftovers(t *testing.T) {
	virtual(t, func(t *testing.T) {
		began := time.Now()
		b := setup(t, func(c *dynajournal.Config) {
			core.SetClock(c, clock.New(
				func() time.Time { return time.Now().Add(25 * time.Hour) },
				func() time.Duration { return time.Since(began) },
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
