//go:build interop

package interop_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// spent is the cost of the plug-in, as the engine counted it.
type spent struct {
	requests    int64
	read, write float64
}

func total(engine *embedded.Engine) spent {
	var sum spent
	counted := engine.Counters()
	for _, n := range counted.Requests {
		sum.requests += n
	}
	for _, u := range counted.Units {
		sum.read += u.Read
		sum.write += u.Write
	}
	return sum
}

// countingEngine returns an engine with the tables of a shared journal. This process serves it, so
// the test can read its counters.
func countingEngine(t *testing.T) (engine *embedded.Engine, url string) {
	t.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- engine.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, engine.Close()); err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	if err := dynajournal.CreateTables(t.Context(), dynajournal.Config{AWS: engine.AWSConfig()}, dynajournal.TableOptions{SharedWithJVM: true}); err != nil {
		t.Fatal(err)
	}
	return engine, "http://" + listener.Addr().String()
}

// TestCostOfThePlugIn counts the real plug-in's consumption for the rows of the cost table of
// bench/RESULTS.md: events and snapshots of 512 bytes, 10 shards. Every start of an entity also
// loads a snapshot.
func TestCostOfThePlugIn(t *testing.T) {
	needJVM(t)
	engine, url := countingEngine(t)
	p := pekko110.start(t, "dynamodb-journal.endpoint="+url, "dynamodb-read-journal.endpoint="+url)
	payload := typed{"bytes", json.RawMessage(`"` + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xa5", 512))) + `"`)}
	start := func(pid string) { p.do(t, request{Op: "start", PID: pid}) }
	stop := func(pid string) { p.do(t, request{Op: "stop", PID: pid}) }
	persist := func(pid string, n int, atomic bool) {
		events := make([]typed, n)
		for i := range events {
			events[i] = payload
		}
		p.do(t, request{Op: "persist", PID: pid, Events: events, Atomic: atomic})
	}
	deleteTo := func(pid string, to int64) { p.do(t, request{Op: "deleteTo", PID: pid, To: &to}) }
	save := func(pid string) { p.do(t, request{Op: "save", PID: pid, State: &payload}) }
	// with starts an entity, runs work, and stops the entity.
	with := func(pid string, work func()) {
		start(pid)
		work()
		stop(pid)
	}
	counted := map[string]spent{}
	count := func(what string, work func()) {
		before := total(engine)
		work()
		after := total(engine)
		counted[what] = spent{after.requests - before.requests, after.read - before.read, after.write - before.write}
	}
	with("warm", func() { persist("warm", 1, false) })

	count("recovery of a new entity", func() { start("single") })
	count("the first event", func() { persist("single", 1, false) })
	persist("single", 97, false)
	count("an event", func() { persist("single", 1, false) })
	count("the event at 100", func() { persist("single", 1, false) })
	persist("single", 150, false)
	stop("single")
	count("recovery of 250 events", func() { start("single") })

	start("batch")
	persist("batch", 1, false)
	count("an atomic write of 10", func() { persist("batch", 10, true) })
	persist("batch", 84, true)
	count("an atomic write of 10 over 100", func() { persist("batch", 10, true) })

	with("small", func() { persist("small", 5, false) })
	count("recovery of 5 events", func() { start("small") })
	count("saving a snapshot", func() { save("small") })
	count("loading a snapshot", func() { p.do(t, request{Op: "load", PID: "small"}) })
	persist("small", 5, false)
	stop("small")
	count("recovery of a snapshot and 5 events", func() { start("small") })

	start("cut")
	for range 25 {
		persist("cut", 50, true)
	}
	count("deletion of 1000 events of 1250", func() { deleteTo("cut", 1000) })
	stop("cut")
	count("recovery of 250 events behind 1000 deleted", func() { start("cut") })
	start("gone")
	for range 20 {
		persist("gone", 50, true)
	}
	deleteTo("gone", 1000)
	stop("gone")
	count("recovery after all of 1000 were deleted", func() { start("gone") })

	j := openShared(t, engine)
	for i := range 994 { // 1000 with the ids above
		w, err := j.Recover(t.Context(), fmt.Sprintf("id-%d", i), dynajournal.RecoverOptions{}, nil)
		if err == nil {
			_, err = w.Append(t.Context(), []byte("x"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	count("listing 1000 persistence ids", func() {
		// It does not list ids whose first event is deleted.
		if n := len(p.do(t, request{Op: "ids"}).IDs); n != 998 {
			t.Errorf("the plug-in lists %d persistence ids, want 998", n)
		}
	})
	for what, want := range map[string]spent{
		"an atomic write of 10":                      {1, 0, 20},
		"an atomic write of 10 over 100":             {1, 0, 22},
		"an event":                                   {1, 0, 2},
		"deletion of 1000 events of 1250":            {45, 28, 2003},
		"listing 1000 persistence ids":               {1, 3.5, 0},
		"loading a snapshot":                         {1, 1, 0},
		"recovery after all of 1000 were deleted":    {5, 32, 0},
		"recovery of 250 events":                     {7, 69, 0},
		"recovery of 250 events behind 1000 deleted": {7, 69, 0},
		"recovery of 5 events":                       {5, 23, 0},
		"recovery of a new entity":                   {4, 22, 0},
		"recovery of a snapshot and 5 events":        {5, 24, 0},
		"saving a snapshot":                          {1, 0, 2},
		"the event at 100":                           {1, 0, 4},
		"the first event":                            {1, 0, 2},
	} {
		if got := counted[what]; got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
}

func openShared(t *testing.T, engine *embedded.Engine) *dynajournal.Journal {
	t.Helper()
	j, err := dynajournal.Open(t.Context(), dynajournal.Config{AWS: engine.AWSConfig()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}
