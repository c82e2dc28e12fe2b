package layout

import (
	"maps"
	"slices"

	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// Marks is what the high and low marks of one persistence id say together.
type Marks struct {
	// High is the highest high mark, 0 if there is none: a hint where to look for the highest sequence number.
	High int64
	// Low is the low mark that counts, that with the highest value.
	Low LowMark
	// JVMLow is the low mark as a JVM reads it; it differs from Low.Seq only in a shared journal.
	JVMLow int64
	// HighMarks and LowMarks are the values of `seq` of all marks there are, rising.
	HighMarks, LowMarks []int64
	// Expiring says that the id was purged: a mark will vanish unless it is put anew.
	Expiring bool
}

// LowMark is the first sequence number that is not deleted, and what its writer knew of the deletion.
type LowMark struct {
	// Seq is the first sequence number not deleted; 0 if nothing ever was.
	Seq int64
	// Ahead says how far Seq is above what the item tells a JVM. It is 0 in native journals. In a
	// shared one a JVM still reads the tombstones between, and removes them when it deletes.
	Ahead int64
	// Removed says how far removal has come: every number below it is a tombstone or was one. Only marks of this project
	// say so; JVM is true for the others.
	Removed int64
	// Cut is the batch that the deletion cut: its members below Seq were all there, so the rest of it counts as complete.
	// The zero Batch if none was cut.
	Cut Batch
	// JVM says that a JVM plug-in wrote the mark, which says nothing of a cut.
	JVM bool
}

// First is the first sequence number that can hold a live event.
func (l LowMark) First() int64 { return max(l.Seq, 1) }

// JVMSeq is the attribute `seq` of the item: what a JVM reads.
func (l LowMark) JVMSeq() int64 { return l.Seq - l.Ahead }

// counts reports whether l counts where o is another low mark of the persistence id. Of two that
// are as high, the one counts that says which batch was cut.
func (l LowMark) counts(o LowMark) bool {
	switch {
	case l.Seq != o.Seq:
		return l.Seq > o.Seq
	case l.JVM != o.JVM:
		return o.JVM
	}
	return l.Ahead < o.Ahead
}

// CutCompletes says whether a batch that begins below the low mark counts as complete, if every member from the low mark on
// is there. A deletion of this project says which batch it cut; a JVM's deletion says nothing, so there the members that
// are left decide.
func (l LowMark) CutCompletes(b Batch) bool { return l.JVM || l.Cut == b }

// JudgesLike reports whether events are judged by l as by o: how far removal has come does not
// matter to them, nor what a JVM reads.
func (l LowMark) JudgesLike(o LowMark) bool {
	l.Removed, l.Ahead = o.Removed, o.Ahead
	return l == o || !safeguard.CutJudged && l.Seq == o.Seq
}

// DecodeMarks reads the items of the marks that exist, of all shards or of some, in any order. Errors are *ItemError.
func (k Keys) DecodeMarks(pid string, items []Attributes) (Marks, error) {
	var m Marks
	if len(items) == 0 {
		return m, nil
	}
	high := map[string]bool{}
	for _, key := range k.HighMarks(pid) {
		high[key.Par] = true
	}
	for _, item := range items {
		r := reader{item: mapped(item)}
		r.key.Par = r.text(AttrPar)
		seq := r.number(AttrSeq)
		if r.err == nil && seq < 0 {
			r.fail(AttrSeq, ErrRange)
		}
		expires := r.optionalNumber(AttrExpires)
		m.Expiring = m.Expiring || expires != 0
		if high[r.key.Par] {
			m.HighMarks = append(m.HighMarks, seq)
			m.High = max(m.High, seq)
		} else {
			m.LowMarks = append(m.LowMarks, seq)
			m.JVMLow = max(m.JVMLow, seq)
			if low := r.lowMark(seq); low.Seq > 0 && low.counts(m.Low) {
				m.Low = low
			}
		}
		if r.err != nil {
			return Marks{}, r.err
		}
	}
	slices.Sort(m.HighMarks)
	slices.Sort(m.LowMarks)
	return m, nil
}

// DecodeMark reads the key and the value of a mark. Errors are *ItemError.
func DecodeMark(item Attributes) (Key, int64, error) {
	r := reader{item: mapped(item)}
	r.key.Par = r.text(AttrPar)
	r.key.Num = r.number(AttrNum)
	seq := r.number(AttrSeq)
	if r.err == nil && seq < 0 {
		r.fail(AttrSeq, ErrRange)
	}
	return r.key, seq, r.err
}

func (r *reader) lowMark(seq int64) LowMark {
	low := LowMark{Seq: seq, Removed: seq, JVM: !r.has(AttrRemoved)}
	if r.has(AttrLow) {
		low.Seq = max(seq, r.number(AttrLow))
		low.Ahead = low.Seq - seq
	}
	if !low.JVM {
		low.Removed = r.number(AttrRemoved)
	}
	low.Cut = r.cut()
	return low
}

// cut reads which atomic write a deletion has cut; the zero Batch if it has cut none.
func (r *reader) cut() Batch {
	if !r.has(AttrCutStart) {
		return Batch{}
	}
	start := r.ranged(AttrCutStart, MaxSequenceNumber)
	return Batch{Start: start, Last: start + r.ranged(AttrCutCnt, MaxSequenceNumber-start), WriterUUID: r.text(AttrCutWriter)}
}

// EncodeHighMark makes the high mark that seq, a multiple of PartitionSize, belongs to. expires is 0, or when a purged
// mark vanishes.
func (k Keys) EncodeHighMark(pid string, seq, expires int64) Attributes {
	return withExpiry(k.encodeMark(k.HighMark(pid, seq), seq), expires)
}

// EncodeLowMark makes the item of a low mark. ids are the attributes of the sparse ids index, which keep an id known whose
// first event is deleted; nil in a shared journal and for a purged id.
func (k Keys) EncodeLowMark(pid string, low LowMark, ids Attributes, expires int64) Attributes {
	item := withExpiry(k.encodeMark(k.LowMarkItem(pid, low), low.JVMSeq()), expires)
	item[AttrRemoved] = number(low.Removed)
	if low.Ahead > 0 {
		item[AttrLow] = number(low.Seq)
	}
	WithCut(item, low.Cut)
	if safeguard.LowMarkListed {
		maps.Copy(item, ids)
	}
	return item
}

func (k Keys) encodeMark(key Key, seq int64) Attributes {
	item := key.Attributes()
	item[AttrSeq] = number(seq)
	return item
}

func withExpiry(item Attributes, expires int64) Attributes {
	if expires != 0 {
		item[AttrExpires] = number(expires)
	}
	return item
}
