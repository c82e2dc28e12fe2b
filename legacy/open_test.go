package legacy_test

import (
	"iter"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/legacy"
)

// fixture is an engine with the table of a journal.
type fixture struct {
	testing.TB

	engine *embedded.Engine
	config legacy.Config
	table  *dynamodb.Client
}

// newFixture makes an engine with an empty table.
func newFixture(tb testing.TB, layout legacy.Layout) *fixture {
	tb.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		tb.Fatalf("open an engine: %v", err)
	}
	tb.Cleanup(func() {
		if err := engine.Close(); err != nil {
			tb.Errorf("close the engine: %v", err)
		}
	})
	config := legacy.Config{Layout: layout, Journal: dynajournal.Config{AWS: engine.AWSConfig()}}
	if err := legacy.CreateTable(tb.Context(), config); err != nil {
		tb.Fatalf("create the table: %v", err)
	}
	return &fixture{tb, engine, config, dynamodb.NewFromConfig(engine.AWSConfig())}
}

// open opens a journal.
func (b *fixture) open() *legacy.Journal {
	b.Helper()
	j, err := legacy.Open(b.Context(), b.config)
	if err != nil {
		b.Fatalf("open a journal: %v", err)
	}
	b.Cleanup(func() {
		if err := j.Close(); err != nil {
			b.Errorf("close the journal: %v", err)
		}
	})
	return j
}

// recovered recovers an id without replaying its events.
func (b *fixture) recovered(j *legacy.Journal, pid string) *legacy.Writer {
	b.Helper()
	w, err := j.Recover(b.Context(), pid, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		b.Fatalf("Recover(%q): %v", pid, err)
	}
	return w
}

// write appends n events of bytes.
func (b *fixture) write(w *legacy.Writer, n int) {
	b.Helper()
	for range n {
		if _, err := w.Append(b.Context(), []byte("event")); err != nil {
			b.Fatalf("Append: %v", err)
		}
	}
}

// deleteTo deletes a prefix.
func (b *fixture) deleteTo(w *legacy.Writer, seq int64, how legacy.Deletion) {
	b.Helper()
	if _, err := w.DeleteTo(b.Context(), seq, how); err != nil {
		b.Fatalf("DeleteTo(%d): %v", seq, err)
	}
}

// read reads the events of a window.
func (b *fixture) read(j *legacy.Journal, pid string, r dynajournal.Range) []legacy.Event {
	b.Helper()
	return b.events(j.Events(b.Context(), pid, r))
}

// events collects a sequence of events.
func (b *fixture) events(all iter.Seq2[legacy.Event, error]) []legacy.Event {
	b.Helper()
	var events []legacy.Event
	for e, err := range all {
		if err != nil {
			b.Fatalf("Events: %v", err)
		}
		events = append(events, e)
	}
	return events
}

// numbers returns the sequence numbers of events, negative for marked events.
func numbers(events []legacy.Event) []int64 {
	all := []int64{}
	for _, e := range events {
		if e.Deleted {
			e.SequenceNumber = -e.SequenceNumber
		}
		all = append(all, e.SequenceNumber)
	}
	return all
}

// bounds returns the bounds of an id.
func (b *fixture) bounds(j *legacy.Journal, pid string) dynajournal.Bounds {
	b.Helper()
	bounds, err := j.Bounds(b.Context(), pid)
	if err != nil {
		b.Fatalf("Bounds(%q): %v", pid, err)
	}
	return bounds
}
