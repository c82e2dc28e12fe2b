package entity

import (
	"crypto/sha256"
	"time"
)

// maxRemembered is the largest number of ids that an entity can remember.
const maxRemembered = 1_000_000

// commandHash identifies the id of a command. Two ids have the same hash with a probability of 2 to
// the power of -128.
type commandHash [16]byte

func hashOf(id string) commandHash {
	sum := sha256.Sum256([]byte(id))
	return commandHash(sum[:16])
}

// remembrance is a command that was done.
type remembrance struct {
	hash    commandHash
	version int64
	// time is that of its first event, in microseconds since 1970.
	time int64
}

// remembered are the commands with ids that were done last.
type remembered struct {
	// limits points to the limits of the host, or to larger ones that were stored with the ids.
	limits *CommandIDs
	// done are in the order of their versions.
	done     []remembrance
	versions map[commandHash]int64
}

// find returns the version that a command has led to.
func (r *remembered) find(hash commandHash) (int64, bool) {
	version, ok := r.versions[hash]
	return version, ok
}

// keep raises each limit to the stored one, if the stored one is larger.
func (r *remembered) keep(limits CommandIDs) {
	larger := CommandIDs{
		Last:   max(r.limits.Last, limits.Last),
		Period: max(r.limits.Period, limits.Period),
		Most:   max(r.limits.Most, limits.Most),
	}
	if larger != *r.limits {
		r.limits = &larger
	}
}

// add remembers a command, and forgets those that the limits do not keep.
func (r *remembered) add(done remembrance) {
	if _, known := r.versions[done.hash]; known {
		return
	}
	if r.versions == nil {
		r.versions = map[commandHash]int64{}
	}
	r.versions[done.hash] = done.version
	r.done = append(r.done, done)
	limits := r.limits
	oldest := done.time - int64(limits.Period/time.Microsecond)
	n := 0
	for left := len(r.done); left > limits.Most || left > limits.Last && r.done[n].time < oldest; left-- {
		delete(r.versions, r.done[n].hash)
		n++
	}
	r.done = r.done[n:]
}

// index finds the versions of what was done.
func (r *remembered) index() {
	r.versions = make(map[commandHash]int64, len(r.done))
	for _, done := range r.done {
		r.versions[done.hash] = done.version
	}
}
