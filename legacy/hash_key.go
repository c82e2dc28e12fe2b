package legacy

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// hashKey is the layout with a hash key only. What holds in it among writers in Go:
//
//   - A high mark with the value n is put only by who has put, or found, the event n; a low mark with the value n only before
//     the item at n is removed, or after it was marked. Both only move up, and no mark is ever removed.
//   - An event is acknowledged when the high mark of its number is at n or above. Its writer puts it, if nobody has before.
//   - So beyond the highest mark at most the one event stands whose writer has not come to put the mark, or was told that the
//     outcome is unknown. Who looks for the highest number looks there, too; who recovers puts the mark before going on.
//   - A number whose event was removed is free again by its key. A writer that comes late and puts there finds the high mark of
//     its number at n or above already, and the low mark as well, which it had to be before the item at n was removed: it
//     takes its event back and has lost. Without the low mark it was a recovery that has found the event, and marked it.
type hashKey struct {
	client      *dynamo.Client
	table       string
	prefix      string // of every key: the journal's name and a dash, or nothing
	shards      int64
	batch       int64 // keys of one request
	parallelism int
	// start runs a goroutine that the end of the journal waits for.
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
