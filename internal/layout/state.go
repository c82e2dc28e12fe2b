package layout

import (
	"errors"
	"fmt"
	"math"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/clock"
)

// Attribute names of durable states, which are in the snapshot table. The value has the attributes
// of a snapshot: whole as a plug-in's, or in parts as in the split form.
const (
	AttrStateVersion      = "ver"
	AttrStateWriters      = "writers"
	AttrStateIDs          = "ids"
	AttrStatePartsVersion = "parts_ver"
)

// State is the decoded item of a durable state, the head. Its value is in the head or in parts.
type State struct {
	PersistenceID string
	// Version is the number of values that were recorded.
	Version int64
	// Writers are the last writers, in the form of package states. They differ after each put.
	Writers []byte
	// Time is the time of the last command, in microseconds since 1970.
	Time int64
	// IDs are the ids of commands, in the form of package entity.
	IDs []byte
	// Purged reports that the state has no value. The item stays, so that versions never start
	// again.
	Purged bool
	// Expiring reports that an earlier version of this package has purged the state. Its item
	// expires, and then versions start again at 1. A head that is stored anew does not expire.
	Expiring bool

	SerializerID int32
	Manifest     string
	Bytes        []byte
	// Parts is the number of items with the bytes, or 0 if the head has the bytes. Token separates
	// these items from the items of another put of the same version, which is PartsVersion. Stored
	// is the number of bytes. Sum is their SHA-256.
	Parts, PartsVersion, Token, Stored int64
	Sum                                []byte
	// Outside is the time before the payload was put outside of the journal, as in an Event.
	Outside *clock.Moment
}

// neverExpires is the expiry of a purged state, in seconds since 1970: the end of the year 9999.
// The attribute marks the state as purged, also for earlier versions.
const neverExpires = 253_402_300_799

// stateHeadNumber is the range key of a head. The parts of the state are below it. The numbers of
// snapshots are zero or higher, and the numbers of their parts are below the parts of all states.
const stateHeadNumber = "-1"

// StatePartNumber returns the range key of a part of a state, which has up to 36 digits. The number
// is lower for a higher version, and for a later part.
func StatePartNumber(version, token, part int64) string {
	return fmt.Sprintf("-%d%012d%05d", version, token, part)
}

// States returns the partition key of a state.
func (k Keys) States(pid string) string { return k.Journal + "-ST-" + pid }

// StateKey returns the key of a head.
func (k Keys) StateKey(pid string) Attributes { return k.stateItem(pid, stateHeadNumber) }

// StatePartKey returns the key of a part.
func (k Keys) StatePartKey(pid string, version, token, part int64) Attributes {
	return k.stateItem(pid, StatePartNumber(version, token, part))
}

func (k Keys) stateItem(pid, number string) Attributes {
	return Attributes{
		AttrPar:         &types.AttributeValueMemberS{Value: k.States(pid)},
		AttrSnapshotSeq: &types.AttributeValueMemberN{Value: number},
	}
}

// EncodeState returns the item of a head.
func (k Keys) EncodeState(s *State) Attributes {
	item := k.StateKey(s.PersistenceID)
	item[AttrStateVersion] = number(s.Version)
	item[AttrStateWriters] = binary(s.Writers)
	item[AttrTime] = number(s.Time)
	if len(s.IDs) > 0 {
		item[AttrStateIDs] = binary(s.IDs)
	}
	if s.Purged {
		item[AttrExpires] = number(neverExpires)
		return item
	}
	item[AttrSnapshotID] = number(int64(s.SerializerID))
	if s.Manifest != "" {
		item[AttrSnapshotManifest] = &types.AttributeValueMemberS{Value: s.Manifest}
	}
	if s.Parts == 0 {
		item[AttrSnapshotData] = binary(s.Bytes)
		return item
	}
	item[AttrSplitParts] = number(s.Parts)
	item[AttrStatePartsVersion] = number(s.PartsVersion)
	item[AttrSplitToken] = number(s.Token)
	item[AttrSplitBytes] = number(s.Stored)
	item[AttrSplitSum] = binary(s.Sum)
	return item
}

// EncodeStatePart returns the item of a part.
func (k Keys) EncodeStatePart(pid string, version, token, part int64, data []byte) Attributes {
	item := k.StatePartKey(pid, version, token, part)
	item[AttrSplitData] = binary(data)
	return item
}

// DecodeState decodes the item of a head. Errors are *ItemError.
func (k Keys) DecodeState(pid string, item Attributes) (*State, error) {
	r := k.stateReader(pid, item)
	s := &State{
		PersistenceID: pid,
		Version:       r.ranged(AttrStateVersion, math.MaxInt64),
		Writers:       r.bytes(AttrStateWriters),
		Time:          r.number(AttrTime),
		Purged:        r.has(AttrExpires),
	}
	if r.has(AttrStateIDs) {
		s.IDs = r.bytes(AttrStateIDs)
	}
	if s.Purged {
		s.Expiring = r.number(AttrExpires) != neverExpires
		return s, r.err
	}
	s.SerializerID, s.Manifest = r.serializer(AttrSnapshotID), r.optionalText(AttrSnapshotManifest)
	if !r.has(AttrSplitParts) {
		s.Bytes = r.bytes(AttrSnapshotData)
		return s, r.err
	}
	s.Parts = r.ranged(AttrSplitParts, MaxSplitParts)
	s.PartsVersion = r.ranged(AttrStatePartsVersion, math.MaxInt64)
	s.Token = r.ranged(AttrSplitToken, MaxSplitToken)
	s.Stored = r.ranged(AttrSplitBytes, math.MaxInt64)
	s.Sum = r.bytes(AttrSplitSum)
	if s.Parts == 0 {
		r.fail(AttrSplitParts, ErrRange)
	}
	return s, r.err
}

// DecodeStatePart decodes the bytes of a part. Errors are *ItemError.
func (k Keys) DecodeStatePart(pid string, item Attributes) ([]byte, error) {
	r := k.stateReader(pid, item)
	data := r.bytes(AttrSplitData)
	return data, r.err
}

// DamagedState returns the error of a state with an attribute that can't be read.
func (k Keys) DamagedState(pid, attribute string, err error) error {
	return &ItemError{Key: Key{Par: k.States(pid), Num: -1}, Attribute: attribute, Err: err}
}

// Reasons why the parts of a state do not match its head.
var (
	ErrPartMissing = errors.New("a part is missing")
	ErrChecksum    = errors.New("the bytes do not match the length and checksum in the head")
)

func (k Keys) stateReader(pid string, item Attributes) *reader {
	return &reader{item: mapped(item), key: Key{Par: k.States(pid), Num: -1}}
}
