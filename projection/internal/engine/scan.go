package engine

import (
	"context"
	"fmt"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/time/rate"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// pageUnits is the maximum number of read units of a page, if the units of the scan are limited.
const pageUnits = 16

// Scan reads the items of the table that the filter of in selects. It reads a page after the items
// of the page before are consumed. On average it uses at most units read units a second; 0 is no
// limit. It ends after an error.
func (t *Table) Scan(ctx context.Context, in dynamodb.ScanInput, units float64) iter.Seq2[dynamo.Attributes, error] {
	return func(yield func(dynamo.Attributes, error) bool) {
		limit := rate.NewLimiter(rate.Inf, 1)
		in.TableName = &t.Name
		if units > 0 {
			const rowsOfAUnit = 8 // of the largest keys
			in.Limit = aws.Int32(pageUnits * rowsOfAUnit)
			limit = rate.NewLimiter(rate.Limit(units), max(int(units), 1))
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

// scanPage reads one page of a scan, and returns its cost.
func (t *Table) scanPage(ctx context.Context, in *dynamodb.ScanInput) (page dynamo.Page, cost dynamo.Cost, err error) {
	var meter dynamo.Meter
	err = core.Of(t.Journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
		var err error
		page, err = client.Scan(ctx, &meter, in)
		return err
	})
	return page, meter.Cost(), err
}

// waitForUnits waits until a limiter permits a number of read units, which may be more than its
// burst.
func waitForUnits(ctx context.Context, limit *rate.Limiter, units int) error {
	for ; units > 0; units -= limit.Burst() {
		if err := limit.WaitN(ctx, min(units, limit.Burst())); err != nil {
			return err
		}
	}
	return nil
}

// CheckScan checks the maximum number of read units a second of a scan.
func CheckScan(units float64) error {
	if units < 0 {
		return Argument("ScanOptions.ReadUnitsPerSecond", units, "it must not be negative")
	}
	return nil
}
