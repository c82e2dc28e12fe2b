package dynamo

import (
	"context"
	"testing"
)

func TestMetersOfAContext(t *testing.T) {
	t.Parallel()
	var outer, inner Meter
	ctx := WithMeter(t.Context(), &outer)
	charge(t.Context(), Cost{Requests: 1})
	charge(ctx, Cost{Requests: 1, ReadUnits: 2})
	within, cancel := context.WithCancel(WithMeter(ctx, &inner))
	defer cancel()
	charge(within, Cost{Requests: 1, WriteUnits: 3})
	if got, want := outer.Cost(), (Cost{2, 2, 3}); got != want {
		t.Errorf("outer: %+v, want %+v", got, want)
	}
	if got, want := inner.Cost(), (Cost{1, 0, 3}); got != want {
		t.Errorf("inner: %+v, want %+v", got, want)
	}
}
