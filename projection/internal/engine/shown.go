package engine

import (
	"cmp"
	"slices"
)

// stepsFromRecords returns the steps after a row that the records of the run show, up to most
// steps. It reports false if the journal must be read.
//
// A writer writes in only one life of a persistence id. So a record by the writer of the event at
// the offset is of the life of the row. If its number is not after the offset, it is done. If it is
// a single event at the next number, it is committed, and it is the next step. The same is true for
// a single event at the next number that names the writer at the offset as the writer before it.
// Without a row no handler was called, so the event at 1 is the next step, by any writer. With
// FromNow that event is read from the journal, because it may be from before the start, and erased
// since.
//
// For every other record the journal must be read: a member of an atomic write, which may be
// incomplete; an event by another writer, which may be of another life; an event with a later
// number, which has others before it.
//
// An event that is deleted meanwhile is handled, as if it was read just before the deletion. A row
// with an empty writer, as after a gap, does not show its life, so the journal is read.
func (r *Run) stepsFromRecords(state *Row, most int) ([]Step, bool) {
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

// inOrder returns the records of several triggers, sorted by number, because records of different
// shards come in any order. It returns nil if a trigger has no records.
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
