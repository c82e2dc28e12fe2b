package legacy

import (
	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// DefaultSequenceShards is the default number of shards of the marks in the hash-key-only layouts,
// as in version 0.3.
const DefaultSequenceShards = 1000

// Config is the configuration of a journal of an older layout.
type Config struct {
	// Layout is the layout of the journal. Required.
	Layout Layout

	// Journal configures the connection, names, limits, retries and serialization.
	//
	// SequenceShards defaults to DefaultSequenceShards. It must be the number that the writers of
	// the journal use; otherwise highest sequence numbers are not found. The naive layouts ignore
	// it. Only HashKey uses JournalName.
	//
	// ReplayParallelism is the number of requests, of 100 events each, that are read ahead. An
	// Adapter is refused, because these layouts do not store its manifest. Settings for snapshots,
	// atomic writes, indexes and the fence window are ignored.
	Journal dynajournal.Config
}

// connect checks the configuration, sets the defaults and makes the client.
func (c Config) connect() (Config, *dynamo.Client, error) {
	if _, ok := names[c.Layout]; !ok {
		return c, nil, &dynajournal.ArgumentError{Argument: "Config.Layout", Value: int(c.Layout),
			Reason: "it must be one of the older layouts"}
	}
	if c.Journal.Adapter != nil {
		return c, nil, &dynajournal.ArgumentError{
			Argument: "Config.Journal.Adapter", Value: "set", Reason: "the older layouts do not store its manifest",
		}
	}
	client, err := core.Connect(&c.Journal)
	if err != nil {
		return c, nil, err
	}
	if c.Journal.SequenceShards == 0 {
		c.Journal.SequenceShards = DefaultSequenceShards
	}
	return c, client, nil
}

// checkID returns an error if a persistence id can't be stored.
func (c *Config) checkID(pid string) error {
	// In the hash-key-only layouts the longest key belongs to a mark or an event, with all digits
	// of the last number.
	keys := layout.Keys{Journal: c.Journal.JournalName}
	if c.Layout != HashKey {
		keys.Journal = ""
	}
	limit := layout.MaxKeyBytes
	if c.Layout.hashKeyOnly() {
		limit -= 2 // a sequence number has 19 digits, a partition number 17
	}
	if err := keys.CheckPersistenceID(pid, limit); err != nil {
		return &dynajournal.ArgumentError{Argument: "persistence id", Value: pid, Reason: err.Error()}
	}
	return nil
}
