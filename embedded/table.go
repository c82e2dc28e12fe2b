package embedded

import (
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

const (
	accountID = "000000000000"

	statusActive   = "ACTIVE"
	statusCreating = "CREATING"
	statusUpdating = "UPDATING"
	statusDeleting = "DELETING"

	billingProvisioned = "PROVISIONED"
	billingOnDemand    = "PAY_PER_REQUEST"

	projectAll     = "ALL"
	projectKeys    = "KEYS_ONLY"
	projectInclude = "INCLUDE"
)

// table is a table of the engine. Users of the schema and writers of items hold lock shared, until
// their commit. Changing the schema and dropping the table require the lock exclusively. A changed
// schema replaces the old one.
type table struct {
	lock sync.RWMutex
	*schema

	dropped bool
	// stream is the enabled stream, or nil.
	stream *stream
	units  *unitCounter
	limits *limits
	// items and bytes are the size of the table. Close stores them, so they may be slightly wrong
	// after a crash. DynamoDB updates them every six hours.
	items, bytes atomic.Int64
}

// schema is the stored form of a table, without its items. It is immutable.
type schema struct {
	ID         uint32                    `json:"id"`
	Name       string                    `json:"name"`
	UUID       string                    `json:"uuid"`
	CreatedAt  int64                     `json:"createdAtMilliseconds"`
	Key        keySchema                 `json:"key"`
	Kinds      map[string]attribute.Kind `json:"kinds"`
	Attributes []string                  `json:"attributes"`
	Billing    string                    `json:"billing"`
	OnDemandAt int64                     `json:"onDemandAtMilliseconds,omitempty"`
	Throughput throughput                `json:"throughput"`
	// ThroughputChanges is retained when the table becomes on-demand.
	ThroughputChanges throughputChanges `json:"throughputChanges,omitzero"`
	Indexes           []*index          `json:"indexes"`
	NextIndex         uint16            `json:"nextIndex"`
	Protected         bool              `json:"protected,omitempty"`
	Class             string            `json:"class,omitempty"`
	Tags              map[string]string `json:"tags,omitempty"`
	// TimeToLive is the attribute with the time at which an item expires, or empty if items don't
	// expire.
	TimeToLive string   `json:"timeToLive,omitempty"`
	Settings   settings `json:"settings,omitzero"`
	// Replication is empty if the table has no replicas.
	Replication replication `json:"replication,omitzero"`
	// Stream is the newest stream, or nil.
	Stream *streamReference `json:"stream,omitempty"`
	Items  int64            `json:"items"`
	Bytes  int64            `json:"bytes"`
}

// keySchema has the attributes of a table's key. Range is empty for a table without a sort key.
type keySchema struct {
	Hash  string `json:"hash"`
	Range string `json:"range,omitempty"`
}

type throughput struct {
	Read  int64 `json:"read"`
	Write int64 `json:"write"`
}

// index is a secondary index.
type index struct {
	ID         uint16   `json:"id"`
	Name       string   `json:"name"`
	Local      bool     `json:"local,omitempty"`
	Key        indexKey `json:"key"`
	Projection string   `json:"projection"`
	// Include are the attributes that an INCLUDE projection adds to the keys.
	Include    []string   `json:"include,omitempty"`
	Throughput throughput `json:"throughput"`
	// ThroughputChanges counts the switch to on-demand as a decrease, unlike the ThroughputChanges
	// of the table.
	ThroughputChanges throughputChanges `json:"throughputChanges,omitzero"`
	Status            string            `json:"status"`
}

func tableARN(name string) string {
	return "arn:aws:dynamodb:" + Region + ":" + accountID + ":table/" + name
}

func indexARN(table, index string) string { return tableARN(table) + "/index/" + index }

func (s *schema) index(name string) *index {
	for _, candidate := range s.Indexes {
		if candidate.Name == name {
			return candidate
		}
	}
	return nil
}

// isKey reports whether the attribute is part of the table's primary key.
func (s *schema) isKey(name string) bool { return s.Key.has(name) }

func (k keySchema) has(name string) bool { return name == k.Hash || k.Range != "" && name == k.Range }

// names returns the key's attributes.
func (k keySchema) names() []string {
	if k.Range == "" {
		return []string{k.Hash}
	}
	return []string{k.Hash, k.Range}
}

// projected reports whether the index contains the attribute.
func (s *schema) projected(i *index, name string) bool {
	if i == nil || i.Projection == projectAll || s.isKey(name) || i.Key.has(name) {
		return true
	}
	return slices.Contains(i.Include, name)
}

// A storage key starts with a letter for its kind. The key of a schema continues with the name of
// the table. The key of an item continues with the id of the table, the id of the index (0 for the
// table itself), and the parts that keys.go describes.
const (
	schemaSpace = 's'
	itemSpace   = 'i'
	tokenSpace  = 't'
)

func schemaKey(name string) []byte { return append([]byte{schemaSpace}, name...) }

// entriesPrefix returns the prefix of the storage keys of the index, or of the table if i is nil.
func (s *schema) entriesPrefix(i *index) []byte {
	if i == nil {
		return itemPrefix(nil, s.ID, 0)
	}
	return itemPrefix(nil, s.ID, i.ID)
}

// itemPrefix appends the prefix of the storage keys of a table or index.
func itemPrefix(dst []byte, table uint32, index uint16) []byte {
	dst = append(dst, itemSpace)
	dst = binary.BigEndian.AppendUint32(dst, table)
	return binary.BigEndian.AppendUint16(dst, index)
}
