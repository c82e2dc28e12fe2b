package layout

import (
	"hash/fnv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The versions of the stored format that this code reads and writes. In version 1 of a native
// journal the low mark of a purge expired, and the numbers began again.
const (
	SharedVersion = 1
	NativeVersion = 2
)

// VersionOf returns the version in which this code stores journals of a kind.
func VersionOf(kind string) int64 {
	if kind == KindNative {
		return NativeVersion
	}
	return SharedVersion
}

// The kinds of journals, as in the header.
const (
	KindNative = "native"
	KindShared = "shared"
)

// Names of the indexes that list persistence ids.
const (
	NativeIDsIndex = "ids-idx"
	SharedIDsIndex = "persistence-ids-idx"
)

// Header describes the layout of a journal. A table without a header belongs to a JVM.
type Header struct {
	// Kind is KindNative or KindShared.
	Kind string
	// Shards is the number of shards of the marks. It is 1 in a native journal since NativeVersion,
	// because its low mark is one item.
	Shards int64
	// IDsShards is the number of shards of the sparse ids index, or 0 in a shared journal.
	IDsShards int64
	Version   int64
	// FenceWindow is the time for which deleted numbers stay taken, in seconds. DefaultFenceWindow
	// applies to a header without it.
	FenceWindow int64
}

// Fence windows in seconds: the default for a header without one, and the limits.
const (
	DefaultFenceWindow = 24 * 60 * 60
	MinFenceWindow     = 60 * 60
	MaxFenceWindow     = 10 * 365 * 24 * 60 * 60
)

// KnowledgePart divides the fence window: a process may rely on its reads when it writes, for half
// of the window. After the whole window, a number or a state that was deleted meanwhile may be free
// again.
const KnowledgePart = 2

// EncodeHeader returns the item of the header.
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

// DecodeHeader decodes the item of the header. It checks the version first, and decodes the other
// attributes only if the version is not later than NativeVersion. Errors are *ItemError.
func (k Keys) DecodeHeader(item Attributes) (Header, error) {
	r := reader{item: mapped(item), key: k.Header()}
	h := Header{Version: r.number(AttrVersion)}
	if r.err != nil || h.Version < 1 || h.Version > NativeVersion {
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
	oneShard := h.Kind == KindNative && h.Version == NativeVersion
	if r.err == nil && (h.Shards < 1 || h.Shards > MaxShards || oneShard && h.Shards > 1) {
		r.fail(AttrShards, ErrRange)
	}
	if r.err == nil && (h.IDsShards < 0 || h.IDsShards > MaxShards || h.Kind == KindNative && h.IDsShards == 0) {
		r.fail(AttrIDsShards, ErrRange)
	}
	return h, r.err
}

// MaxShards limits the number of shards: every recovery reads a high and a low mark for each.
const MaxShards = 10_000

// IDsAttributes returns the attributes that add a persistence id to the sparse ids index of a
// native journal. The shard spreads new ids over the partitions of the index, so that no partition
// is hot. The key sorts the ids, and separates journals: a journal name can't contain a NUL.
func (k Keys) IDsAttributes(pid string, shards int64) Attributes {
	h := fnv.New32a()
	_, _ = h.Write([]byte(pid)) // a hash never fails
	return k.IDsAttributesOf(int64(h.Sum32())%shards, k.IDsKeyPrefix()+pid)
}

// IDsKeyPrefix is the prefix of the index keys of this journal's persistence ids.
func (k Keys) IDsKeyPrefix() string { return k.Journal + "\x00" }

// IDsAttributesOf returns a shard and a key of the sparse ids index in DynamoDB's form.
func (k Keys) IDsAttributesOf(shard int64, key string) Attributes {
	return Attributes{AttrIDsShard: number(shard), AttrIDsKey: &types.AttributeValueMemberS{Value: key}}
}
