package projection

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/time/rate"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// ScanOptions are the options of a scan of the projections table. The zero value has the defaults.
type ScanOptions struct {
	// ReadUnitsPerSecond is how many read units the scan uses on average at most.
	//
	// Defaults to no limit.
	ReadUnitsPerSecond float64
}

func (o ScanOptions) check() error {
	if o.ReadUnitsPerSecond < 0 {
		return argument("ScanOptions.ReadUnitsPerSecond", o.ReadUnitsPerSecond, "it must not be negative")
	}
	return nil
}

// pageUnits is how many read units a page of a scan uses at most, where they are limited.
const pageUnits = 16

// scan reads the items of the table that a filter selects, page after page: each when those of the
// page before are consumed. After an error it ends.
func (t *table) scan(ctx context.Context, in dynamodb.ScanInput, opts ScanOptions) iter.Seq2[dynamo.Attributes, error] {
	return func(yield func(dynamo.Attributes, error) bool) {
		limit := rate.NewLimiter(rate.Inf, 1)
		in.TableName = &t.name
		if opts.ReadUnitsPerSecond > 0 {
			const rowsOfAUnit = 8 // of the largest keys
			in.Limit = aws.Int32(pageUnits * rowsOfAUnit)
			limit = rate.NewLimiter(rate.Limit(opts.ReadUnitsPerSecond), max(int(opts.ReadUnitsPerSecond), 1))
		}
		for {
			page, cost, err := t.scanPage(ctx, &in)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if in.ExclusiveStartKey = page.Next; page.Next == nil {
				return
			}
			if err := waitForUnits(ctx, limit, int(cost.ReadUnits)); err != nil {
				yield(nil, fmt.Errorf("pace a scan: %w", err))
				return
			}
		}
	}
}

// scanPage reads one page of a scan, and returns what it has cost.
func (t *table) scanPage(ctx context.Context, in *dynamodb.ScanInput) (page dynamo.Page, cost dynamo.Cost, err error) {
	var meter dynamo.Meter
	err = core.Of(t.journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		var err error
		page, err = client.Scan(ctx, &meter, in)
		return err
	})
	return page, meter.Cost(), err
}

// waitForUnits waits until a limit permits read units, which may be more than its burst.
func waitForUnits(ctx context.Context, limit *rate.Limiter, units int) error {
	for ; units > 0; units -= limit.Burst() {
		if err := limit.WaitN(ctx, min(units, limit.Burst())); err != nil {
			return err
		}
	}
	return nil
}

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
		return argument("journal", nil, "it must be an open journal")
	}
	t := openTable(o.journal)
	prefix := t.journalName + "\x00"
	if o.projection != "" {
		if _, err := checkProjection(o.projection); err != nil {
			return err
		}
		prefix += o.projection + "\x00"
	}
	if err := opts.check(); err != nil {
		return err
	}
	in := dynamodb.ScanInput{
		FilterExpression:          aws.String("attribute_exists(" + attrStuck + ") AND begins_with(" + attrPar + ", :prefix)"),
		ExpressionAttributeValues: dynamo.Attributes{":prefix": text(prefix)},
	}
	for item, err := range t.scan(ctx, in, opts) {
		if err != nil {
			return err
		}
		d := decoder{table: t.name, item: item}
		name, pid, _ := strings.Cut(strings.TrimPrefix(d.text(attrPar), t.journalName+"\x00"), "\x00")
		state, err := decodeRow(t.name, item)
		if err != nil { // the others are to be seen, too
			state.reason = err.Error()
		}
		if !yield(StuckID{name, pid, state.seq, state.failed, state.reason}, nil) {
			return nil
		}
	}
	return nil
}
