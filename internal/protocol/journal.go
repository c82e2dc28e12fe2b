package protocol

import (
	"log/slog"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/snapshots"
)

// Journal is what the writers of a journal share. It is safe for concurrent use. New makes it
// ready.
type Journal struct {
	Settings

	Store     *Store
	Snapshots *snapshots.Store
	Group     *dynamo.Group
	Clock     *clock.Clock
	Life      *lifetime.Lifetime
}

// Settings are what the configuration says of writing.
type Settings struct {
	// MaxBatchEvents and MaxBatchBytes bound an atomic write, MaxItemSize the bytes of one item.
	MaxBatchEvents, MaxBatchBytes, MaxItemSize int
	// MaxBatchWrite is how many tombstones one request puts.
	MaxBatchWrite int
	// FenceWindow is how long a deleted number stays taken.
	FenceWindow time.Duration
	// HandoverTime is how long a writer of a shared journal may do nothing before it looks whether
	// a JVM has taken over; not positive never looks.
	HandoverTime time.Duration
	// Enveloped stores events in the form of Akka 1.0 and 1.1.
	Enveloped bool
	Logger    *slog.Logger
}

// New makes a journal ready: from now on its store writes nothing by what it read too long ago.
func New(j Journal) *Journal {
	j.Store.Fresh = j.freshFromNow
	return &j
}
