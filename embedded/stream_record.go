package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// streamRecord is a record of a stream: a change of an item.
type streamRecord struct {
	event   streamEvent
	expired bool
	// at is the time of the change, in milliseconds.
	at   int64
	keys attribute.Item
	// old and new are the images that the stream's view contains, or nil.
	old, new attribute.Item
	// size is the size of the keys and images, in bytes as DynamoDB counts them.
	size int
}

// streamEvent is the kind of a change of an item.
type streamEvent byte

const (
	eventInsert streamEvent = iota
	eventModify
	eventRemove
)

var eventNames = [...]string{eventInsert: "INSERT", eventModify: "MODIFY", eventRemove: "REMOVE"}

// recordOf returns the record of a change, or false if the item is unchanged.
func (s *stream) recordOf(ch *change, done outcome) (streamRecord, bool) {
	if done.old == nil && done.new == nil || done.old != nil && done.new != nil && attribute.EqualItems(done.old, done.new) {
		return streamRecord{}, false
	}
	r := streamRecord{event: eventModify, expired: ch.expires, keys: ch.table.keyAttributes(ch.key)}
	switch {
	case done.old == nil:
		r.event = eventInsert
	case done.new == nil:
		r.event = eventRemove
	}
	r.size = r.keys.Size()
	if done.new != nil && (s.view == viewNew || s.view == viewBoth) {
		r.new = done.new
		r.size += done.newSize
	}
	if done.old != nil && (s.view == viewOld || s.view == viewBoth) {
		r.old = done.old
		r.size += done.oldSize
	}
	return r, true
}

// A stored record is a byte of flags, the time and the size as uvarints, and then the keys and the
// images in their binary form, each after its length.
const (
	eventBits    = 0x03
	expiredBit   = 0x04
	hasOldBit    = 0x08
	hasNewBit    = 0x10
	maxRecord    = 4 * maxItem
	knownRecords = eventBits | expiredBit | hasOldBit | hasNewBit
)

var errRecord = errors.New("a stored stream record is damaged")

func (r *streamRecord) append(dst []byte) []byte {
	flags := byte(r.event)
	if r.expired {
		flags |= expiredBit
	}
	if r.old != nil {
		flags |= hasOldBit
	}
	if r.new != nil {
		flags |= hasNewBit
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(max(r.at, 0)))
	dst = binary.AppendUvarint(dst, uint64(r.size))
	for _, item := range [...]attribute.Item{r.keys, r.old, r.new} {
		if item != nil {
			dst = appendSized(dst, item)
		}
	}
	return dst
}

// appendSized appends the binary form of an item after its length.
func appendSized(dst []byte, item attribute.Item) []byte {
	const width = 4
	at := len(dst)
	dst = append(dst, make([]byte, width)...)
	dst = attribute.AppendBinaryItem(dst, item)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-width))
	return dst
}

// recordTime returns the time of a stored record.
func recordTime(stored []byte) (int64, error) {
	if len(stored) == 0 {
		return 0, errRecord
	}
	at, width := binary.Uvarint(stored[1:])
	if width <= 0 || at > math.MaxInt64 {
		return 0, errRecord
	}
	return int64(at), nil
}

func decodeRecord(stored []byte) (streamRecord, error) {
	var r streamRecord
	at, err := recordTime(stored)
	if err != nil {
		return r, err
	}
	flags := stored[0]
	r.event, r.expired, r.at = streamEvent(flags&eventBits), flags&expiredBit != 0, at
	if int(r.event) >= len(eventNames) || flags&^knownRecords != 0 {
		return r, errRecord
	}
	_, width := binary.Uvarint(stored[1:])
	rest := stored[1+width:]
	size, width := binary.Uvarint(rest)
	if width <= 0 || size > maxRecord {
		return r, errRecord
	}
	r.size, rest = int(size), rest[width:]
	if r.keys, rest, err = cutSized(rest); err == nil && flags&hasOldBit != 0 {
		r.old, rest, err = cutSized(rest)
	}
	if err == nil && flags&hasNewBit != 0 {
		r.new, rest, err = cutSized(rest)
	}
	if err == nil && len(rest) > 0 {
		err = errRecord
	}
	return r, err
}

