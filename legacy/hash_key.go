package legacy

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// hashKey is the layout with a hash key only. Writers in Go maintain these invariants:
//
//   - A high mark with the value n is put only by a writer that has put event n, or found it. A low
//     mark with the value n is put only before item n is removed, or after it was marked. Both
//     marks only rise, and no mark is ever removed.
//   - An event is acknowledged when the high mark of its shard is at its number n or above. Its
//     writer puts the mark if no other writer has done so before.
//   - Therefore at most one event is stored beyond the highest mark: its writer has not put the
//     mark yet, or got an unknown outcome. A search for the highest number also reads there, and a
//     recovery puts the mark before it continues.
//   - The key of a removed event is free again. A late writer that puts event n there finds the
//     high mark of its shard at n or above, and also the low mark, which was put before the item
//     was removed. It then removes its event again, and its append is a conflict. If the low mark
//     is lower, a recovery has found the event and put the high mark.
type hashKey struct {
	client      *dynamo.Client
	table       string
	prefix      string // the beginning of every key: the name of the journal and a dash, or empty
	shards      int64
	batch       int64 // number of keys in a request
	parallelism int
	// start runs a goroutine that Journal.Close waits for.
	start func(work func())
}

// The kinds of keys.
const (
	eventKind = "P"
	highKind  = "SH"
	lowKind   = "SL"
)

func (s *hashKey) key(kind, pid string, n int64) string {
	return s.prefix + kind + "-" + pid + "-" + strconv.FormatInt(n, 10)
}

func (s *hashKey) eventKey(pid string, seq int64) dynamo.Attributes {
	return dynamo.Attributes{attrKey: text(s.key(eventKind, pid, seq))}
}

func (s *hashKey) markKey(kind, pid string, seq int64) dynamo.Attributes {
	return dynamo.Attributes{attrKey: text(s.key(kind, pid, seq%s.shards))}
}

func keyOf(item dynamo.Attributes) string {
	if key, ok := item[attrKey].(*types.AttributeValueMemberS); ok {
		return key.Value
	}
	return ""
}
