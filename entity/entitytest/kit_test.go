package entitytest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
)

func newKit(t *testing.T) *Kit { return entitytest.New(t, accountType(), registry(t)) }

func TestCommandsAreTestedWithoutAJournal(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	entitytest.When(k.Given(Deposited{100}), withdraw(10)).Then(Withdrawn{10}).Returns(90).
		ThenState(Account{90, map[string]int{"entitytest_test.Deposited": 1, "entitytest_test.Withdrawn": 1}})
	entitytest.When(k.Given(), withdraw(10)).Fails(errInsufficient)
	k.Given(Deposited{1}).When(record(Deposited{2}, Withdrawn{3})).Then(Deposited{2}, Withdrawn{3})
	k.Given(Deposited{1}).When(record()).Then()
}

func TestEntitiesOfAKitAreIndependent(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	anna, bob := k.Entity("anna").Given(Deposited{5}), k.Entity("bob").Given(Deposited{7})
	entitytest.When(anna, deposit(1)).Returns(6)
	entitytest.When(anna, deposit(1)).Returns(7)
	entitytest.When(bob, withdraw(7)).Returns(0)
	anna.Then(Deposited{1}, Deposited{1})
	bob.Then(Withdrawn{7}).ThenState(Account{0, map[string]int{"entitytest_test.Deposited": 1, "entitytest_test.Withdrawn": 1}})
	if anna.Version() != 3 || bob.Version() != 2 || k.Entity("carl").Version() != 0 {
		t.Errorf("the versions are %d, %d and %d", anna.Version(), bob.Version(), k.Entity("carl").Version())
	}
}

func TestWrongExpectationsAreReported(t *testing.T) {
	t.Parallel()
	for text, test := range map[string]func(*Kit){
		"has recorded entitytest_test.Withdrawn{Amount: 10}, want entitytest_test.Withdrawn{Amount: 11}": func(k *Kit) {
			entitytest.When(k.Given(Deposited{100}), withdraw(10)).Then(Withdrawn{11})
		},
		"has recorded entitytest_test.Withdrawn{Amount: 10}, want nothing": func(k *Kit) {
			entitytest.When(k.Given(Deposited{100}), withdraw(10)).Then()
		},
		"has returned 90, want 91": func(k *Kit) {
			entitytest.When(k.Given(Deposited{100}), withdraw(10)).Returns(91)
		},
		"has failed: insufficient funds": func(k *Kit) {
			entitytest.When(k.Given(), withdraw(10)).Then(Withdrawn{10}).Returns(90)
		},
		"the command of \"test\" has failed: insufficient funds": func(k *Kit) {
			entitytest.When(k.Given(), withdraw(10))
		},
		"want the error insufficient funds": func(k *Kit) {
			entitytest.When(k.Given(Deposited{100}), withdraw(10)).Fails(errInsufficient)
		},
		"has failed: insufficient funds, want panic": func(k *Kit) {
			entitytest.When(k.Given(), withdraw(10)).Fails(entity.ErrPanic)
		},
		"the state of \"test\" after the command is": func(k *Kit) {
			entitytest.When(k.Given(Deposited{100}), withdraw(10)).ThenState(Account{})
		},
		"the state of \"anna\" is": func(k *Kit) { k.Entity("anna").Given(Deposited{1}).ThenState(Account{}) },
		"\"anna\" has recorded nothing, want entitytest_test.Deposited{Amount: 1}": func(k *Kit) {
			k.Entity("anna").Given(Deposited{1}).Then(Deposited{1})
		},
	} {
		wantReport(t, observe(t, func(o testing.TB) { test(entitytest.New(o, accountType(), registry(t))) }), text)
	}
}

// transfer is a handler of a service.
func transfer(ctx context.Context, accounts entity.Updater[Account, Event], from, to, id string, amount int) (int, error) {
	left, err := entity.Do(ctx, accounts, from, withdraw(amount), entity.CommandID(id+"/from"))
	if err != nil && !errors.Is(err, entity.ErrDuplicate) {
		return 0, err
	}
	_, err = entity.Do(ctx, accounts, to, deposit(amount), entity.CommandID(id+"/to"))
	return left, err
}

func TestHandlerIsTestedWithTheKit(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.Entity("anna").Given(Deposited{100})
	if left, err := transfer(t.Context(), k, "anna", "bob", "one", 30); left != 70 || err != nil {
		t.Errorf("%d, %v", left, err)
	}
	var duplicate *entity.DuplicateError
	if _, err := transfer(t.Context(), k, "anna", "bob", "one", 30); !errors.As(err, &duplicate) ||
		duplicate.Version != 1 || duplicate.CommandID != "one/to" || duplicate.PersistenceID != "account|bob" {
		t.Errorf("the second time: %v", err)
	}
	k.Entity("anna").Then(Withdrawn{30})
	k.Entity("bob").Then(Deposited{30})
}

