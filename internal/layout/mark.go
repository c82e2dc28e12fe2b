package layout

import (
	"maps"
	"slices"
)

// Marks combines the high and low marks of a persistence id.
type Marks struct {
	// High is the highest high mark, or 0. It is a hint where to search for the highest sequence
	// number.
	High int64
	// Low is the low mark that counts. It has the highest value.
	Low LowMark
	// JVMLow is the low mark as a JVM reads it. It differs from Low.Seq only in a shared journal.
	JVMLow int64
	// HighMarks and LowMarks are the values of `seq` of all marks, in ascending order.
	HighMarks, LowMarks []int64
	// Expiring reports that the low mark expires: an earlier version has purged the id. See
	// [LowMark.Purged].
	Expiring bool
}

// LowMark is the first sequence number that is not deleted, and the progress of the deletion.
type LowMark struct {
	// Seq is the first sequence number that is not deleted, or 0 if no number was ever deleted.
	Seq int64
	// Ahead is the distance from the value that a JVM reads to Seq. It is 0 in native journals. In
	// a shared journal a JVM still reads the tombstones in between, and removes them when it
	// deletes.
	Ahead int64
	// Removed is the progress of the removal: every number below it is or was a tombstone. Only
	// marks of this project have it. JVM is true for the others.
	Removed int64
	// Cut is the batch that the deletion cut: its members below Seq were all stored, so the rest of
	// it counts as complete. It is zero if no batch was cut.
	Cut Batch
	// Behind is the last number that was deleted because a snapshot contains its event, or 0. So
	// there must be a snapshot at Behind or after it. A JVM drops Behind when it puts the mark.
	Behind int64
	// Purged is the last number of the purged lives of the persistence id, or 0. Snapshots up to
	// this number also belong to purged lives. It only rises. It is always 0 in a shared journal,
	// where a purge leaves nothing.
	Purged int64
	// JVM reports that a JVM plug-in wrote the mark. Such a mark does not name a cut batch.
	JVM bool
}

// First returns the first sequence number at which a live event can be stored.
func (l LowMark) First() int64 { return max(l.Seq, 1) }

// Unused reports whether nothing of the present life of the persistence id is deleted. Then only an
// event, or a seal at the life's first number, can list the id.
func (l LowMark) Unused() bool { return l.Seq <= l.Purged+1 }

// JVMSeq returns the attribute `seq` of the item, which a JVM reads.
func (l LowMark) JVMSeq() int64 { return l.Seq - l.Ahead }

// counts reports whether l counts instead of o, another low mark of the persistence id. Of two
// equally high ones, a mark that can name a cut batch counts.
func (l LowMark) counts(o LowMark) bool {
	switch {
	case l.Seq != o.Seq:
		return l.Seq > o.Seq
	case l.JVM != o.JVM:
		return o.JVM
	}
	return l.Ahead < o.Ahead
}

// CutCompletes reports whether a batch that begins below the low mark counts as complete, if every
// member from the low mark on is stored. A deletion of this project names the batch that it cut. A
// JVM's deletion does not name a batch, so the remaining members decide.
func (l LowMark) CutCompletes(b Batch) bool { return l.JVM || l.Cut == b }

// JudgesLike reports whether l and o judge events alike. The progress of the removal, the value
// that a JVM reads and the snapshot that must be there do not matter for that.
func (l LowMark) JudgesLike(o LowMark) bool {
	l.Removed, l.Ahead, l.Behind = o.Removed, o.Ahead, o.Behind
	return l == o
}

// DecodeMarks decodes the marks of all shards or of some, in any order. It ignores a high mark that
// expires: an earlier version has purged the events to which the mark leads. A low mark that
// expires also belongs to such a purge. Errors are *ItemError.
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
		expires := r.optionalNumber(AttrExpires) != 0
		switch {
		case high[r.key.Par] && !expires:
			m.HighMarks = append(m.HighMarks, seq)
			m.High = max(m.High, seq)
		case !high[r.key.Par]:
			m.LowMarks = append(m.LowMarks, seq)
			m.JVMLow = max(m.JVMLow, seq)
			if low := r.lowMark(seq); low.Seq > 0 && low.counts(m.Low) {
				m.Low, m.Expiring = low, expires
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

// DecodeMark decodes the key and the value of a mark. Errors are *ItemError.
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
	if low.Behind = r.optionalNumber(AttrBehind); r.err == nil && (low.Behind < 0 || low.Behind >= max(low.Seq, 1)) {
		r.fail(AttrBehind, ErrRange)
	}
	if low.Purged = r.optionalNumber(AttrPurged); r.err == nil && (low.Purged < 0 || low.Purged >= max(low.Seq, 1)) {
		r.fail(AttrPurged, ErrRange)
	}
	if r.has(AttrExpires) {
		low.Purged = max(low.Seq-1, 0)
	}
	low.Cut = r.cut()
	return low
}

// cut decodes the atomic write that a deletion has cut, or zero.
func (r *reader) cut() Batch {
	if !r.has(AttrCutStart) {
		return Batch{}
	}
	start := r.ranged(AttrCutStart, MaxSequenceNumber)
	return Batch{Start: start, Last: start + r.ranged(AttrCutCnt, MaxSequenceNumber-start),
		WriterUUID: r.text(AttrCutWriter)}
}

// EncodeHighMark returns the item of the high mark that seq, a multiple of PartitionSize, belongs
// to.
func (k Keys) EncodeHighMark(pid string, seq int64) Attributes {
	return k.encodeMark(k.HighMark(pid, seq), seq)
}

// EncodeLowMark returns the item of a low mark. ids are the attributes of the sparse ids index.
// They list an id whose first event is deleted. They are nil in a shared journal, and if nothing of
// the present life is deleted.
func (k Keys) EncodeLowMark(pid string, low LowMark, ids Attributes) Attributes {
	item := k.encodeMark(k.LowMarkItem(pid, low), low.JVMSeq())
	item[AttrRemoved] = number(low.Removed)
	if low.Ahead > 0 {
		item[AttrLow] = number(low.Seq)
	}
	if low.Behind > 0 {
		item[AttrBehind] = number(low.Behind)
	}
	if low.Purged > 0 {
		item[AttrPurged] = number(low.Purged)
	}
	WithCut(item, low.Cut)
	maps.Copy(item, ids)
	return item
}

func (k Keys) encodeMark(key Key, seq int64) Attributes {
	item := key.Attributes()
	item[AttrSeq] = number(seq)
	return item
}
