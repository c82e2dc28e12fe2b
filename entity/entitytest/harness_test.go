package entitytest_test

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/serialization"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type Event interface{ event() }

type (
	Deposited struct{ Amount int }
	Withdrawn struct{ Amount int }
	// Forgetful has a field that JSON does not store.
	Forgetful struct {
		Amount int
		Secret int `json:"-"`
	}
	// Unregistered has no serializer.
	Unregistered struct{}
)

func (Deposited) event()    {}
func (Withdrawn) event()    {}
func (Forgetful) event()    {}
func (Unregistered) event() {}

type Account struct {
	Balance int
	// ByKind counts the events.
	ByKind map[string]int
}

func (a Account) clone() Account {
	a.ByKind = maps.Clone(a.ByKind)
	return a
}

// apply changes the account.
func (a *Account) apply(event Event) {
	switch e := event.(type) {
	case Deposited:
		a.Balance += e.Amount
	case Withdrawn:
		a.Balance -= e.Amount
	}
	a.ByKind[fmt.Sprintf("%T", event)]++
}

type (
	Tx      = entity.Tx[Account, Event]
	Type    = entity.Type[Account, Event]
	Kit     = entitytest.Kit[Account, Event]
	command = func(*Tx) (int, error)
)

// accountType is a type whose Evolve returns a changed copy.
func accountType() Type {
	return Type{
		Name:    "account",
		Initial: func(string) Account { return Account{ByKind: map[string]int{}} },
		Evolve: func(a Account, event Event) Account {
			a = a.clone()
			a.apply(event)
			return a
		},
	}
}

// inPlace is an Evolve that changes its argument.
func inPlace(a Account, event Event) Account {
	a.apply(event)
	return a
}

func registry(t *testing.T) *serialization.Registry {
	t.Helper()
	r := serialization.NewRegistry()
	if err := errors.Join(
		serialization.JSON[Deposited](r, "deposited"),
		serialization.JSON[Withdrawn](r, "withdrawn"),
		serialization.JSON[Forgetful](r, "forgetful"),
		serialization.JSON[Account](r, "account"),
	); err != nil {
		t.Fatal(err)
	}
	return r
}

var errInsufficient = errors.New("insufficient funds")

func deposit(amount int) command {
	return func(tx *Tx) (int, error) {
		tx.Record(Deposited{amount})
		return tx.State().Balance, nil
	}
}

func withdraw(amount int) command {
	return func(tx *Tx) (int, error) {
		if tx.State().Balance < amount {
			return 0, errInsufficient
		}
		tx.Record(Withdrawn{amount})
		return tx.State().Balance, nil
	}
}

// record is a command without a result.
func record(events ...Event) func(*Tx) error {
	return func(tx *Tx) error {
		tx.Record(events...)
		return nil
	}
}

// observer is a testing.TB that records reports instead of failing.
type observer struct {
	testing.TB

	mu       sync.Mutex
	reports  []string
	cleanups []func()
}

func (*observer) Helper() {}

func (o *observer) Errorf(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reports = append(o.reports, fmt.Sprintf(format, args...))
}

func (o *observer) Fatalf(format string, args ...any) {
	o.Errorf(format, args...)
	runtime.Goexit()
}

func (o *observer) Fatal(args ...any) { o.Fatalf("%s", fmt.Sprint(args...)) }

func (o *observer) Cleanup(f func()) { o.cleanups = append(o.cleanups, f) }

// observe runs a test, and returns its reports.
func observe(t *testing.T, test func(t testing.TB)) []string {
	t.Helper()
	o := &observer{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, f := range slices.Backward(o.cleanups) {
				f()
			}
		}()
		test(o)
	}()
	<-done
	return o.reports
}

// wantReport checks that there is exactly one report, and that it contains text.
func wantReport(t *testing.T, reports []string, text string) {
	t.Helper()
	if len(reports) != 1 || !strings.Contains(reports[0], text) {
		t.Errorf("the reports are %q, want one with %q", reports, text)
	}
}
