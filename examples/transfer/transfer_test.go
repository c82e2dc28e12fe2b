package main

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/serialization"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	main()
	// Output:
	// the first process: it has crashed
	//   anna has 70
	//   bob has 0
	// the second process: <nil>
	//   anna has 70
	//   bob has 30
}

func newRegistry(t *testing.T) *serialization.Registry {
	t.Helper()
	r, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var example = Transfer{ID: "t-1", From: "anna", To: "bob", Amount: 30}

// The process dies before each of its steps.
func TestEachStepTakesEffectOnceWhereverAProcessDies(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		for steps := range 5 {
			k := entitytest.New(t, accountType, newRegistry(t))
			anna, bob := k.Entity("anna").Given(Received{"t-0", 100}), k.Entity("bob")
			if closed {
				bob.Given(Closed{}, Refused{"a"}, Refused{"b"}, Refused{"c"})
			}
			err := transfer(t.Context(), &crash{Updater: k, after: steps}, example)
			for errors.Is(err, errCrash) {
				err = transfer(t.Context(), k, example)
			}
			again := transfer(t.Context(), k, example)
			if closed {
				anna.Then(Sent{"t-1", 30}, Refunded{"t-1", 30})
				bob.Then(Refused{"t-1"})
				if !errors.Is(err, errRefused) || !errors.Is(again, errRefused) {
					t.Errorf("after %d steps: %v, again: %v", steps, err, again)
				}
				continue
			}
			anna.Then(Sent{"t-1", 30})
			bob.Then(Received{"t-1", 30})
			if err != nil || again != nil {
				t.Errorf("after %d steps: %v, again: %v", steps, err, again)
			}
		}
	}
}

func TestTransferWithoutMoneyDoesNothing(t *testing.T) {
	t.Parallel()
	k := entitytest.New(t, accountType, newRegistry(t))
	anna, bob := k.Entity("anna").Given(Received{"t-0", 29}), k.Entity("bob")
	if err := transfer(t.Context(), k, example); !errors.Is(err, errInsufficient) {
		t.Errorf("transfer: %v", err)
	}
	anna.Then()
	bob.Then()
}

// The first step is stored, but its process never learns that: no response reaches it any more.
func TestTransferGoesOnAfterALostResponse(t *testing.T) {
	t.Parallel()
	j := entitytest.OpenJournal(t, newRegistry(t))
	j.Conflict("account|anna", Received{"t-0", 100})
	first, second := open(t, j), open(t, j)
	if _, err := entity.Do(t.Context(), first, "anna", hasRefused(example)); err != nil {
		t.Fatal(err) // it was to load the account
	}
	for _, fault := range []embedded.Fault{
		{Effect: embedded.EffectReset, Applied: true, Operation: "PutItem", Times: 3},
		{Effect: embedded.EffectReset, Operation: "BatchGetItem", Times: 3}, // it looks
	} {
		if _, err := j.Engine.Inject(fault); err != nil {
			t.Fatal(err)
		}
	}
	if err := transfer(t.Context(), first, example); !errors.Is(err, entity.ErrOutcomeUnknown) {
		t.Errorf("the first process: %v", err)
	}
	if err := transfer(t.Context(), second, example); err != nil {
		t.Errorf("the second process: %v", err)
	}
	checkBalance(t, first, "anna", 70)
	checkBalance(t, first, "bob", 30)
}

func checkBalance(t *testing.T, accounts *entity.Entities[Account, Event], id string, want int64) {
	t.Helper()
	_, err := accounts.View(t.Context(), id, func(a Account) error {
		if a.Balance != want {
			t.Errorf("%s has %d, want %d", id, a.Balance, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func open(t *testing.T, j *entitytest.Journal) *entity.Entities[Account, Event] {
	t.Helper()
	accounts, err := entity.Open(j.Journal, accountType, entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = accounts.Close(t.Context()) })
	return accounts
}
