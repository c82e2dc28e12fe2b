package serialization_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/dynajournal/dynajournal/serialization"
)

// The classes of the golden data.
type (
	jsonOrder struct {
		ID     string  `json:"id"`
		Amount int32   `json:"amount"`
		Note   *string `json:"note"`
	}
	versionedOrder struct {
		ID     string `json:"id"`
		Amount int32  `json:"amount"`
	}
	cborOrder struct {
		ID     string `cbor:"id"`
		Amount int32  `cbor:"amount"`
		Note   string `cbor:"note"`
	}
)

func goldenRegistry(tb testing.TB, opts ...serialization.Option) *serialization.Registry {
	tb.Helper()
	r := serialization.NewRegistry(opts...)
	for _, err := range []error{
		serialization.JSON[jsonOrder](r, "golden.Events$JsonOrder"),
		serialization.JSON[versionedOrder](r, "golden.Events$VersionedOrder", serialization.Version(2)),
		serialization.CBOR[cborOrder](r, "golden.Events$CborOrder"),
		serialization.Protobuf[*wrapperspb.StringValue](r, "com.google.protobuf.StringValue"),
	} {
		if err != nil {
			tb.Fatal(err)
		}
	}

	return r
}

// attribute is a value in DynamoDB JSON, of the types the golden items have.
type attribute struct {
	S, N string
	B    []byte
}

type goldenItem map[string]attribute

// number returns an attribute of type N, and 0 if absent.
func (item goldenItem) number(tb testing.TB, name string) int64 {
	tb.Helper()
	if item[name].N == "" {
		return 0
	}
	n, err := strconv.ParseInt(item[name].N, 10, 64)
	if err != nil {
		tb.Fatal(err)
	}

	return n
}

type goldenStep struct {
	Op     string
	Seq    int64
	Event  *goldenEvent
	Events []goldenEvent
}

type goldenEvent struct {
	T string
	V json.RawMessage
	N int
}

// value returns the Go value of an event of the golden data.
func (e goldenEvent) value(tb testing.TB) any {
	tb.Helper()
	into := func(v any) {
		if err := json.Unmarshal(e.V, v); err != nil {
			tb.Fatalf("golden event of kind %s: %v", e.T, err)
		}
	}
	switch e.T {
	case "string":
		return unmarshalled[string](into)
	case "bytes":
		return unmarshalled[[]byte](into)
	case "bytestring":
		return unmarshalled[serialization.ByteString](into)
	case "long":
		return unmarshalled[int64](into)
	case "int":
		return unmarshalled[int32](into)
	case "bool":
		return unmarshalled[bool](into)
	case "protobuf":
		return wrapperspb.String(unmarshalled[string](into))
	case "json", "json-big":
		order := unmarshalled[jsonOrder](into)
		if e.T == "json-big" {
			const word = "compressible "
			note := strings.Repeat(word, (e.N+len(word)-1)/len(word))
			order.Note = &note
		}

		return order
	case "json-v2":
		return unmarshalled[versionedOrder](into)
	case "cbor":
		var order struct {
			ID     string
			Amount int32
			Note   string
		}
		into(&order)

		return cborOrder(order)
	case "domain":
		return "D:" + unmarshalled[string](into)
	default:
		return nil
	}
}

func unmarshalled[T any](into func(any)) T {
	var v T
	into(&v)

	return v
}

// goldenValue is one stored value of the golden data.
type goldenValue struct {
	name string
	kind string
	// value is nil for the classes that Java serialization wrote.
	value   any
	payload serialization.Payload
	// envelope is the whole attribute if it contains more than the payload.
	envelope []byte
}

