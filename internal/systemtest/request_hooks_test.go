package systemtest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// spans is a hook that gives each request a number, as a tracer gives each a span.
type spans struct {
	mu       sync.Mutex
	started  []dynajournal.RequestStart
	parents  []any
	attempts map[int][]dynajournal.Request
	ended    map[int]dynajournal.RequestEnd
}

type (
	spanKey   struct{}
	parentKey struct{}
)

func newSpans() *spans {
	return &spans{attempts: map[int][]dynajournal.Request{}, ended: map[int]dynajournal.RequestEnd{}}
}

func (s *spans) hook() dynajournal.Hook {
	return dynajournal.Hook{
		StartRequest: func(ctx context.Context, r dynajournal.RequestStart) context.Context {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.started, s.parents = append(s.started, r), append(s.parents, ctx.Value(parentKey{}))
			return context.WithValue(ctx, spanKey{}, len(s.started)-1)
		},
		OnRequest: func(ctx context.Context, r dynajournal.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			span := ctx.Value(spanKey{}).(int)
			s.attempts[span] = append(s.attempts[span], r)
		},
		OnRequestEnd: func(ctx context.Context, r dynajournal.RequestEnd) {
			s.mu.Lock()
			defer s.mu.Unlock()
			span := ctx.Value(spanKey{}).(int)
			if _, twice := s.ended[span]; twice {
				panic("a request has ended twice")
			}
			s.ended[span] = r
		},
	}
}

// check closes the journal, which waits for all requests, and compares their starts, attempts and
// ends. The end of a write can come after the write has returned.
func (s *spans) check(t *testing.T, j *dynajournal.Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, started := range s.started {
		ended, found := s.ended[i]
		var cost dynajournal.Cost
		for _, attempt := range s.attempts[i] {
			cost = cost.Add(attempt.Cost)
			if attempt.Table != started.Table || attempt.Purpose != started.Purpose || attempt.Index != started.Index {
				t.Errorf("%+v is an attempt of %+v", attempt, started)
			}
		}
		if !found || ended.Attempts != len(s.attempts[i]) || ended.Cost != cost || ended.Purpose == "" {
			t.Errorf("%+v has ended (%v) with %+v, and has %d attempts of %+v", started, found, ended, len(s.attempts[i]), cost)
		}
	}
}

// of returns the requests of a purpose, by operation and index.
func (s *spans) of(purpose dynajournal.Purpose) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]bool{}
	for _, r := range s.started {
		if r.Purpose == purpose {
			name := r.Operation
			if r.Index != "" {
				name += " " + r.Index
			}
			found[name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func TestHooks_PurposesOfRequests(t *testing.T) {
	t.Parallel()
	s := newSpans()
	engine := openEngine(t, embedded.WithSweepInterval(0))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Hooks: []dynajournal.Hook{s.hook()}}
	createTables(t, config, kinds["native"])
	j := openJournal(t, config)
	ctx := t.Context()
	w := recoverWriter(t, j, "a", 0)
	appendStrings(t, w, 3, true)
	appendStrings(t, w, 1, false)
	readEvents(t, j, "a", dynajournal.Range{})
	for _, err := range j.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, saved := j.SaveSnapshot(ctx, dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 4}, "state")
	_, deleted := w.DeleteTo(ctx, 2)
	_, purged := w.Purge(ctx, dynajournal.PurgeOptions{})
	for _, err := range j.Verify(ctx, "a", dynajournal.VerifyOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(saved, deleted, purged, j.Ping(ctx)); err != nil {
		t.Fatal(err)
	}
	s.check(t, j)
	for purpose, want := range map[dynajournal.Purpose][]string{
		dynajournal.PurposeTables:   {"CreateTable", "DescribeTable", "DescribeTimeToLive", "GetItem", "PutItem", "UpdateTimeToLive"},
		dynajournal.PurposeRecover:  {"BatchGetItem", "Query"},
		dynajournal.PurposeAppend:   {"BatchExecuteStatement", "PutItem"},
		dynajournal.PurposeList:     {"Query ids-idx"},
		dynajournal.PurposeSnapshot: {"BatchGetItem", "PutItem"},
		dynajournal.PurposePing:     {"GetItem"},
	} {
		if got := s.of(purpose); !slices.Equal(got, want) {
			t.Errorf("requests of the purpose %s are %q, want %q", purpose, got, want)
		}
	}
	for _, purpose := range []dynajournal.Purpose{
		dynajournal.PurposeRead, dynajournal.PurposeDelete, dynajournal.PurposePurge, dynajournal.PurposeVerify,
	} {
		if len(s.of(purpose)) == 0 {
			t.Errorf("no request has the purpose %s", purpose)
		}
	}
}

func TestHooks_ContextOfTheOperationReachesItsRequests(t *testing.T) {
	t.Parallel()
	s := newSpans()
	engine := openEngine(t, embedded.WithSweepInterval(0))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Hooks: []dynajournal.Hook{s.hook(), {}}}
	createTables(t, config, kinds["native"])
	j := openJournal(t, config)
	ctx := context.WithValue(t.Context(), parentKey{}, "command")
	w, err := j.Recover(ctx, "a", dynajournal.RecoverOptions{}, noHandler)
	if err == nil {
		_, err = w.Append(ctx, "x")
	}
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, j)
	for i, r := range s.started {
		if r.Purpose != dynajournal.PurposeTables && s.parents[i] != "command" {
			t.Errorf("%+v has the context %v", r, s.parents[i])
		}
	}
	for _, attempts := range s.attempts {
		if attempts[0].RequestID == "" {
			t.Errorf("%+v has no id of the service", attempts[0])
		}
	}
}

