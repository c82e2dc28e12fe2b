package layout

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/clock"
)

// Attribute names of the journal table.
const (
	AttrPar           = "par"
	AttrNum           = "num"
	AttrPersistenceID = "persistence_id"
	AttrSeq           = "seq"
	AttrEvent         = "event"
	AttrPay           = "pay"
	AttrWriterUUID    = "writer_uuid"
	AttrSerID         = "ev_ser_id"
	AttrSerManifest   = "ev_ser_manifest"
	AttrManifest      = "manifest"
	AttrIdx           = "idx"
	AttrCnt           = "cnt"
	AttrExpires       = "expires"
	AttrLow           = "low"
	AttrCutStart      = "cut_start"
	AttrCutCnt        = "cut_cnt"
	AttrCutWriter     = "cut_writer"
	AttrRemoved       = "removed"
	AttrBehind        = "behind"
	AttrAfter         = "after"
	AttrPurged        = "purged"
	AttrIDsShard      = "ids_shard"
	AttrIDsKey        = "ids_key"
	AttrKind          = "kind"
	AttrShards        = "shards"
	AttrIDsShards     = "ids_shards"
	AttrVersion       = "version"
	AttrFenceWindow   = "fence_window"
)

// tombstoneMember is the idx and the cnt of tombstones and seals: a member of a batch that can
// never be complete. A JVM plug-in drops it as it drops parts of batches.
const tombstoneMember = 1_000_000_000

// Event is the decoded item of an event.
type Event struct {
	PersistenceID string
	SequenceNr    int64
	// Bytes is the serialized payload.
	Bytes        []byte
	SerializerID int32
	// Enveloped reports that the item is in the form of Akka 1.0 and 1.1 (see pay.go).
	Enveloped          bool
	SerializerManifest string
	// Manifest is the manifest of the event adapter.
	Manifest   string
	WriterUUID string
	// Batch is the atomic write that the event is a member of, or zero for a single event.
	Batch Batch
	// Metadata is stored in the split form only.
	Metadata Metadata
	// Outside is the time before the payload was put to the store of serialization.External. It is
	// set on an event that is going to be written and has such a payload, and nil otherwise: see
	// package outside.
	Outside *clock.Moment
}

// Batch identifies an atomic write: two events are members of one batch if their Batches are equal.
// The zero Batch means no atomic write.
type Batch struct {
	// Start is the sequence number of the first member, and Last the number of the last member.
	Start, Last int64
	WriterUUID  string
}

// IsBatch reports whether b is an atomic write. That includes an atomic write of one event, with
// Start = Last.
func (b Batch) IsBatch() bool { return b.Start > 0 }

// Slot is the decoded item of a sequence number: an event, a tombstone or a seal.
type Slot struct {
	SequenceNr int64
	// Event is nil for a tombstone or a seal.
	Event *Event
	// Expires is the expiry of a tombstone, in seconds since 1970, or 0 for a seal, which stays.
	Expires int64
	// Low is set on a fence, a tombstone or seal that was put before the low mark is raised to this
	// number, and 0 on any other slot. A writer that finds a fence above the low mark raises the
	// low mark, because the writer that put the fence may have crashed.
	Low int64
	// Purges is set on the fence of a purge: all numbers below Low are purged when the low mark is
	// raised to it.
	Purges bool
	// cut is the result of Cut, or nil. As a pointer it takes a quarter of the memory in the slots
	// of events, which are never cut.
	cut *Batch
}

// Cut returns the atomic write whose members a deletion has cut, if the slot is the tombstone of
// one of them. It equals the LowMark.Cut of that deletion. A JVM can replace that low mark.
func (s Slot) Cut() Batch {
	if s.cut == nil {
		return Batch{}
	}
	return *s.cut
}

// Tombstone reports whether the slot is a tombstone, which a deleted event leaves.
func (s Slot) Tombstone() bool { return s.Event == nil && s.Expires != 0 }

// Seal reports whether the number is closed for good: it has no event, and no event can take it.
func (s Slot) Seal() bool { return s.Event == nil && s.Expires == 0 }

// ItemError names an attribute of a stored item that can't be read, and the reason.
type ItemError struct {
	Key       Key
	Attribute string
	Err       error
}

func (e *ItemError) Error() string {
	return fmt.Sprintf("item par=%q num=%d: attribute %q: %v", e.Key.Par, e.Key.Num, e.Attribute, e.Err)
}

func (e *ItemError) Unwrap() error { return e.Err }

