package protocol

import (
	"log/slog"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/snapshots"
)

// Journal is shared by the writers of a journal. It is safe for concurrent use. New prepares it.
type Journal struct {
	Settings

	Store     *Store
	Snapshots *snapshots.Store
	Group     *dynamo.Group
	Clock     *clock.Clock
	Life      *lifetime.Lifetime
}

// Settings is the part of the configuration that concerns writing.
type Settings struct {
	// MaxBatchEvents and MaxBatchBytes limit an atomic write, MaxItemSize the bytes of one item.
	MaxBatchEvents, MaxBatchBytes, MaxItemSize int
	// MaxBatchWrite is the number of tombstones that one request puts.
	MaxBatchWrite int
	// FenceWindow is the time for which a deleted number stays taken.
	FenceWindow time.Duration
	// HandoverTime is the time for which a writer of a shared journal may be idle before it checks
	// whether a JVM has taken over. If it is not positive, no writer checks.
	HandoverTime time.Duration
	// Enveloped stores events in the form of Akka 1.0 and 1.1.
	Enveloped bool
	// Metadata stores the time of events, and the metadata and tags that the caller sets.
	Metadata bool
	Logger   *slog.Logger
}

// New returns a journal whose store refuses writes that rely on knowledge that is too old.
func New(j Journal) *Journal {
	j.Store.Fresh = j.freshFromNow
	return &j
}
