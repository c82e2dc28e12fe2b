package simulate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal/internal/explore"
	"github.com/dynajournal/dynajournal/serialization"
)

// queued is an event of a call that writes events one after the other. Its encoding signals that
// the outcomes of the previous events are known.
type queued struct {
	text string
	turn func()
}

// withQueued registers queued events, which are stored as their text.
func withQueued(t *testing.T) *serialization.Registry {
	t.Helper()
	r := serialization.NewRegistry()
	err := serialization.Custom(r, serialization.Codec[queued]{
		SerializerID: 1000,
		Manifest:     "queued",
		Encode: func(q queued) ([]byte, error) {
			q.turn()
			return []byte(q.text), nil
		},
		Decode: func(text []byte) (queued, error) { return queued{text: string(text)}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A call that writes events one after the other is paused before the last of them, until a purge
// has erased the first ones. These were acknowledged before the purge.
func TestSimulate_EventsOfUnfinishedCallPurged(t *testing.T) {
	const all = 1000
	h := history{
		seed: 1, rates: make([]int, len(explore.RequestFaults)), foreign: make([]int, len(foreigners)), ahead: make([]time.Duration, actors),
		commands: []command{
			{kind: recoverEntity, actor: 0, steps: all},
			{kind: appendSingles, actor: 0, size: 3, steps: 3},
			{kind: pauseProcess, actor: 0},
			{kind: recoverEntity, actor: 1, steps: all},
			{kind: purgeEntity, actor: 1, size: 1, steps: all},
			{kind: passTime, size: len(passing) + 6},
		},
	}
	sum := newTotals()
	synctest.Test(t, func(t *testing.T) {
		if err := run(t, h, sum); err != nil {
			t.Errorf("%v\n%v", err, h)
		}
	})
}
