package entity

import (
	"time"

	"github.com/dynajournal/dynajournal/internal/commandids"
)

// remembered has the most recent commands with ids.
type remembered struct {
	// limits points to the limits of the host, or to larger ones that were stored with the ids.
	limits *CommandIDs
	// done is in the order of the versions.
	done     []commandids.Done
	versions map[commandids.Hash]int64
}

// find returns the version that the command with an id has led to.
func (r *remembered) find(hash commandids.Hash) (int64, bool) {
	version, ok := r.versions[hash]
	return version, ok
}

// raiseLimits raises each limit to the stored one, if the stored one is larger.
func (r *remembered) raiseLimits(limits CommandIDs) {
	larger := CommandIDs{
		Last:   max(r.limits.Last, limits.Last),
		Period: max(r.limits.Period, limits.Period),
		Most:   max(r.limits.Most, limits.Most),
	}
	if larger != *r.limits {
		r.limits = &larger
	}
}

// add remembers a command, and forgets the commands beyond the limits.
func (r *remembered) add(done commandids.Done) {
	if _, known := r.versions[done.Hash]; known {
		return
	}
	if r.versions == nil {
		r.versions = map[commandids.Hash]int64{}
	}
	r.versions[done.Hash] = done.Version
	r.done = append(r.done, done)
	limits := r.limits
	oldest := done.Time - int64(limits.Period/time.Microsecond)
	n := 0
	for left := len(r.done); left > limits.Most || left > limits.Last && r.done[n].Time < oldest; left-- {
		delete(r.versions, r.done[n].Hash)
		n++
	}
	r.done = r.done[n:]
}

// index rebuilds versions from done.
func (r *remembered) index() {
	r.versions = make(map[commandids.Hash]int64, len(r.done))
	for _, done := range r.done {
		r.versions[done.Hash] = done.Version
	}
}
