// Package provision creates, describes and changes the tables of a journal, checks their schema,
// and reads the journal's header. Only this package and internal/dynamo know DynamoDB's table
// descriptions.
package provision

import (
	"context"
	"errors"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Journal has the names of the tables of a journal, and the configured values of its header.
type Journal struct {
	Name                 string
	Table, SnapshotTable string
	// IDsIndex is the name of the index that lists the persistence ids of a shared journal.
	IDsIndex string
	// SequenceShards and FenceWindow are 0 if they are not configured. SequenceShards is at most 1
	// to create a native journal.
	SequenceShards int
	FenceWindow    time.Duration
}

// Errors that callers distinguish. The root package documents what to do about each.
var (
	ErrTableSchema    = errors.New("the table is not a journal of this layout")
	ErrHeaderMismatch = errors.New("the journal's header does not fit")
	ErrNoHeader       = errors.New("the table is of native journals, and has no header of this one: make it with CreateTables")
	ErrIndex          = errors.New("the index of persistence ids can't be used")
)

// Found is the result of Inspect.
type Found struct {
	Header layout.Header
	// KeyLimit is the smallest limit in bytes that applies to the attribute par.
	KeyLimit int
	// Indexed reports whether the index of persistence ids can be used.
	Indexed bool
	// Replication is empty if the table can't be described.
	Replication Replication
}

// Inspect reads the description of the table and the journal's header, and checks that they fit the
// configuration.
func (j *Journal) Inspect(ctx context.Context, client *dynamo.Client) (Found, error) {
	var found Found
	table, err := client.DescribeTable(ctx, j.Table)
	if errors.Is(err, dynamo.ErrTableNotFound) {
		// A new table may not be described yet, but can be read.
		if _, err = j.getHeader(ctx, client); err == nil {
			table, err = client.DescribeExistingTable(ctx, j.Table)
		}
	}
	switch {
	// Policies for the JVM may lack DescribeTable: then the strictest limit applies.
	case errors.Is(err, dynamo.ErrDenied):
		table, found.KeyLimit = nil, layout.MaxRangeKeyBytes
	case err != nil:
		return found, err
	default:
		if err := checkSchema(table, layout.AttrNum); err != nil {
			return found, err
		}
		found.KeyLimit, found.Replication = keyLimit(table), replicationOf(table)
	}
	if found.Header, err = j.readHeader(ctx, client, table); err != nil || table == nil {
		return found, err
	}
	indexed, unusable := j.findIndex(table, found.Header.Kind == layout.KindNative)
	// Otherwise a listing checks again, and returns the reason.
	found.Indexed = indexed && unusable == nil
	return found, nil
}
