package projection_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

// docs/projections.md states these costs of an outbox.
func TestCostsOfAnOutbox(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts                        []projection.Option
		one, many, refused, silence dynajournal.Cost
	}{
		"at least once": {
			nil,
			dynajournal.Cost{Requests: 5, ReadUnits: 4, WriteUnits: 2},
			dynajournal.Cost{Requests: 6, ReadUnits: 8, WriteUnits: 2},
			dynajournal.Cost{Requests: 6, ReadUnits: 4, WriteUnits: 3},
			dynajournal.Cost{Requests: 3, ReadUnits: 4},
		},
		"made once": {
			[]projection.Option{outbox.MakeOnce()},
			dynajournal.Cost{Requests: 6, ReadUnits: 4, WriteUnits: 3},
			dynajournal.Cost{Requests: 105, ReadUnits: 8, WriteUnits: 101},
			dynajournal.Cost{Requests: 7, ReadUnits: 4, WriteUnits: 4},
			dynajournal.Cost{Requests: 3, ReadUnits: 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t)
				var spent costs
				box := &postbox{}
				box.answer(refuse("refused"))
				config := fast()
				config.ClaimTimeout = time.Hour
				g := group(t, b.Journal(spent.install), config, outbox.New("out", box, oneEach, c.opts...))
				w := b.write("a", "x")
				start(t, g)
				b.await("group/out", "a", 1)
				synctest.Wait() // for the end of the sweep
				measure := func(what string, want dynajournal.Cost, events ...any) {
					t.Helper()
					spent.take()
					if len(events) > 0 {
						if _, err := w.Append(t.Context(), events...); err != nil {
							t.Fatal(err)
						}
					}
					spent.ofTrigger(t, g, what, want)
				}
				measure("one", c.one, "x")
				measure("refused", c.refused, "refused")
				measure("silence", c.silence)
				many := make([]any, 99)
				for i := range many {
					many[i] = "x"
				}
				measure("many", c.many, many...)

				var operator costs
				j := b.Journal(operator.install)
				operator.take()
				id := b.letters()[0].Message.ID
				if err := outbox.SendAgain(t.Context(), j, "group/out", id); err != nil {
					t.Fatal(err)
				}
				if got, want := operator.take(), (dynajournal.Cost{Requests: 3, ReadUnits: 2, WriteUnits: 1}); got != want {
					t.Errorf("SendAgain: %+v, want %+v", got, want)
				}
				if err := outbox.Discard(t.Context(), j, "group/out", id); err != nil {
					t.Fatal(err)
				}
				if got, want := operator.take(), (dynajournal.Cost{Requests: 1, WriteUnits: 1}); got != want {
					t.Errorf("Discard: %+v, want %+v", got, want)
				}
			})
		})
	}
}
