// Package v2 is the second version of the program. It has changed what is stored in three ways:
//
//   - An event has a new field, Registered.Language. In old events it is the zero value. The
//     version is raised all the same: a program that does not know the field must not read it.
//   - An event has other fields, and another name in Go: AddressChanged is Moved. It keeps the name
//     under which it is stored, and a migration reads old documents.
//   - So has the state, and with it the snapshots.
package v2

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Customer is the state of a customer.
type Customer struct{ Name, Language, Street, City string }

// Event is what happens to a customer.
type Event interface{ isEvent() }

type (
	// Registered is an event of a customer.
	Registered struct{ Name, Language string }
	// Moved is an event of a customer.
	Moved struct{ Street, City string }
	// NewsletterSent is an event of a customer.
	NewsletterSent struct{ Subject string }
)

func (Registered) isEvent()     {}
func (Moved) isEvent()          {}
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
		c.Name, c.Language = e.Name, e.Language
		if c.Language == "" {
			c.Language = "en" // all were, before there was the field
		}
	case Moved:
		c.Street, c.City = e.Street, e.City
	}
	return c
}

// Registry has the names under which events and states are stored.
func Registry() (*serialization.Registry, error) {
	r := serialization.NewRegistry()
	return r, errors.Join(
		serialization.JSON[Registered](r, "registered", serialization.Version(2)),
		serialization.JSON[Moved](r, "address-changed", serialization.Version(2), serialization.Migrate(splitAddress)),
		serialization.JSON[NewsletterSent](r, "newsletter-sent", serialization.Version(1)),
		serialization.JSON[Customer](r, "customer", serialization.Version(2), serialization.Migrate(splitAddress)),
	)
}

// splitAddress makes a document of version 2 of one of version 1: the field Address becomes two.
func splitAddress(_ int, document []byte) ([]byte, error) {
	var fields map[string]string
	if err := json.Unmarshal(document, &fields); err != nil {
		return nil, err
	}
	fields["Street"], fields["City"], _ = strings.Cut(fields["Address"], ", ")
	delete(fields, "Address")
	if _, ok := fields["Name"]; ok { // a state
		fields["Language"] = "en"
	}
	return json.Marshal(fields)
}
