package projection

import (
	"context"
	"database/sql"

	"github.com/dynajournal/dynajournal"
)

// SQLHandler writes what follows from events into a SQL database. What it does in tx, and the
// offset, are one transaction of the database: both are stored once, or neither is. Several events
// of a persistence id may be in one transaction.
//
// The handler may be called several times for an event, of which one counts. So it uses tx alone,
// and has no effects outside of the database. It gets the events of one persistence id one after
// the other, in their order; those of different ids at the same time. It must return when ctx ends,
// which is a third of Config.ClaimTimeout after the call at the latest, and must not end tx.
//
// An error or a panic is a failure, of which Config.Attempts make the persistence id stuck. What
// passes by itself is not: a serialization failure, a deadlock, a lock that is not free, a lost
// connection. The handler returns the error of the driver as it is, or wraps it with %w.
//
// It can also have the methods of [SQLGapHandler] and [SQLPurgeHandler].
type SQLHandler interface {
	// Handle handles an event in tx.
	Handle(ctx context.Context, tx *sql.Tx, event dynajournal.Event) error
}

// SQLFunc is a SQLHandler that is a function.
type SQLFunc func(ctx context.Context, tx *sql.Tx, event dynajournal.Event) error

// Handle calls the function.
func (f SQLFunc) Handle(ctx context.Context, tx *sql.Tx, event dynajournal.Event) error {
	return f(ctx, tx, event)
}

// SQLGapHandler is a GapHandler whose effects are in the transaction of the offset.
type SQLGapHandler interface {
	// HandleGap handles a gap in tx.
	HandleGap(ctx context.Context, tx *sql.Tx, gap Gap) error
}

// SQLPurgeHandler is a PurgeHandler whose effects are in the transaction of the offset.
type SQLPurgeHandler interface {
	// HandlePurge handles a purge in tx.
	HandlePurge(ctx context.Context, tx *sql.Tx, purge Purge) error
}

// target is where the effects and the offsets of a projection of SQL are stored.
type target struct {
	db      *sql.DB
	dialect Dialect
	handler SQLHandler
}

// SQL returns a projection whose effects are in a SQL database, each once. Name is that of
// AtLeastOnce, and must not be that of a projection of another kind.
//
// The offsets are in the same database, in the table dynajournal_offsets, which [Group.Run] makes
// if it does not exist. Without the permission to make tables, make it once with
// [Dialect.OffsetsTable]. The group needs to select, insert and update there. The rows have the
// name of the journal; two journals of the same name need different names of groups in a database.
//
// A database that was restored from a backup has the effects and the offsets of the same time: the
// events since then are handled again. To wait for such a projection, use [WaitForSQL].
func SQL(name string, db *sql.DB, dialect Dialect, h SQLHandler, opts ...Option) Projection {
	return Projection{name: name, kind: &target{db, dialect, h}}.with(opts)
}

func (*target) delivery() string { return kindSQL }

func (t *target) check(projection string) error {
	switch {
	case t.db == nil:
		return argument("projection "+projection, nil, "it needs a database")
	case t.handler == nil:
		return noHandler(projection)
	}
	return t.dialect.check()
}

func (t *target) open(g *Group, of *member) (effect, offsetStore) {
	o := &sqlOffsets{
		target: t, table: g.table, journal: g.table.journalName, name: of.name,
		limit: g.config.callTime(),
	}
	if t.dialect == SQLite {
		o.turn = g.sqliteTurn(t.db)
	}
	return o, o
}

// sqliteTurn returns the turn of the transactions of a SQLite database, which has one writer at a
// time.
func (g *Group) sqliteTurn(db *sql.DB) chan struct{} {
	for _, of := range g.members {
		if o, ok := of.offsets.(*sqlOffsets); ok && o.db == db {
			return o.turn
		}
	}
	return make(chan struct{}, 1)
}
