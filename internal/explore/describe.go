package explore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// value is an attribute value in the protocol's JSON.
type value struct {
	S string `json:"S"`
	N string `json:"N"`
}

type item map[string]value

// body has the fields of the bodies of all operations of a journal.
type body struct {
	Item, Key                 item
	ConditionExpression       string
	ExpressionAttributeValues item
	Limit                     int
	RequestItems              map[string]json.RawMessage
	Statements                []statement[value]
}

// statement is an INSERT with its parameters.
type statement[V any] struct {
	Statement  string
	Parameters []V
}

var attributeName = regexp.MustCompile(`'([a-z_]+)':\?`)

// item returns the item that a statement inserts.
func (s statement[V]) item() map[string]V {
	inserted := map[string]V{}
	for i, name := range attributeName.FindAllStringSubmatch(s.Statement, -1) {
		if i < len(s.Parameters) {
			inserted[name[1]] = s.Parameters[i]
		}
	}
	return inserted
}

// describe returns the operation of a request, and a one-line description without the parts that
// differ from run to run.
func describe(message *http.Request, content []byte) (operation, label string) {
	_, operation, _ = strings.Cut(message.Header.Get("X-Amz-Target"), ".")
	var b body
	if err := json.Unmarshal(content, &b); err != nil {
		return operation, operation
	}
	switch operation {
	case "PutItem":
		label = b.Item.kind() + " " + b.Item.key()
	case "GetItem", "DeleteItem", "UpdateItem":
		label = b.Key.key()
	case "Query":
		label = b.ExpressionAttributeValues[":p"].S + " " + b.ExpressionAttributeValues[":lo"].N + " to " +
			b.ExpressionAttributeValues[":hi"].N
		if b.Limit > 0 {
			label += fmt.Sprintf(", %d", b.Limit)
		}
	case "BatchGetItem", "BatchWriteItem":
		label = batchLabel(b.RequestItems)
	case "BatchExecuteStatement":
		var all []string
		for _, s := range b.Statements {
			inserted := item(s.item())
			all = append(all, inserted.kind()+" "+inserted.key())
		}
		slices.Sort(all)
		label = strings.Join(all, ", ")
	}
	return operation, strings.TrimSpace(operation + " " + label)
}

// longestNumber is the maximum number of digits of a sequence number. The key of a snapshot's part
// has more digits, some of which are random.
const longestNumber = 20

// key formats the item's key. The key of a snapshot has seq instead of num.
func (i item) key() string {
	number := cmp.Or(i["num"].N, i["seq"].N)
	if len(number) > longestNumber {
		number = "part " + strings.TrimLeft(number[len(number)-5:], "0")
	}
	return i["par"].S + "/" + number
}

// kind returns the kind of an item, which follows from its attributes.
func (i item) kind() string {
	switch {
	case i["num"].N == "":
		return "snapshot"
	case i["event"] != value{} || i["writer_uuid"].S != "":
		return "event"
	case i["idx"].N != "" && i["expires"].N != "":
		return "tombstone"
	case i["idx"].N != "":
		return "seal"
	case i["expires"].N != "":
		return "expiring mark " + i["seq"].N
	}
	return "mark " + i["seq"].N
}

// batchLabel lists the items that a batch reads or writes.
func batchLabel(tables map[string]json.RawMessage) string {
	var all []string
	for _, raw := range tables {
		var reads struct{ Keys []item }
		var writes []struct {
			PutRequest    struct{ Item item }
			DeleteRequest struct{ Key item }
		}
		if json.Unmarshal(raw, &reads) == nil {
			for _, k := range reads.Keys {
				all = append(all, k.key())
			}
		}
		if json.Unmarshal(raw, &writes) == nil {
			for _, w := range writes {
				if w.PutRequest.Item != nil {
					all = append(all, w.PutRequest.Item.kind()+" "+w.PutRequest.Item.key())
				} else {
					all = append(all, "delete "+w.DeleteRequest.Key.key())
				}
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
