package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/dynajournal/dynajournal"
)

// coldWrites is the number of entities that write their first event in a cold start.
const coldWrites = 100

// connected is the suffix of figures of a journal that opens its connections ahead.
const connected = "-connected"

// client is the journal or SDK client that a cold start opens. do recovers an entity and stores its
// first event.
type client struct {
	do    func(ctx context.Context, caller int) (int, error)
	close func() error
}

// coldStart compares the first events after Open, all concurrent, with the first PutItems of an SDK
// client, each after a Query like the one of a recovery.
func coldStart(ctx context.Context, s *session) error {
	ours, alone, base := &candidate{name: "journal"}, &candidate{name: "journal without group commit"}, &candidate{name: "PutItem"}
	prepared := &candidate{name: "journal with connections made ahead"}
	opens := map[*candidate]func(ctx context.Context, round int) (client, error){
		ours: func(ctx context.Context, round int) (client, error) {
			return s.coldJournal(ctx, fmt.Sprintf("%s-%d", s.workload, round), func(*dynajournal.Config) {})
		},
		alone: func(ctx context.Context, round int) (client, error) {
			return s.coldJournal(ctx, fmt.Sprintf("%s%s-%d", s.workload, ungrouped, round), func(c *dynajournal.Config) {
				c.GroupCommit = dynajournal.GroupCommitOff
			})
		},
		prepared: func(ctx context.Context, round int) (client, error) {
			return s.coldJournal(ctx, fmt.Sprintf("%s%s-%d", s.workload, connected, round), func(c *dynajournal.Config) {
				c.ConnectAhead = dynajournal.DefaultMaxConnections
			})
		},
		base: func(_ context.Context, round int) (client, error) { return s.coldClient(round), nil },
	}
	candidates := []*candidate{ours, alone, prepared, base}
	for _, c := range candidates {
		c.latency = hdrhistogram.New(1, longestLatency, latencyDigits)
	}
	for round := range warmUps + s.rounds {
		for i := range candidates {
			c := candidates[(round+i)%len(candidates)]
			if err := s.coldRound(ctx, c, round, opens[c]); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			s.step(1)
		}
	}
	return errors.Join(s.reportNetwork("", ours, base), s.reportNetwork(ungrouped, alone, base),
		s.reportNetwork(connected, prepared, base))
}

// coldRound opens a client, measures its first events and closes it.
func (s *session) coldRound(
	ctx context.Context, c *candidate, round int, open func(context.Context, int) (client, error),
) error {
	counts := round >= warmUps
	return s.observe(c, counts, func() (err error) {
		opened, err := open(ctx, round)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, opened.close()) }()
		c.do = opened.do
		return c.round(ctx, coldWrites, coldWrites, 0, counts)
	})
}

// coldJournal opens a journal. The names of its entities begin with prefix.
func (s *session) coldJournal(
	ctx context.Context, prefix string, change func(*dynajournal.Config),
) (client, error) {
	config := s.tables.config
	change(&config)
	j, err := dynajournal.Open(ctx, config)
	if err != nil {
		return client{}, err
	}
	return client{close: j.Close, do: func(ctx context.Context, caller int) (int, error) {
		w, err := j.Recover(ctx, fmt.Sprintf("%s-%d", prefix, caller), dynajournal.RecoverOptions{}, nil)
		if err != nil {
			return 0, err
		}
		_, err = w.Append(ctx, payload)
		return 1, err
	}}, nil
}

// coldClient makes a client of the SDK.
func (s *session) coldClient(round int) client {
	cold := &session{tables: s.tables, bare: bareClient(s.tables.config)}
	prefix := fmt.Sprintf("%s-%d", s.workload, round)
	put := cold.puts(s.tables.bare, prefix, coldWrites, conditional)
	return client{close: func() error { return nil }, do: func(ctx context.Context, caller int) (int, error) {
		if _, _, err := cold.query(ctx, fmt.Sprintf("%s-bare-%d", prefix, caller), 1, 1); err != nil {
			return 0, err
		}
		return put.do(ctx, caller)
	}}
}
