// Package states stores durable states: a value with a version in one item, which is replaced under
// the condition that it has not changed since it was read. A value that does not fit is split over
// several items. Decision 15 lists the invariants.
package states

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/outside"
)

var (
	// ErrConflict reports that another writer has replaced the state. Nothing is stored, and never
	// will be.
	ErrConflict = errors.New("another writer has replaced the state")
	// ErrTooLarge reports that a value is over the limit. Nothing is written.
	ErrTooLarge = errors.New("the state has too many bytes")
)

// Store reads and replaces states.
type Store struct {
	Client *dynamo.Client
	Clock  *clock.Clock
	Table  string
	Keys   layout.Keys
	// MaxItemSize is the item size above which a value is split. MaxBytes is the size of the
	// largest value. Both are in bytes.
	MaxItemSize, MaxBytes int
	// Parallelism limits the parallel requests of one put.
	Parallelism int
}

// Head reads the head of a state, strongly consistent. It returns nil if the head is missing.
func (s *Store) Head(ctx context.Context, m *dynamo.Meter, pid string) (*layout.State, error) {
	item, err := s.Client.Get(ctx, m, s.Table, s.Keys.StateKey(pid))
	if err != nil || item == nil {
		return nil, err
	}
	return s.Keys.DecodeState(pid, item)
}

// Read reads a state with its value. It returns nil if the head is missing.
func (s *Store) Read(ctx context.Context, m *dynamo.Meter, pid string) (*layout.State, error) {
	head, err := s.Head(ctx, m, pid)
	for {
		if err != nil || head == nil || head.Parts == 0 {
			return head, err
		}
		damage, failed := s.readParts(ctx, m, head)
		if failed != nil || damage == nil {
			return head, failed
		}
		// A put deletes the parts that it replaces.
		var now *layout.State
		if now, err = s.Head(ctx, m, pid); now != nil && bytes.Equal(now.Writers, head.Writers) {
			return nil, damage
		}
		head = now
	}
}

// Put replaces base by next. base is nil if no state is stored. Put sets the writers of next, and
// the fields that describe its parts. If an error is not ErrConflict, dynamo.MaybeApplied reports
// whether next may be stored.
func (s *Store) Put(ctx context.Context, m *dynamo.Meter, base, next *layout.State, w Writer) error {
	if len(next.Bytes) > s.MaxBytes {
		return fmt.Errorf("%w: %d, the limit is %d", ErrTooLarge, len(next.Bytes), s.MaxBytes)
	}
	put, token := identify(w, next)
	next.Writers, next.Parts = add(writersOf(base), put, next.Version), 0
	if layout.Size(s.Keys.EncodeState(next)) > s.MaxItemSize {
		next.Token = token
		return s.putSplit(ctx, m, base, next)
	}
	return s.putHead(ctx, m, base, next)
}

// Fence replaces a head by the same head under another writer, so that no put on it that is in
// flight can succeed. writers are the writers of the head, or empty if there is no head. Fence
// returns ErrConflict if the head has other writers, and otherwise the head that is stored then,
// with the same version.
func (s *Store) Fence(ctx context.Context, m *dynamo.Meter, pid string, writers []byte) (*layout.State, error) {
	base, err := s.Head(ctx, m, pid)
	switch {
	case err != nil:
		return nil, err
	case !bytes.Equal(writersOf(base), writers):
		return nil, ErrConflict
	}
	next := &layout.State{PersistenceID: pid, Purged: true}
	if base != nil {
		same := *base
		next = &same
	}
	put, _ := identify(NewWriter(), next)
	next.Writers = add(writers, put, next.Version)
	return next, s.putHead(ctx, m, base, next)
}

func writersOf(s *layout.State) []byte {
	if s == nil {
		return nil
	}
	return s.Writers
}

// putHead puts the head of next in the place of base.
func (s *Store) putHead(ctx context.Context, m *dynamo.Meter, base, next *layout.State) error {
	p := dynamo.Put{Table: s.Table, Item: s.Keys.EncodeState(next), Before: outside.Checking(next.Outside, s.Clock)}
	if base == nil {
		p.Condition = "attribute_not_exists(" + layout.AttrPar + ")"
	} else {
		p.Condition = layout.AttrStateWriters + " = :known"
		p.Values = dynamo.Attributes{":known": &types.AttributeValueMemberB{Value: base.Writers}}
	}
	err := s.Client.Put(ctx, m, p)
	if !errors.Is(err, dynamo.ErrConditionFailed) {
		return err
	}
	var met *layout.State
	if item := dynamo.OldItem(err); item != nil {
		var unread error
		if met, unread = s.Keys.DecodeState(next.PersistenceID, item); unread != nil && dynamo.MaybeApplied(err) {
			return errors.Join(err, unread)
		}
	}
	stored, known := Wrote(met, LastPut(next), next.Version)
	switch {
	case stored:
		return nil // by an attempt whose response was lost
	case dynamo.MaybeApplied(err) && (met == nil || !known):
		return err
	}
	return ErrConflict
}

// mostPurges limits the attempts of a purge while other writers replace the state.
const mostPurges = 100

// Purge replaces a state by nothing, with the next version, and deletes its parts. The item stays
// for good, so versions never start again, and a late request finds that the state was replaced. An
// item that expires is replaced in the same way. Purge returns ErrConflict if others have replaced
// the state at every attempt.
func (s *Store) Purge(ctx context.Context, m *dynamo.Meter, pid string) error {
	for range mostPurges {
		head, err := s.Head(ctx, m, pid)
		if err != nil || head == nil {
			return err
		}
		next := head
		if !head.Purged || head.Expiring {
			next = &layout.State{PersistenceID: pid, Version: head.Version + 1, Time: head.Time, Purged: true}
			put, _ := identify(NewWriter(), next)
			next.Writers = add(head.Writers, put, next.Version)
			err = s.putHead(ctx, m, head, next)
		}
		if !errors.Is(err, ErrConflict) {
			if err == nil {
				err = s.sweep(ctx, m, next)
			}
			return err
		}
	}
	return ErrConflict
}
