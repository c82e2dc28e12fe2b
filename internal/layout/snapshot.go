package layout

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/serialization"
)

// Attribute names of the snapshot table, and its local index by time.
const (
	AttrSnapshotSeq      = "seq"
	AttrSnapshotTS       = "ts"
	AttrSnapshotData     = "pay_data"
	AttrSnapshotID       = "ser_id"
	AttrSnapshotManifest = "ser_manifest"
	SnapshotTSIndex      = "ts-idx"

	AttrSplitVersion = "split_version"
	AttrSplitTS      = "split_ts"
	AttrSplitToken   = "split_token"
	AttrSplitParts   = "split_parts"
	AttrSplitBytes   = "split_bytes"
	AttrSplitSum     = "split_sha256"
	AttrSplitZstd    = "split_zstd"
	AttrSplitData    = "split_data"
)

// Snapshot is the decoded item of a snapshot.
type Snapshot struct {
	PersistenceID string
	SequenceNr    int64
	// Timestamp is in milliseconds since 1970.
	Timestamp    int64
	SerializerID int32
	Manifest     string
	Bytes        []byte
	// Outside is the time before the payload was put outside of the journal, as in an Event.
	Outside *clock.Moment
}

// SplitHead is the item of a snapshot in the split form. Its key is above every number that a
// plug-in can ask for, and it lacks the attribute of their index. It is written after its parts,
// and only the parts that it names count.
type SplitHead struct {
	Snapshot // Bytes are set when Parts is 0
	// Token separates the parts of this save from the parts of another save of the same number.
	Token int64
	// Parts is the number of items with the bytes, or 0 if the head has the bytes.
	Parts int64
	// Stored is the number of bytes stored. Sum is their SHA-256.
	Stored int64
	Sum    []byte
	// Zstd reports that the stored bytes are compressed.
	Zstd bool
}

// splitVersion is the version of the split form.
const splitVersion = 1

// Bounds of the split form.
const (
	MaxSplitParts = 99_999
	MaxSplitToken = 999_999_999_999
)

// Snapshots returns the partition key of a persistence id's snapshots.
func (k Keys) Snapshots(pid string) string { return k.Journal + "-P-" + pid }

// The prefixes of the numbers of heads and parts. The digits of the sequence number follow. In the
// number of a part, the digits of the token and the part follow after that.
const (
	splitHeadPrefix, splitSeqDigits  = "1", 19
	splitPartPrefix, splitPartDigits = "-1", splitSeqDigits + 12 + 5
)

// SplitHeadNumber returns the range key of a head. It is above all 64-bit numbers, in the order of
// sequence numbers.
func SplitHeadNumber(seq int64) string { return fmt.Sprintf(splitHeadPrefix+"%019d", seq) }

// SplitPartNumber returns the range key of a part. It is below zero, and the parts of one save are
// adjacent. It has 37 of the 38 digits that a number can have.
func SplitPartNumber(seq, token, part int64) string {
	return fmt.Sprintf(splitPartPrefix+"%019d%012d%05d", seq, token, part)
}

// SnapshotForm is the role of an item of the snapshot table.
type SnapshotForm int

// The forms, in the order of ascending keys: a part, a whole snapshot, the head of a split one.
const (
	SplitPartItem SnapshotForm = iota
	WholeSnapshotItem
	SplitHeadItem
)

// SnapshotItem returns the form of an item and the sequence number of its snapshot, by its key. An
// item with any other key counts as a whole snapshot with a number beyond all others.
func SnapshotItem(item Attributes) (SnapshotForm, int64) {
	v, ok := item[AttrSnapshotSeq].(*types.AttributeValueMemberN)
	if !ok {
		return WholeSnapshotItem, math.MaxInt64
	}
	number := v.Value
	for _, split := range []struct {
		form   SnapshotForm
		prefix string
		digits int
	}{{SplitHeadItem, splitHeadPrefix, splitSeqDigits}, {SplitPartItem, splitPartPrefix, splitPartDigits}} {
		if digits, ok := strings.CutPrefix(number, split.prefix); ok && len(digits) == split.digits {
			if seq, err := strconv.ParseUint(digits[:splitSeqDigits], 10, 63); err == nil {
				return split.form, int64(seq)
			}
		}
	}
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		seq = math.MaxInt64
	}
	return WholeSnapshotItem, seq
}

