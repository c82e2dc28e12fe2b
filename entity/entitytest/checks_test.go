package entitytest_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/serialization"
)

// reportsOf returns the reports of a command that runs on an entity with a deposit.
func reportsOf(t *testing.T, change func(*Type), command func(*Tx) error) []string {
	t.Helper()
	kind := accountType()
	if change != nil {
		change(&kind)
	}
	return observe(t, func(o testing.TB) {
		k := entitytest.New(o, kind, registry(t))
		_ = k.Given(Deposited{100}).When(command).Err()
	})
}

func TestEventThatDoesNotSurviveSerializationIsReported(t *testing.T) {
	t.Parallel()
	wantReport(t, reportsOf(t, nil, record(Forgetful{1, 2})),
		"entitytest_test.Forgetful{Amount: 1, Secret: 2} of \"test\" is read back as entitytest_test.Forgetful{Amount: 1, Secret: 0}")
	wantReport(t, reportsOf(t, nil, record(Unregistered{})), "can't be stored: encode: ")
	if reports := reportsOf(t, nil, record(Forgetful{1, 0})); len(reports) > 0 {
		t.Errorf("an event that survives: %q", reports)
	}
}

// A state that is not registered is an error only if the type saves snapshots.
func TestStateThatDoesNotSurviveSerializationIsReported(t *testing.T) {
	t.Parallel()
	type state struct {
		Sum    int
		hidden int
	}
	for _, c := range []struct {
		registered, saved bool
		hidden            int
		report            string
	}{
		{true, true, 0, ""},
		{true, false, 0, ""},
		{false, false, 1, ""},
		{true, true, 1, "Sum: 1, hidden: 0}"},
		{true, false, 1, "Sum: 1, hidden: 0}"},
		{false, true, 0, "can't be stored: encode: "},
	} {
		kind := entity.Type[state, int64]{
			Name:   "sum",
			Evolve: func(s state, n int64) state { return state{s.Sum + int(n), c.hidden} },
		}
		if c.saved {
			kind.SnapshotWhen = func(state, int64, int64) bool { return true }
		}
		r := serialization.NewRegistry()
		if c.registered {
			if err := serialization.JSON[state](r, "state"); err != nil {
				t.Fatal(err)
			}
		}
		reports := observe(t, func(o testing.TB) { entitytest.New(o, kind, r).Given(1) })
		if c.report == "" && len(reports) > 0 {
			t.Errorf("%+v: %q", c, reports)
		} else if c.report != "" {
			wantReport(t, reports, c.report)
		}
	}
}

func TestEvolveThatChangesItsArgumentIsReported(t *testing.T) {
	t.Parallel()
	wantReport(t, reportsOf(t, func(kind *Type) { kind.Evolve = inPlace }, record()),
		"Evolve of \"test\" has changed the state that it was given, at entitytest_test.Deposited{Amount: 100}")
	whole := func(kind *Type) { kind.Evolve, kind.Copy = inPlace, Account.clone }
	if reports := reportsOf(t, whole, record(Deposited{1}, Withdrawn{1})); len(reports) > 0 {
		t.Errorf("with Copy: %q", reports)
	}
}

func TestCopyThatSharesWhatEvolveChangesIsReported(t *testing.T) {
	t.Parallel()
	wantReport(t, reportsOf(t, func(kind *Type) {
		kind.Evolve, kind.Copy = inPlace, func(a Account) Account { return a }
	}, record()), "Type.Copy of \"test\" returns a copy that shares data with the original")
}

func TestCopyThatReturnsAnotherStateIsReported(t *testing.T) {
	t.Parallel()
	wantReport(t, reportsOf(t, func(kind *Type) {
		kind.Copy = func(a Account) Account { return Account{ByKind: maps.Clone(a.ByKind)} }
	}, record(Withdrawn{1})), "Type.Copy of \"test\" returns")
}

func TestInitialThatReturnsWhatEvolveChangesIsReported(t *testing.T) {
	t.Parallel()
	shared := map[string]int{}
	reports := reportsOf(t, func(kind *Type) {
		kind.Evolve, kind.Copy = inPlace, Account.clone
		kind.Initial = func(string) Account { return Account{ByKind: shared} }
	}, record())
	wantReport(t, reports, "Initial of \"test\" returns a state that Evolve has changed")
}

func TestEvolveThatIsNotPureIsReported(t *testing.T) {
	t.Parallel()
	calls := 0
	reports := reportsOf(t, func(kind *Type) {
		kind.Evolve = func(a Account, _ Event) Account {
			calls++
			return Account{Balance: calls, ByKind: a.ByKind}
		}
	}, record())
	wantReport(t, reports, "is not pure: the same events lead to")
}

