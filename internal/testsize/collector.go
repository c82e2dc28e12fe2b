package testsize

import "runtime/debug"

// RelaxCollector lets the garbage collector run less often in a test program, unless it is built
// with the tag long. Most tests hold little memory, so the collector would run a thousand times.
// With the limit it runs more often for those that hold more.
func RelaxCollector() {
	if Long {
		return
	}
	const percent, limit = 1000, 550 << 20
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(limit)
}
