//go:build unix

package bench

import (
	"syscall"
	"time"
)

// processorTime is the time that this process has had of all processors, its own and the system's
// for it.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
