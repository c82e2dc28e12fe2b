package engine

import (
	"cmp"
	"slices"
)

// shown returns the steps that the records of the run make after a row, at most most. It reports
// false if the journal must be read.
//
// A writer writes in one life of a persistence id only. So a record of the writer of the event at
// the offset is of the life of the row. If its number is up to the offset, it is done. If it is a
// single event at the next number, it is committed, and it is the next step. So is a single event
// at the next number that names the writer of the event at the offset as the one that it comes
// after. Without a row no handler was called: then the event at 1 is the next step, whoever wrote
// it. With FromNow it is read, as it can be of before the start, and erased since.
//
// Every other record needs a reading: that of a member of an atomic write, which may be incomplete;
// of another writer, which may be of another life; of a later number, as something is before it.
//
// An event that is deleted meanwhile is handled, as by a reading just before the deletion. A row
// whose writer is empty, as after a gap, shows no life: the journal is read.
func (r *Run) shown(state *Row, most int) ([]Step, bool) {
	var steps []Step
	at := state.Offset
	for i := range r.records {
		rec := &r.records[i]
		own := rec.Writer != "" && rec.Writer == at.Writer
		next := own || rec.After != "" && rec.After == at.Writer || !state.Exists && at.Seq == 0 && !r.Of.FromNow
		switch {
		case own && rec.Seq <= at.Seq && rec.Seq > 0:
		case next && rec.Seq == at.Seq+1 && rec.Event != nil:
			if len(steps) == most {
				return steps, true
			}
			at = Offset{rec.Seq, rec.Writer}
			steps = append(steps, Step{To: at, Event: rec.Event})
		default:
			return nil, false
		}
	}
	return steps, len(r.records) > 0
}

// inOrder returns the records of several triggers in the order of their numbers: those of different
// shards come in any order. It returns nil if a trigger has none.
func inOrder(triggers []Trigger) []Record {
	var all []Record
	for _, t := range triggers {
		if len(t.Records) == 0 {
			return nil
		}
		all = append(all, t.Records...)
	}
	slices.SortStableFunc(all, func(a, b Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}
