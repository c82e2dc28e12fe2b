package entity

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/dynajournal/dynajournal/entity/internal/kit"
	"github.com/dynajournal/dynajournal/internal/commandids"
	"github.com/dynajournal/dynajournal/internal/core"
)

// Options are the options of [Open]. The zero value has the defaults.
type Options struct {
	// Attempts limits how often a command is decided if other writers of its entity are faster each
	// time. After that the command fails with [ErrContended].
	//
	// At least 1. Defaults to 5.
	Attempts int

	// CommandIDs limits how many command ids are remembered.
	CommandIDs CommandIDs

	// Hooks are called in order when something happens. Use them for metrics and traces.
	//
	// Defaults to none.
	Hooks []Hook

	// IdleTimeout is how long an entity stays in memory after its last use, unless MaxEntities is
	// exceeded. It can stay up to a quarter longer.
	//
	// A negative timeout retains entities until MaxEntities is exceeded. Defaults to 10 minutes.
	IdleTimeout time.Duration

	// Join limits how commands share a write.
	Join Join

	// Logger receives the log records.
	//
	// Defaults to the journal's.
	Logger *slog.Logger

	// MaxEntities is the number of entities to retain in memory. Above it, one of the least
	// recently used idle entities is dropped. Entities in use are not dropped.
	//
	// At least 1. Defaults to 100,000.
	MaxEntities int

	// MaxRecoveries is the number of entities that are loaded at the same time. Others wait.
	//
	// At least 1. Defaults to 50.
	MaxRecoveries int

	// MaxWaiting is the number of commands that may wait for one entity. Further commands fail with
	// [ErrBusy].
	//
	// At least 1. Defaults to 10,000.
	MaxWaiting int

	// Metadata returns the metadata to store with each event of a command, such as a trace context
	// or a tenant. ctx is the context of the command. The journal must store metadata: see
	// Config.EventMetadata.
	//
	// Defaults to none.
	Metadata func(ctx context.Context) map[string]string

	// RecoveryTimeout limits how long loading an entity may take, not counting the wait for
	// MaxRecoveries. After it, the calls that wait for the entity fail with [ErrRecoveryTimeout];
	// the next call tries again. It also limits how long saving a snapshot may take.
	//
	// Defaults to 30 seconds.
	RecoveryTimeout time.Duration
}

// CommandIDs limits the command ids that an entity remembers to recognize repeated commands: the
// last Last ids, and all ids of the last Period, but at most Most.
//
// The limits are stored with the ids in snapshots and durable states. If processes have different
// limits, the larger limits apply from the next snapshot on, until the entity is purged. So a
// process with smaller limits removes no ids, and lowering the limits does not affect entities
// whose stored limits are larger.
type CommandIDs struct {
	// Last is from 1 to 1,000,000. Defaults to 1,000.
	Last int
	// Period must not be negative. Defaults to 10 minutes.
	Period time.Duration
	// Most is from Last to 1,000,000. Defaults to 10,000, or to Last if that is larger.
	Most int
}

// Join limits how commands share a write. While a write is in flight, further commands are decided,
// and their events are sent together as one atomic write.
type Join struct {
	// Mode selects whether commands share writes.
	//
	// Defaults to JoinAuto.
	Mode JoinMode
	// Events and Bytes limit a write that commands share. A command that exceeds them gets a write
	// of its own. Bytes counts payloads and metadata.
	//
	// Default to 100 events and 1,000,000 bytes.
	Events, Bytes int
}

// JoinMode selects whether commands share writes.
type JoinMode int

const (
	// JoinAuto lets commands share writes in a native journal, but not in a journal that is shared
	// with a JVM: if a JVM deletes a part of an atomic write, it no longer shows the rest, which
	// could be events of another command.
	JoinAuto JoinMode = iota
	// JoinOn lets commands share writes even in a journal that is shared with a JVM. A JVM must
	// then delete only up to the end of a write.
	JoinOn
	// JoinOff gives each command a write of its own.
	JoinOff
)

// The defaults of options.
const (
	defaultAttempts        = 5
	defaultIDs             = 1000
	defaultIDPeriod        = 10 * time.Minute
	defaultMostIDs         = 10_000
	defaultIdleTimeout     = 10 * time.Minute
	defaultJoinEvents      = 100
	defaultJoinBytes       = 1_000_000
	defaultMaxEntities     = 100_000
	defaultMaxRecoveries   = 50
	defaultMaxWaiting      = 10_000
	defaultRecoveryTimeout = 30 * time.Second
)

