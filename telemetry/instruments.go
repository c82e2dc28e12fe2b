package telemetry

import (
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// Kind is the kind of a metric.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"
	Histogram Kind = "histogram"
	Gauge     Kind = "gauge"
)

// Metric describes a metric.
type Metric struct {
	Name        string
	Kind        Kind
	Unit        string
	Description string
}

// The names of the metrics.
const (
	operationDuration = "db.client.operation.duration"
	requestAttempts   = "dynajournal.request.attempts"
	connectionWait    = "db.client.connection.wait_time"
	capacityConsumed  = "dynajournal.capacity.consumed"
	groupCommitSize   = "dynajournal.group_commit.size"
	groupCommitWait   = "dynajournal.group_commit.wait"
	journalDuration   = "dynajournal.operation.duration"
	journalEvents     = "dynajournal.operation.events"
	numbersSealed     = "dynajournal.numbers.sealed"
	holes             = "dynajournal.holes"
	losses            = "dynajournal.losses"

	commandDuration  = "dynajournal.entity.command.duration"
	commandQueue     = "dynajournal.entity.command.queue.duration"
	commandAttempts  = "dynajournal.entity.command.attempts"
	writeDuration    = "dynajournal.entity.write.duration"
	writeCommands    = "dynajournal.entity.write.commands"
	conflicts        = "dynajournal.entity.conflicts"
	drops            = "dynajournal.entity.drops"
	recoveryDuration = "dynajournal.entity.recovery.duration"
	recoveryWait     = "dynajournal.entity.recovery.wait"
	recoveryEvents   = "dynajournal.entity.recovery.events"
	snapshotDuration = "dynajournal.entity.snapshot.duration"

	processDuration  = "messaging.process.duration"
	consumedMessages = "messaging.client.consumed.messages"
	eventAge         = "dynajournal.projection.event.age"
	becameStuck      = "dynajournal.projection.stuck"
	gaps             = "dynajournal.projection.gaps"
	purges           = "dynajournal.projection.purges"
	claims           = "dynajournal.projection.claims"
	leases           = "dynajournal.projection.leases"
	streamDuration   = "dynajournal.stream.read.duration"
	streamRecords    = "dynajournal.stream.records"
	sweeps           = "dynajournal.projection.sweeps"
	sweepIDs         = "dynajournal.projection.sweep.ids"
	sweepEvents      = "dynajournal.projection.sweep.events"
	sentMessages     = "messaging.client.sent.messages"
	sendDuration     = "messaging.client.operation.duration"

	connectionsUsed    = "db.client.connection.count"
	connectionsMax     = "db.client.connection.max"
	connectionsWaiting = "db.client.connection.pending_requests"
	readsWaiting       = "dynajournal.reads.waiting"
	groupCommitEnabled = "dynajournal.group_commit.enabled"
	clockSkew          = "dynajournal.clock.skew"
	commandsWaiting    = "dynajournal.entity.commands.waiting"
	entitiesLoaded     = "dynajournal.entity.entities.loaded"
	projectionLag      = "dynajournal.projection.lag"
	streamLag          = "dynajournal.projection.stream.lag"
	projectionIDs      = "dynajournal.projection.ids"
	debtAge            = "dynajournal.projection.debt.age"
	projectionPaused   = "dynajournal.projection.paused"
	callsOverdue       = "dynajournal.projection.calls.overdue"
	shardsRead         = "dynajournal.projection.shards"
	sweepPending       = "dynajournal.projection.sweep.pending"
)

