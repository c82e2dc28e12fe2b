package entities_test

import (
	"hash/fnv"
	"maps"
	"strconv"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Event is an event of an entity: it sets the register if Value is not empty, and adds to the
// counter.
type Event struct {
	// Text is unique: the run of the command, and the index of the event in it.
	Text string
	// Command is the command, Run its run, and Index the index of the event of Of events.
	Command, Run, Index, Of int
	// ID is the command's id, empty if it has none.
	ID string
	// Digest and Version are those of the state that the command was decided on.
	Digest  uint64
	Version int64
	Value   string
	Add     int
	Padding string
}

// State is the state of an entity.
type State struct {
	Register string
	Counter  int
	// Digest follows from all events in their order.
	Digest uint64
	// Seen has the texts of all events, as a state shares it with others if Evolve changes it in
	// place.
	Seen map[string]bool
}

func digest(before uint64, text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strconv.FormatUint(before, 16) + text))
	return h.Sum64()
}

// next returns the state after an event without Seen.
func next(s State, e *Event) State {
	if e.Value != "" {
		s.Register = e.Value
	}
	s.Counter += e.Add
	s.Digest = digest(s.Digest, e.Text)
	return s
}

// evolvePure changes nothing.
func evolvePure(s State, e Event) State {
	return evolveInPlace(clone(s), e)
}

// evolveInPlace changes what the state points to.
func evolveInPlace(s State, e Event) State {
	if s.Seen == nil {
		s.Seen = map[string]bool{}
	}
	s.Seen[e.Text] = true
	return next(s, &e)
}

func clone(s State) State {
	s.Seen = maps.Clone(s.Seen)
	return s
}

type (
	hosted = entity.Entities[State, Event]
	tx     = entity.Tx[State, Event]
	kind   = entity.Type[State, Event]
)

func registry() *serialization.Registry {
	r := serialization.NewRegistry()
	for _, err := range []error{
		serialization.JSON[Event](r, "event"),
		serialization.JSON[State](r, "state"),
	} {
		if err != nil {
			panic(err)
		}
	}
	return r
}
