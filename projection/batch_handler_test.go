package projection_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// batches is a handler that records the numbers of each call. It fails at events that on refuses.
type batches struct {
	recorder
}

func (b *batches) HandleBatch(ctx context.Context, events []dynajournal.Event) error {
	var numbers []string
	for _, e := range events {
		numbers = append(numbers, fmt.Sprint(e.SequenceNumber))
	}
	b.note(events[0].PersistenceID, strings.Join(numbers, " "))
	for _, e := range events {
		if b.on == nil {
			continue
		}
		if err := b.on(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func TestBatchHandler_BatchEndsAtGapOrBatchSize(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.write("a", "1", "2", "3", "4", "5", "6", "7", "8")
	if _, err := w.DeleteTo(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	all, config := &batches{}, fast()
	config.BatchSize = 4
	start(t, group(t, b.journal, config, projection.AtLeastOnce("all", all)))
	b.await("group/all", "a", 8)
	want(t, "a", all.of("a"), "gap 1-2", "3 4 5 6", "7 8")
}

func TestBatchHandler_FailedBatchIsRetriedOneByOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "1", "2", "3", "4")
	var mended atomic.Bool
	all := &batches{}
	all.on = func(_ context.Context, e dynajournal.Event) error {
		if e.SequenceNumber == 3 && !mended.Load() {
			return errors.New("the event is refused")
		}
		return nil
	}
	config := fast()
	config.Attempts = 1
	g := group(t, b.journal, config, projection.AtLeastOnce("all", all))
	start(t, g)
	until(t, "the persistence id is stuck", func() bool {
		err := projection.WaitFor(t.Context(), b.journal, "group/all", "a", 4)
		return errors.Is(err, projection.ErrStuck)
	})
	want(t, "a", all.of("a"), "1 2 3 4", "1", "2", "3")
	for at, err := range operator.New(b.journal, "group/all").Stuck(t.Context()) {
		if err != nil || at.SequenceNumber != 3 {
			t.Errorf("stuck at %d, %v, want 3", at.SequenceNumber, err)
		}
	}
	mended.Store(true)
	if err := g.Resume(t.Context(), "all", "a"); err != nil {
		t.Fatal(err)
	}
	b.await("group/all", "a", 4)
	want(t, "a", all.of("a")[4:], "3 4")
}
