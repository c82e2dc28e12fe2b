package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/serialization"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	main()
	// Output:
	// loaded the snapshot at 0 and 0 events
	// loaded the snapshot at 10 and 2 events
	// loaded the snapshot at 20 and 4 events
	// loaded the snapshot at 30 and 6 events
	// to be delivered: map[pear:36]
	// stored: events 31 to 37, a snapshot at 37, a snapshot at 30
}

func newRegistry(t *testing.T) *serialization.Registry {
	t.Helper()
	r, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRemove_MissingItem(t *testing.T) {
	t.Parallel()
	k := entitytest.New(t, cartType, newRegistry(t))
	k.Given(ItemAdded{"pear", 2}).When(remove("pear")).Then(ItemRemoved{"pear"})
	k.Given(ItemAdded{"pear", 2}).When(remove("plum")).Then()
}

func TestCartIsCheckedOutOnce(t *testing.T) {
	t.Parallel()
	k := entitytest.New(t, cartType, newRegistry(t))
	entitytest.When(k.Given(), checkOut).Fails(errEmpty)
	cart := k.Given(ItemAdded{"pear", 2}, ItemAdded{"pear", 1})
	entitytest.When(cart, checkOut).Then(CheckedOut{}).Returns(map[string]int{"pear": 3})
	entitytest.When(cart, checkOut).Fails(errCheckedOut)
	cart.When(add("plum", 1)).Fails(errCheckedOut)
	cart.When(remove("pear")).Fails(errCheckedOut)
}