func cutSized(src []byte) (item attribute.Item, rest []byte, err error) {
	const width = 4
	if len(src) < width {
		return nil, nil, errRecord
	}
	size := int(binary.BigEndian.Uint32(src))
	src = src[width:]
	if size > len(src) {
		return nil, nil, errRecord
	}
	if item, err = attribute.DecodeBinaryItem(src[:size]); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	return item, src[size:], nil
}

// appendRecord appends a record as GetRecords returns it.
func (s *stream) appendRecord(dst []byte, r *streamRecord, number uint64) []byte {
	dst = fmt.Appendf(dst, `{"eventID":"%08x%024x","eventName":"%s","eventVersion":"1.1",`+
		`"eventSource":"aws:dynamodb","awsRegion":"%s","dynamodb":{"ApproximateCreationDateTime":`,
		s.id, number, eventNames[r.event], Region)
	dst = strconv.AppendInt(dst, r.at/1000, 10)
	dst = append(dst, `,"Keys":`...)
	dst = attribute.AppendItem(dst, r.keys)
	if r.new != nil {
		dst = append(dst, `,"NewImage":`...)
		dst = attribute.AppendItem(dst, r.new)
	}
	if r.old != nil {
		dst = append(dst, `,"OldImage":`...)
		dst = attribute.AppendItem(dst, r.old)
	}
	dst = fmt.Appendf(dst, `,"SequenceNumber":"%s","SizeBytes":%d,"StreamViewType":"%s"}`, sequenceText(number), r.size, s.view)
	if r.expired {
		dst = append(dst, `,"userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}`...)
	}
	return append(dst, '}')
}

// pendingRecord is the place of a record whose batch is not committed yet.
type pendingRecord struct {
	stream *stream
	shard  uint32
	number uint64
	at     int64
	done   bool
}

// record adds the records of staged changes to their batch, and returns their places. The caller
// ends them after the batch is committed or has failed, and holds the locks of the tables and the
// items until then. A change that has failed has no outcome, and so no record.
func (e *Engine) record(batch *storage.Batch, changes []*change, done []outcome) []*pendingRecord {
	var reserved []*pendingRecord
	for i, ch := range changes {
		if ch == nil || ch.table.stream == nil {
			continue
		}
		s := ch.table.stream
		r, changed := s.recordOf(ch, done[i])
		if !changed {
			continue
		}
		place := s.reserve(hashOf(ch.storageKey), e.now().UnixMilli())
		reserved = append(reserved, place)
		r.at = place.at
		scratch := takeBuffer()
		stored := r.append((*scratch)[:0])
		batch.Set(recordKey(s.id, place.shard, place.number), stored)
		*scratch = stored
		giveBuffer(scratch)
	}
	return reserved
}

// reserve takes the next sequence number for a record of an item with a hash.
func (s *stream) reserve(hash uint32, now int64) *pendingRecord {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.newest = max(s.newest, now)
	shard := s.shardFor(hash)
	shard.records++
	r := &pendingRecord{stream: s, shard: shard.number, number: s.next, at: s.newest}
	s.next++
	s.reserved = append(s.reserved, r)
	return r
}

func endAll(reserved []*pendingRecord) {
	for _, r := range reserved {
		r.end()
	}
}

// end marks a pendingRecord as done. Its batch is committed or has failed.
func (r *pendingRecord) end() {
	s := r.stream
	s.lock.Lock()
	defer s.lock.Unlock()
	r.done = true
	for len(s.reserved) > 0 && s.reserved[0].done {
		s.reserved[0] = nil
		s.reserved = s.reserved[1:]
	}
	if len(s.reserved) == 0 {
		s.reserved = nil
	}
}

// visible returns the sequence number up to which, excluded, all records are committed.
func (s *stream) visible() uint64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	if len(s.reserved) > 0 {
		return s.reserved[0].number
	}
	return s.next
}
