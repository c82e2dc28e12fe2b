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

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/ids"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// IDsOptions are the options of listing persistence ids. The zero value lists all, by the journal's
// index if it has one.
type IDsOptions struct {
	// After lists the ids behind this one in the order of the listing. To go on with a listing, set
	// it to the last id of the listing, and leave the other options as they were.
	//
	// Defaults to beginning with the first.
	After string

	// Limit is the largest number of ids to list.
	//
	// Defaults to no limit.
	Limit int

	// Prefix lists only the ids that begin with it.
	//
	// Defaults to all.
	Prefix string

	// Scan reads the whole table instead of the index. It needs no index, and finds all ids that
	// were written before the call; an index can lag behind the table for a moment.
	//
	// Defaults to false. A journal without an index is scanned anyway.
	Scan bool

	// Segments is the number of parts of a scan that are read at the same time. More make the scan
	// faster. A listing with several segments can't be continued by After, unless it is Sorted.
	//
	// From 0 to 1,000. Defaults to 1.
	Segments int

	// Sorted lists in the order of the ids' UTF-8 bytes. It holds all ids in memory, except when it
	// lists by the index of a native journal, which has that order.
	//
	// Defaults to false.
	Sorted bool
}

// maxScanSegments limits the goroutines and requests of a scan. DynamoDB allows more.
const maxScanSegments = 1000

func (o IDsOptions) check() error {
	switch {
	case o.Limit < 0:
		return &ArgumentError{"IDsOptions.Limit", o.Limit, core.MustNotBeNegative}
	case o.Segments < 0 || o.Segments > maxScanSegments:
		return &ArgumentError{"IDsOptions.Segments", o.Segments,
			fmt.Sprintf("it must be from 0 to %d", maxScanSegments)}
	case o.Segments > 1 && o.After != "" && !o.Sorted:
		return &ArgumentError{"IDsOptions.After", o.After, "a scan in several segments has no order to go on in"}
	}
	return nil
}

// CurrentPersistenceIDs lists the persistence ids that have or had events, each once. It lists ids
// whose events are all deleted, and no purged ones. An id whose first event is written during the
// listing may be missing.
//
// A native journal is listed by its sparse index, a shared one by the index of the plug-ins, and
// one without an index by a scan. The memory does not depend on the number of ids, unless
// IDsOptions.Sorted is set.
//
// Errors: [ErrInvalidArgument], [ErrIndex], [ErrCorruptItem], [ErrClosed], and those of requests.
// After an error the sequence ends.
func (j *Journal) CurrentPersistenceIDs(ctx context.Context, opts IDsOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := j.listIDs(ctx, opts, func(pid string) bool { return yield(pid, nil) }); err != nil {
			yield("", j.listError(err))
		}
	}
}

// PersistenceIDs lists the persistence ids as [Journal.CurrentPersistenceIDs] does, and then new
// ones as they appear, until the context ends or the loop is left. It polls: each poll costs a
// listing. It takes 16 bytes of memory for each id that it has listed. Throttling and outages only
// delay it.
//
// Errors: those of CurrentPersistenceIDs.
func (j *Journal) PersistenceIDs(ctx context.Context, opts IDsOptions, poll Poll) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		listed, left, ended := map[[16]byte]bool{}, opts.Limit, false
		all := opts
		all.Limit = 0
		look := func() (bool, error) {
			found := false
			err := j.listIDs(ctx, all, func(pid string) bool {
				sum := sha256.Sum256([]byte(pid))
				id := [16]byte(sum[:16])
				if listed[id] {
					return true
				}
				listed[id], found = true, true
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
			err = poll.poll(ctx, j.core.Life.Reading(), look, func() (time.Duration, bool) { return 0, false })
		}
		if err != nil && !errors.Is(err, protocol.ErrStop) {
			yield("", j.listError(err))
		}
	}
}

// listError returns the public form of the error of a listing.
func (j *Journal) listError(err error) error {
	err = j.core.InTable(j.core.Table, err)
	return fmt.Errorf("list the persistence ids of journal %q: %w", j.core.Name, err)
}

func (j *Journal) listIDs(ctx context.Context, opts IDsOptions, emit func(string) bool) error {
	if err := j.checkListing(opts); err != nil {
		return err
	}
	return j.core.Operate(ctx, func(ctx context.Context, op *lifetime.Operation) error {
		return j.listAll(ctx, op, opts, emit)
	})
}

// listAll lists ids in the operation op, until emit returns false.
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
			closed = nil // the loop was left, and gets no error
		}
		return more && closed == nil
	}
	for {
		known := !opts.Scan && j.core.HasIndex.Load()
		err := j.listFrom(ctx, opts, known, limited)
		if closed != nil {
			return closed
		}
		if !known || listed > 0 || !errors.Is(err, ErrInvalidRequest) {
			return err
		}
		j.core.HasIndex.Store(false) // the index was removed: find out again
	}
}

// listFrom lists ids by the index or by a scan. known reports that the index is known to exist.
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
	err := j.core.Store.Keys.CheckReadable(opts.After)
	if err == nil && j.Native() {
		err = j.core.Store.Keys.CheckIDsKey(opts.After)
	}
	if err != nil {
		return &ArgumentError{"IDsOptions.After", opts.After, err.Error()}
	}
	return nil
}

// tooLong reports whether an id with the prefix would be too long for the table or the index.
func (j *Journal) tooLong(prefix string) bool {
	keys := j.core.Store.Keys
	return errors.Is(keys.CheckReadable(prefix), layout.ErrNoKey) || j.Native() && keys.CheckIDsKey(prefix) != nil
}

// idsLister lists ids.
type idsLister func(context.Context, *dynamo.Meter, ids.Window, func(string) bool) error

// sortIDs lists ids in their order. It holds all in memory.
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

// idsSource returns how to list ids, and reports whether that is in their order.
func (j *Journal) idsSource(ctx context.Context, opts IDsOptions, known bool) (idsLister, bool, error) {
	scan := func(ctx context.Context, m *dynamo.Meter, w ids.Window, emit func(string) bool) error {
		return j.core.IDs.Scan(ctx, m, w, max(opts.Segments, 1), emit)
	}
	if opts.Scan {
		return scan, false, nil
	}
	if !known {
		found, err := j.core.FindIndex(ctx, j.core.Client, j.Native())
		if err != nil {
			return nil, false, err
		}
		if !found {
			return scan, false, nil
		}
		j.core.HasIndex.Store(true)
	}
	if j.Native() {
		return j.core.IDs.Native, true, nil
	}
	return j.core.IDs.SharedByIndex, false, nil
}
