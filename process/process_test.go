package process_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/process"
	"github.com/dynajournal/dynajournal/projection"
)

// The process dies at each of its writes, among them the writes of the claim, of the two commands
// and of the offset. The last write is applied or not.
func TestEachCommandIsDoneOnceWhereverItsProcessDies(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{false, true} {
		for writes := range 8 {
			t.Run(fmt.Sprint(writes, applied), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				number := b.ask("a", Asked{"x", []string{"one", "two"}})
				j, m := b.process()
				m.dieAfter(writes, applied)
				stop := b.run(j, b.asking(b.open(j, entity.Options{})))
				// Or it dies:
				_ = projection.WaitFor(m.life, b.Journal.Journal, "group/asking", "a", number)
				stop()
				in := b.open(b.Journal.Journal, entity.Options{})
				b.run(b.Journal.Journal, b.asking(in))
				if err := b.await("a", number); err != nil {
					t.Fatal(err)
				}
				b.want(in, "one", "x")
				b.want(in, "two", "x")
			})
		}
	}
}

// Both processes have decided the command before one of them writes.
func TestProcess_TwoProcessesRunOneEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ask("a", Asked{"x", []string{"one"}})
	events := b.events("a")
	var both, running sync.WaitGroup
	both.Add(2)
	ins := []*boxes{b.open(b.Journal.Journal, entity.Options{}), b.open(b.Journal.Journal, entity.Options{})}
	for _, in := range ins {
		meet := sync.OnceFunc(func() { both.Done(); both.Wait() })
		p := b.asking(in, func(c *process.Config) {
			c.React = func(context.Context, dynajournal.Event) ([]process.Command, error) {
				return []process.Command{process.To(in, "one", func(tx *entity.Tx[Box, Done]) error {
					meet()
					tx.Record(Done{"x"})
					return nil
				})}, nil
			}
		})
		running.Go(func() {
			if err := p.Handle(t.Context(), events[0]); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	b.want(ins[0], "one", "x")
}

// events returns the events of a source.
func (b *bundle) events(source string) (all []dynajournal.Event) {
	b.Helper()
	_, err := b.Recover(b.Context(), source, dynajournal.RecoverOptions{}, func(event dynajournal.Event) error {
		all = append(all, event)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// Another writer is faster than each attempt of the entity. This does not count as a failure of the
// process.
func TestProcess_ConflictsAreNotFailures(t *testing.T) {
	t.Parallel()
	b := setup(t)
	number := b.ask("a", Asked{"x", []string{"one"}})
	in := b.open(b.Journal.Journal, entity.Options{Attempts: 1})
	conflicts := 3
	p := b.asking(in, func(c *process.Config) {
		c.React = func(ctx context.Context, event dynajournal.Event) ([]process.Command, error) {
			if event.PersistenceID != "a" {
				return nil, nil
			}
			return []process.Command{process.To(in, "one", func(tx *entity.Tx[Box, Done]) error {
				if conflicts--; conflicts >= 0 {
					b.Conflict("box|one", Done{fmt.Sprint("another ", conflicts)})
				}
				tx.Record(Done{"x"})
				return nil
			})}, nil
		}
	})
	b.run(b.Journal.Journal, p, func(c *projection.Config) { c.Attempts, c.StuckAfter = 1, -1 })
	if err := b.await("a", number); err != nil {
		t.Fatal(err)
	}
	b.want(in, "one", "another 2", "another 1", "another 0", "x")
}

var errFull = errors.New("the box is full")

// full returns a process whose first command is refused.
func (b *bundle) full(in *boxes, rejected func(context.Context, process.RejectionError) error) *process.Process {
	return b.asking(in, func(c *process.Config) {
		c.Rejected = rejected
		c.React = func(ctx context.Context, event dynajournal.Event) ([]process.Command, error) {
			if event.PersistenceID != "a" {
				return nil, nil
			}
			refuse := process.To(in, "one", func(*entity.Tx[Box, Done]) error { return errFull })
			return []process.Command{refuse, do(in, "two", "x")}, nil
		}
	})
}

func TestRejected_FailureOrHandled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	number := b.ask("a", Asked{})
	in := b.open(b.Journal.Journal, entity.Options{})
	stop := b.run(b.Journal.Journal, b.full(in, nil), func(c *projection.Config) { c.Attempts, c.StuckAfter = 2, -1 })
	if err := b.await("a", number); !errors.Is(err, projection.ErrStuck) || !strings.Contains(err.Error(), errFull.Error()) {
		t.Errorf("a rejection that is not handled: %v", err)
	}
	stop()
	b.want(in, "two")

	var rejections []process.RejectionError
	rejected := func(_ context.Context, r process.RejectionError) error {
		rejections = append(rejections, r)
		return nil
	}
	event := b.events("a")[0]
	if err := b.full(in, rejected).Handle(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	b.want(in, "two", "x")
	if len(rejections) != 1 || !errors.Is(&rejections[0], errFull) || rejections[0].EntityID != "one" || rejections[0].Event.PersistenceID != "a" ||
		!strings.HasPrefix(rejections[0].CommandID, "asking/1.0/0/") || !strings.Contains(rejections[0].Error(), `to "one": the box is full`) {
		t.Errorf("the rejections are %+v", rejections)
	}
	failing := func(context.Context, process.RejectionError) error { return errFull }
	if err := b.full(in, failing).Handle(t.Context(), event); !errors.Is(err, errFull) {
		t.Errorf("a rejection that can't be handled: %v", err)
	}
}

func TestProcess_EventsAfterPurge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.open(b.Journal.Journal, entity.Options{})
	stop := b.run(b.Journal.Journal, b.asking(in))
	if err := b.await("a", b.ask("a", Asked{"first", []string{"one"}})); err != nil {
		t.Fatal(err)
	}
	stop() // no process reads during the purge
	w, err := b.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
	if err == nil {
		_, err = w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.ask("a", Asked{"again", []string{"one"}}) // at the number of the first event
	last := b.ask("a", Asked{"more", []string{"one"}})
	b.run(b.Journal.Journal, b.asking(in))
	if err := b.await("a", last); err != nil {
		t.Fatal(err)
	}
	b.want(in, "one", "first", "again", "more")
}

// twice is an adapter that returns two events for each stored one.
type twice struct{}

func (twice) ToJournal(event any) (any, string, error) { return event, "", nil }

func (twice) FromJournal(stored any, _ string) ([]any, error) { return []any{stored, stored}, nil }

func TestEachEventOfAnAdapterLeadsToItsCommands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config := b.Config
	config.Adapter = twice{}
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	in := b.open(b.Journal.Journal, entity.Options{})
	number := b.ask("a", Asked{"x", []string{"one"}})
	failed := false
	p := b.asking(in)
	b.run(j, projection.HandlerFunc(func(ctx context.Context, event dynajournal.Event) error {
		err := p.Handle(ctx, event)
		if err == nil && !failed && event.PersistenceID == "a" { // both are delivered again
			failed, err = true, errFull
		}
		return err
	}))
	if err := b.await("a", number); err != nil {
		t.Fatal(err)
	}
	b.want(in, "one", "x", "x")
}

// The rule of the guide for an event that is delivered again after its command ids are forgotten.
func TestForgottenCommandIsDoneAgainUnlessTheStateKnowsIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.open(b.Journal.Journal, entity.Options{CommandIDs: entity.CommandIDs{Last: 1, Most: 1}})
	b.ask("a", Asked{"x", []string{"one"}})
	b.ask("a", Asked{"y", []string{"one"}})
	events := b.events("a")
	asking := b.asking(in, func(c *process.Config) {
		c.React = func(ctx context.Context, event dynajournal.Event) ([]process.Command, error) {
			asked, err := dynajournal.Decode[Asked](t.Context(), event)
			return []process.Command{process.To(in, "two", func(tx *entity.Tx[Box, Done]) error {
				if slices.Contains(tx.State().Done, asked.What) {
					return nil
				}
				tx.Record(Done{asked.What})
				return nil
			})}, err
		}
	})
	for _, event := range []dynajournal.Event{events[0], events[1], events[1], events[0]} {
		for _, p := range []*process.Process{b.asking(in), asking} {
			if err := p.Handle(t.Context(), event); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.want(in, "one", "x", "y", "x")
	b.want(in, "two", "x", "y")
}

func TestWrongConfigurationsAreRefused(t *testing.T) {
	t.Parallel()
	react := func(context.Context, dynajournal.Event) ([]process.Command, error) { return []process.Command{{}}, nil }
	for name, config := range map[string]process.Config{
		"no name":       {React: react},
		"a slash":       {Name: "a/b", React: react},
		"a long name":   {Name: strings.Repeat("a", 201), React: react},
		"no UTF-8":      {Name: "\xff", React: react},
		"no reaction":   {Name: "a"},
		"a NUL in name": {Name: "a\x00", React: react},
	} {
		if _, err := process.New(config); !errors.Is(err, dynajournal.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, err := process.New(process.Config{Name: "a", React: react})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Handle(t.Context(), dynajournal.Event{}); !errors.Is(err, dynajournal.ErrInvalidArgument) {
		t.Errorf("a command without entities: %v", err)
	}
	failing, err := process.New(process.Config{
		Name: "a", React: func(context.Context, dynajournal.Event) ([]process.Command, error) { return nil, errFull },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := failing.Handle(t.Context(), dynajournal.Event{}); !errors.Is(err, errFull) {
		t.Errorf("a reaction that fails: %v", err)
	}
}
