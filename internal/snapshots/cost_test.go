package snapshots_test

import (
	"fmt"
	"testing"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/snapshots"
)

// costs formats a cost.
func costs(c dynamo.Cost) string {
	return fmt.Sprintf("%d / %g / %g", c.Requests, c.ReadUnits, c.WriteUnits)
}

// A store with only whole snapshots costs no more than the plug-ins. A store with split ones also
// costs the search for their heads, which plug-ins do not make.
func TestCost_Snapshots(t *testing.T) {
	t.Parallel()
	upTo := func(seq int64) snapshots.Criteria {
		c := snapshots.Everything()
		c.MaxSeq = seq
		return c
	}
	from := func(seq int64) snapshots.Criteria {
		c := snapshots.Everything()
		c.MinSeq = seq
		return c
	}
	until := func(ts int64) snapshots.Criteria {
		c := snapshots.Everything()
		c.MaxTS = ts
		return c
	}
	load := func(c snapshots.Criteria) func(*base, *snapshots.Store, *dynamo.Meter) error {
		return func(b *base, s *snapshots.Store, m *dynamo.Meter) error {
			return s.Each(b.Context(), m, "a", c, 1, func(layout.Snapshot, error) bool { return false })
		}
	}
	save := func(snapshot layout.Snapshot) func(*base, *snapshots.Store, *dynamo.Meter) error {
		return func(b *base, s *snapshots.Store, m *dynamo.Meter) error { return s.Save(b.Context(), m, &snapshot) }
	}
	remove := func(c snapshots.Criteria) func(*base, *snapshots.Store, *dynamo.Meter) error {
		return func(b *base, s *snapshots.Store, m *dynamo.Meter) error {
			_, err := s.Delete(b.Context(), m, "a", c)
			return err
		}
	}
	newest := func(b *base, s *snapshots.Store, m *dynamo.Meter) error {
		_, err := s.Newest(b.Context(), m, "a", snapshots.Everything())
		return err
	}
	none, wholes := []layout.Snapshot(nil), []layout.Snapshot{snapshot(1, small), snapshot(2, small), snapshot(3, small)}
	mixed, splits := []layout.Snapshot{snapshot(1, small), snapshot(2, split)}, []layout.Snapshot{snapshot(1, split), snapshot(2, split)}
	compressing := func(do func(*base, *snapshots.Store, *dynamo.Meter) error) func(*base, *snapshots.Store, *dynamo.Meter) error {
		return func(b *base, s *snapshots.Store, m *dynamo.Meter) error {
			s.Compress = true
			return do(b, s, m)
		}
	}
	for name, c := range map[string]struct {
		stored []layout.Snapshot
		do     func(*base, *snapshots.Store, *dynamo.Meter) error
		want   string
	}{
		"load, none":                               {none, load(snapshots.Everything()), "1 / 1 / 0"},
		"load":                                     {wholes, load(snapshots.Everything()), "1 / 1 / 0"},
		"load, from a number":                      {wholes, load(from(2)), "1 / 1 / 0"},
		"load, by a time that the newest meets":    {wholes, load(until(300)), "1 / 1 / 0"},
		"load, by another time":                    {wholes, load(until(200)), "2 / 2 / 0"},
		"load, up to a number":                     {wholes, load(upTo(2)), "2 / 2 / 0"},
		"load, a split one":                        {mixed, load(snapshots.Everything()), "4 / 5 / 0"},
		"load, a split one up to a number":         {splits, load(upTo(2)), "3 / 4 / 0"},
		"load, of a store that compresses":         {splits, compressing(load(snapshots.Everything())), "3 / 4 / 0"},
		"save compressed":                          {none, compressing(save(snapshot(4, small))), "2 / 1 / 1"},
		"delete all, of both forms":                {append(splits, snapshot(2, small)), remove(snapshots.Everything()), "5 / 3 / 17"},
		"newest":                                   {wholes, newest, "1 / 1 / 0"},
		"save":                                     {none, save(snapshot(4, small)), "1 / 0 / 1"},
		"save, in the place of another":            {wholes, save(snapshot(3, small)), "1 / 0 / 1"},
		"save, over a split one":                   {splits, save(snapshot(2, small)), "1 / 0 / 1"},
		"save, split in 7 parts":                   {splits, save(snapshot(4, split)), "9 / 1 / 8"},
		"save, split, in the place of another":     {wholes, save(snapshot(3, split)), "10 / 1 / 9"},
		"save, split, in the place of a split one": {splits, save(snapshot(2, split)), "10 / 1 / 15"},
		"delete none":                              {none, remove(snapshots.Everything()), "1 / 1 / 0"},
		"delete all":                               {wholes, remove(snapshots.Everything()), "2 / 1 / 3"},
		"delete up to a number":                    {wholes, remove(upTo(2)), "3 / 2 / 2"},
		"delete one by its number":                 {wholes, remove(snapshots.Criteria{MinSeq: 2, MaxSeq: 2, MinTS: snapshots.Everything().MinTS, MaxTS: snapshots.Everything().MaxTS}), "4 / 3 / 1"},
		"delete by a time":                         {wholes, remove(until(200)), "2 / 1 / 2"},
		"delete by a time, with a split one":       {splits, remove(until(100)), "3 / 1 / 8"},
		"delete all, with split ones":              {splits, remove(snapshots.Everything()), "3 / 3 / 16"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBase(t)
			s := b.store(nil, nil)
			for _, snapshot := range c.stored {
				b.save(s, snapshot)
			}
			var m dynamo.Meter
			if err := c.do(b, s, &m); err != nil {
				t.Fatal(err)
			}
			if got := costs(m.Cost()); got != c.want {
				t.Errorf("requests / read units / write units are %s, want %s", got, c.want)
			}
		})
	}
}
