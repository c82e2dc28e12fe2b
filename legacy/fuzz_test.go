package legacy

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// parsed returns an item that is given in DynamoDB JSON. It reports false if the text is not such
// an item.
func parsed(data []byte) (dynamo.Attributes, bool) {
	var raw map[string]struct {
		S, N *string
		B    *[]byte
		SS   []string
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, false
	}
	item := dynamo.Attributes{}
	for name, v := range raw {
		switch {
		case v.S != nil:
			item[name] = &types.AttributeValueMemberS{Value: *v.S}
		case v.N != nil:
			item[name] = &types.AttributeValueMemberN{Value: *v.N}
		case v.B != nil:
			item[name] = &types.AttributeValueMemberB{Value: *v.B}
		case v.SS != nil:
			item[name] = &types.AttributeValueMemberSS{Value: v.SS}
		default:
			item[name] = &types.AttributeValueMemberNULL{Value: true}
		}
	}
	return item, true
}

// goldenItems returns the items of all golden journals, in DynamoDB JSON.
func goldenItems(tb testing.TB) [][]byte {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*", "*.json"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("there are no golden files (%v)", err)
	}
	var all [][]byte
	for _, file := range files {
		if strings.HasSuffix(file, "over-shards.json") {
			continue // thousands of the same kind
		}
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		var golden struct{ Tables map[string][]json.RawMessage }
		if err := json.Unmarshal(data, &golden); err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		for _, items := range golden.Tables {
			for _, item := range items {
				all = append(all, item)
			}
		}
	}
	return all
}

// FuzzDecode decodes any item as an event. An event that can be decoded must encode to an item that
// decodes to the same event.
func FuzzDecode(f *testing.F) {
	for _, item := range goldenItems(f) {
		var key struct{ Key struct{ S string } }
		if err := json.Unmarshal(item, &key); err != nil {
			f.Fatal(err)
		}
		parts := strings.Split(key.Key.S, "-") // journal-P-s-name-number
		f.Add(strings.Join(parts[2:len(parts)-1], "-"), int64(len(parts[len(parts)-1])), item)
		f.Add("s-one", int64(1), item)
	}
	f.Add("pid", int64(1), []byte(`{"payload":{"B":""},"deleted":{"N":"1"}}`))
	f.Add("pid", int64(1), []byte(`{"payload":{"S":""},"confirmations":{"S":"c"}}`))
	f.Fuzz(func(t *testing.T, pid string, seq int64, data []byte) {
		item, ok := parsed(data)
		if !ok {
			t.Skip("no item")
		}
		e, isEvent, err := decode(pid, seq, "key", item)
		if err != nil {
			if named, ok := errors.AsType[*ItemError](err); !ok || named.Attribute == "" ||
				named.SequenceNumber != seq {
				t.Fatalf("the error %v names no attribute", err)
			}
			return
		}
		if isEvent != (item[attrPayload] != nil) {
			t.Fatalf("an item is taken for an event, or is not: %v", item)
		}
		if !isEvent {
			return
		}
		if e.PersistenceID != pid || e.SequenceNumber != seq {
			t.Fatalf("at %d of %q there is event %d of %q", seq, pid, e.SequenceNumber, e.PersistenceID)
		}
		for _, l := range Layouts() {
			again, _, err := decode(pid, seq, "key", encode(l, dynamo.Attributes{}, &e.Event))
			if err != nil {
				t.Fatalf("%s: %+v is encoded to an item that can't be read: %v", l, e, err)
			}
			if want := e.Event; string(again.Bytes) != string(want.Bytes) ||
				again.SerializerID != want.SerializerID || again.SerializerManifest != want.SerializerManifest {
				t.Fatalf("%s: %+v is encoded and read as %+v", l, e, again)
			}
		}
	})
}

// FuzzIDOf reads the id in any key. An id that it finds must make the same key again.
func FuzzIDOf(f *testing.F) {
	for _, key := range []string{"journal-P-a-1", "journal-SH-a-b-0", "journal-P--1", "journal-P-a-01", "P-a-1",
		"journal-SL-a-1", "journal-P-a-9223372036854775808", "-", ""} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		for _, prefix := range []string{"journal-", ""} {
			s := &hashKey{prefix: prefix, shards: 7}
			pid := s.idOf(dynamo.Attributes{attrKey: text(key)})
			if pid == "" {
				continue
			}
			head, number := key[:strings.LastIndexByte(key, '-')], key[strings.LastIndexByte(key, '-'):]
			if !strings.HasPrefix(key, prefix) || !strings.HasSuffix(head, "-"+pid) || number == "-" {
				t.Fatalf("%q is taken for a key of %q", key, pid)
			}
		}
	})
}

// TestGolden_EncodesToSameBytes decodes and encodes every golden event.
func TestGolden_EncodesToSameBytes(t *testing.T) {
	t.Parallel()
	events := 0
	for _, data := range goldenItems(t) {
		item, _ := parsed(data)
		parts := strings.Split(keyOf(item), "-")
		if parts[1] != eventKind || item[attrPayload] == nil {
			continue
		}
		s := &hashKey{prefix: "journal-", shards: DefaultSequenceShards}
		pid := s.idOf(item)
		seq, err := sequenceOf("", dynamo.Attributes{attrSequence: &types.AttributeValueMemberN{Value: parts[len(parts)-1]}})
		if err != nil {
			t.Fatal(err)
		}
		e, isEvent, err := decode(pid, seq, keyOf(item), item)
		if err != nil || !isEvent {
			t.Errorf("decode %q: %v", keyOf(item), err)
			continue
		}
		delete(item, attrConfirmations) // the fields that were changed later
		item[attrDeleted] = text(notDeleted)
		if again := encode(HashKey, s.eventKey(pid, seq), &e.Event); !reflect.DeepEqual(again, item) {
			t.Errorf("event %d of %q is encoded as %v, the plug-in wrote %v", seq, pid, again, item)
		}
		events++
	}
	if events < 50 {
		t.Errorf("there were only %d events", events)
	}
}
