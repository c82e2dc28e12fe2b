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
	// Attempts is how often a command is decided at most while other writers of its entity are
	// faster. Then it fails with [ErrContended].
	//
	// At least 1. Defaults to 5.
	Attempts int

	// CommandIDs limits how many ids of commands are remembered.
	CommandIDs CommandIDs

	// Hooks are called when something happens, in their order. Use them for metrics and traces.
	//
	// Defaults to none.
	Hooks []Hook

	// IdleTimeout is how long an entity stays in memory after its last use, unless MaxEntities is
	// exceeded. It can stay a quarter longer.
	//
	// Negative keeps entities until MaxEntities. Defaults to 10 minutes.
	IdleTimeout time.Duration

	// Join limits how commands share a write.
	Join Join

	// Logger receives the log records.
	//
	// Defaults to the journal's.
	Logger *slog.Logger

	// MaxEntities is how many entities are kept in memory. Above it, one of the least recently used
	// that are idle is dropped; entities in use stay.
	//
	// At least 1. Defaults to 100,000.
	MaxEntities int

	// MaxRecoveries is how many entities are loaded at the same time. Others wait.
	//
	// At least 1. Defaults to 50.
	MaxRecoveries int

	// MaxWaiting is how many commands wait for one entity. Further ones fail with [ErrBusy].
	//
	// At least 1. Defaults to 10,000.
	MaxWaiting int

	// Metadata returns what is stored with each event of a command, such as a trace context or a
	// tenant. ctx is that of the command. The journal must store metadata: see
	// Config.EventMetadata.
	//
	// Defaults to none.
	Metadata func(ctx context.Context) map[string]string

	// RecoveryTimeout limits how long an entity is loaded, from when the loading begins. Then the
	// calls that wait for it fail with [ErrRecoveryTimeout]; the next call tries again. It also
	// limits how long a snapshot is saved.
	//
	// Defaults to 30 seconds.
	RecoveryTimeout time.Duration
}

// CommandIDs limits how many ids of commands an entity remembers, to find a command that is sent
// again: the last Last, and all of the last Period, but at most Most.
//
// The limits are stored with the ids in snapshots and durable states. Where processes have
// different ones, the larger ones win from the next snapshot on, until the entity is purged. So a
// process of smaller limits erases nothing, and smaller limits mean nothing to entities that have
// larger ones.
type CommandIDs struct {
	// Last is from 1 to 1,000,000. Defaults to 1,000.
	Last int
	// Period must not be negative. Defaults to 10 minutes.
	Period time.Duration
	// Most is from Last to 1,000,000. Defaults to 10,000, or to Last if that is larger.
	Most int
}

// Join limits how commands share a write. While a write is under way, the commands that follow are
// decided, and their events leave together as one atomic write.
type Join struct {
	// Mode selects whether commands share writes.
	//
	// Defaults to JoinAuto.
	Mode JoinMode
	// Events and Bytes limit what commands share a write. A command that has more has a write of
	// its own. Bytes counts payloads and metadata.
	//
	// Default to 100 events and 1,000,000 bytes.
	Events, Bytes int
}

// JoinMode selects whether commands share writes.
type JoinMode int

const (
	// JoinAuto joins commands in a native journal. In a journal that is shared with a JVM it does
	// not: if a JVM deletes a part of an atomic write, it does not show the rest, which would be
	// events of another command.
	JoinAuto JoinMode = iota
	// JoinOn joins commands also in a journal that is shared with a JVM. A JVM must then delete
	// only up to the end of a write.
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

// CommandID names a command, so that it is not done twice when it is sent again: by a client that
// has lost the response, or by a queue. The id is stored with the first event of the command. A
// repeat is a *[DuplicateError] with the version that the command has led to; if the first is still
// under way, the repeat waits for it. See [CommandIDs] for how long ids are remembered. A command
// that records nothing is not remembered; it looks for the events of other processes before it
// answers (1 request, 1 read unit). If a process has died while it wrote the first, the repeat can
// be answered before those events arrive: only a repeat that records events closes their number.
//
// The id has at most 1,000 bytes. In a journal that stores no metadata it is an error: see
// Config.EventMetadata.
func CommandID(id string) CommandOption {
	return func(o *commandOptions) { o.ID = id }
}

// At demands that the entity has a version when the command is decided: the sequence number of its
// last event, 0 if it has none. If it has another one, the error is a *dynajournal.VersionError.
func At(version int64) CommandOption {
	return func(o *commandOptions) { o.At, o.Demands = version, true }
}

// Fresh looks for events of other writers before the command is decided, as [Entities.View] does by
// default. Without it, a command that records nothing answers from what this process knows. A
// command that records events does not need it: if another writer was faster, it is decided again.
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

// InMemory shows what this process knows, without a request. It is right for entities that only
// this process writes to.
var InMemory = ViewOption{memory: true} //nolint:gochecknoglobals // a constant

// MaxAge shows what this process knows if it was known to be current within d, and looks otherwise.
// The time that the machine slept counts. The clock of the service counts as well, which has whole
// seconds, so a look can come up to a second early.
func MaxAge(d time.Duration) ViewOption { return ViewOption{age: d} }
