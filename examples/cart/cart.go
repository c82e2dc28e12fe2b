package main

import (
	"errors"
	"maps"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Cart is the state of a shopping cart.
type Cart struct {
	Items      map[string]int // the quantity of each article
	CheckedOut bool
}

// Event is an event of a cart.
type Event interface{ isEvent() }

// The events of a cart.
type (
	ItemAdded struct {
		Article  string
		Quantity int
	}
	ItemRemoved struct{ Article string }
	CheckedOut  struct{}
)

func (ItemAdded) isEvent()   {}
func (ItemRemoved) isEvent() {}
func (CheckedOut) isEvent()  {}

// cartType saves the state after every ten events, and when the cart is checked out. It retains two
// snapshots, and deletes the events up to the older one.
var cartType = entity.Type[Cart, Event]{
	Name:    "cart",
	Initial: func(string) Cart { return Cart{Items: map[string]int{}} },
	Evolve:  evolve,
	// Evolve changes the map of the cart in place, so that a long history is loaded fast.
	Copy: func(c Cart) Cart {
		c.Items = maps.Clone(c.Items)
		return c
	},
	Snapshots:    entity.Snapshots{Every: 10, Keep: 2, DeleteEvents: true},
	SnapshotWhen: func(_ Cart, event Event, _ int64) bool { return event == CheckedOut{} },
}

func evolve(c Cart, event Event) Cart {
	switch e := event.(type) {
	case ItemAdded:
		c.Items[e.Article] += e.Quantity
	case ItemRemoved:
		delete(c.Items, e.Article)
	case CheckedOut:
		c.CheckedOut = true
	}
	return c
}

var (
	errCheckedOut = errors.New("the cart is checked out")
	errEmpty      = errors.New("the cart is empty")
)

// tx is the entity.Tx of a command of a cart.
type tx = entity.Tx[Cart, Event]

func add(article string, quantity int) func(*tx) error {
	return func(tx *tx) error {
		if tx.State().CheckedOut {
			return errCheckedOut
		}
		tx.Record(ItemAdded{article, quantity})
		return nil
	}
}

func remove(article string) func(*tx) error {
	return func(tx *tx) error {
		if tx.State().CheckedOut {
			return errCheckedOut
		}
		if tx.State().Items[article] > 0 { // otherwise nothing is written
			tx.Record(ItemRemoved{article})
		}
		return nil
	}
}

// checkOut returns the items to deliver.
func checkOut(tx *tx) (map[string]int, error) {
	switch state := tx.State(); {
	case state.CheckedOut:
		return nil, errCheckedOut
	case len(state.Items) == 0:
		return nil, errEmpty
	default:
		tx.Record(CheckedOut{})
		return maps.Clone(state.Items), nil
	}
}

// registry has the names under which events and states are stored.
func registry() (*serialization.Registry, error) {
	r := serialization.NewRegistry()
	return r, errors.Join(
		serialization.JSON[ItemAdded](r, "item-added"),
		serialization.JSON[ItemRemoved](r, "item-removed"),
		serialization.JSON[CheckedOut](r, "checked-out"),
		serialization.JSON[Cart](r, "cart", serialization.Version(1)), // for snapshots
	)
}