// golden returns the events of a scenario and the snapshots, in order.
func golden(tb testing.TB, path string) []goldenValue {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "golden", path))
	if err != nil {
		tb.Fatal(err)
	}
	var scenario struct {
		Steps  []goldenStep
		Tables map[string][]goldenItem
	}
	if err := json.Unmarshal(data, &scenario); err != nil {
		tb.Fatal(err)
	}
	var events []goldenEvent
	for _, step := range scenario.Steps {
		events = append(events, step.Events...)
		if step.Event != nil {
			events = append(events, *step.Event)
		}
	}
	var items []goldenItem
	for _, table := range scenario.Tables {
		items = append(items, table...)
	}
	if len(items) != len(events) {
		tb.Fatalf("%s: %d items for %d values", path, len(items), len(events))
	}
	values := make([]goldenValue, len(items))
	for i, event := range events {
		values[i] = goldenValue{
			name:  path + "/" + strconv.Itoa(i+1) + "-" + event.T,
			kind:  event.T,
			value: event.value(tb),
		}
		values[i].read(tb, items[i])
	}

	return values
}

func (v *goldenValue) read(tb testing.TB, item goldenItem) {
	tb.Helper()
	switch {
	case item["pay"].B != nil && item["seq"].N == "":
		repr, err := serialization.ParseRepr(item["pay"].B)
		if err != nil {
			tb.Fatalf("%s: %v", v.name, err)
		}
		v.payload, v.envelope = repr.Payload, item["pay"].B
	case item["pay"].B != nil:
		snapshot, err := serialization.ParseSnapshot(item["pay"].B)
		if err != nil {
			tb.Fatalf("%s: %v", v.name, err)
		}
		v.payload, v.envelope = snapshot.Data, item["pay"].B
	case item["ev_ser_id"].N != "":
		v.payload = serialization.Payload{
			SerializerID: int32(item.number(tb, "ev_ser_id")),
			Manifest:     item["ev_ser_manifest"].S,
			Bytes:        item["event"].B,
		}
	default:
		v.payload = serialization.Payload{
			SerializerID: int32(item.number(tb, "ser_id")),
			Manifest:     item["ser_manifest"].S,
			Bytes:        item["pay_data"].B,
		}
	}
}

func allGolden(tb testing.TB) []goldenValue {
	tb.Helper()
	var all []goldenValue
	for _, path := range []string{
		"pekko-1.1.0/payload-kinds.json", "pekko-1.1.0/snapshot-kinds.json",
		"akka-1.1.1/payload-kinds.json", "akka-1.1.1/snapshots.json",
	} {
		all = append(all, golden(tb, path)...)
	}

	return all
}

func equal(a, b any) bool {
	if m, is := a.(proto.Message); is {
		n, is := b.(proto.Message)

		return is && proto.Equal(m, n)
	}

	return reflect.DeepEqual(a, b)
}

func TestGoldenValuesDecodeToWhatWasWritten(t *testing.T) {
	r := goldenRegistry(t)
	for _, v := range allGolden(t) {
		t.Run(v.name, func(t *testing.T) {
			got, err := r.Decode(t.Context(), v.payload)
			if err != nil {
				t.Fatal(err)
			}
			if object, is := got.(serialization.JavaObject); is {
				checkJavaObject(t, v, object)

				return
			}
			if !equal(got, v.value) {
				t.Fatalf("decoded %#v, written %#v", got, v.value)
			}
		})
	}
}

func checkJavaObject(t *testing.T, v goldenValue, got serialization.JavaObject) {
	t.Helper()
	classes := map[string]string{
		"java":   "golden.Events$JavaOrder",
		"tagged": "org.apache.pekko.persistence.journal.Tagged",
	}
	if v.payload.SerializerID != serialization.IDJava || got.Class != classes[v.kind] || !bytes.Equal(got.Bytes, v.payload.Bytes) {
		t.Fatalf("decoded as an object of class %q with %d bytes", got.Class, len(got.Bytes))
	}
}

