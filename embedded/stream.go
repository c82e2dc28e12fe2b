package embedded

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// The views of a stream: the images of an item that its records contain, in addition to the key.
const (
	viewKeys = "KEYS_ONLY"
	viewNew  = "NEW_IMAGE"
	viewOld  = "OLD_IMAGE"
	viewBoth = "NEW_AND_OLD_IMAGES"
)

// stream is a stream of a table: a record for each change of an item. At most one stream of a table
// is enabled. After it is disabled, enabling streams again creates another one. A disabled stream
// can be read for 24 hours.
//
// Three invariants make it complete:
//
//   - A record is in the batch of the change that it describes. Neither is stored without the
//     other.
//   - Its sequence number is reserved while the item is locked. The records of an item are in the
//     order of its changes.
//   - Readers get only the records before the first one whose batch is not committed. No record
//     appears before one that a reader already got.
//
// A writer holds the table's lock shared from reserving a sequence number to the end of the commit.
// Opening or closing shards needs that lock exclusively, so no pendingRecord exists at that time.
type stream struct {
	id    uint32
	table string
	label string
	view  string

	// changing is held while a new state is stored.
	changing sync.Mutex

	// lock guards the fields below. The state itself is replaced, never changed.
	lock  sync.Mutex
	state *streamState
	// open has the shards that accept records, in the order of their hashes.
	open []*openShard
	// next is the next sequence number to reserve.
	next uint64
	// newest is the time of the newest record, in milliseconds. Times never decrease within a
	// stream.
	newest int64
	// reserved has the pending records, in the order of their sequence numbers. The first one is
	// never done.
	reserved []*pendingRecord
	// sweptAt is the time at which the engine last decided which shards to split, in milliseconds.
	sweptAt int64
	// readers counts the requests that are reading records, by the number of the shard.
	readers map[uint32]int
}

// streamState is the stored form of a stream, without its records.
type streamState struct {
	ID         uint32    `json:"id"`
	Table      string    `json:"table"`
	Key        keySchema `json:"key"`
	Label      string    `json:"label"`
	View       string    `json:"view"`
	CreatedAt  int64     `json:"createdAtMilliseconds"`
	DisabledAt int64     `json:"disabledAtMilliseconds,omitempty"`
	NextShard  uint32    `json:"nextShard"`
	// Shards are in the order in which they were opened.
	Shards []shard `json:"shards"`
}

// streamReference describes a table's newest stream in the table's schema.
type streamReference struct {
	Label   string `json:"label"`
	View    string `json:"view"`
	Enabled bool   `json:"enabled"`
}

// The storage keys: a letter and the number of the stream. The key of a record also has the number
// of its shard and its sequence number.
const (
	streamSpace = 'd'
	recordSpace = 'r'
)

func streamKey(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{streamSpace}, id)
}

func recordKey(stream, shard uint32, number uint64) []byte {
	key := binary.BigEndian.AppendUint32([]byte{recordSpace}, stream)
	key = binary.BigEndian.AppendUint32(key, shard)
	return binary.BigEndian.AppendUint64(key, number)
}

// recordNumber returns the sequence number in the key of a record.
func recordNumber(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

const streamInARN = "/stream/"

func streamARN(table, label string) string { return tableARN(table) + streamInARN + label }

func (s *stream) arn() string { return streamARN(s.table, s.label) }

// tableOfStream returns the name of the table in the ARN of a stream, and whether it is such an
// ARN.
func tableOfStream(arn string) (name string, isStream bool) {
	rest, found := strings.CutPrefix(arn, tableARN(""))
	if !found {
		return "", false
	}
	name, label, found := strings.Cut(rest, streamInARN)
	return name, found && isName(name) && label != ""
}

// newStream creates an enabled stream for a table. It does not store it, or show it to clients.
func (e *Engine) newStream(s *schema, view string) *stream {
	e.streamsLock.Lock()
	defer e.streamsLock.Unlock()
	now := e.now().UnixMilli()
	for e.streams[streamARN(s.Name, streamLabel(now))] != nil {
		now++
	}
	state := &streamState{
		ID: e.nextStream, Table: s.Name, Key: s.Key, Label: streamLabel(now), View: view, CreatedAt: now, NextShard: 1,
	}
	made := state.stream()
	e.nextStream++
	for _, hashes := range wholeRange.divide(e.options.streamShards) {
		made.openShard(state, hashes, "", now)
	}
	made.install(state)
	return made
}

// stream returns a stream without shards and records.
func (s *streamState) stream() *stream {
	return &stream{id: s.ID, table: s.Table, label: s.Label, view: s.View, next: 1, readers: map[uint32]int{}}
}

// streamLabel returns the label of a stream that is created at a time in milliseconds.
func streamLabel(at int64) string {
	return time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000")
}

// showStream lets clients read a stream that is stored.
func (e *Engine) showStream(s *stream) {
	e.streamsLock.Lock()
	e.streams[s.arn()] = s
	e.streamsLock.Unlock()
	e.startSweeper()
}

// streamOf returns the stream with an ARN, or nil.
func (e *Engine) streamOf(arn string) *stream {
	e.streamsLock.RLock()
	defer e.streamsLock.RUnlock()
	return e.streams[arn]
}

// current returns the state, which the caller must not change.
func (s *stream) current() *streamState {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.state
}

// copied returns a copy of the state, to be changed, stored and installed. The caller holds
// changing.
func (s *stream) copied() *streamState {
	state := *s.current()
	state.Shards = slices.Clone(state.Shards)
	return &state
}

// install makes a stored state the current one.
func (s *stream) install(state *streamState) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.state = state
	open := make([]*openShard, 0, len(s.open))
	for _, candidate := range state.Shards {
		if candidate.Last != 0 {
			continue
		}
		i := slices.IndexFunc(s.open, func(o *openShard) bool { return o.number == candidate.Number })
		if i < 0 {
			open = append(open, &openShard{number: candidate.Number, hashes: candidate.Hashes})
		} else {
			open = append(open, s.open[i])
		}
	}
	slices.SortFunc(open, func(a, b *openShard) int { return a.hashes.compare(b.hashes) })
	s.open = open
}

