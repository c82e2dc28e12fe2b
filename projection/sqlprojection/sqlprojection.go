// Package sqlprojection has a projection whose effects are in a SQL database. The effects of an
// event and the offset are stored in one transaction of the database, so each event has its effects
// once:
//
//	balances := sqlprojection.New("balances", db, sqlprojection.Postgres, handler)
//	group, err := projection.New(journal, projection.Config{
//		Name:   "billing",
//		Source: projection.Streams(client, projection.StreamsOptions{}),
//	}, balances)
//
// It is a separate package, so that other programs do not compile package database/sql.
package sqlprojection

import (
	"context"
	"database/sql"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Handler writes the effects of events into a SQL database. Its statements in tx and the offset are
// one transaction of the database: both are stored once, or neither is. A transaction may have
// several events of a persistence id.
//
// The handler may be called several times for an event, but only one call is committed. So it must
// use only tx, and must not have effects outside of the database. It gets the events of one
// persistence id one at a time and in order, and events of different persistence ids concurrently.
// It must return when ctx ends, which is at the latest a third of Config.ClaimTimeout after the
// call, and must not end tx.
//
// An error or a panic is a failure, which makes the persistence id stuck after Config.Attempts and
// Config.StuckAfter. Temporary errors do not count: a serialization failure, a deadlock, a lock
// that is not free, a lost connection. To make them recognizable, return the error of the driver
// unchanged, or wrap it with %w.
//
// A Handler may also implement [GapHandler] and [PurgeHandler].
type Handler interface {
	// Handle handles an event in tx.
	Handle(ctx context.Context, tx *sql.Tx, event dynajournal.Event) error
}

// HandlerFunc is a Handler that is a function. It gets no purges, so the effects of purged events
// stay: to erase them, implement [PurgeHandler].
type HandlerFunc func(ctx context.Context, tx *sql.Tx, event dynajournal.Event) error

// Handle calls the function.
func (f HandlerFunc) Handle(ctx context.Context, tx *sql.Tx, event dynajournal.Event) error {
	return f(ctx, tx, event)
}

// GapHandler is a [projection.GapHandler] whose effects are in the transaction of the offset.
type GapHandler interface {
	// HandleGap handles a gap in tx.
	HandleGap(ctx context.Context, tx *sql.Tx, gap projection.Gap) error
}

// PurgeHandler is a [projection.PurgeHandler] whose effects are in the transaction of the offset.
type PurgeHandler interface {
	// HandlePurge handles a purge in tx.
	HandlePurge(ctx context.Context, tx *sql.Tx, purge projection.Purge) error
}

// target is the database and the handler of a projection.
type target struct {
	db      *sql.DB
	dialect Dialect
	handler Handler
}

// New returns a projection whose effects are in a SQL database, each stored once. The name is as
// for [projection.AtLeastOnce], and must not be the name of a projection of another kind.
//
// The offsets are in the same database, in the table dynajournal_offsets. [projection.Group.Run]
// creates the table if it does not exist. Without the permission to create tables, create it once
// with [Dialect.OffsetsTable]. The group needs permission to select, insert and update there. The
// rows have the name of the journal: in one database, two journals of the same name need groups of
// different names.
//
// A database that was restored from a backup has the effects and the offsets of the same time, so
// later events are handled again. To wait for such a projection, use [WaitFor].
func New(name string, db *sql.DB, dialect Dialect, h Handler, opts ...projection.Option) projection.Projection {
	return engine.Define[projection.Projection](name, &target{db, dialect, h}, opts)
}

func (*target) Delivery() string { return engine.KindSQL }

func (t *target) Check(name string) error {
	switch {
	case t.db == nil:
		return engine.Argument("projection "+name, nil, "it needs a database")
	case t.handler == nil:
		return engine.NoHandler(name)
	}
	return t.dialect.check()
}

func (t *target) Open(g *engine.Group, of *engine.Member) (engine.Effect, engine.OffsetStore) {
	o := &sqlOffsets{
		target: t, table: g.Table, journal: g.Table.JournalName, name: of.Name,
		limit: g.Config.CallTime(),
	}
	if t.dialect == SQLite {
		o.turn = sqliteTurn(g, t.db)
	}
	return o, o
}

// sqliteTurn returns the turn for transactions of a SQLite database, which has one writer at a
// time.
func sqliteTurn(g *engine.Group, db *sql.DB) chan struct{} {
	for _, of := range g.Members {
		if o, ok := of.Offsets.(*sqlOffsets); ok && o.db == db {
			return o.turn
		}
	}
	return make(chan struct{}, 1)
}
