package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Pace is given what an operation has used up since the last call. It may wait, and ends the
// operation with an error. nil is not called.
type Pace func(ctx context.Context, used dynamo.Cost) error

// paced counts what an operation uses up, and reports it step by step.
type paced struct {
	meter    dynamo.Meter
	reported dynamo.Cost
	call     Pace
}

// pace reports what was used up since the last time, if it is anything.
func (p *paced) pace(ctx context.Context) error {
	cost := p.meter.Cost()
	used := cost.Sub(p.reported)
	if p.reported = cost; p.call == nil || used == (dynamo.Cost{}) {
		return nil
	}
	return p.call(ctx, used)
}
