package bench

import (
	"fmt"
	"slices"
)

// Units of figures.
const (
	perSecond    = "1/s"
	nanosecond   = "ns"
	microsecond  = "µs"
	heapBytes    = "bytes"
	millisecond  = "ms"
	missedEvents = "missed events"
	second       = "s"
	requests     = "requests"
	connections  = "connections"
	readUnits    = "read units"
	writeUnits   = "write units"
)

// report reports a figure of the current workload.
func (s *session) report(what, unit string, value, base float64) error {
	f := Figure{Name: s.workload + "/" + what, Value: value, Unit: unit, Base: base}
	if base != 0 {
		f.Ratio = value / base
	}
	return s.options.Report(f)
}

// reportPairs reports the medians of two candidates that alternated in slices. The ratio is the
// median of the ratios of the pairs, because both values of a pair were measured under the same
// load.
func (s *session) reportPairs(what, unit string, values, bases []float64) error {
	ratios := make([]float64, len(values))
	for i := range values {
		ratios[i] = values[i] / bases[i]
	}
	return s.options.Report(Figure{
		Name: s.workload + "/" + what, Value: median(values), Unit: unit, Base: median(bases), Ratio: median(ratios),
	})
}

// reportRates reports the items per second.
func (s *session) reportRates(ours, base *candidate) error {
	return s.report("events", perSecond, median(ours.rates), median(base.rates))
}

// reportLatency reports percentiles of the latency.
func (s *session) reportLatency(ours, base *candidate, percentiles ...float64) error {
	for _, p := range percentiles {
		if err := s.report(fmt.Sprintf("p%g", p), microsecond, ours.percentile(p), base.percentile(p)); err != nil {
			return err
		}
	}
	return nil
}

// reportCPU reports the processor time of this process per item.
func (s *session) reportCPU(ours, base *candidate) error {
	return s.report("cpu", microsecond, median(ours.cpu), median(base.cpu))
}

// median returns the median of the values, or 0 if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
