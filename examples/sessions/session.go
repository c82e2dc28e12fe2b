package main

import (
	"errors"
	"maps"
	"time"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// User is the state of a user: the sessions, by the id of their device.
type User struct{ Sessions map[string]Session }

// Session is a session of a user on a device.
type Session struct {
	Address string // personal data; it is also in the events
	Until   time.Time
}

// Event is an event of a user.
type Event interface{ isEvent() }

// The events of a user.
type (
	LoggedIn struct {
		Device, Address string
		Until           time.Time
	}
	LoggedOut struct{ Device string }
)

func (LoggedIn) isEvent()  {}
func (LoggedOut) isEvent() {}

// userType uses account ids as entity ids, never names or mail addresses: a purged entity leaves
// its low mark for good, with the id in the key.
var userType = entity.Type[User, Event]{
	Name:   "user",
	Evolve: evolve,
	// The history of sessions is not needed, so it is kept short.
	Snapshots: entity.Snapshots{Every: 20, DeleteEvents: true},
}

func evolve(u User, event Event) User {
	sessions := maps.Clone(u.Sessions) // the old state must not change
	if sessions == nil {
		sessions = map[string]Session{}
	}
	switch e := event.(type) {
	case LoggedIn:
		sessions[e.Device] = Session{e.Address, e.Until}
	case LoggedOut:
		delete(sessions, e.Device)
	}
	return User{sessions}
}

// tx is the entity.Tx of a command of a user.
type tx = entity.Tx[User, Event]

const sessionTime = time.Hour

func logIn(device, address string) func(*tx) error {
	return func(tx *tx) error {
		tx.Record(LoggedIn{device, address, tx.Now().Add(sessionTime)})
		return nil
	}
}

func logOut(device string) func(*tx) error {
	return func(tx *tx) error {
		if _, ok := tx.State().Sessions[device]; ok {
			tx.Record(LoggedOut{device})
		}
		return nil
	}
}

var errNoSession = errors.New("there is no such session")

// authorize returns an error if the device of a request has no session.
func authorize(device string) func(*tx) error {
	return func(tx *tx) error {
		if session, ok := tx.State().Sessions[device]; !ok || !tx.Now().Before(session.Until) {
			return errNoSession
		}
		return nil
	}
}

// registry has the names under which events and states are stored.
func registry() (*serialization.Registry, error) {
	r := serialization.NewRegistry()
	return r, errors.Join(
		serialization.JSON[LoggedIn](r, "logged-in"),
		serialization.JSON[LoggedOut](r, "logged-out"),
		serialization.JSON[User](r, "user", serialization.Version(1)), // for snapshots
	)
}