// SnapshotTimestamp returns the timestamp of the item of a whole snapshot or of a head. It reports
// false if the timestamp is missing.
func SnapshotTimestamp(item Attributes) (int64, bool) {
	name := AttrSnapshotTS
	if form, _ := SnapshotItem(item); form == SplitHeadItem {
		name = AttrSplitTS
	}
	v, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, false
	}
	ts, err := strconv.ParseInt(v.Value, 10, 64)
	return ts, err == nil
}

// SnapshotKey returns the key of an item of the snapshot table.
func (k Keys) SnapshotKey(pid, number string) Attributes {
	return Attributes{
		AttrPar:         &types.AttributeValueMemberS{Value: k.Snapshots(pid)},
		AttrSnapshotSeq: &types.AttributeValueMemberN{Value: number},
	}
}

// EncodeSnapshot returns the item of a snapshot exactly as the Pekko plug-in writes it.
func (k Keys) EncodeSnapshot(s *Snapshot) Attributes {
	item := k.bareSnapshot(s)
	item[AttrSnapshotData] = binary(s.Bytes)
	item[AttrSnapshotID] = number(int64(s.SerializerID))
	if s.Manifest != "" {
		item[AttrSnapshotManifest] = &types.AttributeValueMemberS{Value: s.Manifest}
	}
	return item
}

// EncodeEnvelope returns the item of a snapshot as Akka's plug-in 1.1 writes it.
func (k Keys) EncodeEnvelope(s *Snapshot) (Attributes, error) {
	data := serialization.Payload{SerializerID: s.SerializerID, Manifest: s.Manifest, Bytes: s.Bytes}
	b, err := serialization.Snapshot{Data: data}.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode a snapshot envelope: %w", err)
	}
	item := k.bareSnapshot(s)
	item[AttrPay] = &types.AttributeValueMemberB{Value: b}
	return item, nil
}

// bareSnapshot returns the item of a snapshot without its bytes.
func (k Keys) bareSnapshot(s *Snapshot) Attributes {
	item := k.SnapshotKey(s.PersistenceID, strconv.FormatInt(s.SequenceNr, 10))
	item[AttrSnapshotTS] = number(s.Timestamp)
	return item
}

// EncodeSplitHead returns the item of a snapshot in the split form.
func (k Keys) EncodeSplitHead(h *SplitHead) Attributes {
	item := k.SnapshotKey(h.PersistenceID, SplitHeadNumber(h.SequenceNr))
	item[AttrSplitVersion] = number(splitVersion)
	item[AttrSplitTS] = number(h.Timestamp)
	item[AttrSplitToken] = number(h.Token)
	item[AttrSplitParts] = number(h.Parts)
	item[AttrSplitBytes] = number(h.Stored)
	item[AttrSplitSum] = &types.AttributeValueMemberB{Value: h.Sum}
	item[AttrSnapshotID] = number(int64(h.SerializerID))
	if h.Manifest != "" {
		item[AttrSnapshotManifest] = &types.AttributeValueMemberS{Value: h.Manifest}
	}
	if h.Zstd {
		item[AttrSplitZstd] = &types.AttributeValueMemberBOOL{Value: true}
	}
	if h.Parts == 0 {
		item[AttrSplitData] = binary(h.Bytes)
	}
	return item
}

// EncodeSplitPart returns the item of a part.
func (k Keys) EncodeSplitPart(pid string, seq, token, part int64, data []byte) Attributes {
	item := k.SnapshotKey(pid, SplitPartNumber(seq, token, part))
	item[AttrSplitData] = binary(data)
	return item
}