// Metrics lists all metrics. Metrics of the kind Gauge are read by [Telemetry.Observe], all others
// are recorded by hooks.
var Metrics = []Metric{
	{operationDuration, Histogram, "s", "Duration of a request to DynamoDB, with its wait for a connection and its retries."},
	{requestAttempts, Counter, "{attempt}", "Attempts of requests to DynamoDB."},
	{connectionWait, Histogram, "s", "Wait of an attempt for a connection."},
	{capacityConsumed, Counter, "{unit}", "Capacity units that DynamoDB has reported."},
	{groupCommitSize, Histogram, "{event}", "Events of a request that writers share."},
	{groupCommitWait, Histogram, "s", "Longest wait of an event for the request that writes it, without the wait for a connection."},
	{journalDuration, Histogram, "s", "Duration of an append, a recovery, a deletion, a purge or an operation on snapshots."},
	{journalEvents, Counter, "{event}", "Events of appends and recoveries, and sequence numbers that deletions and purges have removed."},
	{numbersSealed, Counter, "{number}", "Free sequence numbers that were sealed, mostly by recoveries."},
	{holes, Counter, "{hole}", "Waits of live queries for missing sequence numbers."},
	{losses, Counter, "{loss}", "Operations that have continued past lost events or snapshots."},

	{commandDuration, Histogram, "s", "Duration of a command of an entity."},
	{commandQueue, Histogram, "s", "Time until a command was decided for the first time."},
	{commandAttempts, Histogram, "{attempt}", "Decisions of a command."},
	{writeDuration, Histogram, "s", "Duration of an attempt of a write of an entity."},
	{writeCommands, Histogram, "{command}", "Commands whose events are in a write."},
	{conflicts, Counter, "{conflict}", "Writes at which another writer was faster."},
	{drops, Counter, "{entity}", "Entities that were dropped from memory."},
	{recoveryDuration, Histogram, "s", "Duration of loading an entity, or of catching up with other writers."},
	{recoveryWait, Histogram, "s", "Wait of a recovery for Options.MaxRecoveries."},
	{recoveryEvents, Histogram, "{event}", "Events that a recovery has replayed."},
	{snapshotDuration, Histogram, "s", "Duration of saving a snapshot."},

	{processDuration, Histogram, "s", "Duration of a call of a handler of a projection."},
	{consumedMessages, Counter, "{message}", "Events in calls of handlers."},
	{eventAge, Histogram, "s", "Age of an event when its handler has returned."},
	{becameStuck, Counter, "{id}", "Persistence ids that have become stuck."},
	{gaps, Counter, "{gap}", "Ranges of events that were deleted before a projection handled them."},
	{purges, Counter, "{purge}", "Purges that a projection has handled."},
	{claims, Counter, "{claim}", "Claims of persistence ids that were waited for, taken over or lost."},
	{leases, Counter, "{lease}", "Leases of shards that were gained, taken over, lost, released or ended."},
	{streamDuration, Histogram, "s", "Duration of a read of a shard of the stream."},
	{streamRecords, Counter, "{record}", "Records of the stream that were read."},
	{sweeps, Counter, "{sweep}", "Sweeps that have ended, by result."},
	{sweepIDs, Counter, "{id}", "Persistence ids of sweeps, counted when the sweep ends."},
	{sweepEvents, Counter, "{event}", "Events that sweeps have handled, counted when the sweep ends."},
	{sentMessages, Counter, "{message}", "Messages that an outbox has passed to its target, by result."},
	{sendDuration, Histogram, "s", "Duration of passing a message of an outbox to its target."},

	{connectionsUsed, Gauge, "{connection}", "Requests that have a connection."},
	{connectionsMax, Gauge, "{connection}", "Config.MaxConnections."},
	{connectionsWaiting, Gauge, "{request}", "Requests that wait for a connection."},
	{readsWaiting, Gauge, "{operation}", "Recoveries and other reads that wait before their first request."},
	{groupCommitEnabled, Gauge, "{flag}", "1 if writers share requests, otherwise 0."},
	{clockSkew, Gauge, "s", "Time of the service minus time of this machine."},
	{commandsWaiting, Gauge, "{command}", "Commands that wait for their turn or for their events."},
	{entitiesLoaded, Gauge, "{entity}", "Entities in memory."},
	{projectionLag, Gauge, "s", "Age of the oldest trigger or debt of a projection in this process."},
	{streamLag, Gauge, "s", "Longest delay of reading a shard of the stream in this process."},
	{projectionIDs, Gauge, "{id}", "Persistence ids of a projection, by state."},
	{debtAge, Gauge, "s", "Age of the oldest debt of a projection."},
	{projectionPaused, Gauge, "{flag}", "1 if the projection is paused, otherwise 0."},
	{callsOverdue, Gauge, "{call}", "Calls of handlers that have not returned long after their contexts ended."},
	{shardsRead, Gauge, "{shard}", "Shards of the stream that a group reads in this process."},
	{sweepPending, Gauge, "{flag}", "1 if a sweep of all persistence ids was requested and is not done, otherwise 0."},
}

// buckets are the bounds of histograms in seconds. The semantic conventions recommend them for
// db.client.operation.duration.
var buckets = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10}

// ages are the bounds of the ages of events in seconds: up to a day, after which a stream loses
// records.
var ages = []float64{0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600, 3600, 21_600, 86_400}

// counts are the bounds of numbers of events, commands and attempts.
var counts = []float64{1, 2, 3, 5, 10, 25, 50, 100, 1000}

// bounds returns the bounds of a histogram.
func (m *Metric) bounds() []float64 {
	switch {
	case m.Name == eventAge:
		return ages
	case m.Unit == "s":
		return buckets
	}
	return counts
}

// instruments has an instrument for each metric, by its name.
type instruments struct {
	counters   map[string]metric.Float64Counter
	histograms map[string]metric.Float64Histogram
	gauges     map[string]metric.Float64ObservableGauge
}

// create creates the instruments of all metrics.
func (i *instruments) create(meter metric.Meter) error {
	*i = instruments{
		map[string]metric.Float64Counter{}, map[string]metric.Float64Histogram{}, map[string]metric.Float64ObservableGauge{},
	}
	for m := range Metrics {
		m := &Metrics[m]
		unit, description := metric.WithUnit(m.Unit), metric.WithDescription(m.Description)
		var err error
		switch m.Kind {
		case Counter:
			i.counters[m.Name], err = meter.Float64Counter(m.Name, unit, description)
		case Histogram:
			bounds := metric.WithExplicitBucketBoundaries(m.bounds()...)
			i.histograms[m.Name], err = meter.Float64Histogram(m.Name, unit, description, bounds)
		case Gauge:
			i.gauges[m.Name], err = meter.Float64ObservableGauge(m.Name, unit, description)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}
