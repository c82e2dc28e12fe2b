package main

import (
	"errors"
	"maps"

	"github.com/dynajournal/dynajournal/entity"
)

// Reserved is the event of a show: a seat was reserved.
type Reserved struct{ Seat int }

// Show is the state of a show: the reserved seats.
type Show struct{ Taken map[int]bool }

var showType = entity.Type[Show, Reserved]{
	Name:    "show",
	Initial: func(string) Show { return Show{Taken: map[int]bool{}} },
	Evolve: func(s Show, event Reserved) Show {
		s.Taken[event.Seat] = true
		return s
	},
	Copy:      func(s Show) Show { return Show{maps.Clone(s.Taken)} }, // Evolve changes the map
	Snapshots: entity.Snapshots{Every: 100, Keep: 2},
}

var errTaken = errors.New("the seat is taken")

func reserve(seat int) func(*entity.Tx[Show, Reserved]) (int, error) {
	return func(tx *entity.Tx[Show, Reserved]) (int, error) {
		if tx.State().Taken[seat] {
			return 0, errTaken // nothing is written
		}
		tx.Record(Reserved{seat})
		return len(tx.State().Taken), nil // returned to the caller when the event is stored
	}
}
