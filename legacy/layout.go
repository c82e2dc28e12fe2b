package legacy

import (
	"fmt"
	"strings"

	"github.com/dynajournal/dynajournal"
)

// Layout is one of the older layouts.
type Layout int

// The older layouts. The zero Layout is not valid.
const (
	// HashKey is the layout of 0.3. It has one hash key, and every key begins with the journal's
	// name.
	HashKey Layout = iota + 1
	// HashKeyUnprefixed is the layout of the first versions. Its keys do not contain the journal's
	// name, so a table has a single journal.
	HashKeyUnprefixed
	// Naive has one item for each event. The persistence id and the sequence number are its key,
	// and the payload is its only other attribute.
	Naive
	// NaiveProcessor is the first form of Naive, with the processor id in the key, deletion marks
	// and confirmations.
	NaiveProcessor
)

// names contains the values of the command's flag --layout.
var names = map[Layout]string{
	HashKey:           "hash-key",
	HashKeyUnprefixed: "hash-key-unprefixed",
	Naive:             "naive",
	NaiveProcessor:    "naive-processor",
}

// Layouts returns all older layouts.
func Layouts() []Layout { return []Layout{HashKey, HashKeyUnprefixed, Naive, NaiveProcessor} }

// String returns the name that [ParseLayout] accepts.
func (l Layout) String() string {
	if name, ok := names[l]; ok {
		return name
	}
	return fmt.Sprintf("layout %d", int(l))
}

// ParseLayout returns the layout with a name: hash-key, hash-key-unprefixed, naive or
// naive-processor. For any other name it returns [dynajournal.ErrInvalidArgument].
func ParseLayout(name string) (Layout, error) {
	var all []string
	for _, l := range Layouts() {
		if l.String() == name {
			return l, nil
		}
		all = append(all, l.String())
	}
	return 0, &dynajournal.ArgumentError{Argument: "layout", Value: name,
		Reason: "it must be one of " + strings.Join(all, ", ")}
}

func (l Layout) hashKeyOnly() bool { return l == HashKey || l == HashKeyUnprefixed }

// marks reports whether the layout has attributes for deletion marks and confirmations.
func (l Layout) marks() bool { return l != Naive }