func TestKitFollowsTheOptionsOfCommands(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ctx := t.Context()
	var receipt entity.Receipt
	if _, err := entity.Do(ctx, k, "anna", deposit(5), entity.At(0), entity.Into(&receipt)); err != nil || receipt != (entity.Receipt{Version: 1, Events: 1, Commands: 1}) {
		t.Errorf("%+v, %v", receipt, err)
	}
	if receipt, err := k.Update(ctx, "anna", record()); err != nil || receipt != (entity.Receipt{Version: 1}) {
		t.Errorf("a command without events: %+v, %v", receipt, err)
	}
	var version *dynajournal.VersionError
	if _, err := entity.Do(ctx, k, "anna", deposit(5), entity.At(0)); !errors.As(err, &version) || version.Last != 1 || version.Expected != 0 {
		t.Errorf("at another version: %v", err)
	}
	// A command that records nothing, or fails, is not remembered.
	for _, c := range []func(*Tx) error{record(), func(*Tx) error { return errInsufficient }} {
		if _, err := k.Update(ctx, "anna", c, entity.CommandID("again")); errors.Is(err, entity.ErrDuplicate) {
			t.Error(err)
		}
	}
	k.Entity("anna").When(record(Deposited{1}), entity.CommandID("again")).Then(Deposited{1})
	k.Entity("anna").When(record(Deposited{1}), entity.CommandID("again")).Fails(entity.ErrDuplicate)

	ended, cancel := context.WithCancel(ctx)
	cancel()
	for name, err := range map[string]error{
		"a negative version": update(ctx, k, "anna", record(), entity.At(-1)),
		"a long id":          update(ctx, k, "anna", record(), entity.CommandID(strings.Repeat("x", 1001))),
		"an id with a bar":   update(ctx, k, "a|b", record()),
		"no id":              update(ctx, k, "", record()),
		"no command":         update(ctx, k, "anna", nil),
	} {
		if !errors.Is(err, dynajournal.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := update(ended, k, "anna", record(Deposited{1})); !errors.Is(err, context.Canceled) || dynajournal.MaybeApplied(err) {
		t.Errorf("after the end of the context: %v", err)
	}
}

func update(ctx context.Context, k *Kit, id string, command func(*Tx) error, opts ...entity.CommandOption) error {
	_, err := k.Update(ctx, id, command, opts...)
	return err
}

func TestKitShowsStates(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.Entity("anna").Given(Deposited{5})
	show := func(a Account) error {
		if a.Balance != 5 {
			t.Errorf("the balance is %d", a.Balance)
		}
		return errInsufficient
	}
	if version, err := k.View(t.Context(), "anna", show, entity.InMemory); version != 1 || err != errInsufficient { //nolint:errorlint // as it is
		t.Errorf("version %d, %v", version, err)
	}
	if _, err := k.View(t.Context(), "anna", func(Account) error { panic("no") }); !errors.Is(err, entity.ErrPanic) {
		t.Errorf("a panic: %v", err)
	}
	if _, err := k.View(t.Context(), "a|b", show); !errors.Is(err, dynajournal.ErrInvalidArgument) {
		t.Errorf("an id with a bar: %v", err)
	}
}

func TestCommandsGetTheTimeOfTheKit(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	now := func(tx *Tx) (time.Time, error) { return tx.Now(), nil }
	entitytest.When(k.Given(), now).Returns(k.Now())
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	k.SetTime(at)
	entitytest.When(k.Given(), now).Returns(k.Now())
	if k.Now() != at.Add(time.Microsecond) {
		t.Errorf("the time is %v", k.Now())
	}
}

func TestPanicOfACommandIsItsError(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.Given(Deposited{1}).When(func(*Tx) error { panic("no") }).Fails(entity.ErrPanic)
	entitytest.When(k.Entity(entitytest.DefaultID), deposit(1)).Returns(2)
}

func TestUnusableTypeOrRegistryIsReported(t *testing.T) {
	t.Parallel()
	wantReport(t, observe(t, func(o testing.TB) { entitytest.New(o, Type{Name: "a|b"}, registry(t)) }), "Type.Name")
	wantReport(t, observe(t, func(o testing.TB) { entitytest.New(o, accountType(), nil) }), "registry")
}

func TestKitIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	done := make(chan error)
	for range 8 {
		go func() {
			_, err := entity.Do(t.Context(), k, "anna", deposit(1))
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := k.Entity("anna").State().Balance; got != 8 {
		t.Errorf("the balance is %d", got)
	}
}
