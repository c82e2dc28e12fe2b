package core

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// Operate runs an operation whose arguments are checked. The operation ends when ctx ends or the
// journal is closed, and Close waits for it. To call the caller's code, do leaves op, with
// op.Outside or op.Relay.
func (j *Journal) Operate(
	ctx context.Context, purpose dynamo.Purpose, do func(context.Context, *lifetime.Operation) error,
) error {
	ctx, op, err := j.Life.Operate(j.Client.For(ctx, purpose))
	if err != nil {
		return err
	}
	defer op.End()
	return do(ctx, op)
}

// Admit runs an operation as Operate does, after the operation is admitted: at most
// Config.MaxConnections operations are between their start and their first reads. do calls started
// when it has made its first reads, which admits the next operation. If do does not call started,
// Admit calls it after do.
func (j *Journal) Admit(
	ctx context.Context, purpose dynamo.Purpose,
	do func(ctx context.Context, op *lifetime.Operation, started func()) error,
) error {
	started, err := j.admission.Enter(ctx, j.Life.Reading())
	if err != nil {
		return err
	}
	defer started()
	return j.Operate(ctx, purpose, func(ctx context.Context, op *lifetime.Operation) error { return do(ctx, op, started) })
}

// Requests runs do, which sends requests with the client, as an operation of the journal.
func (j *Journal) Requests(
	ctx context.Context, purpose dynamo.Purpose, do func(context.Context, *dynamo.Client) error,
) error {
	return j.Operate(ctx, purpose, func(ctx context.Context, _ *lifetime.Operation) error {
		return j.PublicError(do(ctx, j.Client))
	})
}