func TestGoldenValuesEncodeToTheSameBytes(t *testing.T) {
	r := goldenRegistry(t)
	for _, v := range allGolden(t) {
		t.Run(v.name, func(t *testing.T) {
			value := v.value
			if v.payload.SerializerID == serialization.IDJava {
				opaque, err := r.Decode(t.Context(), v.payload)
				if err != nil {
					t.Fatal(err)
				}
				if value = opaque; v.kind == "bool" {
					value = v.payload // a value that was decoded is written in the current form
				}
			}
			got, err := r.Encode(t.Context(), value)
			if err != nil {
				t.Fatal(err)
			}
			want := v.payload
			if v.kind == "json-big" {
				// Deflate lets the writer choose the compressed form.
				got.Bytes, want.Bytes = gunzip(t, got.Bytes), gunzip(t, want.Bytes)
			}
			if !got.Equal(want) {
				t.Fatalf("encoded %d %q %q, golden has %d %q %q",
					got.SerializerID, got.Manifest, got.Bytes, want.SerializerID, want.Manifest, want.Bytes)
			}
		})
	}
}

func gunzip(t *testing.T, data []byte) []byte {
	t.Helper()
	const header = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
	if !bytes.HasPrefix(data, []byte(header)) {
		t.Fatalf("gzip header is %x", data[:min(len(data), len(header))])
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}

	return plain
}

func TestGoldenEnvelopesEncodeToTheSameBytes(t *testing.T) {
	for _, v := range allGolden(t) {
		if v.envelope == nil {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			checkEnvelope(t, v.envelope)
		})
	}
	for _, envelope := range channelEnvelopes(t) {
		checkEnvelope(t, envelope)
	}
}

// checkEnvelope reads and writes an envelope of either kind.
func checkEnvelope(t *testing.T, envelope []byte) {
	t.Helper()
	var again []byte
	repr, err := serialization.ParseRepr(envelope)
	if err == nil {
		again, err = repr.Marshal()
	} else {
		var snapshot serialization.Snapshot
		if snapshot, err = serialization.ParseSnapshot(envelope); err == nil {
			again, err = snapshot.Marshal()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, envelope) {
		t.Fatalf("%x became %x", envelope, again)
	}
}

// channelEnvelopes returns the events in the envelopes of Akka 2.3.
func channelEnvelopes(tb testing.TB) [][]byte {
	tb.Helper()
	var all [][]byte
	for _, name := range []string{"singles-5.json", "confirmations.json", "bytes-30.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", "golden", "sclasen-0.3", name))
		if err != nil {
			tb.Fatal(err)
		}
		var scenario struct {
			Tables map[string][]map[string]json.RawMessage
		}
		if err := json.Unmarshal(data, &scenario); err != nil {
			tb.Fatal(err)
		}
		for _, table := range scenario.Tables {
			for _, item := range table {
				var payload struct{ B []byte }
				if item["payload"] == nil {
					continue
				}
				if err := json.Unmarshal(item["payload"], &payload); err != nil {
					tb.Fatal(err)
				}
				all = append(all, payload.B)
			}
		}
	}
	if len(all) == 0 {
		tb.Fatal("no events in the oldest golden data")
	}

	return all
}

func TestEventOfAkka23HasItsChannelFields(t *testing.T) {
	repr, err := serialization.ParseRepr(channelEnvelopes(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	want := serialization.PersistentRepr{
		Payload:       serialization.Payload{SerializerID: serialization.IDJava, Bytes: []byte("\xac\xed\x00\x05t\x00\x07event-1")},
		SequenceNr:    1,
		PersistenceID: "s-one",
		Channel:       &serialization.ChannelFields{},
	}
	if !reflect.DeepEqual(repr, want) {
		t.Fatalf("read %+v", repr)
	}
}

func TestGoldenDataCoversEveryGoKind(t *testing.T) {
	seen := map[int32]bool{}
	for _, v := range allGolden(t) {
		seen[v.payload.SerializerID] = true
	}
	for _, id := range []int32{
		serialization.IDJava, serialization.IDProtobuf, serialization.IDByteArray, serialization.IDLong, serialization.IDInteger,
		serialization.IDString, serialization.IDByteString, serialization.IDJacksonJSON, serialization.IDJacksonCBOR, serialization.IDBoolean,
	} {
		if !seen[id] {
			t.Errorf("no golden value of serializer %d", id)
		}
	}
}
