package service_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/payloads"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/tags"
)

// The conditions after all late requests have arrived:
//
//   - The state of a subject has each acknowledged operation once, and no operation that was
//     refused or purged: see subject.possible. It is the same for each process.
//   - The stored events are the last operations of the state. They are all operations unless
//     deletions of events are part of the history.
//   - The read model, the effects, the tags and the messages have each stored event. The read model
//     has no operation that is not in the state. Each event has had its effect once.
//   - No persistence id is stuck. The journal's verification finds only left-over items.
//   - The left-over payloads outside of the journal can be removed.

// readNew records the stored events, and the states that a new process shows.
func (s *service) readNew() {
	for _, b := range s.things {
		if err := b.readNewOf(s.auditor); err != nil {
			s.fail("%s can't be read: %v", b.pid, err)
			return
		}
	}
	h := s.host(s.auditor)
	defer h.close()
	for _, b := range slices.Concat(s.things, s.settings) {
		start := time.Now()
		names, err := h.view(b)
		if err != nil {
			s.fail("%s can't be viewed: %v", b.pid, err)
			return
		}
		if why := b.possible(names, start, time.Now()); why != "" {
			s.fail("%s in the end: %s", b.pid, why)
		}
		b.now = names
	}
}

// readNewOf records the stored events of a subject.
func (b *subject) readNewOf(j *dynajournal.Journal) error {
	b.visible = map[int64]string{}
	for e, err := range j.Events(context.Background(), b.pid, dynajournal.Range{}) {
		if err != nil {
			return err
		}
		d, err := dynajournal.Decode[Done](context.Background(), e)
		if err != nil {
			return err
		}
		b.visible[e.SequenceNumber] = d.Name
	}
	return nil
}

// judge checks everything except the projections, after readNew.
func (s *service) judge() {
	for _, b := range s.things {
		stored := make([]string, 0, len(b.visible))
		for _, seq := range slices.Sorted(maps.Keys(b.visible)) {
			stored = append(stored, b.visible[seq])
		}
		want := b.now
		if s.snapshots.DeleteEvents && len(stored) <= len(want) {
			want = want[len(want)-len(stored):]
		}
		if !slices.Equal(stored, want) {
			s.fail("%s is %v, its events are %v", b.pid, b.now, stored)
		}
	}
	for _, p := range s.processes {
		s.wantStates(p.now().hosted, s.things, fmt.Sprintf("for process %d", p.number))
	}
	s.verify()
}

// verify verifies the journal.
func (s *service) verify() {
	for _, b := range slices.Concat(s.things, s.settings) {
		for f, err := range s.auditor.Verify(context.Background(), b.pid, dynajournal.VerifyOptions{}) {
			if err != nil || f.Severity != dynajournal.SeverityLeftOver {
				s.fail("verify %s: %+v, %v", b.pid, f, err)
			}
		}
	}
}

// disagreement describes the first difference between a projection and the journal. It is empty if
// all projections agree with the journal.
func (s *service) disagreement() string {
	times, names := s.effectsOf()
	for key, n := range times {
		if n != 1 {
			s.fail("%s had its effect %d times", key, n)
		}
	}
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	tags := map[string]string{}
	for _, b := range s.things {
		for seq, name := range b.visible {
			key := effectKey(b.pid, seq)
			switch {
			case s.world.read[b.pid][seq] != name:
				return fmt.Sprintf("the read model has %q at %s, want %q", s.world.read[b.pid][seq], key, name)
			case s.world.sent[b.pid][seq] != name:
				return fmt.Sprintf("sent was %q of %s, want %q", s.world.sent[b.pid][seq], key, name)
			case names[key] != name:
				return fmt.Sprintf("the effect of %s is %q, want %q", key, names[key], name)
			}
			if len(tagsOf(Done{Name: name})) > 0 {
				tags[key] = name
			}
		}
		for seq, name := range s.world.read[b.pid] {
			if !slices.Contains(b.now, name) {
				return fmt.Sprintf("the read model has %q at %s, which is %v", name, effectKey(b.pid, seq), b.now)
			}
		}
	}
	found, err := s.tagged()
	// The index also finds the events that an interrupted deletion has not removed yet.
	maps.DeleteFunc(found, func(key, _ string) bool { return tags[key] == "" && s.isDeleted(key) })
	switch {
	case err != nil:
		return fmt.Sprintf("the tags can't be read: %v", err)
	case !maps.Equal(found, tags):
		return fmt.Sprintf("the tags are %v, want %v", found, tags)
	}
	if stuck := s.stuck(); len(stuck) > 0 {
		s.fail("stuck: %v", stuck)
	}
	return ""
}

// tagged returns the events that have the tag, by their keys.
func (s *service) tagged() (map[string]string, error) {
	index, err := tags.Open(context.Background(), s.auditor, tagsTable)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for e, err := range index.CurrentEventsByTag(context.Background(), tag, tags.Offset{}) {
		if err != nil {
			return nil, err
		}
		d, err := dynajournal.Decode[Done](context.Background(), e.Event)
		if err != nil {
			return nil, err
		}
		key := effectKey(e.PersistenceID, e.SequenceNumber)
		if _, twice := found[key]; twice {
			return nil, fmt.Errorf("%s is found twice", key)
		}
		found[key] = d.Name
	}
	return found, nil
}

// isDeleted reports whether the event of a key is below the low mark.
func (s *service) isDeleted(key string) bool {
	for _, b := range s.things {
		var seq int64
		if _, err := fmt.Sscanf(strings.TrimPrefix(key, b.pid), "%d", &seq); err != nil {
			continue // an event of another subject
		}
		bounds, err := s.auditor.Bounds(context.Background(), b.pid)
		if err != nil {
			s.fail("bounds of %s: %v", b.pid, err)
		}
		return seq < bounds.Lowest
	}
	return false
}

// stuck returns the stuck persistence ids, with the reasons.
func (s *service) stuck() map[string]string {
	all := map[string]string{}
	for stuck, err := range operator.New(s.auditor, "").Stuck(context.Background()) {
		if err != nil {
			s.fail("Stuck: %v", err)
			break
		}
		all[stuck.PersistenceID] += fmt.Sprintf("%+v ", stuck)
	}
	return all
}

// removeLeftovers removes the payloads to which nothing refers. All subjects must still be
// readable.
func (s *service) removeLeftovers() {
	time.Sleep(payloads.DefaultMinAge + time.Hour)
	found, err := payloads.Leftovers(context.Background(), s.auditor, s.outside, payloads.Options{})
	if err != nil {
		s.fail("leftovers: %v", err)
		return
	}
	s.sum.add("payloads outside", found.Listed)
	s.sum.add("payloads left over", len(found.Leftovers))
	for _, l := range found.Leftovers {
		if err := s.outside.Delete(context.Background(), l.Key); err != nil {
			s.fail("%v", err)
		}
	}
	h := s.host(s.auditor)
	defer h.close()
	s.wantStates(h, slices.Concat(s.things, s.settings), "without left-over payloads")
}

// wantStates checks that a process shows the last recorded states of some subjects.
func (s *service) wantStates(h *hosted, of []*subject, where string) {
	for _, b := range of {
		names, err := h.view(b)
		if err != nil || !slices.Equal(names, b.now) {
			s.fail("%s is %v %s, want %v: %v", b.pid, names, where, b.now, err)
		}
	}
}
