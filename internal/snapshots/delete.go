package snapshots

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Delete deletes the snapshots that meet the criteria, all of them, and returns how many they were. Of a number that stands
// in both forms the whole one decides, and both go. Parts go with their heads; also those that a crash has left, where no head
// stands any more that names them: all of the criteria's numbers, but with bounds on the timestamp, which such parts don't
// say, only of the numbers that are deleted.
func (s *Store) Delete(ctx context.Context, m *dynamo.Meter, pid string, c Criteria) (int64, error) {
	if c.none() {
		return 0, nil
	}
	d := &deletion{
		store: s, meter: m, criteria: c,
		heads: map[int64]layout.Attributes{}, deleted: map[int64]bool{},
	}
	err := s.eachKey(ctx, m, pid, c, d.down)
	if err == nil {
		err = d.past(ctx)
	}
	if err != nil {
		err = fmt.Errorf("delete the snapshots of %q: %w", pid, err)
	}
	return int64(len(d.deleted)), err
}

// eachKey reads the keys and timestamps of all items of the criteria's numbers, page after page, in the order of falling keys:
// heads, whole snapshots, parts. What stands between these are numbers that the criteria leave out; where they leave out none
// it is one range.
func (s *Store) eachKey(ctx context.Context, m *dynamo.Meter, pid string, c Criteria, page func(context.Context, []layout.Attributes) error) error {
	lo, hi := max(c.MinSeq, 0), c.MaxSeq
	heads := [2]string{layout.SplitHeadNumber(hi), layout.SplitHeadNumber(lo)}
	wholes := [2]string{strconv.FormatInt(hi, 10), strconv.FormatInt(lo, 10)}
	parts := [2]string{layout.SplitPartNumber(lo, 0, 0), layout.SplitPartNumber(hi, layout.MaxSplitToken, layout.MaxSplitParts)}
	ranges := [][2]string{heads, wholes, parts}
	switch {
	case lo == 0 && hi == math.MaxInt64:
		ranges = [][2]string{{heads[0], parts[1]}}
	case lo == 0:
		ranges = [][2]string{heads, {wholes[0], parts[1]}}
	}
	for _, r := range ranges {
		q := s.rangeQuery(pid, r[0], r[1])
		q.ProjectionExpression = aws.String(layout.AttrPar + ", " + layout.AttrSnapshotSeq + ", " + layout.AttrSnapshotTS + ", " + layout.AttrSplitTS)
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
	criteria Criteria

	// heads are those of which it is open whether a whole snapshot hides them, deleted the numbers of what was deleted.
	heads   map[int64]layout.Attributes
	deleted map[int64]bool
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
				if hides {
					hidden = append(hidden, head)
				}
			}
		}
	}
	err := d.remove(ctx, hidden)
	if err == nil {
		err = d.drop(ctx, wholes)
	}
	if err == nil && len(parts) > 0 {
		if err = d.past(ctx); err == nil {
			err = d.remove(ctx, slices.DeleteFunc(parts, d.named))
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
	return d.drop(ctx, heads)
}

// drop removes items that count.
func (d *deletion) drop(ctx context.Context, items []layout.Attributes) error {
	if err := d.remove(ctx, items); err != nil {
		return err
	}
	for _, item := range items {
		_, seq := layout.SnapshotItem(item)
		d.deleted[seq] = true
	}
	return nil
}

// named says whether a head that is left may name a part: there is none where every timestamp meets the criteria.
func (d *deletion) named(part layout.Attributes) bool {
	_, seq := layout.SnapshotItem(part)
	return d.criteria.timed() && !d.deleted[seq]
}

func (d *deletion) remove(ctx context.Context, items []layout.Attributes) error {
	keys := make([]layout.Attributes, len(items))
	for i, item := range items {
		keys[i] = layout.Attributes{layout.AttrPar: item[layout.AttrPar], layout.AttrSnapshotSeq: item[layout.AttrSnapshotSeq]}
	}
	return d.store.Client.BatchDelete(ctx, d.meter, d.store.Table, keys)
}
