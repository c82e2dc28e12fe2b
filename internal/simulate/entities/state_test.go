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
	// Text is unique: it has the command, its run, and the index of the event.
	Text string
	// Command is the number of the command. Run is its run. Index is the index of the event among
	// the Of events of the run.
	Command, Run, Index, Of int
	// ID is the command's id. It is empty if the command has no id.
	ID string
	// Digest and Version are the digest and the version of the state that the command was decided
	// on.
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
	// Digest is a hash of all events in order.
	Digest uint64
	// Seen has the texts of all events. If Evolve changes it in place, several states share it.
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

// evolvePure does not change s.
func evolvePure(s State, e Event) State {
	return evolveInPlace(clone(s), e)
}

// evolveInPlace changes the map of the state.
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
