package dynajournal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/ids"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// IDsOptions say which persistence ids to list, and how. The zero value is all, by the journal's
// index if it has one.
type IDsOptions struct {
	// After is the id to go on after, the last one of an earlier listing in the same way.
	After string
	// Limit is how many to list at most; 0 is no limit.
	Limit int
	// Prefix is what the ids begin with.
	Prefix string
	// Sorted lists in the order of the ids' UTF-8 bytes. The index of a native journal is in that
	// order anyway; in any other case all ids are held in memory.
	Sorted bool
	// Scan reads the whole table and needs no index. It sees what was written before, where an
	// index may lag a moment.
	Scan bool
	// Segments is how many parts of a scan are read at the same time, at most 1000; 0 is one. A
	// listing with more can't be gone on with by After.
	Segments int
}

// maxScanSegments bounds the goroutines and requests of a scan; DynamoDB itself would allow more.
const maxScanSegments = 1000

func (o IDsOptions) check() error {
	switch {
	case o.Limit < 0:
		return &ArgumentError{"IDsOptions.Limit", o.Limit, mustNotBeNegative}
	case o.Segments < 0 || o.Segments > maxScanSegments:
		return &ArgumentError{"IDsOptions.Segments", o.Segments, fmt.Sprintf("it must be from 0 to %d", maxScanSegments)}
	case o.Segments > 1 && o.After != "" && !o.Sorted:
		return &ArgumentError{"IDsOptions.After", o.After, "a scan in several segments has no order to go on in"}
	}
	return nil
}

// CurrentPersistenceIDs lists the persistence ids that have events, or had some that were deleted,
// each once; purged ones are not among them. A native journal is listed by its sparse index, a
// shared one by the plug-ins' index, and where there is none by a scan. The cost grows with the
// pages of the index, the memory does not (but see IDsOptions.Sorted). Ids whose first event is
// written during the listing may be in it or not.
//
// Errors: ErrInvalidArgument, ErrIndex, ErrClosed, and those of any request. After an error the
// sequence ends.
func (j *Journal) CurrentPersistenceIDs(ctx context.Context, opts IDsOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := j.listIDs(ctx, opts, func(pid string) bool { return yield(pid, nil) }); err != nil {
			yield("", fmt.Errorf("list the persistence ids of journal %q: %w", j.config.JournalName, itemError(j.config.JournalTable, err)))
		}
	}
}

// PersistenceIDs lists the persistence ids as CurrentPersistenceIDs does, and then new ones as they
// appear, until the context ends or the loop is left. It remembers every id it has listed, by 16
// bytes; each look for new ones costs a listing.
func (j *Journal) PersistenceIDs(ctx context.Context, opts IDsOptions, poll Poll) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		known, left, ended := map[[16]byte]bool{}, opts.Limit, false
		all := opts
		all.Limit = 0
		look := func() (bool, error) {
			found := false
			err := j.listIDs(ctx, all, func(pid string) bool {
				sum := sha256.Sum256([]byte(pid))
				id := [16]byte(sum[:16])
				if known[id] {
					return true
				}
				known[id], found = true, true
				left--
				ended = !yield(pid, nil) || left == 0
				return !ended
			})
			if ended {
				err = protocol.ErrStop
			}
			return found, err
		}
		err := opts.check()
		if err == nil {
			err = poll.poll(ctx, j.life.Reading(), look, func() (time.Duration, bool) { return 0, false })
		}
		if err != nil && !errors.Is(err, protocol.ErrStop) {
			yield("", fmt.Errorf("list the persistence ids of journal %q: %w", j.config.JournalName, itemError(j.config.JournalTable, err)))
		}
	}
}

func (j *Journal) listIDs(ctx context.Context, opts IDsOptions, emit func(string) bool) error {
	if err := j.checkListing(opts); err != nil {
		return err
	}
	return j.operate(ctx, func(ctx context.Context, op *lifetime.Operation) error { return j.listAll(ctx, op, opts, emit) })
}

