// Package enginetest opens journals on an engine in memory, for the tests of other packages.
package enginetest

import (
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// Bundle is a test with an engine in memory that has the tables of a journal.
type Bundle struct {
	testing.TB

	// Engine removes expired items only when its SweepExpired is called. It is closed after the
	// test.
	Engine *embedded.Engine
	// Config opens the journal. It retries requests without a pause.
	Config dynajournal.Config
}

// Options changes the defaults of Open.
type Options struct {
	Tables dynajournal.TableOptions
	Engine []embedded.Option
	// Config changes the configuration before the tables are created. Nil changes nothing.
	Config func(*dynajournal.Config)
}

// Open opens an engine and creates the tables.
func Open(tb testing.TB, options Options) *Bundle {
	tb.Helper()
	engine, err := embedded.OpenMemory(append(options.Engine, embedded.WithSweepInterval(0))...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := engine.Close(); err != nil {
			tb.Errorf("close the engine: %v", err)
		}
	})
	b := &Bundle{tb, engine, dynajournal.Config{AWS: engine.AWSConfig(), BackoffBase: 1, BackoffCap: 1}}
	if options.Config != nil {
		options.Config(&b.Config)
	}
	if err := dynajournal.CreateTables(tb.Context(), b.Config, options.Tables); err != nil {
		tb.Fatal(err)
	}
	return b
}

// Journal opens the journal, with a changed configuration. It is closed after the test.
func (b *Bundle) Journal(change ...func(*dynajournal.Config)) *dynajournal.Journal {
	b.Helper()
	config := b.Config
	for _, f := range change {
		f(&config)
	}
	j, err := dynajournal.Open(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := j.Close(); err != nil {
			b.Errorf("close the journal: %v", err)
		}
	})
	return j
}

// Recover returns a new writer of a persistence id.
func (b *Bundle) Recover(j *dynajournal.Journal, pid string) *dynajournal.Writer {
	b.Helper()
	w, err := j.Recover(b.Context(), pid, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// Append appends events, each on its own.
func (b *Bundle) Append(w *dynajournal.Writer, events ...any) {
	b.Helper()
	for _, e := range events {
		if _, err := w.Append(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
}
