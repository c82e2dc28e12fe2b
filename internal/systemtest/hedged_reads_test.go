package systemtest

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
)

// tail is an HTTP client of which a request takes long if it is asked to.
type tail struct {
	engine aws.HTTPClient
	usual  time.Duration

	mu sync.Mutex
	// slow is the operation whose next request takes a hundred times as long; empty for none.
	slow string
}

// Do sends a request.
func (c *tail) Do(r *http.Request) (*http.Response, error) {
	d := c.usual
	c.mu.Lock()
	if c.slow != "" && strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+c.slow) {
		d, c.slow = 100*d, ""
	}
	c.mu.Unlock()
	select {
	case <-time.After(d):
		return c.engine.Do(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// With Config.HedgeReads a slow request of a recovery, or of the loading of a snapshot, is sent a
// second time. Other reads and all writes are not.
func TestRecoveriesAreHedged(t *testing.T) {
	t.Parallel()
	const usual = 10 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		config := dynajournal.Config{AWS: openEngine(t).AWSConfig(), HedgeReads: true}
		createTables(t, config, kinds["native"])
		far := &tail{engine: config.AWS.HTTPClient, usual: usual}
		config.AWS.HTTPClient = far
		sent := 0
		config.Hooks = []dynajournal.Hook{countRequests(&sent)}
		j := openJournal(t, config)
		w := recovered(t, j, "a")
		if _, err := w.Append(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := j.SaveSnapshot(t.Context(), dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 1}, "s"); err != nil {
			t.Fatal(err)
		}
		recovers := func() {
			t.Helper()
			if _, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, noHandler); err != nil {
				t.Fatal(err)
			}
		}
		loads := func() {
			t.Helper()
			if _, found, err := j.LoadSnapshot(t.Context(), "a", dynajournal.SnapshotCriteria{}); !found || err != nil {
				t.Fatal(found, err)
			}
		}
		reads := func() {
			t.Helper()
			for _, err := range j.Events(t.Context(), "a", dynajournal.Range{}) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		appends := func() {
			t.Helper()
			if _, err := w.Append(t.Context(), "y"); err != nil {
				t.Fatal(err)
			}
		}
		for range 150 { // until it is known what is slow
			recovers()
			loads()
		}
		w = recovered(t, j, "a")
		for name, c := range map[string]struct {
			do   func()
			slow string
			want bool
		}{
			"the events of a recovery": {recovers, "Query", true},
			"the marks of a recovery":  {recovers, "BatchGetItem", true},
			"a snapshot":               {loads, "Query", true},
			"a reading":                {reads, "Query", false},
			"an append":                {appends, "PutItem", false},
		} {
			far.slow, sent = "", 0
			c.do()
			before := sent
			far.slow, sent = c.slow, 0
			began := time.Now()
			c.do()
			if took := time.Since(began); far.slow != "" || (took < 50*usual) != c.want {
				t.Errorf("%s: it takes %v", name, took)
			}
			if twice := sent == before+1; twice != c.want || sent > before+1 {
				t.Errorf("%s: %d requests, and %d with a slow one", name, before, sent)
			}
		}
	})
}

// countRequests returns a hook that counts the requests sent.
func countRequests(n *int) dynajournal.Hook {
	var mu sync.Mutex
	return dynajournal.Hook{OnRequest: func(_ context.Context, r dynajournal.Request) {
		mu.Lock()
		defer mu.Unlock()
		*n += r.Cost.Requests
	}}
}
