package systemtest

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
)

// oneTrip is the duration of a request to a distant service.
const oneTrip = time.Second

// farAway is the HTTP client of a distant engine. In virtual time, an operation takes one second
// for each request that waits for the one before.
type farAway struct {
	engine aws.HTTPClient
	far    bool
}

// Do serves a request.
func (f *farAway) Do(r *http.Request) (*http.Response, error) {
	if f.far {
		time.Sleep(oneTrip)
	}
	return f.engine.Do(r)
}

// Requests that need not wait for each other are sent concurrently.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	recover := func(after dynajournal.RecoverOptions) func(*testing.T, *dynajournal.Journal, string) {
		return func(t *testing.T, j *dynajournal.Journal, pid string) {
			t.Helper()
			if _, err := j.Recover(t.Context(), pid, after, noHandler); err != nil {
				t.Error(err)
			}
		}
	}
	fromSnapshot := func(t *testing.T, j *dynajournal.Journal, pid string) {
		t.Helper()
		s, _, err := j.LoadSnapshot(t.Context(), pid, dynajournal.SnapshotCriteria{})
		if err != nil {
			t.Error(err)
		}
		recover(dynajournal.RecoverOptions{Snapshot: s.SequenceNumber})(t, j, pid)
	}
	for name, c := range map[string]struct {
		events int
		do     func(*testing.T, *dynajournal.Journal, string)
		want   int
	}{
		"a recovery of a new entity":              {0, recover(dynajournal.RecoverOptions{}), 2},
		"a recovery of 5 events":                  {5, recover(dynajournal.RecoverOptions{}), 1},
		"a recovery of 98 events":                 {98, recover(dynajournal.RecoverOptions{}), 1},
		"a recovery of 250 events":                {250, recover(dynajournal.RecoverOptions{}), 2},
		"a recovery of 1,000 events":              {1000, recover(dynajournal.RecoverOptions{}), 2},
		"a recovery of 5 events after a snapshot": {15, fromSnapshot, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				config := dynajournal.Config{AWS: openEngine(t).AWSConfig(), OperationTimeout: time.Hour}
				createTables(t, config, kinds["native"])
				far := &farAway{engine: config.AWS.HTTPClient}
				config.AWS.HTTPClient = far
				j := openJournal(t, config)
				if c.events > 0 {
					w := recovered(t, j, "a")
					for from := 0; from < c.events; from += 10 {
						events := make([]any, min(10, c.events-from))
						for i := range events {
							events[i] = fmt.Sprint(from + i)
						}
						if _, err := w.Append(t.Context(), events...); err != nil {
							t.Fatal(err)
						}
					}
				}
				metadata := dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 10}
				if _, err := j.SaveSnapshot(t.Context(), metadata, "state"); err != nil {
					t.Fatal(err)
				}
				far.far = true
				start := time.Now()
				c.do(t, j, "a")
				if took := time.Since(start); took != time.Duration(c.want)*oneTrip {
					t.Errorf("it took %v round trips, want %d", took.Seconds(), c.want)
				}
				far.far = false
			})
		})
	}
}

// An append takes one round trip: alone, with many events, and together with appends of other
// writers.
func TestAppendIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := dynajournal.Config{AWS: openEngine(t).AWSConfig(), OperationTimeout: time.Hour}
		createTables(t, config, kinds["native"])
		far := &farAway{engine: config.AWS.HTTPClient}
		config.AWS.HTTPClient = far
		w := recovered(t, openJournal(t, config), "a")
		far.far = true
		for _, n := range []int{1, 1, 60} {
			events := make([]any, n)
			for i := range events {
				events[i] = "event"
			}
			start := time.Now()
			if _, err := w.Append(t.Context(), events...); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took != oneTrip {
				t.Errorf("%d events took %v round trips", n, took.Seconds())
			}
		}
		far.far = false
	})
}
