//go:build long

// Without the tag the program is compiled, but not run, because linking a test program for each
// example takes long.

package main

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/serialization"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	main()
	// Output: taken: 2 again: the seat is taken
}

func registry(t *testing.T) *serialization.Registry {
	t.Helper()
	r := serialization.NewRegistry()
	if err := errors.Join(
		serialization.JSON[Reserved](r, "reserved", serialization.Version(1)),
		serialization.JSON[Show](r, "show", serialization.Version(1)),
	); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSeatIsReservedOnce(t *testing.T) {
	t.Parallel()
	k := entitytest.New(t, showType, registry(t))
	entitytest.When(k.Given(Reserved{7}), reserve(12)).Then(Reserved{12}).Returns(2)
	entitytest.When(k.Given(Reserved{12}), reserve(12)).Fails(errTaken)
}
