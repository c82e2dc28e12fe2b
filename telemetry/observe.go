package telemetry

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/projection"
)

// Observed is what [Telemetry.Observe] reads besides the journal.
type Observed struct {
	// Groups are groups of projections.
	Groups []*projection.Group
	// Entities are the Stats methods of entities, by the names of their types.
	Entities map[string]func() entity.Stats
}

// Observe reads the state of a journal and of what uses it at each collection of metrics. It sends
// no requests. Unregister the registration before the journal is closed.
func (t *Telemetry) Observe(journal *dynajournal.Journal, observed Observed) (metric.Registration, error) {
	var all []metric.Observable
	for _, gauge := range t.instruments.gauges {
		all = append(all, gauge)
	}
	registration, err := t.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		t.observeJournal(o, journal.Stats())
		for _, name := range slices.Sorted(maps.Keys(observed.Entities)) {
			stats, kind := observed.Entities[name](), typeOf(name)
			t.set(o, commandsWaiting, float64(stats.Waiting), kind)
			t.set(o, entitiesLoaded, float64(stats.Loaded), kind)
		}
		for _, group := range observed.Groups {
			lags := group.Lag()
			for i := range lags {
				t.observeLag(o, &lags[i])
			}
			if lags[0].ReadsStream {
				t.set(o, shardsRead, float64(lags[0].Shards), groupAttributes(lags[0].Projection)...)
			}
		}
		return nil
	}, all...)
	if err != nil {
		return nil, fmt.Errorf("register the callback: %w", err)
	}
	return registration, nil
}

// set observes the value of a gauge.
func (t *Telemetry) set(o metric.Observer, name string, value float64, attributes ...attribute.KeyValue) {
	o.ObserveFloat64(t.instruments.gauges[name], value, metric.WithAttributes(attributes...))
}

func (t *Telemetry) observeJournal(o metric.Observer, s dynajournal.Stats) {
	t.set(o, connectionsUsed, float64(s.InFlight), t.pool, attribute.String("db.client.connection.state", "used"))
	t.set(o, connectionsMax, float64(s.MaxInFlight), t.pool)
	t.set(o, connectionsWaiting, float64(s.Waiting), t.pool)
	t.set(o, readsWaiting, float64(s.WaitingReads), t.pool)
	t.set(o, groupCommitEnabled, number(s.GroupCommit == dynajournal.GroupCommitSharing), t.pool)
	if !s.ClockReadAt.IsZero() {
		t.set(o, clockSkew, s.ClockSkew.Seconds(), t.pool)
	}
}

func (t *Telemetry) observeLag(o metric.Observer, lag *projection.Lag) {
	attributes := projectionAttributes(lag.Projection)
	t.set(o, projectionLag, lag.Oldest.Seconds(), attributes...)
	t.set(o, streamLag, lag.StreamDelay.Seconds(), attributes...)
	t.set(o, debtAge, lag.OldestDebt.Seconds(), attributes...)
	t.set(o, projectionPaused, number(lag.Paused), attributes...)
	t.set(o, callsOverdue, float64(lag.Overdue), attributes...)
	t.set(o, sweepPending, number(lag.SweepPending), attributes...)
	for state, ids := range map[string]int{
		"waiting": lag.IDs, "failing": lag.Failing, "delayed": lag.Delayed, "owed": lag.Debts, "missing": lag.Missing,
	} {
		t.set(o, projectionIDs, float64(ids), append(slices.Clone(attributes), attribute.String("dynajournal.state", state))...)
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
