package projection_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// denials returns a journal, and a channel that receives the operation of each denied request.
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

// A policy is changed while a group runs, and changed back. The group continues, and no persistence
// id is stuck.
func TestDenial_GroupContinues(t *testing.T) {
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

// A stream that a policy denies for a while is read again afterwards.
func TestDenial_StreamContinues(t *testing.T) {
	t.Parallel()
	const denials = 3
	for _, operation := range []string{"DescribeStream", "GetRecords"} {
		b := streaming(t)
		w := b.write("a", "x")
		client, requests := b.countedStreams()
		config := b.streamed()
		config.Source = projection.Streams(client, projection.StreamsOptions{
			LeaseTimeout: 300 * time.Millisecond, PerSecond: -1, Poll: time.Millisecond,
		})
		start(t, group(t, b.journal, config, projection.AtLeastOnce("all", &recorder{})))
		b.await("group/all", "a", 1)
		b.awaitQuiet()
		b.inject(fmt.Sprintf("access-denied,operation=%s,times=%d", operation, denials))
		if _, err := w.Append(t.Context(), "y"); err != nil {
			t.Fatal(err)
		}
		requests.take()
		sent := 0
		until(b, "requests after the denials", func() bool {
			sent += requests.take()[operation]
			return sent > denials+1 // one may have been sent before the fault
		})
		b.await("group/all", "a", 2)
	}
}

// The error that stops a group names the projection and the persistence id whose handler was
// denied.
func TestDenial_HandlerDeniedFromStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := group(t, b.journal, fast(), projection.AtLeastOnce("all", projection.HandlerFunc(
		func(context.Context, dynajournal.Event) error { return fmt.Errorf("ask: %w", dynajournal.ErrDenied) }))).Run(ctx)
	wantError(t, "Run", err, dynajournal.ErrDenied)
	if err != nil && !strings.Contains(err.Error(), `projection group/all of "a": ask: `) {
		t.Errorf("Run: %v", err)
	}
}

// A policy that was never right stops the group.
func TestDenial_GroupDeniedFromStart(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"UpdateItem", "GetItem", "Query", "DescribeStream"} {
		b := streaming(t)
		// Only a read shows that an atomic write is complete.
		if _, err := b.write("a").Append(t.Context(), "x", "y"); err != nil {
			t.Fatal(err)
		}
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

// A handler whose request to the journal is denied waits until it is allowed, and no persistence id
// becomes stuck: the table of the tags is not the journal's table.
func TestDenial_HandlerWaits(t *testing.T) {
	t.Parallel()
	b := tagging(t, 1)
	w := b.write("a", withTags("1", "red"))
	index := b.openTagIndex(b.journal, tagsTable)
	config := fast()
	config.Source = projection.Sweep(projection.SweepOptions{Every: time.Millisecond, PerSecond: -1})
	config.Attempts = 1
	var deny atomic.Bool
	asked := make(chan string, 1000)
	ask := func(e dynajournal.Event) error {
		if !deny.Load() {
			return nil
		}
		select {
		case asked <- e.PersistenceID:
		default:
		}
		return fmt.Errorf("ask: %w", dynajournal.ErrDenied)
	}
	e := newEffects(b, ask)
	start(t, group(t, b.journal, config, index.Projection("tags"),
		projection.AtLeastOnce("once", projection.HandlerFunc(func(_ context.Context, e dynajournal.Event) error { return ask(e) })),
		projection.Transactional("effects", e)))
	for _, name := range []string{"group/tags", "group/once", "group/effects"} {
		b.await(name, "a", 1)
	}
	deny.Store(true)
	remove := b.inject("access-denied,operation=PutItem,table=" + tagsTable)
	b.append(w, withTags("2", "red"))
	for range 10 { // five of each handler: more than Config.Attempts
		comes(t, "a handler", asked)
	}
	deny.Store(false)
	remove()
	for _, name := range []string{"group/tags", "group/once", "group/effects"} {
		b.await(name, "a", 2)
	}
}

// A group that has just started and finds nothing new has not shown that its policy is right.
func TestDenial_BeforeFirstHandledEvent(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	w := b.write("a", "x")
	stop := start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 1)
	b.awaitQuiet()
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	config := b.streamed()
	config.Source = projection.Sweep(projection.SweepOptions{Every: time.Millisecond, PerSecond: -1})
	over := make(chan error, 1)
	swept := make(chan struct{}, 1)
	config.Hooks = append(config.Hooks, projection.Hook{OnSweep: func(context.Context, projection.SweepCount) {
		select {
		case swept <- struct{}{}:
		default:
		}
	}})
	g := group(t, b.journal, config, projection.AtLeastOnce("all", &recorder{}))
	go func() { over <- g.Run(ctx) }()
	comes(t, "a sweep", swept)
	b.inject("access-denied,operation=UpdateItem")
	if _, err := w.Append(t.Context(), "y"); err != nil {
		t.Fatal(err)
	}
	wantError(t, "Run", comes(t, "the end of the group", over), dynajournal.ErrDenied)
}
