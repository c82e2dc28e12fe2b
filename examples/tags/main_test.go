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
	// fruit: corner has sold 7 pears
	// fruit: corner has sold 30 olives
	// fruit: market has sold 12 plums
	// vegetables: corner has sold 2 leeks
	// vegetables: corner has sold 30 olives
}
