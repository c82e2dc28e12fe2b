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
	// 00-a1-01-01: command of order|o-1, events: 1
	// 00-b2-01-01: command of order|o-1, events: 1
	// 00-a1-01-01: read event 1, ordered, tags: []
	// 00-b2-01-01: read event 2, paid, tags: [money]
}