// When an entity is loaded, Evolve gets decoded events.
func TestKit_ReplayLeadsToAnotherState(t *testing.T) {
	t.Parallel()
	first := true
	wantReport(t, reportsOf(t, func(kind *Type) {
		kind.Initial = func(string) Account {
			defer func() { first = false }()
			if first {
				return Account{Balance: 1, ByKind: map[string]int{}}
			}
			return Account{ByKind: map[string]int{}}
		}
	}, func(*Tx) error { return errInsufficient }), "when they are replayed, but led to")
}

func TestCommandThatChangesItsStateIsReported(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]func(*Tx) error{
		"at first": func(tx *Tx) error {
			tx.State().ByKind["x"] = 1
			return nil
		},
		"and fails": func(tx *Tx) error {
			tx.State().ByKind["x"] = 1
			return errInsufficient
		},
		"before it records": func(tx *Tx) error {
			tx.State().ByKind["x"] = 1
			tx.Record(Deposited{1})
			return nil
		},
		"after it has recorded": func(tx *Tx) error {
			tx.Record(Deposited{1})
			tx.State().ByKind["x"] = 1
			return nil
		},
		"the first one, after it has recorded": func(tx *Tx) error {
			given := tx.State()
			tx.Record(Deposited{1})
			given.ByKind["x"] = 1
			return nil
		},
	} {
		reports := reportsOf(t, nil, command)
		if len(reports) != 1 {
			t.Errorf("%s: %q", name, reports)
			continue
		}
		wantReport(t, reports, "the command of \"test\" has changed the state of its Tx")
	}
}

func TestCommandThatDiffersWhenItRunsAgainIsReported(t *testing.T) {
	t.Parallel()
	runs := 0
	wantReport(t, reportsOf(t, nil, func(tx *Tx) error {
		runs++
		tx.Record(Deposited{runs})
		return nil
	}), "records other events when it runs again: entitytest_test.Deposited{Amount: 1}, then entitytest_test.Deposited{Amount: 2}")
	wantReport(t, reportsOf(t, nil, func(*Tx) error {
		runs++
		return fmt.Errorf("run %d", runs)
	}), "has another error when it runs again")
	first := true
	wantReport(t, reportsOf(t, nil, func(*Tx) error {
		defer func() { first = false }()
		if first {
			return nil
		}
		return errInsufficient
	}), "has another error when it runs again: <nil>, then insufficient funds")
	wantReport(t, observe(t, func(o testing.TB) {
		entitytest.When(entitytest.New(o, accountType(), registry(t)).Given(), func(*Tx) (int, error) {
			runs++
			return runs, nil
		})
	}), "has another result when it runs again")
}

func TestCommandThatCallsTheKitIsReported(t *testing.T) {
	t.Parallel()
	for name, inner := range map[string]func(*Kit) error{
		"an update": func(k *Kit) error { return update(t.Context(), k, "bob", record()) },
		"a view": func(k *Kit) error {
			_, err := k.View(t.Context(), "bob", func(Account) error { return nil })
			return err
		},
	} {
		reports := observe(t, func(o testing.TB) {
			k := entitytest.New(o, accountType(), registry(t))
			k.Given().When(func(*Tx) error { return inner(k) }).Fails(entity.ErrReentrant)
		})
		if len(reports) == 0 {
			t.Errorf("%s: nothing is reported", name)
			continue
		}
		wantReport(t, reports[:1], "it must be a function of its Tx alone")
	}
}

func TestGiven_UnregisteredEvent(t *testing.T) {
	t.Parallel()
	reports := observe(t, func(o testing.TB) {
		entitytest.New(o, accountType(), registry(t)).Given(Unregistered{})
		o.Errorf("the test continues")
	})
	if len(reports) != 2 {
		t.Errorf("the reports are %q", reports)
	}
}

// A command may exit the goroutine of the test, as t.FailNow does. The kit can be used after that.
func TestCommandThatEndsItsGoroutineLeavesTheKitUsable(t *testing.T) {
	t.Parallel()
	var k *Kit
	wantReport(t, observe(t, func(o testing.TB) {
		k = entitytest.New(o, accountType(), registry(t))
		k.Given().When(func(*Tx) error {
			o.Fatalf("out")
			return nil
		})
	}), "out")
	if _, err := entity.Do(t.Context(), k, "anna", deposit(1)); err != nil {
		t.Error(errors.Unwrap(err))
	}
}
