package serialization_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/serialization"
)

// The classes of testdata/pekko-1.1.5/Vectors.java.
type (
	vectorText struct {
		Text string `json:"text"`
	}
	vectorJSONText struct {
		Text string `json:"text"`
	}
	vectorLine struct {
		SKU   string  `json:"sku"`
		Count int32   `json:"count"`
		Price float64 `json:"price"`
	}
	vectorRich struct {
		ID       *string          `json:"id"`
		Total    int64            `json:"total"`
		Negative int32            `json:"negative"`
		Ratio    float32          `json:"ratio"`
		Amount   float64          `json:"amount"`
		Paid     bool             `json:"paid"`
		Blob     []byte           `json:"blob"`
		None     *string          `json:"none"`
		Lines    []vectorLine     `json:"lines"`
		Stock    map[string]int32 `json:"stock"`
		Nums     []int32          `json:"nums"`
		Empty    []string         `json:"empty"`
		Nothing  map[string]int32 `json:"nothing"`
	}
	vectorUnit struct{}
)

func vectorRegistry(tb testing.TB, opts ...serialization.JacksonOption) *serialization.Registry {
	tb.Helper()
	r := serialization.NewRegistry()
	for _, err := range []error{
		serialization.CBOR[vectorText](r, "golden.Vectors$Text", opts...),
		serialization.JSON[vectorJSONText](r, "golden.Vectors$JText", opts...),
		serialization.CBOR[vectorRich](r, "golden.Vectors$Rich", opts...),
		serialization.JSON[vectorUnit](r, "golden.Vectors$Unit", opts...),
	} {
		if err != nil {
			tb.Fatal(err)
		}
	}

	return r
}

// vectors returns values that Pekko 1.1.5 serialized, by name.
func vectors(tb testing.TB) map[string]serialization.Payload {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "pekko-1.1.5", "vectors.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var list []struct {
		Name     string
		ID       int32
		Manifest string
		Bytes    []byte
	}
	if err := json.Unmarshal(data, &list); err != nil {
		tb.Fatal(err)
	}
	payloads := map[string]serialization.Payload{}
	for _, v := range list {
		payloads[v.Name] = serialization.Payload{SerializerID: v.ID, Manifest: v.Manifest, Bytes: v.Bytes}
	}

	return payloads
}

//go:fix inline

