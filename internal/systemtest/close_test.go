package systemtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
)

// The journal is closed while many writers, readers and deletions are in flight. Every call ends
// with success or an error. Acknowledged events are stored, events reported as not written are not,
// and no goroutine is left.
func TestCloseUnderLoad(t *testing.T) {
	for name, options := range kinds {
		t.Run(name, func(t *testing.T) {
			engine := openEngine(t)
			config := dynajournal.Config{AWS: engine.AWSConfig()}
			createTables(t, config, options)
			before := goleak.IgnoreCurrent()
			j, err := dynajournal.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			const busy = 40
			outcomes := make([]outcome, busy)
			var calls sync.WaitGroup
			var under atomic.Int64
			loaded := make(chan struct{})
			for i := range busy {
				calls.Go(func() {
					outcomes[i].run(t, j, fmt.Sprint("id", i), func() {
						if under.Add(1) == 5*busy {
							close(loaded)
						}
					})
				})
			}
			<-loaded
			if err := j.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			calls.Wait()
			if err := goleak.Find(before); err != nil {
				t.Errorf("after Close: %v", err)
			}
			again := openJournal(t, config)
			for i := range busy {
				outcomes[i].compare(t, again, fmt.Sprint("id", i))
			}
		})
	}
}

// outcome has the results of a writer's calls until the journal was closed.
type outcome struct {
	acknowledged []string
	// unknown is the event whose outcome was unknown.
	unknown string
}

// run recovers, then writes and reads until the journal is closed.
func (o *outcome) run(t *testing.T, j *dynajournal.Journal, pid string, called func()) {
	w, err := j.Recover(t.Context(), pid, dynajournal.RecoverOptions{}, nil)
	for n := 0; err == nil; n++ {
		called()
		text := fmt.Sprintf("%s-%d", pid, n)
		if _, err = w.Append(t.Context(), text); err == nil {
			o.acknowledged = append(o.acknowledged, text)
			err = readError(t.Context(), j, pid, dynajournal.Range{})
		} else if errors.Is(err, dynajournal.ErrOutcomeUnknown) {
			o.unknown = text
		}
	}
	if !errors.Is(err, dynajournal.ErrClosed) {
		t.Errorf("%s ended with %v, want %v", pid, err, dynajournal.ErrClosed)
	}
}

func (o *outcome) compare(t *testing.T, j *dynajournal.Journal, pid string) {
	t.Helper()
	var stand []string
	for _, e := range readEvents(t, j, pid, dynajournal.Range{}) {
		stand = append(stand, string(e.Bytes))
	}
	if n := len(stand); n > 0 && stand[n-1] == o.unknown {
		stand = stand[:n-1]
	}
	if !slices.Equal(stand, o.acknowledged) {
		t.Errorf("%s was acknowledged %d events, and %d stand", pid, len(o.acknowledged), len(stand))
	}
}