// find returns the index of a shard in Shards, or -1.
func (s *streamState) find(number uint32) int {
	return slices.IndexFunc(s.Shards, func(candidate shard) bool { return candidate.Number == number })
}

// save returns a function that adds the state to a batch.
func (s *streamState) save() (func(*storage.Batch), error) {
	stored, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding the stream of %s: %w", s.Table, err)
	}
	return func(batch *storage.Batch) { batch.Set(streamKey(s.ID), stored) }, nil
}

// storeStream stores the state of a stream, in one commit with the writes that also adds to the
// batch, and installs it. The caller holds changing.
func (e *Engine) storeStream(s *stream, state *streamState, also func(*storage.Batch)) error {
	save, err := state.save()
	if err != nil {
		return err
	}
	batch := e.store.NewBatch()
	save(batch)
	if also != nil {
		also(batch)
	}
	if err := batch.Commit(); err != nil {
		return fmt.Errorf("storing the stream of %s: %w", state.Table, err)
	}
	s.install(state)
	return nil
}

// disable returns the state of a stream that accepts no more records: all its shards are closed.
// The caller holds changing, and the table's lock exclusively.
func (s *stream) disable(now int64) *streamState {
	state := s.copied()
	for i := range state.Shards {
		if state.Shards[i].Last == 0 {
			s.closeShard(&state.Shards[i], now)
		}
	}
	state.DisabledAt = max(now, 1)
	return state
}

// loadStreams reads the streams, once, after the tables and before the engine is used. It reads one
// record of each shard, regardless of the number of records.
func (e *Engine) loadStreams() error {
	it, err := e.store.Iterate([]byte{streamSpace}, []byte{streamSpace + 1})
	if err != nil {
		return fmt.Errorf("reading the streams: %w", err)
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var stored []byte
		if stored, err = it.Value(); err == nil {
			err = e.loadStream(stored)
		}
	}
	if err = joinClose(err, it); err != nil {
		return fmt.Errorf("reading the streams: %w", err)
	}
	return nil
}

func (e *Engine) loadStream(stored []byte) error {
	state := new(streamState)
	if err := json.Unmarshal(stored, state); err != nil {
		return fmt.Errorf("decoding a stream: %w", err)
	}
	e.nextStream = max(e.nextStream, state.ID+1)
	s := state.stream()
	for _, shard := range state.Shards {
		last, at, err := e.lastRecord(state.ID, shard.Number)
		if err != nil {
			return fmt.Errorf("the stream of %s: %w", state.Table, err)
		}
		s.next = max(s.next, shard.First+1, shard.Last+1, shard.Trimmed, last+1)
		s.newest = max(s.newest, at)
	}
	s.install(state)
	e.showStream(s)
	if t := e.tables[state.Table]; t != nil && state.DisabledAt == 0 {
		t.lock.Lock()
		t.stream = s
		t.lock.Unlock()
	}
	return nil
}

// lastRecord returns the sequence number and the time of the newest record of a shard, or 0 if it
// has no records.
func (e *Engine) lastRecord(stream, shard uint32) (number uint64, at int64, err error) {
	it, err := e.store.Iterate(recordKey(stream, shard, 0), recordKey(stream, shard+1, 0))
	if err != nil {
		return 0, 0, err
	}
	if it.Last() {
		var value []byte
		number = recordNumber(it.Key())
		if value, err = it.Value(); err == nil {
			at, err = recordTime(value)
		}
	}
	return number, at, joinClose(err, it)
}
