package protocol

// topRead describes the highest items that a replay has read.
type topRead struct {
	highest int64  // the highest number at which something is stored
	endsAt  int64  // the last number of the batch that the event at highest is a member of, or 0
	reach   int64  // the highest number that a fence raises the low mark to
	writer  string // the writer of the event at written, the last one that was read
	written int64
	time    int64 // the highest time of an event that was read
}

// note records a slot that was read.
func (t *topRead) note(slot readSlot) {
	if slot.SequenceNr >= t.highest {
		t.endsAt = 0
		if slot.Event != nil {
			t.endsAt = slot.Event.Batch.Last
		}
	}
	t.highest, t.reach = max(t.highest, slot.SequenceNr), max(t.reach, slot.Low)
	if slot.Event != nil && slot.SequenceNr >= t.written {
		t.written, t.writer = slot.SequenceNr, slot.Event.WriterUUID
		t.time = max(t.time, slot.Event.Metadata.Time)
	}
}

// last returns the writer of the event at the highest number, empty if no event is stored there.
func (t *topRead) last() string {
	if t.written == t.highest {
		return t.writer
	}
	return ""
}
