package legacy

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// Journal is an open journal of an older layout. It is safe for concurrent use, and a process needs
// only one. Close it when it is no longer used.
type Journal struct {
	config Config
	client *dynamo.Client
	store  store
	life   lifetime.Lifetime
}

// Open opens a journal whose table exists, and checks that the table has the key of the layout.
// [CreateTable] makes the table.
//
// Errors: [dynajournal.ErrInvalidArgument], ErrTableNotFound, ErrTableSchema (which names the
// layouts that fit the table), and request errors.
func Open(ctx context.Context, config Config) (*Journal, error) {
	config, client, err := config.connect()
	if err != nil {
		return nil, err
	}
	if err := config.checkTable(ctx, client); err != nil {
		client.Close()
		return nil, fmt.Errorf("open the %s journal in table %q: %w", config.Layout, config.Journal.JournalTable, err)
	}
	j := &Journal{config: config, client: client}
	j.store = config.store(client, j.life.Go)
	j.life.Open(dynajournal.ErrClosed)
	return j, nil
}

// store returns the store of the layout. start runs a goroutine that Journal.Close waits for.
func (c *Config) store(client *dynamo.Client, start func(work func())) store {
	switch c.Layout {
	case Naive:
		return &naive{client, c.Journal.JournalTable, attrPersistenceID, false, c.Journal.ReplayParallelism}
	case NaiveProcessor:
		return &naive{client, c.Journal.JournalTable, attrProcessorID, true, c.Journal.ReplayParallelism}
	}
	s := &hashKey{
		client:      client,
		table:       c.Journal.JournalTable,
		shards:      int64(c.Journal.SequenceShards),
		batch:       int64(c.Journal.MaxBatchGet),
		parallelism: c.Journal.ReplayParallelism,
		start:       start,
	}
	if c.Layout == HashKey {
		s.prefix = c.Journal.JournalName + "-"
	}
	return s
}

// Close closes the journal. It stops reads at once, and waits up to Config.Journal.OperationTimeout
// for appends that were sent. Every later call returns [dynajournal.ErrClosed]. A second Close does
// nothing. The error is always nil. Close does not wait for the body of a loop or a Recover
// handler, and may be called there: the loop or Recover then ends with ErrClosed.
func (j *Journal) Close() error {
	j.life.Close(j.config.Journal.OperationTimeout)
	j.client.Close()
	return nil
}

// Layout returns the layout of the journal.
func (j *Journal) Layout() Layout { return j.config.Layout }

// start starts an operation that reads.
func (j *Journal) start(ctx context.Context, pid string) (context.Context, func(), error) {
	if err := j.config.checkID(pid); err != nil {
		return nil, nil, err
	}
	return j.life.Read(ctx)
}
