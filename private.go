package dynajournal

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/private"
	"github.com/dynajournal/dynajournal/internal/states"
	"github.com/dynajournal/dynajournal/serialization"
)

func init() { //nolint:gochecknoinits // package private has to be complete before anything uses it
	private.Converted = func(ctx context.Context, journal, event any) ([]any, bool, error) {
		return own[Journal](journal).converted(ctx, own[Event](event))
	}
	private.Connect = func(config any) (*dynamo.Client, error) { return own[Config](config).connect() }
	private.CloseNext = func(ctx context.Context, writer any) (bool, error) {
		return own[Writer](writer).closeNext(ctx)
	}
	private.DeleteSnapshots = func(
		ctx context.Context, journal any, pid string, to int64, before func() error,
	) (int64, error) {
		return own[Journal](journal).deleteSnapshots(ctx, pid, SnapshotCriteria{MaxSequenceNumber: to}, before)
	}
	private.EncodeEvent = func(
		ctx context.Context, journal any, pid string, event any, at time.Time, mark private.CommandMark,
	) (any, int, error) {
		return own[Journal](journal).encodeFor(ctx, pid, own[NewEvent](event), at, mark)
	}
	private.MarkOf = func(event any) private.CommandMark { return own[Event](event).commandMark() }
	private.HistoryRecord = func(record any) *history.Record { return own[Record](record).history() }
	private.Operate = func(
		ctx context.Context, journal any, do func(context.Context, *dynamo.Client) error,
	) error {
		return own[Journal](journal).operateRequests(ctx, do)
	}
	private.PartOf = func(event any) int { return own[Event](event).part }
	private.ReadItem = func(
		journal any, pid string, partition int64, item dynamo.Attributes,
	) (private.StoredEvent, bool, error) {
		return own[Journal](journal).readItem(pid, partition, item)
	}
	private.ReadPage = func(
		ctx context.Context, journal any, pid string, from int64, most int,
	) (private.Page, error) {
		return own[Journal](journal).readPage(ctx, pid, from, most)
	}
	private.ReadEvents = func(
		ctx context.Context, journal any, pid string, from int64, handle func(any) error,
	) (int64, int64, error) {
		return own[Journal](journal).readFrom(ctx, pid, from, handle)
	}
	private.Recover = func(
		ctx context.Context, journal any, pid string, opts any, handle func(any) error,
	) (any, error) {
		return own[Journal](journal).recoverFor(ctx, pid, own[RecoverOptions](opts), handle)
	}
	private.OnState = func(
		ctx context.Context, journal any, pid string, do func(context.Context, *states.Store, *dynamo.Meter) error,
	) (dynamo.Cost, error) {
		return own[Journal](journal).onState(ctx, pid, do)
	}
	private.SetClock = func(config any, c *clock.Clock) { own[Config](config).clock = c }
	private.SetRecord = func(record any, r *history.Record) { *own[Record](record) = publicRecord(r) }
	private.SetUpcasters = func(journal any, prefix string, byManifest map[string]private.Upcaster) {
		own[Journal](journal).upcasters.set(prefix, byManifest)
	}
	private.SetSerialization = func(event any, r *serialization.Registry) { own[Event](event).registry = r }
	private.SettingsOf = func(journal any) private.Settings { return own[Journal](journal).settings() }
	private.StartAppend = func(ctx context.Context, writer any, events []any) private.StartedAppend {
		return own[Writer](writer).startAppend(ctx, events)
	}
	private.StoredAt = func(
		ctx context.Context, journal any, pid string, span private.Span,
	) (map[int64]bool, error) {
		return own[Journal](journal).storedAt(ctx, pid, span)
	}
	private.Taken = func(ctx context.Context, journal any, pid string, seq int64) (taken, gone bool, err error) {
		return own[Journal](journal).taken(ctx, pid, seq)
	}
}

// own returns v as a pointer to a type of this package.
func own[T any](v any) *T {
	p, ok := v.(*T)
	if !ok {
		panic(fmt.Sprintf("got a %T, want a %T", v, p))
	}
	return p
}