// vectorValues returns the values that the vectors are decoded as, and that Go encodes as the
// vectors.
func vectorValues() map[string]any {
	text := func(s string) serialization.Payload {
		return serialization.Payload{SerializerID: serialization.IDString, Bytes: []byte(s)}
	}
	long := func(first byte) serialization.Payload {
		return serialization.Payload{SerializerID: serialization.IDLong, Bytes: []byte{first, 0, 0, 0, 0, 0, 0, 0}}
	}
	repr := serialization.PersistentRepr{
		Payload: text("hello"), SequenceNr: 7, PersistenceID: "pid-1", Manifest: "man",
		WriterUUID: "11111111-2222-3333-4444-555555555555",
	}
	stamped := repr
	stamped.Timestamp, stamped.Metadata = 1700000000123, new(long(42))
	second := repr
	second.SequenceNr, second.WriterUUID = 8, "w"
	line := strings.Repeat("compressible ", 40)

	return map[string]any{
		"repr":                    repr,
		"repr-timestamp-metadata": stamped,
		"repr-bare": serialization.PersistentRepr{
			Payload: serialization.Payload{SerializerID: serialization.IDInteger, Bytes: []byte{5, 0, 0, 0}}, SequenceNr: 1,
		},
		"atomic-write": serialization.AtomicWrite{Events: []serialization.PersistentRepr{repr, second}},
		"alod": serialization.AtLeastOnceDeliverySnapshot{
			CurrentDeliveryID: 12,
			Unconfirmed: []serialization.UnconfirmedDelivery{
				{DeliveryID: 11, Destination: "pekko://v/user/a", Message: text("first")},
				{DeliveryID: 12, Destination: "pekko://v/user/b", Message: long(9)},
			},
		},
		"alod-empty":            serialization.AtLeastOnceDeliverySnapshot{},
		"fsm-change":            serialization.StateChangeEvent{State: "idle", Timeout: new(3 * time.Second)},
		"fsm-change-no-timeout": serialization.StateChangeEvent{State: "idle"},
		"fsm-snapshot":          serialization.FSMSnapshot{State: "busy", Data: text("data"), Timeout: new(1500 * time.Millisecond)},
		"snapshot-envelope":     serialization.Snapshot{Data: text("state")},
		"snapshot-envelope-manifest": serialization.Snapshot{Data: serialization.Payload{
			SerializerID: serialization.IDJacksonJSON, Manifest: "golden.Vectors$JText", Bytes: []byte(`{"text":"x"}`),
		}},
		"cbor-zero": vectorRich{
			Total: -1 << 63, Negative: -1, Blob: []byte{}, Lines: []vectorLine{},
			Stock: map[string]int32{}, Empty: []string{}, Nothing: map[string]int32{},
		},
		"cbor-text-ascii-0":    vectorText{},
		"cbor-text-ascii-23":   vectorText{strings.Repeat("a", 23)},
		"cbor-text-ascii-24":   vectorText{strings.Repeat("a", 24)},
		"cbor-text-ascii-255":  vectorText{strings.Repeat("a", 255)},
		"cbor-text-ascii-256":  vectorText{strings.Repeat("a", 256)},
		"cbor-text-ascii-3996": vectorText{strings.Repeat("a", 3996)},
		"cbor-text-ascii-3997": vectorText{strings.Repeat("a", 3997)},
		"cbor-text-ascii-8000": vectorText{strings.Repeat("a", 8000)},
		"cbor-text-kanji-23":   vectorText{strings.Repeat("漢", 23)},
		"cbor-text-kanji-200":  vectorText{strings.Repeat("漢", 200)},
		"cbor-text-kanji-3997": vectorText{strings.Repeat("漢", 3997)},
		"cbor-text-emoji-odd":  vectorText{"x" + strings.Repeat("😀", 2000)},
		"cbor-text-emoji-even": vectorText{strings.Repeat("😀", 2000)},
		"json-escapes":         vectorJSONText{"<a href=\\\"x\\\">&\u0001\u001f\u007f\u2028\u2029\t\n\r\b\f/é漢😀"},
		"json-unit":            vectorUnit{},
		"lz4-json":             vectorJSONText{line},
		"lz4-cbor":             vectorText{line},
		"lz4-json-short":       vectorJSONText{"q"},
		"gzip-json":            vectorJSONText{line},
		"gzip-cbor":            vectorText{line},
		"gzip-json-short":      vectorJSONText{"q"},
		// More than one map entry: compared as a value only.
		"cbor-rich": vectorRich{
			ID: new("r1"), Total: 3000000000, Negative: -70000, Ratio: 0.5, Amount: 12.25, Paid: true, Blob: []byte{1, 2, 3},
			Lines: []vectorLine{{"a", 1, 1.5}, {"b", 300, 0}}, Stock: map[string]int32{"x": 1, "y": -1},
			Nums: []int32{1, 24, 256, 65536}, Empty: []string{}, Nothing: map[string]int32{},
		},
	}
}

func TestPekkoVectorsDecodeToWhatWasWritten(t *testing.T) {
	r, values := vectorRegistry(t), vectorValues()
	for name, payload := range vectors(t) {
		t.Run(name, func(t *testing.T) {
			got, err := r.Decode(t.Context(), payload)
			if err != nil {
				t.Fatal(err)
			}
			if !equal(got, values[name]) {
				t.Fatalf("decoded %+v", got)
			}
		})
	}
}

func TestPekkoVectorsEncodeToTheSameBytes(t *testing.T) {
	r, values := vectorRegistry(t), vectorValues()
	for name, want := range vectors(t) {
		if name == "cbor-rich" || strings.HasPrefix(name, "lz4-") || strings.HasPrefix(name, "gzip-") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			got, err := r.Encode(t.Context(), values[name])
			if err != nil {
				t.Fatal(err)
			}
			if !got.Equal(want) {
				t.Fatalf("encoded %d %q %q,\nPekko %d %q %q",
					got.SerializerID, got.Manifest, got.Bytes, want.SerializerID, want.Manifest, want.Bytes)
			}
		})
	}
}
