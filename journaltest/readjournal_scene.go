package journaltest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"
)

// readScene is the state of a case: a scene of the journal, and the read journals on it.
type readScene struct {
	*scene

	suite *ReadJournalSuite
	store ReadStore
	ways  []Way
	read  ReadJournal
}

// in returns the scene of another journal of the store.
func (s *readScene) in(journalName string) *readScene {
	s.Helper()
	side := s.store.Connect(s.T, journalName)
	other := *s.scene
	other.journal, other.store = side.Journal, Store{}
	return &readScene{&other, s.suite, s.store, side.Ways, side.Ways[0].Read}
}

// wantStarted writes one event to each id.
func (s *readScene) wantStarted(pids ...string) {
	s.Helper()
	for _, pid := range pids {
		s.written(pid, 1)
	}
}

func (s *readScene) purge(pid string) {
	s.Helper()
	if err := s.recovered(s.journal, pid).Purge(s.Context()); err != nil {
		s.Fatalf("Purge(%s): %v", name(pid), err)
	}
}

// list lists ids in one way.
func (s *readScene) list(w Way, opts IDs) []string {
	s.Helper()
	var found []string
	for pid, err := range w.Read.CurrentIDs(s.Context(), opts) {
		if err != nil {
			s.Fatalf("%s, %.60v: after %d ids: %v", w.Name, opts, len(found), err)
		}
		found = append(found, pid)
	}
	return found
}

// wantIDs checks that each way lists each id once, in any order.
func (s *readScene) wantIDs(opts IDs, want ...string) {
	s.Helper()
	want = slices.Sorted(slices.Values(want))
	for _, w := range s.ways {
		found := s.list(w, opts)
		if opts.Sorted && !slices.IsSorted(found) {
			s.Errorf("%s, %+v: listed in the order %q", w.Name, opts, found)
		}
		slices.Sort(found)
		s.same(w.Name, opts, found, want)
	}
}

// same compares two sorted lists.
func (s *readScene) same(way string, opts IDs, found, want []string) {
	s.Helper()
	if slices.Equal(found, want) {
		return
	}
	const most = 10
	var missing, extra []string
	for _, pid := range want {
		if !slices.Contains(found, pid) && len(missing) < most {
			missing = append(missing, pid)
		}
	}
	for i, pid := range found {
		if (!slices.Contains(want, pid) || i > 0 && pid == found[i-1]) && len(extra) < most {
			extra = append(extra, pid)
		}
	}
	s.Errorf("%s, %+v: listed %d ids, want %d: %q are missing, %q are unexpected",
		way, opts, len(found), len(want), missing, extra)
}

// queryTimeout is the time after which a query is ended that should have ended by itself.
const queryTimeout = 2 * time.Second

// refused checks that a list fails with the error of invalid arguments.
func refused[T any](s *readScene, what string, list func(context.Context) iter.Seq2[T, error]) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), queryTimeout)
	defer cancel()
	n := 0
	for _, err := range list(ctx) {
		if err != nil {
			if !s.suite.IsInvalid(err) {
				s.Errorf("%s: got error %v, want an error of invalid arguments", what, err)
			}
			return
		}
		n++
	}
	s.Errorf("%s: got %d results and no error, want an error of invalid arguments", what, n)
}

// live is a running live query, whose results can be waited for.
type live[T any] struct {
	stop context.CancelFunc
	done chan struct{}

	mu    sync.Mutex
	found []T
	err   error
	more  chan struct{}
}

// start runs a live query until stop is called, or the test ends.
func start[T any](s *readScene, query func(ctx context.Context) iter.Seq2[T, error]) *live[T] {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	l := &live[T]{stop: cancel, done: make(chan struct{}), more: make(chan struct{}, 1)}
	go func() {
		defer close(l.done)
		for v, err := range query(ctx) {
			l.mu.Lock()
			if err != nil {
				l.err = err
			} else {
				l.found = append(l.found, v)
			}
			l.mu.Unlock()
			select {
			case l.more <- struct{}{}:
			default:
			}
		}
	}()
	s.Cleanup(func() {
		cancel()
		<-l.done
	})
	return l
}

// soFar returns the values received so far.
func (l *live[T]) soFar() ([]T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.found), l.err
}

// await waits until n values were received, or the query has ended.
func (l *live[T]) await(s *readScene, n int) []T {
	s.Helper()
	for {
		found, _ := l.soFar()
		if len(found) >= n {
			return found
		}
		select {
		case <-l.more:
		case <-l.done:
			found, err := l.soFar()
			if len(found) < n {
				s.Fatalf("a live query ended with %v after %d values, want %d", err, len(found), n)
			}
			return found
		case <-s.Context().Done():
			s.Fatalf("the test ended while %d values were awaited", n)
		}
	}
}

// ended stops the query, checks its error, and returns its results.
func (l *live[T]) ended(s *readScene) []T {
	s.Helper()
	l.stop()
	<-l.done
	found, err := l.soFar()
	if !errors.Is(err, context.Canceled) {
		s.Errorf("a live query whose context ended gave the error %v, want context.Canceled", err)
	}
	return found
}
