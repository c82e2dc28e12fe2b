//go:build long

// Without the tag the program is compiled, but not run, because linking a test program for each
// example takes long.

package main

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	main()
	// Output:
	// taken: {pears 7} {olives 30}
	// refused: {"Article":"plums","Amount":12}
	// taken: {plums 12}
}