// Reasons why an attribute can't be read.
var (
	ErrMissing   = errors.New("it is missing")
	ErrWrongType = errors.New("it has another type")
	ErrRange     = errors.New("its value is out of range")
	ErrMismatch  = errors.New("it contradicts the key")
)

// Attributes is DynamoDB's form of an item.
type Attributes = map[string]types.AttributeValue

// EncodeEvent returns the item of an event, exactly as the Pekko plug-in writes it, with the
// event's metadata, or, if it is enveloped, as Akka 1.1 did.
func (k Keys) EncodeEvent(e *Event) Attributes {
	key := k.Event(e.PersistenceID, e.SequenceNr)
	var item Attributes
	if e.Enveloped {
		item = key.Attributes()
		item[AttrPay] = binary(e.envelope())
	} else {
		item = e.split(key)
	}
	if e.Batch.IsBatch() {
		item[AttrIdx] = number(e.SequenceNr - e.Batch.Start)
		item[AttrCnt] = number(e.Batch.Last - e.Batch.Start)
	}
	return item
}

// splitValues are the values that every event in the split form has. They are allocated together,
// because a journal encodes every event that it writes.
type splitValues struct {
	par, pid, writer     types.AttributeValueMemberS
	num, seq, serializer types.AttributeValueMemberN
	bytes                types.AttributeValueMemberB
}

// split returns the item of an event in the split form.
func (e *Event) split(key Key) Attributes {
	var v splitValues
	v.par.Value, v.num.Value = key.Par, strconv.FormatInt(key.Num, 10)
	v.pid.Value, v.seq.Value = e.PersistenceID, strconv.FormatInt(e.SequenceNr, 10)
	v.writer.Value, v.serializer.Value = e.WriterUUID, strconv.FormatInt(int64(e.SerializerID), 10)
	v.bytes.Value = notNil(e.Bytes)
	item := Attributes{
		AttrPar: &v.par, AttrNum: &v.num, AttrPersistenceID: &v.pid, AttrSeq: &v.seq, AttrEvent: &v.bytes,
		AttrWriterUUID: &v.writer, AttrSerID: &v.serializer,
	}
	if e.SerializerManifest != "" {
		item[AttrSerManifest] = &types.AttributeValueMemberS{Value: e.SerializerManifest}
	}
	if e.Manifest != "" {
		item[AttrManifest] = &types.AttributeValueMemberS{Value: e.Manifest}
	}
	e.Metadata.put(item)
	return item
}

// EncodeTombstone returns the item of a deleted sequence number, which stays taken until expires,
// in seconds since 1970.
func (k Keys) EncodeTombstone(pid string, seq, expires int64) Attributes {
	item := k.EncodeSeal(pid, seq)
	item[AttrExpires] = number(expires)
	return item
}

// EncodeSeal returns the item that closes a sequence number for good.
func (k Keys) EncodeSeal(pid string, seq int64) Attributes {
	item := k.Event(pid, seq).Attributes()
	item[AttrIdx] = number(tombstoneMember)
	item[AttrCnt] = number(tombstoneMember)
	return item
}

// EncodeFence returns the item that takes a sequence number before the low mark is raised to low,
// beyond that number. It is a seal with the attribute low.
func (k Keys) EncodeFence(pid string, seq, low int64) Attributes {
	item := k.EncodeSeal(pid, seq)
	item[AttrLow] = number(low)
	return item
}

// EncodePurgeFence returns the fence of a purge that raises the low mark to low.
func (k Keys) EncodePurgeFence(pid string, seq, low int64) Attributes {
	item := k.EncodeFence(pid, seq, low)
	item[AttrPurged] = number(low - 1)
	return item
}

// WithCut adds to a tombstone or fence the atomic write that the deletion has cut, if any.
func WithCut(item Attributes, cut Batch) Attributes {
	if cut.IsBatch() {
		item[AttrCutStart] = number(cut.Start)
		item[AttrCutCnt] = number(cut.Last - cut.Start)
		item[AttrCutWriter] = &types.AttributeValueMemberS{Value: cut.WriterUUID}
	}
	return item
}

// Item returns the attributes of an item by name.
type Item interface {
	Get(name string) (types.AttributeValue, bool)
}

// mapped is an Item of Attributes.
type mapped Attributes

// Get returns the value of an attribute. It reports false if the item does not have the attribute.
func (m mapped) Get(name string) (types.AttributeValue, bool) {
	v, ok := m[name]
	return v, ok
}

