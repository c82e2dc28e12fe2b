package operator

import "github.com/dynajournal/dynajournal/projection/internal/engine"

// ScanOptions are the options of a scan of the projections table. The zero value has the defaults.
type ScanOptions struct {
	// ReadUnitsPerSecond is the maximum number of read units that the scan uses on average.
	//
	// Defaults to no limit.
	ReadUnitsPerSecond float64
}

func (o ScanOptions) check() error { return engine.CheckScan(o.ReadUnitsPerSecond) }
