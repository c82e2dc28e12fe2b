package dynajournal

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// MaxMetadataBytes is the largest size of an event's metadata, all keys and values together, and of
// its tags, in bytes.
const MaxMetadataBytes = 2048

// NewEvent is an event to be appended that has metadata or tags. [Writer.Append] and
// [Writer.AppendEach] take it among their arguments, where a value alone has none.
//
// A journal that stores no metadata (see Config.EventMetadata) rejects it.
type NewEvent struct {
	// Value is the event itself. It is encoded like a value that is an argument of Append.
	Value any
	// Metadata is stored beside the event, for example a trace context or a tenant. Keys must not
	// be empty. Those that begin with "dj." are this project's, and are rejected. It has at most
	// [MaxMetadataBytes].
	Metadata map[string]string
	// Tags are names by which readers select events. They must not be empty. A tag that is named
	// twice is stored once. They have at most [MaxMetadataBytes].
	Tags []string
}

// reservedPrefix begins the keys of metadata that this project sets.
const reservedPrefix = "dj."

var errNoMetadata = errors.New("the journal stores no metadata and tags: see Config.EventMetadata")

// metadata returns what is stored with the event.
func (j *Journal) metadata(e *NewEvent) (layout.Metadata, error) {
	if len(e.Metadata) == 0 && len(e.Tags) == 0 {
		return layout.Metadata{}, nil
	}
	if !j.protocol.Metadata {
		return layout.Metadata{}, errNoMetadata
	}
	for key := range e.Metadata {
		if strings.HasPrefix(key, reservedPrefix) {
			return layout.Metadata{}, fmt.Errorf("the key %q of its metadata: %q is reserved", key, reservedPrefix)
		}
	}
	m := layout.Metadata{Values: maps.Clone(e.Metadata), Tags: slices.Compact(slices.Sorted(slices.Values(e.Tags)))}
	return m, m.Check()
}
