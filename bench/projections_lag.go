package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// Settings of the writes whose lag is measured: the number of persistence ids, and the pause
// between writes.
const (
	lagIDs   = 64
	lagPause = 5 * time.Millisecond
	// defaultPoll is the default pause of projections after a response without records.
	defaultPoll = 250 * time.Millisecond
)

// handlingLag measures the time from the call of Append to the call of the handler, with the
// defaults of a projection. The base is the projection's pause after a response without records.
func handlingLag(ctx context.Context, s *session) (err error) {
	d, err := s.openStreamed(ctx, "lag", types.StreamViewTypeNewImage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(ctx)) }()
	writers, err := recoverWriters(ctx, d.writer, s.workload, lagIDs)
	if err != nil {
		return err
	}
	if err := appendEach(ctx, writers, 1); err != nil {
		return err
	}
	var mu sync.Mutex
	lags := hdrhistogram.New(1, longestLatency, latencyDigits)
	note := func(ctx context.Context, e dynajournal.Event) error {
		appended, err := sentAt(ctx, e)
		if err != nil || appended.IsZero() {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		return lags.RecordValue(min(int64(time.Since(appended)), longestLatency))
	}
	config := projection.Config{Name: "lag", Source: projection.Streams(d.streams, projection.StreamsOptions{PerSecond: -1})}
	f, err := d.follow(ctx, config, func(f *following) projection.Projection {
		return projection.AtLeastOnce("nothing", projection.HandlerFunc(func(ctx context.Context, e dynajournal.Event) error {
			return errors.Join(note(ctx, e), f.handle(ctx, e))
		}))
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	if err := f.waitUntilIdle(ctx); err != nil {
		return err
	}
	sent, err := s.appendNow(ctx, writers)
	if err != nil {
		return err
	}
	if err := f.waitUntilHandled(ctx, lagIDs+sent); err != nil {
		return err
	}
	s.step(s.rounds + warmUps)
	for _, p := range []float64{50, 99} {
		lag := float64(lags.ValueAtQuantile(p)) / float64(time.Millisecond)
		if err := s.report(fmt.Sprintf("p%g", p), millisecond, lag, float64(defaultPoll.Milliseconds())); err != nil {
			return err
		}
	}
	return nil
}

// appendNow appends events that contain the time of their call, for the duration of all rounds. It
// returns their number.
func (s *session) appendNow(ctx context.Context, writers []*dynajournal.Writer) (int64, error) {
	const shortest = 3 * time.Second // longer than several pauses
	length := max(time.Duration(s.rounds)*s.roundTime, shortest)
	pause := time.NewTicker(lagPause)
	defer pause.Stop()
	sent := int64(0)
	for start := time.Now(); time.Since(start) < length; sent++ {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return sent, context.Cause(ctx)
		}
		now := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))
		if _, err := writers[sent%lagIDs].Append(ctx, append(now, payload[len(now):]...)); err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// sentAt returns the time that appendNow has stored in an event, or the zero time for any other
// event.
func sentAt(ctx context.Context, e dynajournal.Event) (time.Time, error) {
	stored, err := e.Payload(ctx)
	if err != nil {
		return time.Time{}, err
	}
	sent, ok := stored.([]byte)
	if !ok || string(sent[:8]) == string(payload[:8]) {
		return time.Time{}, nil
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(sent))), nil
}
