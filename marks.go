package dynajournal

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/replay"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// raiseHighMark puts the high mark that seq needs. One that is already higher is as good.
func (w *Writer) raiseHighMark(ctx context.Context, m *dynamo.Meter, seq int64) error {
	return w.journal.store.RaiseHighMark(ctx, m, w.pid, seq, w.journal.fresh(w.active))
}

// putLowMark puts a low mark, by what the writer knows of the journal. errMarkMoved reports that
// one as high is stored.
func (w *Writer) putLowMark(ctx context.Context, m *dynamo.Meter, low layout.LowMark) error {
	item := w.journal.store.Keys.EncodeLowMark(w.pid, low, w.journal.idsAttributes(w.pid), 0)
	return w.putMark(ctx, m, item, replay.MarkMovesUp, w.journal.fresh(w.active))
}

// renewMarks puts the marks of a purged id without their expiry. If the low mark has vanished since it was read, another writer
// may have begun anew below it, and this one ends with a *ConflictError: raising it again would hide what that one writes.
func (w *Writer) renewMarks(ctx context.Context, m *dynamo.Meter) error {
	if !safeguard.RenewMarks {
		return nil
	}
	store := w.journal.store.While(w.journal.fresh(w.active))
	if w.low.Seq > 0 && safeguard.RenewExisting {
		there, err := store.RenewLowMark(ctx, m, w.pid, w.low)
		if err != nil {
			return err
		}
		if !there {
			conflict := &ConflictError{PersistenceID: w.pid, SequenceNumber: w.next}
			w.end(conflict)
			return conflict
		}
	} else if w.low.Seq > 0 {
		if err := store.RaiseLowMark(ctx, m, w.pid, w.low); err != nil {
			return err
		}
	}
	if w.next-1 < layout.PartitionSize {
		return nil
	}
	return w.raiseHighMark(ctx, m, w.next-1)
}

// errMarkMoved says that a mark is already where it was to be moved, or beyond.
var errMarkMoved = errors.New("the mark is as high already")

func ignoreMoved(err error) error {
	if errors.Is(err, errMarkMoved) {
		return nil
	}
	return err
}

// putMark puts a mark's item under a condition on its value, :v. before is that of dynamo.Put.
func (w *Writer) putMark(ctx context.Context, m *dynamo.Meter, item layout.Attributes, condition string, before func() error) error {
	put := dynamo.Put{Table: w.journal.config.JournalTable, Item: item, Before: before}
	if safeguard.MarksRise {
		put.Condition, put.Values = condition, map[string]types.AttributeValue{":v": item[layout.AttrSeq]}
	}
	err := w.journal.client.Put(ctx, m, put)
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return errMarkMoved
	}
	return err
}