// A request that fails and is retried is one request with several attempts.
func TestHooks_RetriesBelongToOneRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSpans()
		engine := openEngine(t, embedded.WithSweepInterval(0))
		config := dynajournal.Config{AWS: engine.AWSConfig()}
		createTables(t, config, kinds["native"])
		config.Hooks = []dynajournal.Hook{s.hook()}
		j := openJournal(t, config)
		w := recoverWriter(t, j, "a", 0)
		fault, err := embedded.ParseFault("internal-error,operation=PutItem,times=2")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Inject(fault); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Append(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		remove, err := engine.Inject(embedded.Fault{Operation: "PutItem", Effect: embedded.EffectAccessDenied})
		if err != nil {
			t.Fatal(err)
		}
		defer remove()
		if _, err := w.Append(t.Context(), "y"); !errors.Is(err, dynajournal.ErrDenied) {
			t.Fatalf("Append: %v", err)
		}
		s.check(t, j)
		retried := slices.IndexFunc(s.started, func(r dynajournal.RequestStart) bool {
			return r.Purpose == dynajournal.PurposeAppend && r.Operation == "PutItem"
		})
		attempts, ended := s.attempts[retried], s.ended[retried]
		if len(attempts) != 3 || attempts[0].Err == nil || attempts[0].Code != "InternalServerError" || attempts[2].Attempt != 3 ||
			attempts[2].Err != nil || ended.Err != nil || ended.Attempts != 3 {
			t.Errorf("the attempts are %+v, and the request has ended with %+v", attempts, ended)
		}
		if ended := s.ended[len(s.started)-1]; !errors.Is(ended.Err, dynajournal.ErrDenied) {
			t.Errorf("the denied request has ended with %+v", ended)
		}
	})
}

// The requests that several writers share link to the contexts of all of them.
func TestHooks_SharedRequestHasItsWriters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSpans()
		engine := openEngine(t, embedded.WithSweepInterval(0))
		config := dynajournal.Config{AWS: engine.AWSConfig(), MaxConnections: 2, Hooks: []dynajournal.Hook{s.hook()}}
		createTables(t, config, kinds["native"])
		j := openJournal(t, config)
		slow, err := engine.Inject(embedded.Fault{Operation: "PutItem", Effect: embedded.EffectSlow, Delay: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer slow()
		var writers []*dynajournal.Writer
		const many, connections = 12, 2
		for i := range many {
			writers = append(writers, recoverWriter(t, j, string(rune('a'+i)), 0))
		}
		var all errgroup.Group
		for i, w := range writers {
			ctx := context.WithValue(t.Context(), parentKey{}, i)
			all.Go(func() error {
				_, err := w.Append(ctx, "x")
				return err
			})
			if i < connections {
				synctest.Wait() // each has a request in flight, so the next events wait for them
			}
		}
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
		s.check(t, j)
		shared, seen, gathered := 0, map[any]bool{}, time.Duration(0)
		for i, r := range s.started {
			if gathered = max(gathered, r.Gathered); s.ended[i].Gathered != r.Gathered {
				t.Errorf("a request has waited %v for its events, and at its end %v", r.Gathered, s.ended[i].Gathered)
			}
			switch {
			case r.Operation == "BatchExecuteStatement":
				shared++
				if len(r.Writers) != r.Statements || s.parents[i] != nil {
					t.Errorf("a request of %d events has %d writers, and the context of %v", r.Statements, len(r.Writers), s.parents[i])
				}
				for _, ctx := range r.Writers {
					seen[ctx.Value(parentKey{})] = true
				}
			case r.Operation == "PutItem" && r.Purpose == dynajournal.PurposeAppend && r.Table == dynajournal.DefaultJournalTable:
				seen[s.parents[i]] = true
			}
		}
		for i := range many {
			if !seen[i] {
				t.Errorf("no request has the context of writer %d", i)
			}
		}
		if shared == 0 {
			t.Error("no request is shared")
		}
		if gathered != time.Second {
			t.Errorf("the events have waited up to %v, want the second of a slow request", gathered)
		}
	})
}

// All connections are in use: the requests say how long they have waited.
func TestHooks_WaitForAConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSpans()
		engine := openEngine(t, embedded.WithSweepInterval(0))
		config := dynajournal.Config{AWS: engine.AWSConfig(), MaxConnections: 1, Hooks: []dynajournal.Hook{s.hook()}}
		createTables(t, config, kinds["native"])
		j := openJournal(t, config)
		remove, err := engine.Inject(embedded.Fault{Operation: "GetItem", Effect: embedded.EffectSlow, Delay: time.Second, Applied: true})
		if err != nil {
			t.Fatal(err)
		}
		defer remove()
		var pings errgroup.Group
		for range 3 {
			pings.Go(func() error { return j.Ping(t.Context()) })
		}
		if err := pings.Wait(); err != nil {
			t.Fatal(err)
		}
		s.check(t, j)
		var waited []time.Duration
		for _, r := range s.ended {
			if r.Purpose == dynajournal.PurposePing {
				waited = append(waited, r.Waited)
				if r.Duration != r.Waited+time.Second {
					t.Errorf("the duration is %v after a wait of %v", r.Duration, r.Waited)
				}
			}
		}
		slices.Sort(waited)
		if !slices.Equal(waited, []time.Duration{0, time.Second, 2 * time.Second}) {
			t.Errorf("the requests have waited for %v", waited)
		}
	})
}
