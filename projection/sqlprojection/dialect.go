package sqlprojection

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Dialect is a kind of SQL database.
type Dialect int

// The kinds of databases. Any driver for package database/sql works. The errors of a PostgreSQL
// driver must have the method SQLState, as in pgx and lib/pq.
const (
	// SQLite is SQLite 3.24 or later. A group has one transaction under way in a database at a
	// time. If other programs also write, set a busy timeout in the driver's data source name.
	SQLite Dialect = iota + 1
	// Postgres is PostgreSQL 9.5 or later. Any isolation level works.
	Postgres
)

// String returns the name of the database.
func (d Dialect) String() string {
	switch d {
	case SQLite:
		return "SQLite"
	case Postgres:
		return "PostgreSQL"
	}
	return "Dialect(" + strconv.Itoa(int(d)) + ")"
}

func (d Dialect) check() error {
	if d != SQLite && d != Postgres {
		return engine.Argument("dialect", d, "it must be SQLite or Postgres")
	}
	return nil
}

// OffsetsTable returns the statement that creates the table of the offsets if it does not exist,
// for programs that create tables themselves.
func (d Dialect) OffsetsTable() string {
	return `CREATE TABLE IF NOT EXISTS dynajournal_offsets (
	journal text NOT NULL,
	projection text NOT NULL,
	persistence_id text NOT NULL,
	seq bigint NOT NULL,
	writer text NOT NULL,
	run text NOT NULL,
	PRIMARY KEY (journal, projection, persistence_id)
)`
}

// The statements on the table of the offsets. A row has the offset, and as run the id of the
// transaction that stored it. Parameters are question marks.
const (
	offsetsKey = ` WHERE journal = ? AND projection = ? AND persistence_id = ?`

	readOffset = `SELECT seq, writer FROM dynajournal_offsets` + offsetsKey
	// firstOffset and lockOffset lock the row of an offset. lockOffset is used with unmoved: it
	// locks the row only if the offset has not changed since it was read.
	firstOffset = `INSERT INTO dynajournal_offsets (journal, projection, persistence_id, seq, writer, run)` +
		` VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	lockOffset = `UPDATE dynajournal_offsets SET run = ?` + offsetsKey
	unmoved    = ` AND seq = ? AND writer = ?`
	// checkOffset changes nothing. It finds the row only if the transaction has locked it.
	checkOffset = `UPDATE dynajournal_offsets SET run = ?` + offsetsKey + ` AND run = ?`
	// moveOffset stores the offset in the transaction that has locked the row.
	moveOffset = `UPDATE dynajournal_offsets SET seq = ?, writer = ?` + offsetsKey + ` AND run = ?`
	// removeOffsets deletes up to 1,000 offsets of a projection.
	removeOffsets = `DELETE FROM dynajournal_offsets WHERE journal = ? AND projection = ? AND persistence_id IN (` +
		`SELECT persistence_id FROM dynajournal_offsets WHERE journal = ? AND projection = ? LIMIT 1000)`
)

// statement returns a statement with the parameter syntax of the database.
func (d Dialect) statement(text string) string {
	if d != Postgres {
		return text
	}
	parts := strings.Split(text, "?")
	var b strings.Builder
	for i, part := range parts[:len(parts)-1] {
		fmt.Fprintf(&b, "%s$%d", part, i+1)
	}
	return b.String() + parts[len(parts)-1]
}

// stateOf returns the SQLSTATE of an error, empty if it has none.
func stateOf(err error) string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return coded.SQLState()
	}
	return ""
}

// hasCode reports whether a SQLSTATE begins with one of some codes or classes.
func hasCode(code string, with ...string) bool {
	return slices.ContainsFunc(with, func(prefix string) bool { return strings.HasPrefix(code, prefix) })
}

// messageContains reports whether the text of an SQLite error contains one of some texts. SQLite
// itself makes these texts, so they are the same in all drivers. Drivers differ in how they return
// codes.
func (d Dialect) messageContains(err error, texts ...string) bool {
	return d == SQLite && err != nil &&
		slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) })
}

// isConflict reports whether a transaction has failed because of a conflict with another one, and
// may succeed at once.
func isConflict(err error) bool { return hasCode(stateOf(err), "40001", "40P01") }

// isTemporary reports whether an error is temporary: a conflict with other transactions, or a
// server that can't be reached, is overloaded, or is read-only while another server takes over.
func (d Dialect) isTemporary(err error) bool {
	return d.messageContains(err, "database is locked", "database table is locked") ||
		errors.Is(err, driver.ErrBadConn) ||
		hasCode(stateOf(err), "40001", "40003", "40P01", "08", "53", "57P", "55P03", "25006")
}

// refuses reports whether an error of a statement means that the table of the offsets can't be
// used: it has other columns, or a permission is missing.
func (d Dialect) refuses(err error) bool {
	return hasCode(stateOf(err), "28", "3D", "3F", "42") || d.missing(err) ||
		d.messageContains(err, "no such column", "has no column named", "readonly database", "not a database")
}

// missing reports whether an error means that a table does not exist.
func (d Dialect) missing(err error) bool {
	return hasCode(stateOf(err), "42P01") || d.messageContains(err, "no such table")
}

// violates reports whether an error of a commit means that a constraint is violated, which is
// checked at the end. Nothing is stored then.
func (d Dialect) violates(err error) bool {
	return hasCode(stateOf(err), "23") || d.messageContains(err, "constraint failed")
}