// DecodeSnapshot decodes a snapshot in either of the plug-ins' forms. Errors are *ItemError.
func (k Keys) DecodeSnapshot(pid string, item Attributes) (Snapshot, error) {
	r := k.snapshotReader(pid, item)
	s := Snapshot{PersistenceID: pid, SequenceNr: r.number(AttrSnapshotSeq), Timestamp: r.number(AttrSnapshotTS)}
	if r.has(AttrSnapshotData) {
		s.Bytes = r.bytes(AttrSnapshotData)
		s.SerializerID = r.serializer(AttrSnapshotID)
		s.Manifest = r.optionalText(AttrSnapshotManifest)
	} else {
		r.envelope(&s)
	}
	return s, r.err
}

// DecodeSplitHead decodes the head of a snapshot in the split form. Errors are *ItemError.
func (k Keys) DecodeSplitHead(pid string, item Attributes) (SplitHead, error) {
	r := k.snapshotReader(pid, item)
	if r.number(AttrSplitVersion) != splitVersion {
		r.fail(AttrSplitVersion, errors.New("a newer release wrote it"))
	}
	h := SplitHead{
		Snapshot: Snapshot{
			PersistenceID: pid,
			SequenceNr:    r.headNumber(item),
			Timestamp:     r.number(AttrSplitTS),
			SerializerID:  r.serializer(AttrSnapshotID),
			Manifest:      r.optionalText(AttrSnapshotManifest),
		},
		Token:  r.ranged(AttrSplitToken, MaxSplitToken),
		Parts:  r.ranged(AttrSplitParts, MaxSplitParts),
		Stored: r.ranged(AttrSplitBytes, math.MaxInt64),
		Sum:    r.bytes(AttrSplitSum),
		Zstd:   r.has(AttrSplitZstd),
	}
	if r.err == nil && h.Parts == 0 {
		h.Bytes = r.bytes(AttrSplitData)
	}
	return h, r.err
}

// DecodeSplitPart decodes the bytes of a part. Errors are *ItemError.
func (k Keys) DecodeSplitPart(pid string, item Attributes) ([]byte, error) {
	r := k.snapshotReader(pid, item)
	data := r.bytes(AttrSplitData)
	return data, r.err
}

// DecodeSplitParts decodes only the attributes of a head that name its parts. Errors are
// *ItemError.
func (k Keys) DecodeSplitParts(pid string, item Attributes) (seq, token, parts int64, err error) {
	r := k.snapshotReader(pid, item)
	seq, token, parts = r.headNumber(item), r.ranged(AttrSplitToken, MaxSplitToken), r.ranged(AttrSplitParts, MaxSplitParts)
	return seq, token, parts, r.err
}

// snapshotReader returns a reader of an item of the snapshot table. Its errors name the sequence
// number of the snapshot.
func (k Keys) snapshotReader(pid string, item Attributes) *reader {
	_, seq := SnapshotItem(item)
	return &reader{item: mapped(item), key: Key{Par: k.Snapshots(pid), Num: seq}}
}

// headNumber returns the sequence number in the key of a head.
func (r *reader) headNumber(item Attributes) int64 {
	form, seq := SnapshotItem(item)
	if form != SplitHeadItem {
		r.fail(AttrSnapshotSeq, ErrRange)
	}
	return seq
}

func (r *reader) serializer(name string) int32 {
	id := r.number(name)
	if r.err == nil && id != int64(int32(id)) {
		r.fail(name, ErrRange)
	}
	return int32(id)
}

// ranged decodes a number from 0 to most.
func (r *reader) ranged(name string, most int64) int64 {
	n := r.number(name)
	if r.err == nil && (n < 0 || n > most) {
		r.fail(name, ErrRange)
	}
	return n
}

// envelope decodes the form of Akka 1.1.
func (r *reader) envelope(s *Snapshot) {
	b := r.bytes(AttrPay)
	if r.err != nil {
		return
	}
	envelope, err := serialization.ParseSnapshot(b)
	if err != nil {
		r.fail(AttrPay, err)
	}
	s.SerializerID, s.Manifest, s.Bytes = envelope.Data.SerializerID, envelope.Data.Manifest, envelope.Data.Bytes
}
