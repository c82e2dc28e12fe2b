package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// TestPublic_WrappedProtocolError wraps a protocol error in several ways. The public form
// must have the same text, and callers must find the public type in it.
func TestPublic_WrappedProtocolError(t *testing.T) {
	t.Parallel()
	conflict := &protocol.ConflictError{PersistenceID: "a", SequenceNumber: 3, WriterUUID: "w"}
	for name, err := range map[string]error{
		"alone":               conflict,
		"wrapped":             fmt.Errorf("purge: %w", conflict),
		"wrapped twice":       fmt.Errorf("purge: %w", fmt.Errorf("fence: %w", conflict)),
		"why a writer ended":  fmt.Errorf("%w: it ended with: %w", lifetime.ErrWriterEnded, conflict),
		"joined":              errors.Join(context.Canceled, conflict),
		"in an outcome":       &protocol.OutcomeUnknownError{PersistenceID: "a", First: 3, Last: 4, Err: conflict},
		"public already":      public(fmt.Errorf("append: %w", conflict)),
		"in a public outcome": &OutcomeUnknownError{"a", 3, 4, public(conflict)},
	} {
		form := public(fmt.Errorf("operation: %w", err))
		if want := "operation: " + err.Error(); form.Error() != want {
			t.Errorf("%s: text %q, want %q", name, form.Error(), want)
		}
		found, ok := errors.AsType[*ConflictError](form)
		if !ok || *found != (ConflictError{"a", 3, "w"}) || !errors.Is(form, ErrWriterConflict) {
			t.Errorf("%s: found %v in %v, want the conflict at 3", name, found, form)
		}
	}
}

// TestPublic_EachProtocolError converts an error of each type.
func TestPublic_EachProtocolError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		kind error
		is   func(error) bool
	}{
		{&protocol.ConflictError{}, ErrWriterConflict, found[*ConflictError]},
		{&protocol.OutcomeUnknownError{Err: context.Canceled}, ErrOutcomeUnknown, found[*OutcomeUnknownError]},
		{&protocol.ClockError{}, ErrClock, found[*ClockError]},
		{&protocol.RejectedError{Err: context.Canceled}, ErrRejected, found[*RejectedError]},
		{&protocol.ContentConflictError{}, ErrContentConflict, found[*ContentConflictError]},
		{&protocol.RecordError{}, ErrInvalidArgument, found[*ArgumentError]},
		{&protocol.EventMissingError{}, ErrEventMissing, found[*EventMissingError]},
		{&protocol.HoleError{}, ErrHole, found[*HoleError]},
		{&protocol.ItemError{Err: context.Canceled}, ErrCorruptItem, found[*ItemError]},
		{protocol.InTable("t", &layout.ItemError{Err: context.Canceled}), ErrCorruptItem, found[*ItemError]},
	} {
		form := public(c.err)
		if !c.is(form) || !errors.Is(form, c.kind) {
			t.Errorf("%T became %T", c.err, form)
		}
		if !errors.Is(c.kind, ErrInvalidArgument) && form.Error() != c.err.Error() {
			t.Errorf("%T: the text %q became %q", c.err, c.err, form)
		}
	}
}

func found[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// several is an error of a type that is not comparable, such as a caller's code may return.
type several []string

func (s several) Error() string { return fmt.Sprint([]string(s)) }

// TestPublic_CallersError expects an error without protocol errors in it to stay
// unchanged.
func TestPublic_CallersError(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, several{"a"}, fmt.Errorf("handler: %w", several{"a"}), errors.Join(several{"a"}, several{"b"})} {
		form := public(err)
		if fmt.Sprint(form) != fmt.Sprint(err) || err != nil && fmt.Sprintf("%T", form) != fmt.Sprintf("%T", err) {
			t.Errorf("%T (%v) became %T (%v)", err, err, form, form)
		}
	}
}
