//go:build interop

package interop_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
)

// sharedRequests counts the requests that carry the events of several writers.
type sharedRequests struct{ atomic.Int64 }

// OnRequest counts a request.
func (s *sharedRequests) OnRequest(_ context.Context, r dynajournal.Request) {
	if r.Statements > 1 && r.Err == nil {
		s.Add(1)
	}
}

// Single events that share requests are PartiQL inserts, like the members of an atomic write. A JVM
// must replay both.
func TestJVMReplaysEventsThatPartiQLInserted(t *testing.T) {
	s := sharedService(t)
	shared := &sharedRequests{}
	j := s.open(t, func(c *dynajournal.Config) { c.Hooks = append(c.Hooks, dynajournal.Hook{OnRequest: shared.OnRequest}) })
	const entities, wanted, rounds = 16, 20, 500
	writers := make([]recovered, entities)
	for i := range writers {
		writers[i] = recoverGo(t, j, newPID(t), 0)
	}
	written := 0
	for ; written < 3 || shared.Load() < wanted; written++ {
		if written == rounds {
			t.Fatalf("in %d rounds of %d writers %d requests were shared, want %d",
				rounds, entities, shared.Load(), wanted)
		}
		var round errgroup.Group
		for _, w := range writers {
			round.Go(func() error {
				_, err := w.Append(t.Context(), fmt.Sprintf("single-%d", written+1))
				return err
			})
		}
		if err := round.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	batch := texts("member", 120)
	for _, w := range writers {
		before := shared.Load()
		w.appendAll(t, true, batch...)
		if shared.Load() == before {
			t.Error("an atomic write shared no request")
		}
		values := append(texts("single", written), batch...)
		checkSeen(t, "the JVM", seenJVM(s.replayJVM(t, w.PersistenceID())), numbered(t, 1, values...))
	}
}
