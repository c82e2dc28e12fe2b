package layout

import (
	"hash/fnv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// HeaderVersion is the version of the stored format that this code reads and writes.
const HeaderVersion = 1

// The kinds of journals, as the header spells them.
const (
	KindNative = "native"
	KindShared = "shared"
)

// Names of the indexes that list persistence ids.
const (
	NativeIDsIndex = "ids-idx"
	SharedIDsIndex = "persistence-ids-idx"
)

// Header says how a journal is laid out. A table without one is a JVM's.
type Header struct {
	// Kind is KindNative or KindShared.
	Kind string
	// Shards is the number of shards of the marks, IDsShards that of the sparse ids index (0 in a shared journal).
	Shards, IDsShards int64
	Version           int64
	// FenceWindow is how long deleted numbers stay taken, in seconds. A header that does not say it
	// means DefaultFenceWindow.
	FenceWindow int64
}

// Fence windows in seconds: what a header means that does not say it, and the bounds of one that
// does.
const (
	DefaultFenceWindow = 24 * 60 * 60
	MinFenceWindow     = 60 * 60
	MaxFenceWindow     = 10 * 365 * 24 * 60 * 60
)

// EncodeHeader makes the header's item.
func (k Keys) EncodeHeader(h Header) Attributes {
	item := k.Header().Attributes()
	item[AttrKind] = &types.AttributeValueMemberS{Value: h.Kind}
	item[AttrShards] = number(h.Shards)
	item[AttrIDsShards] = number(h.IDsShards)
	item[AttrVersion] = number(h.Version)
	if h.FenceWindow != 0 && h.FenceWindow != DefaultFenceWindow {
		item[AttrFenceWindow] = number(h.FenceWindow)
	}
	return item
}

// DecodeHeader reads the header's item. The version is checked first: what an unknown version means by the others can't be
// known, so they are only read if it is this one. Errors are *ItemError.
func (k Keys) DecodeHeader(item Attributes) (Header, error) {
	r := reader{item: mapped(item), key: k.Header()}
	h := Header{Version: r.number(AttrVersion)}
	if r.err != nil || h.Version != HeaderVersion {
		return h, r.err
	}
	h.Kind, h.Shards, h.IDsShards = r.text(AttrKind), r.number(AttrShards), r.optionalNumber(AttrIDsShards)
	if h.FenceWindow = DefaultFenceWindow; r.has(AttrFenceWindow) {
		h.FenceWindow = r.number(AttrFenceWindow)
	}
	if r.err == nil && (h.FenceWindow < MinFenceWindow || h.FenceWindow > MaxFenceWindow) {
		r.fail(AttrFenceWindow, ErrRange)
	}
	if r.err == nil && h.Kind != KindNative && h.Kind != KindShared {
		r.fail(AttrKind, ErrRange)
	}
	if r.err == nil && (h.Shards < 1 || h.Shards > MaxShards) {
		r.fail(AttrShards, ErrRange)
	}
	if r.err == nil && (h.IDsShards < 0 || h.IDsShards > MaxShards || h.Kind == KindNative && h.IDsShards == 0) {
		r.fail(AttrIDsShards, ErrRange)
	}
	return h, r.err
}

// MaxShards bounds the number of shards: every recovery reads a high and a low mark for each.
const MaxShards = 10_000

// IDsAttributes are the attributes that enter a persistence id into the sparse ids index of a native journal. The shard
// spreads new ids over the index's partitions, so none of them is hot; the key sorts and tells journals apart, as no
// journal name holds a NUL.
func (k Keys) IDsAttributes(pid string, shards int64) Attributes {
	h := fnv.New32a()
	_, _ = h.Write([]byte(pid)) // a hash never fails
	return k.IDsAttributesOf(int64(h.Sum32())%shards, k.IDsKeyPrefix()+pid)
}

// IDsKeyPrefix is what the index keys of this journal's persistence ids begin with.
func (k Keys) IDsKeyPrefix() string { return k.Journal + "\x00" }

// IDsAttributesOf are a shard and a key of the sparse ids index in DynamoDB's form.
func (k Keys) IDsAttributesOf(shard int64, key string) Attributes {
	return Attributes{AttrIDsShard: number(shard), AttrIDsKey: &types.AttributeValueMemberS{Value: key}}
}
