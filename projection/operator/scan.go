package operator

import "github.com/dynajournal/dynajournal/projection/internal/engine"

// ScanOptions are the options of a scan of the projections table. The zero value has the defaults.
type ScanOptions struct {
	// ReadUnitsPerSecond is how many read units the scan uses on average at most.
	//
	// Defaults to no limit.
	ReadUnitsPerSecond float64
}

func (o ScanOptions) check() error { return engine.CheckScan(o.ReadUnitsPerSecond) }
