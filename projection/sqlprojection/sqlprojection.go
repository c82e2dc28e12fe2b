// Package sqlprojection has a projection whose effects are in a SQL database. The effects of an
// event and the offset are one transaction of the database, so each event has its effects once:
//
//	balances := sqlprojection.New("balances", db, sqlprojection.Postgres, handler)
//	group, err := projection.New(journal, projection.Config{Name: "billing"}, balances)
//
// It is a package of its own, so that other programs do not compile package database/sql.
package sqlprojection

import (
	"context"
	"database/sql"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Handler writes what follows from events into a SQL database. What it does in tx, and the
// offset, are one transaction of the database: both are stored once, or neither is. Several events
// of a persistence id may be in one transaction.
//
// The handler may be called several times for an event, of which one counts. So it uses tx alone,
// and has no effects outside of the database. It gets the events of one persistence id one after
// the other, in their order; those of different ids at the same time. It must return when ctx ends,
// which is a third of Config.ClaimTimeout after the call at the latest, and must not end tx.
//
// An error or a panic is a failure, which makes the persistence id stuck after Config.Attempts and
// Config.StuckAfter. What passes by itself is not: a serialization failure, a deadlock, a lock that
// is not free, a lost connection. The handler returns the error of the driver as it is, or wraps it
// with %w.
//
// It can also have the methods of [GapHandler] and [PurgeHandler].
type Handler interface {
	// Handle handles an event in tx.
	Handle(ctx context.Context, tx *sql.Tx, event dynajournal.Event) error
}

// HandlerFunc is a Handler that is a function.
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

// target is where the effects and the offsets of a projection of SQL are stored.
type target struct {
	db      *sql.DB
	dialect Dialect
	handler Handler
}

// New returns a projection whose effects are in a SQL database, each once. Name is that of
// [projection.AtLeastOnce], and must not be that of a projection of another kind.
//
// The offsets are in the same database, in the table dynajournal_offsets, which
// [projection.Group.Run] makes if it does not exist. Without the permission to make tables, make it
// once with [Dialect.OffsetsTable]. The group needs to select, insert and update there. The rows
// have the name of the journal; two journals of the same name need different names of groups in a
// database.
//
// A database that was restored from a backup has the effects and the offsets of the same time: the
// events since then are handled again. To wait for such a projection, use [WaitFor].
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

// sqliteTurn returns the turn of the transactions of a SQLite database, which has one writer at a
// time.
func sqliteTurn(g *engine.Group, db *sql.DB) chan struct{} {
	for _, of := range g.Members {
		if o, ok := of.Offsets.(*sqlOffsets); ok && o.db == db {
			return o.turn
		}
	}
	return make(chan struct{}, 1)
}
