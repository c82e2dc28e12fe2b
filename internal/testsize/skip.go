package testsize

import "testing"

// NeedsLong skips a test that is not built with the tag long, and prints why it is not part of the
// short run.
func NeedsLong(tb testing.TB, why string) {
	tb.Helper()
	if !Long {
		tb.Skipf("skipped: %s; it runs with the build tag long", why)
	}
}
