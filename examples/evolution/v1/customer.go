// Package v1 is the first version of the program.
package v1

import (
	"errors"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Customer is the state of a customer.
type Customer struct{ Name, Address string }

// Event is an event of a customer.
type Event interface{ isEvent() }

type (
	// Registered is an event of a customer.
	Registered struct{ Name string }
	// AddressChanged is an event of a customer.
	AddressChanged struct{ Address string }
	// NewsletterSent is an event of a customer.
	NewsletterSent struct{ Subject string }
)

func (Registered) isEvent()     {}
func (AddressChanged) isEvent() {}
func (NewsletterSent) isEvent() {}

// Type is the type of the customers.
var Type = entity.Type[Customer, Event]{
	Name:      "customer",
	Evolve:    evolve,
	Snapshots: entity.Snapshots{Every: 3},
}

func evolve(c Customer, event Event) Customer {
	switch e := event.(type) {
	case Registered:
		c.Name = e.Name
	case AddressChanged:
		c.Address = e.Address
	}
	return c
}

// Registry returns a registry with the names under which events and states are stored. All types
// have a version from the beginning, so a program that is too old for a stored value gets an error.
func Registry() (*serialization.Registry, error) {
	r, version := serialization.NewRegistry(), serialization.Version(1)
	return r, errors.Join(
		serialization.JSON[Registered](r, "registered", version),
		serialization.JSON[AddressChanged](r, "address-changed", version),
		serialization.JSON[NewsletterSent](r, "newsletter-sent", version),
		serialization.JSON[Customer](r, "customer", version), // for snapshots
	)
}
