package main

import (
	"testing"

	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/examples/tutorial/step1"
)

func newKit(t *testing.T) *entitytest.Kit[step1.Account, step1.Changed] {
	t.Helper()
	registry, err := step1.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return entitytest.New(t, step1.AccountType, registry)
}

func TestCommandsOfAnAccount(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	deposit := func(tx *step1.Tx) error { return step1.Deposit(tx, 12) }
	withdraw := func(tx *step1.Tx) error { return step1.Withdraw(tx, 10) }
	k.Given().When(deposit).Then(step1.Changed{By: 12}).ThenState(step1.Account{Balance: 12})
	k.Given(step1.Changed{By: 10}).When(withdraw).Then(step1.Changed{By: -10})
	k.Given(step1.Changed{By: 9}).When(withdraw).Fails(step1.ErrInsufficient)
}
