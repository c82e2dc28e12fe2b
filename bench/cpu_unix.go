//go:build unix

package bench

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of this process on all processors, in user and system
// mode.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
