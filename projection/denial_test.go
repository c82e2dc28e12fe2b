package projection_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// denials returns a journal, and a channel that gets the operation of each request of the journal
// that is denied.
func (b *bundle) denials() (*dynajournal.Journal, <-chan string) {
	denied := make(chan string, 1000)
	return b.Journal(func(c *dynajournal.Config) {
		c.Hooks = []dynajournal.Hook{{OnRequest: func(_ context.Context, r dynajournal.Request) {
			if !errors.Is(r.Err, dynajournal.ErrDenied) {
				return
			}
			select {
			case denied <- r.Operation:
			default:
			}
		}}}
	}), denied
}

// A policy is changed while a group runs, and changed back. The group goes on, and no persistence
// id is stuck.
func TestGroupSurvivesADenial(t *testing.T) {
	t.Parallel()
	sources := map[string]func(*bundle) projection.Config{
		"sweep": func(*bundle) projection.Config {
			config := fast()
			config.Source = projection.Sweep(projection.SweepOptions{Every: time.Millisecond, PerSecond: -1})
			return config
		},
		"streams": (*bundle).streamed,
	}
	for source, configOf := range sources {
		for _, operation := range []string{"GetItem", "BatchGetItem", "UpdateItem", "Query", "TransactWriteItems"} {
			if source == "streams" && operation == "Query" {
				continue // an event with an image is handled without one
			}
			t.Run(source+", "+operation, func(t *testing.T) {
				t.Parallel()
				b := streaming(t)
				w := b.write("a", "x")
				config := configOf(b)
				config.Attempts, config.ClaimTimeout = 1, time.Second
				j, denied := b.denials()
				start(t, group(t, j, config, projection.AtLeastOnce("all", &recorder{}),
					projection.Transactional("effects", newEffects(b, func(dynajournal.Event) error { return nil }))))
				b.await("group/all", "a", 1)
				b.await("group/effects", "a", 1)
				remove := b.inject("access-denied,operation=" + operation)
				if _, err := w.Append(t.Context(), "y"); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					if got := comes(t, "a denial", denied); got != operation {
						t.Fatalf("%s was denied", got)
					}
				}
				remove()
				b.await("group/all", "a", 2)
				b.await("group/effects", "a", 2)
			})
		}
	}
}

// A stream that may not be read for a while is read on.
func TestGroupSurvivesADeniedStream(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"DescribeStream", "GetRecords"} {
		b := streaming(t)
		w := b.write("a", "x")
		start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{})))
		b.await("group/all", "a", 1)
		b.settled()
		b.inject("access-denied,operation=" + operation + ",times=3")
		if _, err := w.Append(t.Context(), "y"); err != nil {
			t.Fatal(err)
		}
		b.await("group/all", "a", 2)
	}
}

// A policy that was never right ends the group.
func TestGroupThatIsDeniedFromTheStartEnds(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"UpdateItem", "GetItem", "Query", "DescribeStream"} {
		b := streaming(t)
		b.write("a", "x")
		g := group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{}))
		b.inject("access-denied,operation=" + operation)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := g.Run(ctx)
		cancel()
		if operation != "DescribeStream" {
			wantError(t, operation, err, dynajournal.ErrDenied)
		} else if err == nil {
			t.Errorf("%s: Run returned no error", operation)
		}
	}
}
