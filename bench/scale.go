package bench

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
)

// Sizes of the workloads that grow.
const (
	fewestEvents   = 1000
	fewestEntities = 10
	// scaleCallers is the largest number of entities that write at the same time.
	scaleCallers = 64
	// scaleEvents is the number of events of each entity that does not write.
	scaleEvents = 1000
)

// scales measure the cost of an event while the number of stored events, or of entities, grows
// tenfold in each step.
func scales(o Options) []workload {
	const two = 2
	return []workload{
		{"scale-events", two * len(decades(fewestEvents, o.Events)), scaleStored},
		{"scale-entities", two * len(decades(fewestEntities, o.Entities)), scaleWriters},
	}
}

// decades returns sizes from smallest to at most largest, each ten times the size before.
func decades(smallest, largest int) []int {
	sizes := []int{smallest}
	for n := smallest * 10; n <= largest; n *= 10 {
		sizes = append(sizes, n)
	}
	return sizes
}

// scaleStored measures with a growing number of events in the table. The bare SDK writes to the
// same table.
func scaleStored(ctx context.Context, s *session) error {
	stored := 0
	for _, size := range decades(fewestEvents, s.options.Events) {
		var pids []string
		for ; stored < size; stored += scaleEvents {
			pids = append(pids, fmt.Sprintf("scale-stored-%d", stored))
		}
		if err := s.load(ctx, pids, scaleEvents); err != nil {
			return fmt.Errorf("store %d events: %w", size, err)
		}
		writers, err := recoverWriters(ctx, s.journal, fmt.Sprintf("scale-events-%d", size), scaleCallers)
		if err != nil {
			return err
		}
		if err := appendFirst(ctx, writers); err != nil {
			return err
		}
		const fraction = 20 // so that the measurement adds few events
		if err := s.scaled(ctx, writers, size, max(scaleCallers, size/fraction)); err != nil {
			return err
		}
	}
	return nil
}

// scaleWriters measures with a growing number of entities, which write one after the other.
func scaleWriters(ctx context.Context, s *session) error {
	for _, size := range decades(fewestEntities, s.options.Entities) {
		writers, err := recoverWriters(ctx, s.journal, fmt.Sprintf("scale-entities-%d", size), size)
		if err == nil {
			err = appendFirst(ctx, writers)
		}
		if err != nil {
			return err
		}
		if err := s.scaled(ctx, writers, size, 0); err != nil {
			return err
		}
	}
	return nil
}

// appendFirst appends the first event of each entity, which also adds the entity to the index.
func appendFirst(ctx context.Context, writers []*dynajournal.Writer) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(scaleCallers)
	for _, w := range writers {
		group.Go(func() error {
			_, err := w.Append(ctx, payload)
			return err
		})
	}
	return group.Wait()
}

// scaled lets the writers append in turn, scaleCallers of them at the same time, and reports the
// cost of an event.
func (s *session) scaled(ctx context.Context, writers []*dynajournal.Writer, size, operations int) error {
	callers := min(scaleCallers, len(writers))
	turns := make([]int, callers)
	var costs costSum
	ours := &candidate{name: "journal", do: func(ctx context.Context, caller int) (int, error) {
		// The writers of this caller are caller, caller+callers, caller+2*callers, and so on.
		mine := (len(writers) - caller + callers - 1) / callers
		w := writers[caller+turns[caller]%mine*callers]
		turns[caller]++
		result, err := w.Append(ctx, payload)
		costs.add(result.Cost)
		return 1, err
	}}
	base := s.puts(s.tables.config.JournalTable, fmt.Sprintf("%s-%d", s.workload, size), callers, conditional)
	if err := s.compare(ctx, callers, operations, ours, base); err != nil {
		return err
	}
	name := s.workload
	defer func() { s.workload = name }()
	s.workload = fmt.Sprintf("%s/%d", name, size)
	if err := s.reportRates(ours, base); err != nil {
		return err
	}
	if err := s.reportCPU(ours, base); err != nil {
		return err
	}
	n := float64(ours.operations)
	const putRequests, putUnits = 1, 1
	if err := s.report("requests", requests, float64(costs.requests.Load())/n, putRequests); err != nil {
		return err
	}
	return s.report("write-units", writeUnits, float64(costs.halves.Load())/2/n, putUnits)
}

// costSum adds up the costs of the events of concurrent callers.
type costSum struct{ requests, halves atomic.Int64 }

func (c *costSum) add(cost dynajournal.Cost) {
	c.requests.Add(int64(cost.Requests))
	c.halves.Add(int64(cost.WriteUnits * 2))
}
