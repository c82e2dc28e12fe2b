// Package v3 is the third version of the program. It has changed the stored form in three ways:
//
//   - An event type was replaced: Registered is now two events. An upcaster converts the old
//     events.
//   - Another event type, NewsletterSent, was removed without a successor. An upcaster omits the
//     old events.
//   - An event and the state are stored under other names.
package v3

import (
	"errors"
	"strings"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Customer is the state of a customer.
type Customer struct {
	First, Last, Language string
	Home                  Address
}

// Address is a postal address.
type Address struct{ Street, City string }

// Event is an event of a customer.
type Event interface{ isEvent() }

type (
	// Named is an event of a customer.
	Named struct{ First, Last string }
	// LanguageChosen is an event of a customer.
	LanguageChosen struct{ Language string }
	// Moved is an event of a customer.
	Moved struct{ Street, City string }
)

func (Named) isEvent()          {}
func (LanguageChosen) isEvent() {}
func (Moved) isEvent()          {}

// Type is the type of the customers.
var Type = entity.Type[Customer, Event]{
	Name:   "customer",
	Evolve: evolve,
	// The keys are the stored names, with the version from 2 on.
	Upcasters: map[string]func(serialization.Payload) ([]Event, error){
		"registered":      upcastRegistered,
		"registered#2":    upcastRegistered,
		"newsletter-sent": func(serialization.Payload) ([]Event, error) { return nil, nil },
	},
	// There is no upcaster for the snapshots of v1. They are skipped, and the state is loaded from
	// the events.
	SnapshotUpcasters: map[string]func(serialization.Payload) (Customer, error){
		"customer#2": upcastCustomer,
	},
	Snapshots: entity.Snapshots{Every: 3},
}

func evolve(c Customer, event Event) Customer {
	switch e := event.(type) {
	case Named:
		c.First, c.Last = e.First, e.Last
	case LanguageChosen:
		c.Language = e.Language
	case Moved:
		c.Home = Address(e)
	}
	return c
}

// Registry returns a registry with the names under which events and states are stored.
// FormerClasses has the earlier names of a renamed type.
func Registry() (*serialization.Registry, error) {
	r, version := serialization.NewRegistry(), serialization.Version(1)
	return r, errors.Join(
		serialization.JSON[Named](r, "named", version),
		serialization.JSON[LanguageChosen](r, "language-chosen", version),
		serialization.JSON[Moved](r, "moved", serialization.Version(2), serialization.FormerClasses("address-changed"),
			serialization.Migrate(splitAddress)),
		serialization.JSON[Customer](r, "customer-by-name", version),
	)
}

func upcastRegistered(stored serialization.Payload) ([]Event, error) {
	old, err := decodeFormer[registered](stored)
	if err != nil {
		return nil, err
	}
	if old.Language == "" {
		old.Language = "en"
	}
	return []Event{named(old.Name), LanguageChosen{old.Language}}, nil
}

func upcastCustomer(stored serialization.Payload) (Customer, error) {
	old, err := decodeFormer[customer](stored)
	name := named(old.Name)
	return Customer{name.First, name.Last, old.Language, Address{old.Street, old.City}}, err
}

func named(name string) Named {
	first, last, _ := strings.Cut(name, " ")
	return Named{first, last}
}
