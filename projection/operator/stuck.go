package operator

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// ScanOptions are the options of a scan of the projections table. The zero value has the defaults.
type ScanOptions struct {
	// ReadUnitsPerSecond is how many read units the scan uses on average at most.
	//
	// Defaults to no limit.
	ReadUnitsPerSecond float64
}

func (o ScanOptions) check() error { return engine.CheckScan(o.ReadUnitsPerSecond) }

// StuckID is a persistence id that is stuck in a projection.
type StuckID struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection    string
	PersistenceID string
	// Offset is the number up to which events were handled.
	Offset int64
	// SequenceNumber is where the handler has failed, the number for [Operator.Skip]: that of the
	// event, or the last one of a gap or of a purge. It is 0 if the journal could not be read, and
	// for a purge after which the numbers begin again at 1.
	SequenceNumber int64
	// Reason is the text of the last failure, shortened.
	Reason string
}

// Stuck returns the persistence ids that are stuck in the projection, or in all projections of the
// journal if the operator has no name. It scans the projections table as the
// loop goes on, which costs half a read unit for each 4 KB of it: a row takes about 100 bytes. It
// may not see what has become stuck in the last second.
//
// Errors: a *dynajournal.ArgumentError, and those of requests. After an error the sequence ends.
func (o *Operator) Stuck(ctx context.Context, opts ScanOptions) iter.Seq2[StuckID, error] {
	return func(yield func(StuckID, error) bool) {
		if err := o.stuckIDs(ctx, opts, yield); err != nil {
			yield(StuckID{}, fmt.Errorf("list stuck persistence ids: %w", err))
		}
	}
}

func (o *Operator) stuckIDs(ctx context.Context, opts ScanOptions, yield func(StuckID, error) bool) error {
	if o.journal == nil {
		return engine.Argument("journal", nil, "it must be an open journal")
	}
	t := engine.OpenTable(o.journal)
	prefix := t.JournalName + "\x00"
	if o.projection != "" {
		if _, err := engine.CheckProjection(o.projection); err != nil {
			return err
		}
		prefix += o.projection + "\x00"
	}
	if err := opts.check(); err != nil {
		return err
	}
	in := dynamodb.ScanInput{
		FilterExpression:          aws.String("attribute_exists(" + engine.AttrStuck + ") AND begins_with(" + engine.AttrPar + ", :prefix)"),
		ExpressionAttributeValues: dynamo.Attributes{":prefix": engine.Text(prefix)},
	}
	for item, err := range t.Scan(ctx, in, opts.ReadUnitsPerSecond) {
		if err != nil {
			return err
		}
		d := engine.Decoder{Table: t.Name, Item: item}
		name, pid, _ := strings.Cut(strings.TrimPrefix(d.Text(engine.AttrPar), t.JournalName+"\x00"), "\x00")
		state, err := engine.DecodeRow(t.Name, item)
		if err != nil { // the others are to be seen, too
			state.Reason = err.Error()
		}
		if !yield(StuckID{name, pid, state.Seq, state.Failed, state.Reason}, nil) {
			return nil
		}
	}
	return nil
}
