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
	Address string // personal data, as it is in the events
	Until   time.Time
}

// Event is what happens to a user.
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

// userType has the id of an account for an id, never a name or a mail address: what is left of a
// purged entity for a while has the id in its key.
var userType = entity.Type[User, Event]{
	Name:   "user",
	Evolve: evolve,
	// Sessions come and go, so the history is not needed: it stays short.
	Snapshots: entity.Snapshots{Every: 20, DeleteEvents: true},
}

func evolve(u User, event Event) User {
	sessions := maps.Clone(u.Sessions) // the state before stays as it is
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

// tx is what a command of a user decides with.
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
