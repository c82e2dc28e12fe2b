package storage

import "sync"

// unsynced are the commits in flight. Pebble shows a commit to readers before it has synced the
// log. What was read must therefore not be returned until the commits in flight at that time have
// ended: after a crash it could be gone.
type unsynced struct {
	lock sync.Mutex
	// begun counts the commits. Those up to ended have ended, and of the later ones those in
	// others.
	begun, ended uint64
	others       map[uint64]bool
	// moved is closed when ended grows, nil while nothing waits for it.
	moved chan struct{}
}

// begin counts a commit, and returns its number.
func (u *unsynced) begin() uint64 {
	u.lock.Lock()
	defer u.lock.Unlock()
	u.begun++
	return u.begun
}

// end records that a commit has ended.
func (u *unsynced) end(number uint64) {
	u.lock.Lock()
	defer u.lock.Unlock()
	if number != u.ended+1 {
		if u.others == nil {
			u.others = map[uint64]bool{}
		}
		u.others[number] = true
		return
	}
	for u.ended = number; u.others[u.ended+1]; u.ended++ {
		delete(u.others, u.ended+1)
	}
	if u.moved != nil {
		close(u.moved)
		u.moved = nil
	}
}

// wait waits until the commits that have begun by now have ended, or the store has failed.
func (u *unsynced) wait(failed <-chan struct{}) {
	u.lock.Lock()
	for begun := u.begun; u.ended < begun; u.lock.Lock() {
		if u.moved == nil {
			u.moved = make(chan struct{})
		}
		moved := u.moved
		u.lock.Unlock()
		select {
		case <-moved:
		case <-failed:
			return
		}
	}
	u.lock.Unlock()
}
