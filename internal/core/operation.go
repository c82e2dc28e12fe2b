package core

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// Operate runs an operation whose arguments are checked. The operation ends when ctx ends or the
// journal is closed, and Close waits for it. While do calls the caller's code, it leaves op.
func (j *Journal) Operate(ctx context.Context, do func(context.Context, *lifetime.Operation) error) error {
	ctx, op, err := j.Life.Operate(ctx)
	if err != nil {
		return err
	}
	defer op.End()
	return do(ctx, op)
}

// Admit runs an operation as Operate does, once it is admitted: Config.MaxConnections readings
// begin at the same time. do calls begun when it has read what it needs to begin, so that the next
// reading is admitted; at the latest this happens when do returns.
func (j *Journal) Admit(
	ctx context.Context, do func(ctx context.Context, op *lifetime.Operation, begun func()) error,
) error {
	begun, err := j.admission.Enter(ctx, j.Life.Reading())
	if err != nil {
		return err
	}
	defer begun()
	return j.Operate(ctx, func(ctx context.Context, op *lifetime.Operation) error { return do(ctx, op, begun) })
}

// Requests runs a function that sends requests of its own as an operation of the journal.
func (j *Journal) Requests(ctx context.Context, do func(context.Context, *dynamo.Client) error) error {
	return j.Operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		return j.PublicError(do(ctx, j.Client))
	})
}
