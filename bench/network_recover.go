package bench

import (
	"context"
	"errors"
	"fmt"
)

// recoveredAtOnce is the number of entities that are recovered at the same time.
const recoveredAtOnce = 1000

// recoverAtOnce compares concurrent recoveries of many small entities, as after a start, with the
// same number of Queries for the same events. An operation is one recovery.
func recoverAtOnce(ctx context.Context, s *session) error {
	const events = 5
	pids := names(s.workload, recoveredAtOnce)
	r := recovery{name: s.workload, stored: events, wanted: events}
	if err := r.prepare(ctx, s, pids); err != nil {
		return fmt.Errorf("store the events: %w", err)
	}
	ours := &candidate{name: "journal", do: func(ctx context.Context, caller int) (int, error) {
		n, err := r.recover(ctx, s.journal, pids[caller])
		if err != nil {
			return 0, err
		}
		return 1, expectEvents(n, events)
	}}
	base := &candidate{name: "Query", do: func(ctx context.Context, caller int) (int, error) {
		n, _, err := r.query(ctx, s, pids[caller])
		if err != nil {
			return 0, err
		}
		return 1, expectEvents(n, events)
	}}
	if err := s.compare(ctx, recoveredAtOnce, recoveredAtOnce, ours, base); err != nil {
		return err
	}
	return errors.Join(
		s.report("recoveries", perSecond, median(ours.rates), median(base.rates)),
		s.reportLatency(ours, base, 50, 99), s.reportCPU(ours, base), s.reportTraffic("", ours, base))
}
