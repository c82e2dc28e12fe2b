// Package page declares the names that the fragments of docs/entities.md use.
package page

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/serialization"
)

var (
	ctx      context.Context
	journal  *dynajournal.Journal
	accounts *entity.Entities[Account, Event]
	id, key  string
	t        *testing.T
	k        *entitytest.Kit[Account, Event]
)

type (
	Account struct{ Balance int64 }
	Closed  struct{}
	Order   struct{}
	Session struct {
		User     string
		LastSeen time.Time
	}
)

func (Deposited) isEvent() {}
func (Withdrawn) isEvent() {}
func (Closed) isEvent()    {}

var ErrInsufficient = errors.New("the balance is too low")

func evolve(state Account, _ Event) Account { return state }

func evolveOrder(state Order, _ Event) Order { return state }

func show(Account) error { return nil }

func command(*entity.Tx[Account, Event]) error { return nil }

func closeAccount(*entity.Tx[Account, Event]) error { return nil }

func upcastRegistered(serialization.Payload) ([]Event, error) { return nil, nil }

func pay(context.Context, *entitytest.Kit[Account, Event], string, string, int64) error { return nil }

var registry *serialization.Registry
