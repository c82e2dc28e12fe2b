package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Traffic is what a network between the client and the service has carried.
type Traffic struct {
	// Connections is how many connections were made, Requests how many requests were answered.
	Connections, Requests int64
}

// openEntities is how many entities an open loop has.
const openEntities = 400

// networkPrefix begins the names of the workloads for a service that is far away.
const networkPrefix = "network-"

// networkWorkloads compare single events, with and without group commit, with PutItems. In a closed
// loop each entity writes again when its write is done. In an open loop events arrive at a rate.
func networkWorkloads(o Options) []workload {
	const two, three, four = 2, 3, 4
	var all []workload
	for _, entities := range []int{1, 64, 256, mostCallers} {
		all = append(all, workload{fmt.Sprintf("%sclosed-%d", networkPrefix, entities), three,
			func(ctx context.Context, s *session) error {
				return s.networkWrites(ctx, entities, func(all ...*candidate) error { return s.compare(ctx, entities, 0, all...) })
			}})
	}
	for _, rate := range []int{100, 500, 1000, 2000, 4000, 8000} {
		all = append(all, workload{fmt.Sprintf("%sopen-%d", networkPrefix, rate), three,
			func(ctx context.Context, s *session) error {
				return s.networkWrites(ctx, openEntities, func(all ...*candidate) error {
					return s.compareOpen(ctx, openEntities, rate, all...)
				})
			}})
	}
	return append(all, workload{networkPrefix + "cold", four, coldStart},
		workload{fmt.Sprintf("%srecover-%d", networkPrefix, recoveredAtOnce), two, recoverAtOnce},
		workload{networkPrefix + "entities", three, func(ctx context.Context, s *session) error {
			return openLoopEntities(ctx, s, o.Entities)
		}})
}

// behindNetwork reports whether a workload is measured by default behind a network.
func behindNetwork(w workload) bool {
	return slices.ContainsFunc([]string{networkPrefix, "recover-", "replay-10000", "entities-hot", "projections-lag"},
		func(prefix string) bool { return strings.HasPrefix(w.name, prefix) })
}

// networkWrites compares the three ways of writing.
func (s *session) networkWrites(ctx context.Context, entities int, compare func(...*candidate) error) error {
	grouped, single, err := s.bothWriters(ctx, entities)
	if err != nil {
		return err
	}
	ours, alone, base := appends(grouped), appends(single), s.puts(s.tables.bare, s.workload, entities, conditional)
	if err := compare(ours, alone, base); err != nil {
		return err
	}
	return errors.Join(s.reportNetwork("", ours, base), s.reportNetwork(ungrouped, alone, base))
}

// reportNetwork reports a candidate beside its base.
func (s *session) reportNetwork(suffix string, ours, base *candidate) error {
	const tail = 99.9
	return errors.Join(s.reportWrites(suffix, ours, base),
		s.report("p99.9"+suffix, microsecond, ours.percentile(tail), base.percentile(tail)),
		s.reportTraffic(suffix, ours, base))
}

// reportTraffic reports what was carried for an operation, and the connections made in all rounds
// that count. It is known only behind a network.
func (s *session) reportTraffic(suffix string, ours, base *candidate) error {
	if s.options.Traffic == nil {
		return nil
	}
	share := func(c *candidate, n int64) float64 { return float64(n) / float64(c.latency.TotalCount()) }
	return errors.Join(
		s.report("requests"+suffix, requests, share(ours, ours.traffic.Requests), share(base, base.traffic.Requests)),
		s.report("connections"+suffix, connections, float64(ours.traffic.Connections), float64(base.traffic.Connections)))
}

// observe adds what the network carries during a round to the candidate's traffic, if it counts.
func (s *session) observe(c *candidate, counts bool, round func() error) error {
	if s.options.Traffic == nil || !counts {
		return round()
	}
	before, err := s.options.Traffic()
	if err != nil {
		return fmt.Errorf("count the traffic: %w", err)
	}
	if err := round(); err != nil {
		return err
	}
	after, err := s.options.Traffic()
	if err != nil {
		return fmt.Errorf("count the traffic: %w", err)
	}
	c.traffic.Connections += after.Connections - before.Connections
	c.traffic.Requests += after.Requests - before.Requests
	return nil
}
