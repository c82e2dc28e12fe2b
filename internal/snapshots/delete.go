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
)

// Delete deletes all snapshots that meet the criteria, and returns their number. If a number is
// stored in both forms, the whole one decides, and both are deleted. Without limits on the
// timestamp, all parts of the criteria's numbers are deleted, including parts that a crash has
// left. With such limits, only parts that the deleted heads name are deleted: others may belong to
// a save in progress. A snapshot of the same number that is being saved may also be deleted.
func (s *Store) Delete(ctx context.Context, m *dynamo.Meter, pid string, c Criteria) (int64, error) {
	if c.none() {
		return 0, nil
	}
	d := &deletion{store: s, meter: m, pid: pid, criteria: c, heads: map[int64]layout.Attributes{}}
	err := s.eachKey(ctx, m, pid, c, d.down)
	if err == nil {
		err = d.finishHeads(ctx)
	}
	if err != nil {
		err = fmt.Errorf("delete the snapshots of %q: %w", pid, err)
	}
	return d.deleted, err
}

// eachKey reads, page by page, the keys of all items of the criteria's numbers, in descending
// order: heads, whole snapshots, and parts if the timestamp has no limits. If the criteria exclude
// no number in between, one query reads all three.
func (s *Store) eachKey(
	ctx context.Context, m *dynamo.Meter, pid string, c Criteria, page func(context.Context, []layout.Attributes) error,
) error {
	lo, hi := max(c.MinSeq, 0), c.MaxSeq
	heads := [2]string{layout.SplitHeadNumber(hi), layout.SplitHeadNumber(lo)}
	wholes := [2]string{strconv.FormatInt(hi, 10), strconv.FormatInt(lo, 10)}
	parts := [2]string{layout.SplitPartNumber(lo, 0, 0),
		layout.SplitPartNumber(hi, layout.MaxSplitToken, layout.MaxSplitParts)}
	if !c.limitsTime() && lo == 0 {
		wholes[1] = parts[1]
	}
	ranges := [][2]string{heads, wholes}
	if lo == 0 && hi == math.MaxInt64 {
		ranges = [][2]string{{heads[0], wholes[1]}}
	}
	if !c.limitsTime() && lo > 0 {
		ranges = append(ranges, parts)
	}
	for _, r := range ranges {
		q := s.rangeQuery(pid, r[0], r[1])
		q.ProjectionExpression = aws.String(strings.Join([]string{
			layout.AttrPar, layout.AttrSnapshotSeq, layout.AttrSnapshotTS, layout.AttrSplitTS, layout.AttrSplitToken,
			layout.AttrSplitParts,
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

// deletion goes through heads, whole snapshots and parts in descending order. It deletes a head
// before the whole snapshot that hides it.
type deletion struct {
	store    *Store
	meter    *dynamo.Meter
	pid      string
	criteria Criteria
	deleted  int64
	// heads are the heads that a whole snapshot may still hide.
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
			if d.criteria.meetsTime(item) {
				wholes = append(wholes, item)
				if hides {
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
		if err = d.finishHeads(ctx); err == nil {
			err = d.remove(ctx, parts)
		}
	}
	return err
}

// finishHeads is called after the last whole snapshot: the remaining heads count.
func (d *deletion) finishHeads(ctx context.Context) error {
	var heads []layout.Attributes
	for _, seq := range slices.Sorted(maps.Keys(d.heads)) {
		if d.criteria.meetsTime(d.heads[seq]) {
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

// removeHeads removes heads. If the timestamp has limits, it also removes their parts. Otherwise
// the parts are removed with all others.
func (d *deletion) removeHeads(ctx context.Context, heads []layout.Attributes) error {
	err := d.remove(ctx, heads)
	for i := 0; d.criteria.limitsTime() && err == nil && i < len(heads); i++ {
		err = d.store.deleteParts(ctx, d.meter, d.pid, heads[i])
		if _, unreadable := errors.AsType[*layout.ItemError](err); unreadable {
			err = nil // its parts are not known
		}
	}
	return err
}

func (d *deletion) remove(ctx context.Context, items []layout.Attributes) error {
	keys := make([]layout.Attributes, len(items))
	for i, item := range items {
		keys[i] = layout.Attributes{layout.AttrPar: item[layout.AttrPar],
			layout.AttrSnapshotSeq: item[layout.AttrSnapshotSeq]}
	}
	return d.store.Client.BatchDelete(ctx, d.meter, d.store.Table, keys, d.store.Before)
}
