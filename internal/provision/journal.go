// Package provision makes, describes and changes the tables of a journal, checks their schema, and
// reads the journal's header. It is the only place besides internal/dynamo that knows what a table
// looks like to DynamoDB.
package provision

import (
	"context"
	"errors"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Journal names the tables of a journal, and what the configuration says of its header.
type Journal struct {
	Name                 string
	Table, SnapshotTable string
	// IDsIndex is the name of the index that lists the persistence ids of a shared journal.
	IDsIndex string
	// SequenceShards and FenceWindow are 0 where the configuration does not say them.
	SequenceShards int
	FenceWindow    time.Duration
}

// The errors that callers tell apart. The root package documents what to do about each.
var (
	ErrTableSchema    = errors.New("the table is not a journal of this layout")
	ErrHeaderMismatch = errors.New("the journal's header does not fit")
	ErrNoHeader       = errors.New("the table is of native journals, and has no header of this one: make it with CreateTables")
	ErrIndex          = errors.New("the index of persistence ids can't be used")
)

// Found is what Inspect has found out about a journal.
type Found struct {
	Header layout.Header
	// KeyLimit is the smallest limit in bytes that applies to the attribute par.
	KeyLimit int
	// Indexed reports whether there is an index of persistence ids, which is filled.
	Indexed bool
}

// Inspect reads what the table and the journal's header say, and checks that they fit the
// configuration.
func (j *Journal) Inspect(ctx context.Context, client *dynamo.Client) (Found, error) {
	var found Found
	table, err := client.DescribeTable(ctx, j.Table)
	switch {
	case errors.Is(err, dynamo.ErrDenied): // policies made for the JVM may lack DescribeTable: the strictest limit is always right
		table, found.KeyLimit = nil, layout.MaxRangeKeyBytes
	case err != nil:
		return found, err
	default:
		if err := checkSchema(table, layout.AttrNum); err != nil {
			return found, err
		}
		found.KeyLimit = keyLimit(table)
	}
	if found.Header, err = j.readHeader(ctx, client, table); err != nil || table == nil {
		return found, err
	}
	indexed, unusable := j.findIndex(table, found.Header.Kind == layout.KindNative)
	found.Indexed = indexed && unusable == nil // else a listing looks again, and says why
	return found, nil
}
