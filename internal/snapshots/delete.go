package snapshots

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// Delete deletes the snapshots that meet the criteria, all of them, and returns how many they were. Of a number that stands
// in both forms the whole one decides, and both go. Without bounds on the timestamp all parts of the criteria's numbers go,
// also those that a crash has left; with such, only those that the deleted heads name: others may be of a save under way. One
// of the same number that is saved meanwhile may go, too.
func (s *Store) Delete(ctx context.Context, m *dynamo.Meter, pid string, c Criteria) (int64, error) {
	if c.none() {
		return 0, nil
	}
	d := &deletion{store: s, meter: m, pid: pid, criteria: c, heads: map[int64]layout.Attributes{}}
	err := s.eachKey(ctx, m, pid, c, d.down)
	if err == nil {
		err = d.past(ctx)
	}
	if err != nil {
		err = fmt.Errorf("delete the snapshots of %q: %w", pid, err)
	}
	return d.deleted, err
}

// eachKey reads of all items of the criteria's numbers what a deletion must know, page after page, in the order of falling keys:
// heads, whole snapshots, and parts if no timestamp is bounded. What stands between these are numbers that the criteria leave
// out; where they leave out none it is one range.
func (s *Store) eachKey(ctx context.Context, m *dynamo.Meter, pid string, c Criteria, page func(context.Context, []layout.Attributes) error) error {
	lo, hi := max(c.MinSeq, 0), c.MaxSeq
	heads := [2]string{layout.SplitHeadNumber(hi), layout.SplitHeadNumber(lo)}
	wholes := [2]string{strconv.FormatInt(hi, 10), strconv.FormatInt(lo, 10)}
	parts := [2]string{layout.SplitPartNumber(lo, 0, 0), layout.SplitPartNumber(hi, layout.MaxSplitToken, layout.MaxSplitParts)}
	if !c.timed() && lo == 0 {
		wholes[1] = parts[1]
	}
	ranges := [][2]string{heads, wholes}
	if lo == 0 && hi == math.MaxInt64 {
		ranges = [][2]string{{heads[0], wholes[1]}}
	}
	if !c.timed() && lo > 0 {
		ranges = append(ranges, parts)
	}
	for _, r := range ranges {
		q := s.rangeQuery(pid, r[0], r[1])
		q.ProjectionExpression = aws.String(strings.Join([]string{
			layout.AttrPar, layout.AttrSnapshotSeq, layout.AttrSnapshotTS, layout.AttrSplitTS, layout.AttrSplitToken, layout.AttrSplitParts,
		}, ", "))
		for more := true; more; more = q.ExclusiveStartKey != nil {
			got, err := s.Client.Query(ctx, m, q)
			if err == nil {
				err = page(ctx, got.Items)
			}
			if err != nil {
				return err
			}
			q.ExclusiveStartKey = got.Next
		}
	}
	return nil
}

// deletion goes down through heads, whole snapshots and parts. A head goes before the whole snapshot that hides it.
type deletion struct {
	store    *Store
	meter    *dynamo.Meter
	pid      string
	criteria Criteria
	deleted  int64
	// heads are those of which it is open whether a whole snapshot hides them.
	heads map[int64]layout.Attributes
}

func (d *deletion) down(ctx context.Context, items []layout.Attributes) error {
	var hidden, wholes, parts []layout.Attributes
	for _, item := range items {
		form, seq := layout.SnapshotItem(item)
		switch form {
		case layout.SplitHeadItem:
			d.heads[seq] = item
		case layout.SplitPartItem:
			parts = append(parts, item)
		case layout.WholeSnapshotItem:
			head, hides := d.heads[seq]
			delete(d.heads, seq)
			if d.criteria.timely(item) {
				wholes = append(wholes, item)
				if safeguard.HiddenHeads && hides {
					hidden = append(hidden, head)
				}
			}
		}
	}
	err := d.removeHeads(ctx, hidden)
	if err == nil {
		err = d.remove(ctx, wholes)
	}
	if err == nil {
		d.deleted += int64(len(wholes))
	}
	if err == nil && len(parts) > 0 {
		if err = d.past(ctx); err == nil {
			err = d.remove(ctx, parts)
		}
	}
	return err
}

// past says that there are no more whole snapshots: the heads that are open count.
func (d *deletion) past(ctx context.Context) error {
	var heads []layout.Attributes
	for _, seq := range slices.Sorted(maps.Keys(d.heads)) {
		if d.criteria.timely(d.heads[seq]) {
			heads = append(heads, d.heads[seq])
		}
	}
	clear(d.heads)
	err := d.removeHeads(ctx, heads)
	if err == nil {
		d.deleted += int64(len(heads))
	}
	return err
}

// removeHeads removes heads, and their parts if these don't go with all others.
func (d *deletion) removeHeads(ctx context.Context, heads []layout.Attributes) error {
	err := d.remove(ctx, heads)
	for i := 0; d.criteria.timed() && err == nil && i < len(heads); i++ {
		err = d.store.deleteParts(ctx, d.meter, d.pid, heads[i])
		if _, unreadable := errors.AsType[*layout.ItemError](err); unreadable {
			err = nil // nobody knows its parts
		}
	}
	return err
}

func (d *deletion) remove(ctx context.Context, items []layout.Attributes) error {
	keys := make([]layout.Attributes, len(items))
	for i, item := range items {
		keys[i] = layout.Attributes{layout.AttrPar: item[layout.AttrPar], layout.AttrSnapshotSeq: item[layout.AttrSnapshotSeq]}
	}
	return d.store.Client.BatchDelete(ctx, d.meter, d.store.Table, keys, nil)
}
