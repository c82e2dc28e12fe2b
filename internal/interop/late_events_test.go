//go:build interop

package interop_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
)

// The plug-in's journal stores several events in parallel, in any order. A live query waits for the
// previous number, and so skips none.
func TestLiveQueryWaitsForAnEventOfAJVMThatLandsLate(t *testing.T) {
	for _, p := range chosenPlugins(t, pekko110) {
		t.Run(p.name, func(t *testing.T) {
			s := newService(t, dynajournal.Config{}, dynajournal.TableOptions{SharedWithJVM: true})
			g := newGate(t)
			settings := tablesSettings(dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable)
			s.jvm = p.start(t, append(settings, "dynamodb-journal.endpoint="+g.url)...)
			for _, late := range []int64{2, 4} {
				t.Run(fmt.Sprintf("event %d of 5", late), func(t *testing.T) { s.checkLate(t, g, late) })
			}
		})
	}
}

// checkLate lets a JVM write five events, one of which arrives after all others, while a live query
// reads.
func (s *service) checkLate(t *testing.T, g *gate, late int64) {
	t.Helper()
	const events = 5
	pid := newPID(t)
	requested := &requests{more: make(chan struct{}, 1)}
	j := s.open(t, func(c *dynajournal.Config) {
		c.Hooks = append(c.Hooks, dynajournal.Hook{OnRequest: requested.OnRequest})
	})
	write := func(from int64, values ...any) {
		t.Helper()
		s.jvm.do(t, request{Op: "write", PID: pid, From: &from, Events: typedAll(t, values...)})
	}
	write(1, "event-1")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var got []seen
	var failed error
	ended := make(chan struct{}) // when it is closed, got and failed are set
	go func() {
		defer close(ended)
		poll := dynajournal.Poll{Shortest: time.Millisecond, Longest: 5 * time.Millisecond}
		for e, err := range j.EventsByPersistenceID(ctx, pid, 1, events, poll) {
			if failed = err; err != nil {
				return
			}
			got = append(got, see(t, e.Event))
		}
	}()

	blocked := g.block(putOf(pid, late))
	others := make([]*rule, 0, events)
	for n := int64(2); n <= events; n++ {
		if n != late {
			others = append(others, g.watch(putOf(pid, n)))
		}
	}
	go func() { // the journal responds only when all events are stored
		for _, h := range others {
			<-h.passed
		}
		requested.await(20, ended)
		blocked.release()
	}()
	write(2, texts("later", events-1)...)
	if <-ended; failed != nil {
		t.Fatalf("read live: %v", failed)
	}
	checkSeen(t, "the live query", got, append(numbered(t, 1, "event-1"), numbered(t, 2, texts("later", events-1)...)...))
}

// putOf matches the request that puts an event.
func putOf(pid string, seq int64) func(operation, body string) bool {
	par, num := fmt.Sprintf("journal-P-%s-%d", pid, seq/100), fmt.Sprintf(`"num":{"N":"%d"}`, seq%100)
	return func(operation, body string) bool {
		return operation == "PutItem" && strings.Contains(body, par) && strings.Contains(body, num)
	}
}

// requests is a hook that counts the requests of a journal in Go.
type requests struct {
	count atomic.Int64
	more  chan struct{}
}

// OnRequest counts a request.
func (r *requests) OnRequest(context.Context, dynajournal.Request) {
	r.count.Add(1)
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// await waits for n more requests, or until there will be no more.
func (r *requests) await(n int64, ended <-chan struct{}) {
	for until := r.count.Load() + n; r.count.Load() < until; {
		select {
		case <-r.more:
		case <-ended:
			return
		}
	}
}
