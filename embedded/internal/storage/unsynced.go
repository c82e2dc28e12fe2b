package storage

import "sync"

// unsynced tracks the commits in flight. Pebble shows a commit to readers before it has synced the
// log, and after a crash an unsynced commit could be lost. Read data must therefore not be returned
// before the commits that were in flight during the read are synced.
type unsynced struct {
	lock sync.Mutex
	// started is the number of the last commit that has begun.
	// All commits up to the number ended have ended.
	// others has the later commits that have ended.
	started, ended uint64
	others         map[uint64]bool
	// moved is closed when ended increases. It is nil while nothing waits for it.
	moved chan struct{}
}

// start starts a commit, and returns its number.
func (u *unsynced) start() uint64 {
	u.lock.Lock()
	defer u.lock.Unlock()
	u.started++
	return u.started
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

// wait waits until all commits that have begun before the call have ended, or the store has failed.
func (u *unsynced) wait(failed <-chan struct{}) {
	u.lock.Lock()
	for started := u.started; u.ended < started; u.lock.Lock() {
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
