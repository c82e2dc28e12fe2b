//go:build interop

package interop_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain stops the processes that the tests have started.
func TestMain(m *testing.M) {
	status := m.Run()
	for _, err := range []error{stopPrograms(), stopServer()} {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}
