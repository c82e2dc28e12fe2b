//go:build interop

package interop_test

import (
	"fmt"
	"slices"

	"github.com/dynajournal/dynajournal/entity"
)

// totals is the state of a ledger on both sides. It depends on all events and their order.
type totals struct {
	Placed  int64    `json:"placed"`
	Shipped int64    `json:"shipped"`
	Amount  int64    `json:"amount"`
	Hash    int64    `json:"hash"`
	Newest  []string `json:"newest"`
}

// newestNotes is the number of notes that totals retain.
const newestNotes = 3

// after returns the state after an event. It does the same as its counterpart in the Java program.
func (t totals) after(event any) totals {
	var note string
	switch order := event.(type) {
	case orderPlaced:
		t.Placed, t.Amount, note = t.Placed+1, t.Amount+order.Amount, order.Note
	case orderShipped:
		t.Shipped, t.Amount, note = t.Shipped+1, t.Amount-order.Amount, order.Note
	default:
		panic(fmt.Sprintf("a ledger has no %T", event))
	}
	const factor = 31
	t.Hash = t.Hash*factor + t.Amount
	for i := range len(note) { // ASCII
		t.Hash = t.Hash*factor + int64(note[i])
	}
	t.Newest = append(slices.Clone(t.Newest), note)
	t.Newest = t.Newest[max(len(t.Newest)-newestNotes, 0):]
	return t
}

// retention is a side's policy for snapshots: a snapshot after Every events, of which the last Keep
// are retained. DeleteEvents reports whether the events before them are deleted.
type retention struct {
	Every        int64 `json:"every,omitempty"`
	Keep         int   `json:"keep,omitempty"`
	DeleteEvents bool  `json:"deleteEvents,omitempty"`
}

func (r retention) String() string {
	if r.Every == 0 {
		return "no snapshots"
	}
	what := fmt.Sprintf("snapshots after %d events, %d of them kept", r.Every, r.Keep)
	if r.DeleteEvents {
		what += ", events deleted"
	}
	return what
}

// ledgers are the entities in Go. The name of their type is the test's name, with which [newPID]
// begins.
type ledgers = entity.Entities[totals, any]

// ledgerType returns the type with a name.
func ledgerType(name string, snapshots retention) entity.Type[totals, any] {
	return entity.Type[totals, any]{
		Name:      name,
		Initial:   func(string) totals { return totals{Newest: []string{}} },
		Evolve:    totals.after,
		Snapshots: entity.Snapshots{Every: snapshots.Every, Keep: snapshots.Keep, DeleteEvents: snapshots.DeleteEvents},
	}
}