// complete checks the options, and fills in the defaults.
func (o *Options) complete(journal *core.Journal, native bool) error {
	for _, field := range []struct {
		name         string
		value        *int
		otherwise    int
		lowest, most int
	}{
		{"Options.Attempts", &o.Attempts, defaultAttempts, 1, math.MaxInt32},
		{"CommandIDs.Last", &o.CommandIDs.Last, defaultIDs, 1, commandids.Most},
		{"CommandIDs.Most", &o.CommandIDs.Most, max(defaultMostIDs, o.CommandIDs.Last), max(1, o.CommandIDs.Last), commandids.Most},
		{"Join.Events", &o.Join.Events, defaultJoinEvents, 1, math.MaxInt32},
		{"Join.Bytes", &o.Join.Bytes, defaultJoinBytes, 1, math.MaxInt32},
		{"Options.MaxEntities", &o.MaxEntities, defaultMaxEntities, 1, math.MaxInt32},
		{"Options.MaxRecoveries", &o.MaxRecoveries, defaultMaxRecoveries, 1, math.MaxInt32},
		{"Options.MaxWaiting", &o.MaxWaiting, defaultMaxWaiting, 1, math.MaxInt32},
	} {
		if *field.value == 0 {
			*field.value = field.otherwise
		}
		if *field.value < field.lowest || *field.value > field.most {
			return argument(field.name, *field.value, "it is out of bounds")
		}
	}
	for _, field := range []struct {
		name      string
		value     *time.Duration
		otherwise time.Duration
	}{
		{"CommandIDs.Period", &o.CommandIDs.Period, defaultIDPeriod},
		{"Options.IdleTimeout", &o.IdleTimeout, defaultIdleTimeout},
		{"Options.RecoveryTimeout", &o.RecoveryTimeout, defaultRecoveryTimeout},
	} {
		if *field.value == 0 {
			*field.value = field.otherwise
		}
		if *field.value < 0 && field.value != &o.IdleTimeout {
			return argument(field.name, *field.value, "it must not be negative")
		}
	}
	if o.Join.Mode < JoinAuto || o.Join.Mode > JoinOff {
		return argument("Join.Mode", int(o.Join.Mode), "it must be JoinAuto, JoinOn or JoinOff")
	}
	if o.Join.Mode == JoinAuto && !native {
		o.Join.Mode = JoinOff
	}
	o.Join.Events = min(o.Join.Events, journal.MaxBatchEvents)
	o.Join.Bytes = min(o.Join.Bytes, journal.MaxBatchBytes)
	if o.Logger == nil {
		o.Logger = journal.Logger
	}
	return nil
}

// commandOptions are the options of one command. Package entitytest reads them.
type commandOptions struct{ readableOptions }

type readableOptions = kit.Options[Receipt]

// CommandOption is an option of a command.
type CommandOption func(*commandOptions)

// CommandID gives a command an id, so that it is not executed twice if it is sent again, by a
// client that has lost the response or by a queue. The id is stored with the first event of the
// command. A repeated command fails with a [*DuplicateError] that has the version which the first
// one led to. If the first one is still in progress, the repeat waits for it. See [CommandIDs] for
// how long ids are remembered.
//
// A command that records nothing is not remembered. Before it returns, it checks for events of
// other processes (1 request, 1 read unit). If a process dies while it writes the events of the
// first command, the repeat can return before these events arrive: only a repeat that records
// events takes their number.
//
// The id has at most 1,000 bytes. In a journal that stores no metadata it is an error: see
// Config.EventMetadata.
func CommandID(id string) CommandOption {
	return func(o *commandOptions) { o.ID = id }
}

// At requires a version of the entity when the command is decided: the sequence number of its last
// event, or 0 without events. If the entity is at another version, the command fails with a
// [*dynajournal.VersionError].
func At(version int64) CommandOption {
	return func(o *commandOptions) { o.At, o.Demands = version, true }
}

// Fresh checks for events of other writers before the command is decided, as [Entities.View] does
// by default. Without Fresh, a command that records nothing is decided on the state in memory. A
// command that records events does not need Fresh: if another writer was faster, the command is
// decided again.
func Fresh() CommandOption { return func(o *commandOptions) { o.Fresh = true } }

// Into stores the receipt of a command for the caller of [Do].
func Into(receipt *Receipt) CommandOption {
	return func(o *commandOptions) { o.Receipt = receipt }
}

// ViewOption is an option of [Entities.View].
type ViewOption struct {
	memory bool
	age    time.Duration
}

// InMemory shows the state in memory, without a request. Use it for entities that only this process
// writes to.
var InMemory = ViewOption{memory: true} //nolint:gochecknoglobals // a constant

// MaxAge shows the state in memory if it was known to be current at most d ago. Otherwise it checks
// for newer events. The time that the machine was asleep counts. The service's clock also counts;
// it has whole seconds, so the check can come up to a second early.
func MaxAge(d time.Duration) ViewOption { return ViewOption{age: d} }
