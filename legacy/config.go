package legacy

import (
	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/private"
)

// DefaultSequenceShards is the number of shards of the marks in the hash-key-only layouts, as in the configuration of 0.3.
const DefaultSequenceShards = 1000

// Config says where a journal of an older layout is.
type Config struct {
	// Layout is the journal's. It must be set.
	Layout Layout

	// Journal has the connection, names, limits, retries and serialization. SequenceShards, where it is 0, is
	// DefaultSequenceShards; it must be the number in the configuration of whoever wrote the journal, or highest sequence
	// numbers are not found, and has no meaning in the naive layouts, as JournalName has none but in HashKey.
	// ReplayParallelism is how many requests of 100 events are read ahead. An Adapter is refused: these layouts have no place
	// for its manifest. What is said of snapshots, atomic writes, indexes and the fence window has no meaning here.
	Journal dynajournal.Config
}

// connect checks the configuration, fills in the defaults and makes the client.
func (c Config) connect() (Config, *dynamo.Client, error) {
	if _, ok := names[c.Layout]; !ok {
		return c, nil, &dynajournal.ArgumentError{Argument: "Config.Layout", Value: int(c.Layout), Reason: "it must be one of the older layouts"}
	}
	if c.Journal.Adapter != nil {
		return c, nil, &dynajournal.ArgumentError{
			Argument: "Config.Journal.Adapter", Value: "set", Reason: "the older layouts have no place for its manifest",
		}
	}
	client, err := private.Connect(&c.Journal)
	if err != nil {
		return c, nil, err
	}
	if c.Journal.SequenceShards == 0 {
		c.Journal.SequenceShards = DefaultSequenceShards
	}
	return c, client, nil
}

// checkID says why a persistence id can't be stored.
func (c *Config) checkID(pid string) error {
	// The longest key of the hash-key-only layouts is a mark's or an event's, with all digits of the last number.
	keys := layout.Keys{Journal: c.Journal.JournalName}
	if c.Layout != HashKey {
		keys.Journal = ""
	}
	limit := layout.MaxKeyBytes
	if c.Layout.hashKeyOnly() {
		limit -= 2 // of the 19 digits of a number, where a partition has 17
	}
	if err := keys.CheckPersistenceID(pid, limit); err != nil {
		return &dynajournal.ArgumentError{Argument: "persistence id", Value: pid, Reason: err.Error()}
	}
	return nil
}
