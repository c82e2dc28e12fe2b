package entitytest

import (
	"context"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/enginetest"
	"github.com/dynajournal/dynajournal/serialization"
)

// Journal is a journal in memory that fails on demand. Failures affect the requests of everything
// that uses it.
type Journal struct {
	*dynajournal.Journal

	// Engine is the DynamoDB of the journal. Inject failures of other kinds there.
	Engine *embedded.Engine
	// Config is the configuration of the journal. Pass it to [dynajournal.Open] to get the journal
	// as another process would.
	Config dynajournal.Config

	t testing.TB
	// other is a second journal on the same tables. It writes events that Journal does not know of.
	other *dynajournal.Journal
}

// retries is how often requests are retried. A low number makes them fail soon.
const retries = 2

// operationTimeout limits the time of a throttled request, because throttling does not use up
// retries.
const operationTimeout = 2 * time.Second

// OpenJournal opens a new native journal that is closed at the end of the test. Close the entities
// before that, in a Cleanup of the test that is registered after the call. The functions in change
// modify the configuration first. By default a request is sent up to three times, without a pause.
// A throttled request fails after two seconds.
func OpenJournal(
	tb testing.TB, registry *serialization.Registry, change ...func(*dynajournal.Config),
) *Journal {
	tb.Helper()
	b := enginetest.Open(tb, enginetest.Options{Config: func(c *dynajournal.Config) {
		c.Serialization, c.Retries, c.OperationTimeout = registry, retries, operationTimeout
		for _, f := range change {
			f(c)
		}
	}})
	return &Journal{Journal: b.Journal(), Engine: b.Engine, Config: b.Config, t: tb, other: b.Journal()}
}

// Conflict lets another writer write events of a persistence id, such as "account|anna", so that
// the next write of an entity in memory finds its number taken. Without events, the other writer
// seals the number. A command that calls Conflict meets a conflict each time it is decided.
func (j *Journal) Conflict(persistenceID string, events ...any) {
	j.t.Helper()
	ctx := context.WithoutCancel(j.t.Context())
	writer, err := j.other.Recover(ctx, persistenceID, dynajournal.RecoverOptions{Latest: true}, nil)
	if err == nil && len(events) > 0 {
		_, err = writer.Append(ctx, events...)
	} else if err == nil {
		_, err = core.WriterOf(writer).CloseNext(ctx)
	}
	if err != nil {
		j.t.Fatalf("write %q as another writer: %v", persistenceID, err)
	}
}

// LoseResponses makes each write succeed but lose its response at every attempt, until stop is
// called. An entity then finds its stored events, and its commands succeed.
func (j *Journal) LoseResponses() (stop func()) {
	j.t.Helper()
	return j.inject(embedded.Fault{Effect: embedded.EffectReset, Applied: true})
}

// LoseRequests loses each write before it arrives, until stop is called. An entity can't know that
// nothing is stored: its commands fail with [entity.ErrOutcomeUnknown].
func (j *Journal) LoseRequests() (stop func()) {
	j.t.Helper()
	return j.inject(embedded.Fault{Effect: embedded.EffectReset})
}

// Throttle makes each write be throttled, until stop is called. Commands with events fail with
// [dynajournal.ErrThrottled].
func (j *Journal) Throttle() (stop func()) {
	j.t.Helper()
	return j.inject(embedded.Fault{Effect: embedded.EffectThrottling})
}

// Slow performs each write after a delay, until stop is called.
func (j *Journal) Slow(delay time.Duration) (stop func()) {
	j.t.Helper()
	return j.inject(embedded.Fault{Effect: embedded.EffectSlow, Delay: delay})
}

// inject injects a fault into all requests that write events. A lone event is a PutItem, and
// several are a BatchExecuteStatement.
func (j *Journal) inject(fault embedded.Fault) func() {
	j.t.Helper()
	var removes []func()
	for _, operation := range []string{"PutItem", "BatchExecuteStatement"} {
		fault.Operation = operation
		remove, err := j.Engine.Inject(fault)
		if err != nil {
			j.t.Fatal(err)
		}
		removes = append(removes, remove)
	}
	return func() {
		for _, remove := range removes {
			remove()
		}
	}
}
