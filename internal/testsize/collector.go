package testsize

import "runtime/debug"

// RelaxCollector lets the garbage collector run less often in a test program, unless it is built
// with the tag long. Most tests use little memory, so the collector would run a thousand times. The
// memory limit makes it run more often for tests that use more.
func RelaxCollector() {
	if Long {
		return
	}
	const percent, limit = 1000, 550 << 20
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(limit)
}
