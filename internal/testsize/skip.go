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

// NoRace skips a test under the race detector, and prints why the detector would find nothing that
// it does not find in other tests. A test is ten times slower under the detector. With the build
// tag long the test also runs under the detector.
func NoRace(tb testing.TB, why string) {
	tb.Helper()
	if Race && !Long {
		tb.Skipf("skipped: %s; it runs without the race detector, or with the build tag long", why)
	}
}
