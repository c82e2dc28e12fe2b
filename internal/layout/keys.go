// Package layout defines the attribute names, the key formats and the item forms of the current
// storage layout (Akka 1.x and Pekko 1.x), of the older `pay` form under the same keys, and of the
// items that this project adds. No other package knows them.
package layout

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// PartitionSize is the number of sequence numbers that share a partition key, and the distance
// between two high marks.
const PartitionSize = 100

// MaxSequenceNumber is the last sequence number of an event: one less than the largest int64. The
// low mark of an entity whose every event was deleted is one more, and can still be stored.
const MaxSequenceNumber = math.MaxInt64 - 1

// DefaultShards is the number of high and low mark items of a persistence id in a journal without a
// header, as in the plug-ins' configuration.
const DefaultShards = 10

// MaxKeyBytes is DynamoDB's limit for a partition key, and MaxRangeKeyBytes its limit for a sort
// key, of tables and indexes.
const (
	MaxKeyBytes      = 2048
	MaxRangeKeyBytes = 1024
)

// Key is the primary key of an item of the journal table.
type Key struct {
	Par string
	Num int64
}

// Attributes returns the key in the SDK's form. Its values are allocated together, because a
// recovery reads up to 20 marks.
func (k Key) Attributes() map[string]types.AttributeValue {
	var v struct {
		par types.AttributeValueMemberS
		num types.AttributeValueMemberN
	}
	v.par.Value, v.num.Value = k.Par, strconv.FormatInt(k.Num, 10)
	return map[string]types.AttributeValue{AttrPar: &v.par, AttrNum: &v.num}
}

// Fits reports whether an item can have the key. No item is stored at a key that does not fit.
func (k Key) Fits() bool { return len(k.Par) <= MaxKeyBytes }

// Keys builds the keys of a journal.
type Keys struct {
	// Journal is the journal name, the first part of every key.
	Journal string
	// Shards is the number of shards of the marks.
	Shards int64
}

// Event returns the key of an event, tombstone or seal.
func (k Keys) Event(pid string, seq int64) Key {
	return Key{Par: k.Partition(pid, seq/PartitionSize), Num: seq % PartitionSize}
}

// Partition returns the partition key of the sequence numbers p*PartitionSize to
// p*PartitionSize+99.
func (k Keys) Partition(pid string, p int64) string {
	return k.Journal + "-P-" + pid + "-" + strconv.FormatInt(p, 10)
}

// PartitionFits reports whether an item can be stored in a partition.
func (k Keys) PartitionFits(pid string, p int64) bool { return len(k.Partition(pid, p)) <= MaxKeyBytes }

// HighMark returns the key of the high mark in the block of seq.
func (k Keys) HighMark(pid string, seq int64) Key { return k.mark("-SH-", pid, seq) }

// LowMark returns the key of the low mark in the block of seq.
func (k Keys) LowMark(pid string, seq int64) Key { return k.mark("-SL-", pid, seq) }

// LowMarkBefore returns the key of the low mark in the block before the block of seq. A low mark
// that is above the value that a JVM reads is stored there. A JVM whose own low mark reaches seq
// puts a mark there only after it has used all other shards, so it does not replace this one.
func (k Keys) LowMarkBefore(pid string, seq int64) Key {
	return k.mark("-SL-", pid, (seq/PartitionSize+k.Shards-1)%k.Shards*PartitionSize)
}

// LowMarkNext returns the key of the low mark in the block after the block of seq.
func (k Keys) LowMarkNext(pid string, seq int64) Key {
	return k.mark("-SL-", pid, (seq/PartitionSize+1)%k.Shards*PartitionSize)
}

// LowMarkItem returns the key of a low mark.
func (k Keys) LowMarkItem(pid string, low LowMark) Key {
	if low.Ahead > 0 {
		return k.LowMarkBefore(pid, low.JVMSeq())
	}
	return k.LowMark(pid, low.JVMSeq())
}

