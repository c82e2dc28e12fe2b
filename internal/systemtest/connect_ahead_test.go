package systemtest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// counted serves an engine, and counts the connections to it.
func counted(t *testing.T, engine http.Handler) (url string, made *atomic.Int64) {
	t.Helper()
	made = &atomic.Int64{}
	server := httptest.NewUnstartedServer(engine)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, made
}

// Open opens connections ahead, with a request on each, and later requests need no further
// connection.
func TestOpenConnectsAhead(t *testing.T) {
	t.Parallel()
	const ahead = 20
	engine := openEngine(t)
	createTables(t, dynajournal.Config{AWS: engine.AWSConfig()}, kinds["native"])
	// Each request waits for the others, as if all were on their way to a distant service.
	var waiting atomic.Int64
	all := make(chan struct{})
	var far atomic.Bool
	url, made := counted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if far.Load() {
			if waiting.Add(1) == ahead {
				close(all)
			}
			<-all
		}
		engine.ServeHTTP(w, r)
	}))
	config := overHTTP(engine, url)
	var gets atomic.Int64
	config.Hooks = []dynajournal.Hook{{OnRequest: func(_ context.Context, r dynajournal.Request) {
		if r.Operation == "GetItem" && gets.Add(1) == 1 {
			far.Store(true) // the header has been read
		}
	}}}
	config.ConnectAhead = ahead
	j := openJournal(t, config)
	far.Store(false)
	before := made.Load()
	if before < ahead || gets.Load() != ahead+1 {
		t.Errorf("%d connections were made by %d requests, want %d", before, gets.Load()-1, ahead)
	}
	recovered(t, j, "a")
	if made.Load() != before {
		t.Errorf("a recovery made %d more", made.Load()-before)
	}
}

// Connections that cannot be opened are not an error, and delay Open by at most one attempt.
func TestConnectAheadFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testConnectAheadFails)
}

func testConnectAheadFails(t *testing.T) {
	engine := openEngine(t)
	config := dynajournal.Config{AWS: engine.AWSConfig(), AttemptTimeout: 20 * time.Millisecond, ConnectAhead: 5}
	createTables(t, config, kinds["native"])
	var gets atomic.Int64
	config.Hooks = []dynajournal.Hook{{OnRequest: func(_ context.Context, r dynajournal.Request) {
		if r.Operation == "GetItem" && gets.Add(1) == 1 {
			if _, err := engine.Inject(embedded.Fault{Effect: embedded.EffectHang, Operation: "GetItem"}); err != nil {
				t.Error(err)
			}
		}
	}}}
	openJournal(t, config)
	for _, wrong := range []int{-1, dynajournal.DefaultMaxConnections + 1} {
		config.ConnectAhead = wrong
		if _, err := dynajournal.Open(t.Context(), config); !errors.Is(err, dynajournal.ErrInvalidArgument) {
			t.Errorf("%d: %v", wrong, err)
		}
	}
}
