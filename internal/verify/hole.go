package verify

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// missing records missing numbers. In a native journal the items after them show whether an item
// was lost there. In a shared journal nothing shows it.
func (k *check) missing(ctx context.Context, s span) error {
	if k.Store.Shared() {
		return k.hole(ctx, s, Damage)
	}
	k.holes = append(k.holes, s)
	return nil
}

// judgeHoles reports the missing numbers about which a slot decides. The others stay in k.holes.
func (k *check) judgeHoles(ctx context.Context, slot *layout.Slot) error {
	holes := k.holes
	k.holes = nil
	for _, s := range holes {
		later, more := protocol.LaterWrite(slot, s.first)
		var err error
		switch {
		case more:
			k.holes = append(k.holes, s)
		case later == 0:
			err = k.hole(ctx, s, Damage)
		default:
			if s.last >= later {
				k.holes = append(k.holes, span{later, s.last})
			}
			err = k.lost(ctx, span{s.first, min(s.last, later-1)}, slot.SequenceNr)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// undecided reports the missing numbers about which no slot has decided.
func (k *check) undecided(ctx context.Context, severity Severity) error {
	holes := k.holes
	k.holes = nil
	for _, s := range holes {
		if err := k.hole(ctx, s, severity); err != nil {
			return err
		}
	}
	return nil
}

// hole reports missing numbers that the next recovery seals.
func (k *check) hole(ctx context.Context, s span, severity Severity) error {
	return k.stillMissing(ctx, &Finding{
		SequenceNr: s.first, Severity: severity,
		Detail: fmt.Sprintf("nothing is stored at %s; the next recovery seals them", spans([]span{s})),
	})
}

// lost reports missing numbers at which items were lost, as the event next shows.
func (k *check) lost(ctx context.Context, s span, next int64) error {
	partition := k.Store.Keys.Partition(k.pid, s.first/layout.PartitionSize)
	return k.stillMissing(ctx, &Finding{
		SequenceNr: s.first, Severity: DataLoss, Option: SealMissing,
		Detail: fmt.Sprintf("nothing is stored at %s, and event %d was written after them: items were lost. Restore them from a backup "+
			"of the table, the first from par=%q num=%d, or seal the numbers to continue without them",
			spans([]span{s}), next, partition, s.first%layout.PartitionSize),
		repair: func(ctx context.Context, m *Mender) (bool, error) { return k.sealMissing(ctx, m, s) },
	})
}

// stillMissing reports a hole, unless something was written at its first number since that was
// found missing.
func (k *check) stillMissing(ctx context.Context, f *Finding) error {
	now, err := k.Store.Stored(ctx, &k.meter, k.pid, f.SequenceNr)
	if err != nil || now != nil {
		return err
	}
	f.Kind = Hole
	return k.found(*f)
}

// sealMissing seals numbers at which items were lost, unless an item is there by now, or the low
// mark is above the number.
func (k *check) sealMissing(ctx context.Context, m *Mender, s span) (bool, error) {
	marks, err := k.Store.LowMark(ctx, m.Meter, k.pid)
	if err != nil {
		return false, err
	}
	changed := false
	for seq := max(s.first, marks.Low.First()); seq <= s.last; seq++ {
		slot, err := k.Store.Seal(ctx, m.Meter, k.pid, seq, marks.Low.Purged)
		if err != nil {
			return changed, err
		}
		changed = changed || slot.Seal()
	}
	return changed, nil
}
