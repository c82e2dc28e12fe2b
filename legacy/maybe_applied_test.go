package legacy_test

import (
	"context"
	"errors"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/legacy"
)

func TestMaybeAppliedReportsWhetherACallMayHaveChangedWhatIsStored(t *testing.T) {
	t.Parallel()
	// With more than one, marks are put at the same time. The first refusal cancels the others,
	// whose outcome is then unknown.
	const deleted = 1
	calls := map[string]func(ctx context.Context, b *fixture, w *legacy.Writer) error{
		"Append": func(ctx context.Context, _ *fixture, w *legacy.Writer) error {
			_, err := w.Append(ctx, "new")
			return err
		},
		"AppendEach": func(ctx context.Context, _ *fixture, w *legacy.Writer) error {
			_, err := w.AppendEach(ctx, "new", "newer")
			return err
		},
		"DeleteTo": func(ctx context.Context, _ *fixture, w *legacy.Writer) error {
			_, err := w.DeleteTo(ctx, deleted, legacy.Permanent)
			return err
		},
		"Confirm": func(ctx context.Context, _ *fixture, w *legacy.Writer) error {
			_, err := w.Confirm(ctx, 1, "channel")
			return err
		},
		"DeleteTable": func(ctx context.Context, b *fixture, _ *legacy.Writer) error {
			return legacy.DeleteTable(ctx, b.config)
		},
	}
	faults := map[string]struct {
		fault embedded.Fault
		want  bool
	}{
		"throttled":               {embedded.Fault{Effect: embedded.EffectThroughputExceeded}, false},
		"denied":                  {embedded.Fault{Effect: embedded.EffectExpiredToken}, false},
		"done, response lost":     {embedded.Fault{Effect: embedded.EffectReset, Applied: true}, true},
		"not done, response lost": {embedded.Fault{Effect: embedded.EffectReset}, true},
	}
	for _, layout := range legacy.Layouts() {
		for name, call := range calls {
			for fault, f := range faults {
				t.Run(layout.String()+"/"+name+"/"+fault, func(t *testing.T) {
					t.Parallel()
					if name == "Confirm" && layout == legacy.Naive {
						t.Skip("the layout has no confirmations")
					}
					b := newFixture(t, layout)
					b.config.Journal.Retries = -1
					w := b.recovered(b.open(), "a")
					b.write(w, deleted+1)
					for _, operation := range []string{"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "DeleteTable"} {
						f.fault.Operation = operation
						defer b.inject(f.fault)()
					}
					if err := call(t.Context(), b, w); err == nil || dynajournal.MaybeApplied(err) != f.want {
						t.Errorf("MaybeApplied reports %v, want %v, of the error %v", !f.want, f.want, err)
					}
				})
			}
		}
	}
}

func TestErrOfAWriterIsWhyItHasEnded(t *testing.T) {
	t.Parallel()
	b := newFixture(t, legacy.HashKey)
	j := b.open()
	loser := b.recovered(j, "a")
	winner := b.recovered(j, "a")
	b.write(winner, 1)
	if err := loser.Err(); err != nil {
		t.Errorf("a writer that has not ended reports %v", err)
	}
	if _, err := loser.Append(t.Context(), "late"); !errors.Is(err, dynajournal.ErrWriterConflict) || dynajournal.MaybeApplied(err) {
		t.Errorf("error %v", err)
	}
	if err := loser.Err(); !errors.Is(err, dynajournal.ErrWriterConflict) {
		t.Errorf("after a conflict: %v", err)
	}
	_, err := loser.Append(t.Context(), "later")
	if !errors.Is(err, dynajournal.ErrWriterEnded) || !errors.Is(err, dynajournal.ErrWriterConflict) || dynajournal.MaybeApplied(err) {
		t.Errorf("a call on a writer that has ended returns %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if err := winner.Err(); !errors.Is(err, dynajournal.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
