package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Pace is called with the capacity that an operation has consumed since the last call. It may wait.
// Its error ends the operation.
type Pace func(ctx context.Context, used dynamo.Cost) error

// paced counts the capacity that an operation consumes, and reports it in steps.
type paced struct {
	meter    dynamo.Meter
	reported dynamo.Cost
	call     Pace
}

// pace reports the capacity consumed since the last call, if any.
func (p *paced) pace(ctx context.Context) error {
	cost := p.meter.Cost()
	used := cost.Sub(p.reported)
	if p.reported = cost; p.call == nil || used == (dynamo.Cost{}) {
		return nil
	}
	return p.call(ctx, used)
}
