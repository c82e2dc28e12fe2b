package verify

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// missing takes note of missing numbers. In a native journal what follows shows whether an item was
// lost there. In a shared one nothing shows it.
func (k *check) missing(ctx context.Context, s span) error {
	if k.Store.Shared() {
		return k.hole(ctx, s, Damage)
	}
	k.holes = append(k.holes, s)
	return nil
}

// judgeHoles reports the missing numbers about which a slot decides. It keeps the others.
func (k *check) judgeHoles(ctx context.Context, slot *layout.Slot) error {
	holes := k.holes
	k.holes = nil
	for _, s := range holes {
		later, more := protocol.LaterWrite(slot, s.first)
		if more {
			k.holes = append(k.holes, s)
			continue
		}
		if later == 0 {
			if err := k.hole(ctx, s, Damage); err != nil {
				return err
			}
			continue
		}
		if s.last >= later {
			k.holes = append(k.holes, span{later, s.last})
		}
		if err := k.lost(ctx, span{s.first, min(s.last, later-1)}, slot.SequenceNr); err != nil {
			return err
		}
	}
	return nil
}

// undecided reports the missing numbers about which nothing has decided.
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
	written, err := k.writtenAt(ctx, s.first)
	if err != nil || written {
		return err
	}
	return k.found(Finding{
		Kind: Hole, SequenceNr: s.first, Severity: severity,
		Detail: fmt.Sprintf("nothing is stored at %s; the next recovery seals them", spans([]span{s})),
	})
}

// lost reports missing numbers of which the event next shows that items were lost there.
func (k *check) lost(ctx context.Context, s span, next int64) error {
	written, err := k.writtenAt(ctx, s.first)
	if err != nil || written {
		return err
	}
	partition := k.Store.Keys.Partition(k.pid, s.first/layout.PartitionSize)
	return k.found(Finding{
		Kind: Hole, SequenceNr: s.first, Severity: DataLoss, Option: SealMissing,
		Detail: fmt.Sprintf("nothing is stored at %s, and event %d was written after them: items were lost. Restore them from a backup "+
			"of the table, the first from par=%q num=%d, or seal the numbers to continue without them",
			spans([]span{s}), next, partition, s.first%layout.PartitionSize),
		repair: func(ctx context.Context, m *Mender) (bool, error) { return k.sealMissing(ctx, m, s) },
	})
}

// writtenAt reports whether something was written at a number since it was found missing.
func (k *check) writtenAt(ctx context.Context, seq int64) (bool, error) {
	now, err := k.Store.Stored(ctx, &k.meter, k.pid, seq)
	return now != nil, err
}

// sealMissing seals numbers at which items were lost. What was stored or deleted there since stays.
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
