package dynajournal

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// operate runs an operation whose arguments are checked. The operation ends when ctx ends or the
// journal is closed, and Close waits for it. While do calls the caller's code, it leaves op.
func (j *Journal) operate(ctx context.Context, do func(context.Context, *lifetime.Operation) error) error {
	ctx, op, err := j.life.Operate(ctx)
	if err != nil {
		return err
	}
	defer op.End()
	return do(ctx, op)
}

// admit runs an operation as operate does, once it is admitted: Config.MaxConnections readings
// begin at the same time. do calls begun when it has read what it needs to begin, so that the next
// reading is admitted; at the latest this happens when do returns.
func (j *Journal) admit(
	ctx context.Context, do func(ctx context.Context, op *lifetime.Operation, begun func()) error,
) error {
	begun, err := j.admission.Enter(ctx, j.life.Reading())
	if err != nil {
		return err
	}
	defer begun()
	return j.operate(ctx, func(ctx context.Context, op *lifetime.Operation) error { return do(ctx, op, begun) })
}
