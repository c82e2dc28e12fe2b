package dynajournal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// IDsOptions are the options for listing persistence ids. The zero value lists all ids, using the
// journal's index if it has one.
type IDsOptions struct {
	// After lists only the ids after this one, in the order of the listing. To continue a listing,
	// set it to the last id of that listing, and leave the other options unchanged.
	//
	// Defaults to starting with the first id.
	After string

	// Limit is the largest number of ids to list.
	//
	// Defaults to no limit.
	Limit int

	// Prefix lists only the ids that begin with this prefix.
	//
	// Defaults to all ids.
	Prefix string

	// Scan reads the whole table instead of the index. A scan needs no index, and finds all ids
	// that were written before the call, while an index can lag behind the table for a moment.
	//
	// Defaults to false. A journal without an index is scanned anyway.
	Scan bool

	// Segments is the number of parts of a scan that are read at the same time. More segments make
	// the scan faster. After can't be used with several segments, unless Sorted is set.
	//
	// From 0 to 1,000. Defaults to 1.
	Segments int

	// Sorted lists the ids in the order of their UTF-8 bytes. It needs memory for all ids, except
	// if it uses the index of a native journal, which has that order.
	//
	// Defaults to false.
	Sorted bool
}

// maxScanSegments limits the goroutines and requests of a scan. DynamoDB allows more segments.
const maxScanSegments = 1000

func (o IDsOptions) check() error {
	switch {
	case o.Limit < 0:
		return &ArgumentError{"IDsOptions.Limit", o.Limit, core.MustNotBeNegative}
	case o.Segments < 0 || o.Segments > maxScanSegments:
		return &ArgumentError{"IDsOptions.Segments", o.Segments,
			fmt.Sprintf("it must be from 0 to %d", maxScanSegments)}
	case o.Segments > 1 && o.After != "" && !o.Sorted:
		return &ArgumentError{"IDsOptions.After", o.After, "a scan in several segments can't be continued: use one segment, or set Sorted"}
	}
	return nil
}

// CurrentPersistenceIDs lists the persistence ids that have or had events, each once. It includes
// ids whose events are all deleted, but not purged ids. An id whose first event is written during
// the listing may be missing.
//
// It uses the sparse index of a native journal or the plug-ins' index of a shared journal. A
// journal without an index is scanned. Memory use does not depend on the number of ids, unless
// IDsOptions.Sorted is set.
//
// Errors: [ErrInvalidArgument], [ErrIndex], [ErrCorruptItem], [ErrClosed], and request errors.
// After an error the sequence ends.
func (j *Journal) CurrentPersistenceIDs(ctx context.Context, opts IDsOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := j.listIDs(ctx, opts, func(pid string) bool { return yield(pid, nil) }); err != nil {
			yield("", j.core.ListError(err))
		}
	}
}

// PersistenceIDs lists the persistence ids as [Journal.CurrentPersistenceIDs] does, and then new
// ids as they appear, until the context ends or the loop is left. Each poll costs a whole listing.
// It takes 16 bytes of memory for each id that it has listed. Throttling and outages only delay it.
//
// Errors are those documented on CurrentPersistenceIDs.
func (j *Journal) PersistenceIDs(ctx context.Context, opts IDsOptions, poll Poll) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		listed, remaining, ended := map[[16]byte]bool{}, opts.Limit, false
		all := opts
		all.Limit = 0
		listNew := func() (bool, error) {
			found := false
			err := j.listIDs(ctx, all, func(pid string) bool {
				sum := sha256.Sum256([]byte(pid))
				id := [16]byte(sum[:16])
				if listed[id] {
					return true
				}
				listed[id], found = true, true
				remaining--
				ended = !yield(pid, nil) || remaining == 0
				return !ended
			})
			if ended {
				err = protocol.ErrStop
			}
			return found, err
		}
		err := opts.check()
		var pauses backoff.Pauses
		if err == nil {
			pauses, err = poll.pauses()
		}
		if err == nil {
			err = j.core.Poll(ctx, pauses, listNew, func() (time.Duration, bool) { return 0, false })
		}
		if err != nil && !errors.Is(err, protocol.ErrStop) {
			yield("", j.core.ListError(err))
		}
	}
}

func (j *Journal) listIDs(ctx context.Context, opts IDsOptions, emit func(string) bool) error {
	if err := j.checkListing(opts); err != nil {
		return err
	}
	return j.core.List(ctx, (*core.Listing)(&opts), emit)
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
	if err := j.core.CheckListed(opts.After); err != nil {
		return &ArgumentError{"IDsOptions.After", opts.After, err.Error()}
	}
	return nil
}
