package bench

import (
	"context"
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
	// batchEvents is how many events an atomic write has.
	batchEvents = 10
	// mostCallers is how many callers there are at most.
	mostCallers = 1024
)

// payload is an event that does not compress. It is never changed.
var payload = func() []byte {
	source := rand.NewChaCha8([32]byte{})
	p := make([]byte, eventBytes)
	_, _ = source.Read(p) // which never fails
	return p
}()

// writes are single events by 1, 64, 256 and 1,024 entities, each with one write under way, and atomic writes of ten.
func writes() []workload {
	all := []workload{{"write-1", 2, writeLatency}}
	for _, entities := range []int{64, 256, mostCallers} {
		all = append(all, workload{fmt.Sprintf("write-%d", entities), 2, func(ctx context.Context, s *session) error {
			return s.writeRates(ctx, entities)
		}})
	}
	return append(all, workload{"write-batch-10", 3, writeBatches})
}

// writeLatency compares an event with an unconditional PutItem, as nobody needs less.
func writeLatency(ctx context.Context, s *session) error {
	writers, err := s.recoverWriters(ctx, s.workload, 1)
	if err != nil {
		return err
	}
	ours, base := appends(writers), s.puts(s.place.bare, s.workload, 1, unconditional)
	if err := s.race(ctx, 1, 0, ours, base); err != nil {
		return err
	}
	if err := s.reportLatency(ours, base, 50, 90, 99); err != nil {
		return err
	}
	return s.reportCPU(ours, base)
}

// writeRates compares events with conditional PutItems.
func (s *session) writeRates(ctx context.Context, entities int) error {
	writers, err := s.recoverWriters(ctx, s.workload, entities)
	if err != nil {
		return err
	}
	ours, base := appends(writers), s.puts(s.place.bare, s.workload, entities, conditional)
	if err := s.race(ctx, entities, 0, ours, base); err != nil {
		return err
	}
	if err := s.reportRates(ours, base); err != nil {
		return err
	}
	if err := s.reportLatency(ours, base, 50, 99); err != nil {
		return err
	}
	return s.reportCPU(ours, base)
}

// writeBatches compares atomic writes with as many conditional PutItems, at the same time and one after the other.
func writeBatches(ctx context.Context, s *session) error {
	writers, err := s.recoverWriters(ctx, s.workload, 1)
	if err != nil {
		return err
	}
	events := make([]any, batchEvents)
	for i := range events {
		events[i] = payload
	}
	ours := &contender{name: "journal", do: func(ctx context.Context, caller int) (int, error) {
		_, err := writers[caller].Append(ctx, events...)
		return batchEvents, err
	}}
	single := s.puts(s.place.bare, s.workload, batchEvents, conditional)
	parallel := &contender{name: "PutItems at the same time", do: func(ctx context.Context, _ int) (int, error) {
		group, ctx := errgroup.WithContext(ctx)
		for caller := range batchEvents {
			group.Go(func() error {
				_, err := single.do(ctx, caller)
				return err
			})
		}
		return batchEvents, group.Wait()
	}}
	serial := &contender{name: "PutItems one after the other", do: func(ctx context.Context, _ int) (int, error) {
		for range batchEvents {
			if _, err := single.do(ctx, 0); err != nil {
				return 0, err
			}
		}
		return batchEvents, nil
	}}
	if err := s.race(ctx, 1, 0, ours, parallel, serial); err != nil {
		return err
	}
	if err := s.reportLatency(ours, parallel, 50, 99); err != nil {
		return err
	}
	if err := s.report("p50-to-serial", microsecond, ours.percentile(50), serial.percentile(50)); err != nil {
		return err
	}
	return s.reportCPU(ours, parallel)
}

// recoverWriters makes new entities, and recovers them, some at a time.
func (s *session) recoverWriters(ctx context.Context, prefix string, n int) ([]*dynajournal.Writer, error) {
	writers := make([]*dynajournal.Writer, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(preparing)
	for i := range writers {
		group.Go(func() (err error) {
			writers[i], err = s.journal.Recover(ctx, fmt.Sprintf("%s-%d", prefix, i), dynajournal.RecoverOptions{}, nil)
			return err
		})
	}
	return writers, group.Wait()
}

// preparing is how many requests prepare at a time what is then measured.
const preparing = 16

// appends is appending single events; each caller has a writer.
func appends(writers []*dynajournal.Writer) *contender {
	return &contender{name: "journal", do: func(ctx context.Context, caller int) (int, error) {
		_, err := writers[caller].Append(ctx, payload)
		return 1, err
	}}
}

// condition says whether a put is to fail where something stands.
type condition bool

const (
	unconditional condition = false
	conditional   condition = true
)

// puts is putting items with nothing but a key and a payload; each caller has a partition key.
func (s *session) puts(table, prefix string, callers int, when condition) *contender {
	last := make([]int64, callers)
	return &contender{name: "PutItem", do: func(ctx context.Context, caller int) (int, error) {
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
