package legacy

import (
	"fmt"
	"strings"

	"github.com/dynajournal/dynajournal"
)

// Layout is one of the older layouts.
type Layout int

// The older layouts. The zero Layout is none.
const (
	// HashKey is the layout of 0.3: one hash key, every key begins with the journal's name.
	HashKey Layout = iota + 1
	// HashKeyUnprefixed is that of the first versions, whose keys lack the journal's name: one journal a table.
	HashKeyUnprefixed
	// Naive is one item for an event, by persistence id and sequence number, with nothing but the payload.
	Naive
	// NaiveProcessor is its oldest spelling, by processor id, with marks of deletion and confirmations.
	NaiveProcessor
)

// names are those of the command's flag --layout.
var names = map[Layout]string{
	HashKey:           "hash-key",
	HashKeyUnprefixed: "hash-key-unprefixed",
	Naive:             "naive",
	NaiveProcessor:    "naive-processor",
}

// Layouts are all older layouts.
func Layouts() []Layout { return []Layout{HashKey, HashKeyUnprefixed, Naive, NaiveProcessor} }

// String is the name that ParseLayout takes.
func (l Layout) String() string {
	if name, ok := names[l]; ok {
		return name
	}
	return fmt.Sprintf("layout %d", int(l))
}

// ParseLayout gives the layout of a name: hash-key, hash-key-unprefixed, naive or naive-processor. Any other is
// dynajournal.ErrInvalidArgument.
func ParseLayout(name string) (Layout, error) {
	var all []string
	for _, l := range Layouts() {
		if l.String() == name {
			return l, nil
		}
		all = append(all, l.String())
	}
	return 0, &dynajournal.ArgumentError{Argument: "layout", Value: name, Reason: "it must be one of " + strings.Join(all, ", ")}
}

func (l Layout) hashKeyOnly() bool { return l == HashKey || l == HashKeyUnprefixed }

// marks says whether the layout has attributes for marks of deletion and confirmations.
func (l Layout) marks() bool { return l != Naive }