// DecodeSlot decodes an item of partition p of persistence id pid. Errors are *ItemError.
func (k Keys) DecodeSlot(pid string, p int64, item Attributes) (Slot, error) {
	return k.Within(pid, p).DecodeSlot(mapped(item))
}

// Partition is one partition of a persistence id, for decoding many of its items.
type Partition struct {
	key, pid string
	number   int64
}

// Within returns partition p of a persistence id.
func (k Keys) Within(pid string, p int64) Partition { return Partition{k.Partition(pid, p), pid, p} }

// DecodeSlot decodes an item of the partition. Errors are *ItemError.
func (p Partition) DecodeSlot(item Item) (Slot, error) {
	r := reader{item: item, key: Key{Par: p.key}}
	r.key.Num = r.number(AttrNum)
	slot := Slot{SequenceNr: p.number*PartitionSize + r.key.Num}
	if r.err == nil && (r.key.Num < 0 || r.key.Num >= PartitionSize ||
		slot.SequenceNr < 0 || slot.SequenceNr > MaxSequenceNumber) {
		r.fail(AttrNum, ErrRange)
	}
	switch {
	case r.has(AttrEvent):
		slot.Event = r.event(slot.SequenceNr)
		if r.err == nil && slot.Event.PersistenceID != p.pid {
			r.fail(AttrPersistenceID, ErrMismatch)
		}
	case r.has(AttrPay):
		slot.Event = r.payEvent(p.pid, slot.SequenceNr)
	default:
		slot.Expires, slot.Low = r.optionalNumber(AttrExpires), r.optionalNumber(AttrLow)
		slot.Purges = r.has(AttrPurged)
		if cut := r.cut(); cut.IsBatch() {
			slot.cut = &cut
		}
	}
	return slot, r.err
}

// DecodeKey decodes the key of an item. Errors are *ItemError.
func DecodeKey(item Attributes) (Key, error) {
	r := reader{item: mapped(item)}
	r.key.Par = r.text(AttrPar)
	r.key.Num = r.number(AttrNum)
	return r.key, r.err
}

// BelongsTo reports whether an event can belong to a persistence id, by the id in the item. An item
// without an id can.
func BelongsTo(item Attributes, pid string) bool {
	stored, ok := item[AttrPersistenceID].(*types.AttributeValueMemberS)
	if !ok {
		if pay, ok := item[AttrPay].(*types.AttributeValueMemberB); ok {
			return payPersistenceID(pay.Value) == pid
		}
		return true
	}
	return stored.Value == pid
}

// IsClosed reports whether an item has the shape of a tombstone, seal or fence.
func IsClosed(item Attributes) bool {
	for _, name := range []string{AttrIdx, AttrCnt} {
		if n, ok := item[name].(*types.AttributeValueMemberN); !ok || n.Value != strconv.Itoa(tombstoneMember) {
			return false
		}
	}
	return true
}

// IsLowMark reports whether an item has the form of a mark, and not the form of an event, tombstone
// or seal.
func IsLowMark(item Attributes) bool {
	for _, name := range []string{AttrEvent, AttrPay, AttrIdx} {
		if _, ok := item[name]; ok {
			return false
		}
	}
	_, ok := item[AttrSeq].(*types.AttributeValueMemberN)
	return ok
}

// event decodes the attributes of an event in the split form.
func (r *reader) event(seq int64) *Event {
	e := &Event{
		SequenceNr:         seq,
		Bytes:              r.bytes(AttrEvent),
		PersistenceID:      r.text(AttrPersistenceID),
		WriterUUID:         r.text(AttrWriterUUID),
		SerializerID:       r.serializer(AttrSerID),
		SerializerManifest: r.optionalText(AttrSerManifest),
		Manifest:           r.optionalText(AttrManifest),
		Metadata:           r.metadata(),
	}
	if stored := r.number(AttrSeq); r.err == nil && stored != seq {
		r.fail(AttrSeq, ErrMismatch)
	}
	e.Batch = r.batch(seq, e.WriterUUID)
	return e
}

// batch decodes idx and cnt. An event without them is single.
func (r *reader) batch(seq int64, writer string) Batch {
	if !r.has(AttrIdx) && !r.has(AttrCnt) {
		return Batch{}
	}
	idx, cnt := r.number(AttrIdx), r.number(AttrCnt)
	if r.err == nil && (idx < 0 || idx >= seq) {
		r.fail(AttrIdx, ErrRange)
	}
	if r.err == nil && (cnt < idx || cnt > MaxSequenceNumber-(seq-idx)) {
		r.fail(AttrCnt, ErrRange)
	}
	if r.err != nil {
		return Batch{}
	}
	return Batch{Start: seq - idx, Last: seq - idx + cnt, WriterUUID: writer}
}