// listAll lists ids in the operation op, until emit reports false.
func (j *Journal) listAll(ctx context.Context, op *lifetime.Operation, opts IDsOptions, emit func(string) bool) error {
	if j.tooLong(opts.Prefix) {
		return nil
	}
	listed := 0
	var closed error
	limited := func(pid string) bool {
		listed++
		op.Leave()
		more := emit(pid) && (opts.Limit == 0 || listed < opts.Limit)
		if closed = op.Return(); !more {
			closed = nil // a loop that was left takes nothing more
		}
		return more && closed == nil
	}
	for {
		known := !opts.Scan && j.hasIndex.Load()
		err := j.listFrom(ctx, opts, known, limited)
		if closed != nil {
			return closed
		}
		if !known || listed > 0 || !errors.Is(err, ErrInvalidRequest) {
			return err
		}
		j.hasIndex.Store(false) // it was there, and is there no more: the next turn finds what is
	}
}

// listFrom lists ids by the index, of which it may be known that it is there, or by a scan.
func (j *Journal) listFrom(ctx context.Context, opts IDsOptions, known bool, emit func(string) bool) error {
	list, sorted, err := j.idsSource(ctx, opts, known)
	if err != nil {
		return err
	}
	var m dynamo.Meter
	w := ids.Window{After: opts.After, Prefix: opts.Prefix}
	if sorted || !opts.Sorted {
		return list(ctx, &m, w, emit)
	}
	return sortIDs(ctx, &m, w, list, emit)
}

func (j *Journal) checkListing(opts IDsOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	if !utf8.ValidString(opts.Prefix) {
		return &ArgumentError{"IDsOptions.Prefix", opts.Prefix, layout.ErrNotUTF8.Error()}
	}
	if opts.After == "" {
		return nil
	}
	err := j.store.Keys.CheckReadable(opts.After)
	if err == nil && j.Native() {
		err = j.store.Keys.CheckIDsKey(opts.After)
	}
	if err != nil {
		return &ArgumentError{"IDsOptions.After", opts.After, err.Error()}
	}
	return nil
}

// tooLong says whether no id can begin with prefix, as it would be too long for the table or the
// index.
func (j *Journal) tooLong(prefix string) bool {
	return errors.Is(j.store.Keys.CheckReadable(prefix), layout.ErrNoKey) || j.Native() && j.store.Keys.CheckIDsKey(prefix) != nil
}

// idsLister lists ids.
type idsLister func(context.Context, *dynamo.Meter, ids.Window, func(string) bool) error

// sortIDs lists all ids in memory to sort them.
func sortIDs(ctx context.Context, m *dynamo.Meter, w ids.Window, list idsLister, emit func(string) bool) error {
	var all []string
	if err := list(ctx, m, ids.Window{Prefix: w.Prefix}, func(pid string) bool {
		if pid > w.After || w.After == "" {
			all = append(all, pid)
		}
		return true
	}); err != nil {
		return err
	}
	slices.Sort(all)
	for _, pid := range all {
		if !emit(pid) {
			break
		}
	}
	return nil
}

// idsSource finds the way to list ids, and whether it sorts them.
func (j *Journal) idsSource(ctx context.Context, opts IDsOptions, known bool) (idsLister, bool, error) {
	scan := func(ctx context.Context, m *dynamo.Meter, w ids.Window, emit func(string) bool) error {
		return j.ids.Scan(ctx, m, w, max(opts.Segments, 1), emit)
	}
	if opts.Scan {
		return scan, false, nil
	}
	if !known {
		found, err := j.config.provision().FindIndex(ctx, j.client, j.Native())
		if err != nil {
			return nil, false, err
		}
		if !found {
			return scan, false, nil
		}
		j.hasIndex.Store(true)
	}
	if j.Native() {
		return j.ids.Native, true, nil
	}
	return j.ids.SharedByIndex, false, nil
}
