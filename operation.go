package dynajournal

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// operate runs an operation, once its arguments are checked. The operation ends when ctx does, or
// when the journal is closed, and that waits for it. Where do calls the caller's code it leaves op
// around that.
func (j *Journal) operate(ctx context.Context, do func(context.Context, *lifetime.Operation) error) error {
	ctx, op, err := j.life.Operate(ctx)
	if err != nil {
		return err
	}
	defer op.End()
	return do(ctx, op)
}

// admit runs an operation as operate does, as soon as there is room for a reading to begin. begun
// gives the room back: do calls it when it holds what it needs to begin, or leaves it to its end.
func (j *Journal) admit(ctx context.Context, do func(ctx context.Context, op *lifetime.Operation, begun func()) error) error {
	begun, err := j.admission.Enter(ctx, j.life.Reading())
	if err != nil {
		return err
	}
	defer begun()
	return j.operate(ctx, func(ctx context.Context, op *lifetime.Operation) error { return do(ctx, op, begun) })
}
