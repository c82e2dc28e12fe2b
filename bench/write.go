package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
)

const (
	// eventBytes is the size of an event's payload.
	eventBytes = 512
	// batchEvents is the number of events in an atomic write.
	batchEvents = 10
	// mostCallers is the largest number of callers.
	mostCallers = 1024
)

// payload is an event that does not compress. It is never changed.
var payload = func() []byte {
	source := rand.NewChaCha8([32]byte{})
	p := make([]byte, eventBytes)
	_, _ = source.Read(p) // which never fails
	return p
}()

// writes measure single events by 1, 64, 256 and 1,024 entities, each with one write in flight, and
// atomic writes of ten events. All but the first are measured with and without group commit: a
// single entity does not share its requests.
func writes() []workload {
	const two, three, four = 2, 3, 4
	all := []workload{{"write-1", two, writeLatency}}
	for _, entities := range []int{64, 256, mostCallers} {
		all = append(all, workload{fmt.Sprintf("write-%d", entities), three, func(ctx context.Context, s *session) error {
			return s.writeRates(ctx, entities)
		}})
	}
	return append(all, workload{"write-batch-10", four, writeBatches})
}

// writeLatency compares an event with an unconditional PutItem, the cheapest write.
func writeLatency(ctx context.Context, s *session) error {
	writers, err := recoverWriters(ctx, s.journal, s.workload, 1)
	if err != nil {
		return err
	}
	ours, base := appends(writers), s.puts(s.tables.bare, s.workload, 1, unconditional)
	if err := s.compare(ctx, 1, 0, ours, base); err != nil {
		return err
	}
	if err := s.reportLatency(ours, base, 50, 90, 99); err != nil {
		return err
	}
	return s.reportCPU(ours, base)
}

// ungrouped is the suffix of figures without group commit.
const ungrouped = "-ungrouped"

// writeRates compares events with conditional PutItems.
func (s *session) writeRates(ctx context.Context, entities int) error {
	grouped, single, err := s.bothWriters(ctx, entities)
	if err != nil {
		return err
	}
	ours, alone, base := appends(grouped), appends(single), s.puts(s.tables.bare, s.workload, entities, conditional)
	if err := s.compare(ctx, entities, 0, ours, alone, base); err != nil {
		return err
	}
	return errors.Join(s.reportWrites("", ours, base), s.reportWrites(ungrouped, alone, base))
}

func (s *session) reportWrites(suffix string, ours, base *candidate) error {
	return errors.Join(
		s.report("events"+suffix, perSecond, median(ours.rates), median(base.rates)),
		s.report("p50"+suffix, microsecond, ours.percentile(50), base.percentile(50)),
		s.report("p99"+suffix, microsecond, ours.percentile(99), base.percentile(99)),
		s.report("cpu"+suffix, microsecond, median(ours.cpu), median(base.cpu)))
}

// bothWriters recovers entities with group commit, and other entities without.
func (s *session) bothWriters(ctx context.Context, entities int) (grouped, single []*dynajournal.Writer, err error) {
	if grouped, err = recoverWriters(ctx, s.journal, s.workload, entities); err != nil {
		return nil, nil, err
	}
	single, err = recoverWriters(ctx, s.ungrouped, s.workload+ungrouped, entities)
	return grouped, single, err
}

// writeBatches compares atomic writes with the same number of conditional PutItems, both concurrent
// and one after the other.
func writeBatches(ctx context.Context, s *session) error {
	grouped, single, err := s.bothWriters(ctx, 1)
	if err != nil {
		return err
	}
	ours, alone := appendsBatches(grouped), appendsBatches(single)
	put := s.puts(s.tables.bare, s.workload, batchEvents, conditional)
	parallel := &candidate{name: "PutItems at the same time", do: func(ctx context.Context, _ int) (int, error) {
		group, ctx := errgroup.WithContext(ctx)
		for caller := range batchEvents {
			group.Go(func() error {
				_, err := put.do(ctx, caller)
				return err
			})
		}
		return batchEvents, group.Wait()
	}}
	serial := &candidate{name: "PutItems one after the other", do: func(ctx context.Context, _ int) (int, error) {
		for range batchEvents {
			if _, err := put.do(ctx, 0); err != nil {
				return 0, err
			}
		}
		return batchEvents, nil
	}}
	if err := s.compare(ctx, 1, 0, ours, alone, parallel, serial); err != nil {
		return err
	}
	return errors.Join(
		s.reportWrites("", ours, parallel), s.reportWrites(ungrouped, alone, parallel),
		s.report("p50-to-serial", microsecond, ours.percentile(50), serial.percentile(50)))
}

// appendsBatches returns a candidate that appends atomic writes of ten events. Each caller has its
// own writer.
func appendsBatches(writers []*dynajournal.Writer) *candidate {
	events := make([]any, batchEvents)
	for i := range events {
		events[i] = payload
	}
	return &candidate{name: "journal", do: func(ctx context.Context, caller int) (int, error) {
		_, err := writers[caller].Append(ctx, events...)
		return batchEvents, err
	}}
}

// recoverWriters recovers new entities, some of them concurrently.
func recoverWriters(ctx context.Context, j *dynajournal.Journal, prefix string, n int) ([]*dynajournal.Writer, error) {
	writers := make([]*dynajournal.Writer, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(preparing)
	for i := range writers {
		group.Go(func() (err error) {
			writers[i], err = j.Recover(ctx, fmt.Sprintf("%s-%d", prefix, i), dynajournal.RecoverOptions{}, nil)
			return err
		})
	}
	return writers, group.Wait()
}

// preparing is the number of concurrent requests that prepare a measurement.
const preparing = 16

// appends returns a candidate that appends single events. Each caller has its own writer.
func appends(writers []*dynajournal.Writer) *candidate {
	return &candidate{name: "journal", do: func(ctx context.Context, caller int) (int, error) {
		_, err := writers[caller].Append(ctx, payload)
		return 1, err
	}}
}

// condition selects whether a put fails if its key exists.
type condition bool

const (
	unconditional condition = false
	conditional   condition = true
)

// puts returns a candidate that puts items with only a key and a payload. Each caller has its own
// partition key.
func (s *session) puts(table, prefix string, callers int, when condition) *candidate {
	last := make([]int64, callers)
	return &candidate{name: "PutItem", do: func(ctx context.Context, caller int) (int, error) {
		last[caller]++
		put := &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
			layout.AttrPar:   &types.AttributeValueMemberS{Value: fmt.Sprintf("bare-%s-%d", prefix, caller)},
			layout.AttrNum:   &types.AttributeValueMemberN{Value: strconv.FormatInt(last[caller], 10)},
			layout.AttrEvent: &types.AttributeValueMemberB{Value: payload},
		}}
		if when == conditional {
			put.ConditionExpression = aws.String("attribute_not_exists(" + layout.AttrPar + ")")
		}
		if _, err := s.bare.PutItem(ctx, put); err != nil {
			return 0, err
		}
		return 1, nil
	}}
}
