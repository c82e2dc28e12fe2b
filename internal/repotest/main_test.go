// Package repotest tests the repository itself: its API, layers, comments, pages and changelog.
package repotest

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no goroutine outlives the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// root is the folder of the module.
var root = filepath.Join("..", "..")

// inRoot returns the path of a file or folder that is named from the module's root.
func inRoot(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