func (k Keys) mark(kind, pid string, seq int64) Key {
	shard := (seq / PartitionSize) % k.Shards
	return Key{Par: k.Journal + kind + pid + "-" + strconv.FormatInt(shard, 10)}
}

// HighMarks returns the keys of the high mark in all shards, without keys that do not fit.
func (k Keys) HighMarks(pid string) []Key { return k.marks("-SH-", pid) }

// LowMarks returns the keys of the low mark in all shards, without keys that do not fit.
func (k Keys) LowMarks(pid string) []Key { return k.marks("-SL-", pid) }

func (k Keys) marks(kind, pid string) []Key {
	keys := make([]Key, 0, k.Shards)
	for shard := range k.Shards {
		if key := k.mark(kind, pid, shard*PartitionSize); key.Fits() {
			keys = append(keys, key)
		}
	}
	return keys
}

// Header returns the key of the journal header.
func (k Keys) Header() Key { return Key{Par: k.Journal + "-META"} }

// HighestBlock returns seq rounded down to a multiple of PartitionSize, the value of its high mark.
func HighestBlock(seq int64) int64 { return seq / PartitionSize * PartitionSize }

// CrossesBlock reports whether writing first..last needs a high mark, because one of the numbers is
// divisible by PartitionSize.
func CrossesBlock(first, last int64) bool { return (first-1)/PartitionSize != last/PartitionSize }

// Reasons why a name can't be part of a key.
var (
	ErrEmpty     = errors.New("it is empty")
	ErrTooLong   = errors.New("its longest key would be over DynamoDB's limit")
	ErrNoKey     = errors.New("even its shortest key is over DynamoDB's limit")
	ErrNotUTF8   = errors.New("it is not valid UTF-8")
	ErrNUL       = errors.New("it contains a NUL, which separates name and id in the ids index")
	ErrAmbiguous = errors.New("its keys could be taken for another journal's: it ends in -P, -SH, -SL, -ST or -META")
)

// longestMarkTail is the length of the longest suffix after a persistence id in a key: a dash and
// the 17 digits of the last partition.
const longestMarkTail = 1 + 17

// CheckPersistenceID returns an error if a persistence id can't be stored, now or at its last
// sequence number. limit is the smallest limit in bytes that applies to the attribute `par`.
func (k Keys) CheckPersistenceID(pid string, limit int) error {
	switch {
	case pid == "":
		return ErrEmpty
	case !IsUTF8(pid):
		return ErrNotUTF8
	case len(k.Journal)+len("-SH-")+len(pid)+longestMarkTail > limit:
		return ErrTooLong
	}
	return nil
}

// CheckReadable returns an error if nothing can be stored for a persistence id, not even by a
// writer that does not check its later keys, such as a plug-in.
func (k Keys) CheckReadable(pid string) error {
	switch {
	case pid == "":
		return ErrEmpty
	case !IsUTF8(pid):
		return ErrNotUTF8
	case !k.PartitionFits(pid, 0):
		return ErrNoKey
	}
	return nil
}

// CheckJournalName returns an error if a name can't be the name of a new journal.
func CheckJournalName(name string) error {
	if name == "" {
		return ErrEmpty
	}
	if !IsUTF8(name) {
		return ErrNotUTF8
	}
	if strings.Contains(name, "\x00") {
		return ErrNUL
	}
	if len(name)+len("-SH-")+1+longestMarkTail > MaxRangeKeyBytes {
		return ErrTooLong
	}
	for _, tail := range []string{"-P", "-SH", "-SL", "-ST", "-META"} {
		if strings.HasSuffix(name, tail) {
			return ErrAmbiguous
		}
	}
	return nil
}

// CheckIDsKey returns an error if a persistence id can't be listed in the sparse ids index of a
// native journal.
func (k Keys) CheckIDsKey(pid string) error {
	if len(k.IDsKeyPrefix())+len(pid) > MaxRangeKeyBytes {
		return ErrTooLong
	}
	return nil
}