// SameEvent reports whether the event own is stored at its key, put by an earlier attempt: the
// whole contents of the item are the same. A writer UUID is drawn for each recovery, so the event
// of another writer differs. If a machine was restored from its memory image, two processes have
// the same writer. Then their events differ in the time or the metadata, which has the id of the
// command.
func SameEvent(stored Slot, own *Event) bool {
	e := stored.Event
	return e != nil && e.WriterUUID == own.WriterUUID && e.Batch == own.Batch &&
		string(e.Bytes) == string(own.Bytes) && e.SerializerID == own.SerializerID &&
		e.SerializerManifest == own.SerializerManifest && e.Manifest == own.Manifest &&
		(own.Enveloped || e.Metadata.Equal(&own.Metadata))
}

// Size returns the size of an item in bytes as DynamoDB counts it: names and values. It knows only
// the types of this layout.
func Size(item Attributes) int {
	size := 0
	for name, v := range item {
		size += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			size += len(v.Value)
		case *types.AttributeValueMemberB:
			size += len(v.Value)
		case *types.AttributeValueMemberN:
			size += numberSize(v.Value)
		case *types.AttributeValueMemberSS:
			for _, member := range v.Value {
				size += len(member)
			}
		case *types.AttributeValueMemberM:
			size += mapOverhead + len(v.Value) + Size(v.Value)
		}
	}
	return size
}

// IDsEntrySize returns the size in bytes of an item's entry in the index of persistence ids, which
// has only the keys of the item and of the index. It is 0 if the item does not have an entry. Most
// items of a native journal do not.
func IDsEntrySize(item Attributes, native bool) int {
	names := []string{AttrPar, AttrNum}
	if native {
		names = append(names, AttrIDsShard, AttrIDsKey)
	}
	entry := make(Attributes, len(names))
	for _, name := range names {
		value, ok := item[name]
		if !ok {
			return 0
		}
		entry[name] = value
	}
	return Size(entry)
}

// mapOverhead is the size that a map adds to its entries. Each entry also adds one byte.
const mapOverhead = 3

// numberSize returns the size of a number: one byte for each two significant digits, and one more.
// A minus sign takes another byte.
func numberSize(n string) int {
	digits, sign := len(n), 0
	if digits > 0 && n[0] == '-' {
		digits, sign = digits-1, 1
	}
	for digits > 1 && n[len(n)-1] == '0' {
		n, digits = n[:len(n)-1], digits-1
	}
	return (digits+1)/2 + 1 + sign
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func binary(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: notNil(b)} }

// notNil returns the value of a B. The SDK would encode nil as null, which is not a valid value.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// IsUTF8 reports whether texts can be stored unchanged. DynamoDB stores UTF-8 only, and the SDK
// replaces other bytes, so that two texts could become one.
func IsUTF8(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !utf8.ValidString(text) })
}

// reader decodes attributes of an item, and records the first error.
type reader struct {
	item Item
	key  Key
	err  error
}

func (r *reader) fail(attribute string, err error) {
	if r.err == nil {
		r.err = &ItemError{Key: r.key, Attribute: attribute, Err: err}
	}
}

func (r *reader) has(attribute string) bool {
	_, ok := r.item.Get(attribute)
	return ok
}

// attribute returns a value of type T. A missing value is an error.
func attribute[T types.AttributeValue](r *reader, name string) (T, bool) {
	v, ok := r.item.Get(name)
	if !ok {
		var none T
		r.fail(name, ErrMissing)
		return none, false
	}
	t, ok := v.(T)
	if !ok {
		r.fail(name, ErrWrongType)
	}
	return t, ok
}

func (r *reader) text(name string) string {
	v, ok := attribute[*types.AttributeValueMemberS](r, name)
	if !ok {
		return ""
	}
	return v.Value
}

func (r *reader) optionalText(name string) string {
	if !r.has(name) {
		return ""
	}
	return r.text(name)
}

func (r *reader) bytes(name string) []byte {
	v, ok := attribute[*types.AttributeValueMemberB](r, name)
	if !ok {
		return nil
	}
	return v.Value
}

func (r *reader) number(name string) int64 {
	v, ok := attribute[*types.AttributeValueMemberN](r, name)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		r.fail(name, ErrRange)
	}
	return n
}

func (r *reader) optionalNumber(name string) int64 {
	if !r.has(name) {
		return 0
	}
	return r.number(name)
}
