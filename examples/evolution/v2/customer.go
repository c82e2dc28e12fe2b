// Package v2 is the second version of the program. It has changed the stored form in three ways:
//
//   - An event has a new field, Registered.Language. In old events it is the zero value. The
//     version is still raised, because a program that does not know the field must not read the
//     event.
//   - An event has other fields, and another name in Go: AddressChanged is now Moved. Its stored
//     name stays the same, and a migration converts old documents.
//   - The same applies to the state, and so to the snapshots.
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

// Event is an event of a customer.
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
			c.Language = "en" // the only language before the field existed
		}
	case Moved:
		c.Street, c.City = e.Street, e.City
	}
	return c
}

// Registry returns a registry with the names under which events and states are stored.
func Registry() (*serialization.Registry, error) {
	r := serialization.NewRegistry()
	return r, errors.Join(
		serialization.JSON[Registered](r, "registered", serialization.Version(2)),
		serialization.JSON[Moved](r, "address-changed", serialization.Version(2), serialization.Migrate(splitAddress)),
		serialization.JSON[NewsletterSent](r, "newsletter-sent", serialization.Version(1)),
		serialization.JSON[Customer](r, "customer", serialization.Version(2), serialization.Migrate(splitAddress)),
	)
}

// splitAddress converts a document of version 1 to version 2: it splits the field Address in two.
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
