//go:build !unix

package bench

import "time"

// processorTime returns 0, because the processor time is not known on this system.
func processorTime() time.Duration { return 0 }
