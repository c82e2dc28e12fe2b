package awslambda

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// batch has the records of a Lambda event that may be of events or purges.
type batch struct {
	// ids are the persistence ids in the order of their first records. So persistence ids that an
	// invocation did not reach come first in the next one.
	ids []*batchID
	// oldest is when the oldest record was written. It is zero if no record has a time.
	oldest time.Time

	mu sync.Mutex
}

// batchID has the records of a persistence id. They are done together.
type batchID struct {
	pid     string
	records []engine.Record
	// lowest is the lowest sequence number of the records.
	lowest string
	done   bool
}

// add adds a record of a persistence id.
func (b *batch) add(of map[string]*batchID, pid, sequence string, r engine.Record) {
	id := of[pid]
	if id == nil {
		id = &batchID{pid: pid, lowest: sequence}
		of[pid] = id
		b.ids = append(b.ids, id)
	}
	id.records = append(id.records, r)
	if compareSequence(sequence, id.lowest) < 0 {
		id.lowest = sequence
	}
}

func (b *batch) finish(id *batchID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id.done = true
}

// response returns a response with the lowest record that is not done.
func (b *batch) response() Response {
	b.mu.Lock()
	defer b.mu.Unlock()
	failures := []BatchItemFailure{}
	for _, id := range b.ids {
		switch {
		case id.done:
		case len(failures) == 0:
			failures = append(failures, BatchItemFailure{id.lowest})
		case compareSequence(id.lowest, failures[0].ItemIdentifier) < 0:
			failures[0].ItemIdentifier = id.lowest
		}
	}
	return Response{failures}
}

// compareSequence compares sequence numbers of a stream: decimal numbers of any length.
func compareSequence(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
