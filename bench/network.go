package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Traffic is the traffic of a network between the client and the service.
type Traffic struct {
	// Connections is the number of opened connections. Requests is the number of answered requests.
	Connections, Requests int64
}

// openEntities is the number of entities in an open loop.
const openEntities = 400

// networkPrefix is the prefix of the names of the workloads for a distant service.
const networkPrefix = "network-"

// networkWorkloads compare single events, with and without group commit, with PutItems. In a closed
// loop, each entity writes again when its write is done. In an open loop, events arrive at a fixed
// rate.
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

// overNetwork reports whether a workload is measured by default if Options.Traffic is set.
func overNetwork(w workload) bool {
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

// reportNetwork reports a candidate's figures with its base.
func (s *session) reportNetwork(suffix string, ours, base *candidate) error {
	const tail = 99.9
	return errors.Join(s.reportWrites(suffix, ours, base),
		s.report("p99.9"+suffix, microsecond, ours.percentile(tail), base.percentile(tail)),
		s.reportTraffic(suffix, ours, base))
}

// reportTraffic reports the requests per operation and the connections opened in all counted
// rounds. It does nothing without Options.Traffic.
func (s *session) reportTraffic(suffix string, ours, base *candidate) error {
	if s.options.Traffic == nil {
		return nil
	}
	share := func(c *candidate, n int64) float64 { return float64(n) / float64(c.latency.TotalCount()) }
	return errors.Join(
		s.report("requests"+suffix, requests, share(ours, ours.traffic.Requests), share(base, base.traffic.Requests)),
		s.report("connections"+suffix, connections, float64(ours.traffic.Connections), float64(base.traffic.Connections)))
}

// observe runs a round, and adds its network traffic to the candidate's traffic if the round
// counts.
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
