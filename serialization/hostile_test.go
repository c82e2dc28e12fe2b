package serialization_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/dynajournal/dynajournal/serialization"
)

func hostileRegistry(tb testing.TB) *serialization.Registry {
	tb.Helper()
	const limit = 1 << 20
	r := goldenRegistry(tb, serialization.WithMaxDecompressed(limit))
	for _, err := range []error{
		serialization.Protobuf[*structpb.Value](r, "com.google.protobuf.Value"),
		serialization.JSON[map[string]any](r, "json.Any", serialization.Version(2),
			serialization.Migrate(func(_ int, document []byte) ([]byte, error) { return document, nil })),
		serialization.CBOR[[]any](r, "cbor.Any"),
	} {
		if err != nil {
			tb.Fatal(err)
		}
	}

	return r
}

// nestedValue returns a protobuf message that is nested depth times.
func nestedValue(t *testing.T, depth int) []byte {
	t.Helper()
	v := structpb.NewNullValue()
	for range depth {
		v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
	}
	b, err := proto.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}

	return b
}

func TestBadPayloadsAreDecodeErrors(t *testing.T) {
	const (
		repr   = "org.apache.pekko.persistence.PersistentImpl"
		batch  = "akka.persistence.AtomicWrite"
		fsm    = "org.apache.pekko.persistence.fsm.PersistentFSM$PersistentFSMSnapshot"
		change = "org.apache.pekko.persistence.fsm.PersistentFSM$StateChangeEvent"
		alod   = "org.apache.pekko.persistence.AtLeastOnceDelivery$AtLeastOnceDeliverySnapshot"
		text   = "com.google.protobuf.StringValue"
		order  = "golden.Events$JsonOrder"
		cbor   = "golden.Events$CborOrder"
	)
	for name, p := range map[string]serialization.Payload{
		"long of 7 bytes":            {SerializerID: 18, Bytes: make([]byte, 7)},
		"long of 9 bytes":            {SerializerID: 18, Bytes: make([]byte, 9)},
		"long of no bytes":           {SerializerID: 18},
		"integer of 3 bytes":         {SerializerID: 19, Bytes: make([]byte, 3)},
		"boolean of no bytes":        {SerializerID: 35},
		"boolean 2":                  {SerializerID: 35, Bytes: []byte{2}},
		"string not UTF-8":           {SerializerID: 20, Bytes: []byte("a\xff")},
		"manifest not UTF-8":         {SerializerID: 20, Manifest: "\xff", Bytes: []byte("a")},
		"unknown manifest not UTF-8": {SerializerID: 9001, Manifest: "\xff"},

		"message cut off":              {SerializerID: 2, Manifest: text, Bytes: []byte("\x0a\x0bproto")},
		"message with wrong wire type": {SerializerID: 2, Manifest: text, Bytes: []byte("\x0f")},
		"message with invalid UTF-8":   {SerializerID: 2, Manifest: text, Bytes: []byte("\x0a\x01\xff")},
		"message nested too deep":      {SerializerID: 2, Manifest: "com.google.protobuf.Value", Bytes: nestedValue(t, 101)},

		"event without payload":               {SerializerID: 7, Manifest: repr, Bytes: []byte("\x10\x01")},
		"event of no bytes":                   {SerializerID: 7},
		"event payload without id":            {SerializerID: 7, Manifest: repr, Bytes: []byte("\x0a\x02\x12\x00")},
		"event payload without bytes":         {SerializerID: 7, Manifest: repr, Bytes: []byte("\x0a\x02\x08\x14")},
		"event length past the end":           {SerializerID: 7, Manifest: repr, Bytes: []byte("\x0a\xff\xff\xff\xff\x0f\x08\x14\x12\x00")},
		"event with number as text":           {SerializerID: 7, Manifest: repr, Bytes: []byte("\x0a\x04\x08\x14\x12\x00\x12\x01")},
		"event with varint of 11 bytes":       {SerializerID: 7, Bytes: []byte("\x0a\x04\x08\x14\x12\x00\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
		"event with id not UTF-8":             {SerializerID: 7, Bytes: []byte("\x0a\x04\x08\x14\x12\x00\x1a\x01\xff")},
		"event with payload manifest no UTF8": {SerializerID: 7, Bytes: []byte("\x0a\x07\x08\x14\x12\x00\x1a\x01\xff")},
		"event with channel id not UTF-8":     {SerializerID: 7, Bytes: []byte("\x0a\x04\x08\x14\x12\x00\x3a\x01a\x3a\x01\xff")},
		"batch with event without payload":    {SerializerID: 7, Manifest: batch, Bytes: []byte("\x0a\x02\x10\x01")},
		"batch cut off":                       {SerializerID: 7, Manifest: batch, Bytes: []byte("\x0a\x08\x0a\x04\x08\x14\x12")},
		"delivery without id":                 {SerializerID: 7, Manifest: alod},
		"delivery with path not UTF-8":        {SerializerID: 7, Manifest: alod, Bytes: []byte("\x08\x01\x12\x0b\x08\x01\x12\x01\xff\x1a\x04\x08\x14\x12\x00")},
		"state change without state":          {SerializerID: 7, Manifest: change, Bytes: []byte("\x18\x01")},
		"FSM snapshot without data":           {SerializerID: 7, Manifest: fsm, Bytes: []byte("\x0a\x01a")},

		"snapshot of no bytes":             {SerializerID: 8},
		"snapshot with header cut off":     {SerializerID: 8, Bytes: []byte("\x04\x00\x00\x00\x14\x00\x00")},
		"snapshot header past the end":     {SerializerID: 8, Bytes: []byte("\x05\x00\x00\x00\x14\x00\x00\x00")},
		"snapshot header without id":       {SerializerID: 8, Bytes: []byte("\x03\x00\x00\x00\x14\x00\x00\x00")},
		"snapshot header of negative size": {SerializerID: 8, Bytes: []byte("\xff\xff\xff\xff\x14\x00\x00\x00")},
		"snapshot header by Java":          {SerializerID: 8, Bytes: []byte("\x06\x00\x00\x00\xac\xed\x00\x05sr")},
		"snapshot manifest not UTF-8":      {SerializerID: 8, Bytes: []byte("\x05\x00\x00\x00\x14\x00\x00\x00\xff")},

		"no Java stream":             {SerializerID: 1, Bytes: []byte("plain")},
		"Java stream without magic":  {SerializerID: 1},
		"Java stream of a header":    {SerializerID: 1, Bytes: []byte("\xac\xed\x00\x05")},
		"Java object cut off":        {SerializerID: 1, Bytes: []byte("\xac\xed\x00\x05s")},
		"Java class cut off":         {SerializerID: 1, Bytes: []byte("\xac\xed\x00\x05sr\x00")},
		"Java class name past end":   {SerializerID: 1, Bytes: []byte("\xac\xed\x00\x05sr\xff\xffname")},
		"Java array class name past": {SerializerID: 1, Bytes: []byte("\xac\xed\x00\x05ur\x00\x03[B")},

		"JSON of no bytes":          {SerializerID: 31, Manifest: order},
		"JSON cut off":              {SerializerID: 31, Manifest: order, Bytes: []byte(`{"id":"j1"`)},
		"JSON with wrong type":      {SerializerID: 31, Manifest: order, Bytes: []byte(`{"id":1}`)},
		"JSON number out of range":  {SerializerID: 31, Manifest: order, Bytes: []byte(`{"amount":4294967296}`)},
		"JSON not UTF-8":            {SerializerID: 31, Manifest: order, Bytes: []byte("{\"id\":\"\xff\"}")},
		"JSON nested too deep":      {SerializerID: 31, Manifest: "json.Any#2", Bytes: []byte(`{"a":` + strings.Repeat("[", 1<<20))},
		"JSON under the CBOR id":    {SerializerID: 33, Manifest: order, Bytes: []byte(`{"id":"j1"}`)},
		"CBOR under the JSON id":    {SerializerID: 31, Manifest: cbor, Bytes: []byte("\xbfbidbc1\xff")},
		"nothing under the old id":  {SerializerID: 32, Manifest: order},
		"CBOR cut off":              {SerializerID: 33, Manifest: cbor, Bytes: []byte("\xbfbidbc1")},
		"CBOR of no bytes":          {SerializerID: 33, Manifest: cbor},
		"CBOR with wrong type":      {SerializerID: 33, Manifest: cbor, Bytes: []byte("\xa1bid\x01")},
		"CBOR text not UTF-8":       {SerializerID: 33, Manifest: cbor, Bytes: []byte("\xa1bida\xff")},
		"CBOR length past the end":  {SerializerID: 33, Manifest: "cbor.Any", Bytes: []byte("\x9b\x00\x00\x00\x00\x7f\xff\xff\xff")},
		"CBOR length of 64 bits":    {SerializerID: 33, Manifest: "cbor.Any", Bytes: []byte("\x9b\xff\xff\xff\xff\xff\xff\xff\xff")},
		"CBOR nested too deep":      {SerializerID: 33, Manifest: "cbor.Any", Bytes: append(bytes.Repeat([]byte{0x81}, 1001), 0)},
		"CBOR keys that JSON lacks": {SerializerID: 33, Manifest: "json.Any", Bytes: []byte("\xa1\x01\x01")},
		"CBOR number that JSON lacks": {
			SerializerID: 33, Manifest: "json.Any", Bytes: []byte("\xa1aa\xf9\x7e\x00"),
		},

		"gzip of a mark":          {SerializerID: 31, Manifest: order, Bytes: []byte("\x1f\x8b")},
		"gzip cut off":            {SerializerID: 31, Manifest: order, Bytes: []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xab")},
		"gzip with bad checksum":  {SerializerID: 31, Manifest: "json.Any", Bytes: []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x02\x00\xfd\xff{}\x00\x00\x00\x00\x02\x00\x00\x00")},
		"LZ4 of a mark":           {SerializerID: 31, Manifest: order, Bytes: []byte("\x87\xd9\x6d\xf6")},
		"LZ4 without a block":     {SerializerID: 31, Manifest: order, Bytes: []byte("\x87\xd9\x6d\xf6\x00\x00\x00\x0c")},
		"LZ4 of too many bytes":   {SerializerID: 31, Manifest: order, Bytes: []byte("\x87\xd9\x6d\xf6\x00\x00\x10\x00\x20{}")},
		"LZ4 of fewer bytes":      {SerializerID: 31, Manifest: "json.Any", Bytes: []byte("\x87\xd9\x6d\xf6\x00\x00\x00\x03\x20{}")},
		"LZ4 of more bytes":       {SerializerID: 31, Manifest: "json.Any", Bytes: []byte("\x87\xd9\x6d\xf6\x00\x00\x00\x01\x20{}")},
		"LZ4 of negative size":    {SerializerID: 31, Manifest: order, Bytes: []byte("\x87\xd9\x6d\xf6\xff\xff\xff\xff\x20{}")},
		"LZ4 match before start":  {SerializerID: 31, Manifest: order, Bytes: []byte("\x87\xd9\x6d\xf6\x00\x00\x00\x20\x1fa\x09\x00\x00")},
		"LZ4 literal past end":    {SerializerID: 31, Manifest: order, Bytes: []byte("\x87\xd9\x6d\xf6\x00\x00\x00\x20\xf0\xffab")},
		"LZ4 document is no JSON": {SerializerID: 31, Manifest: order, Bytes: []byte("\x87\xd9\x6d\xf6\x00\x00\x00\x02\x20{{")},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := hostileRegistry(t).Decode(t.Context(), p)
			var decode *serialization.DecodeError
			if !errors.As(err, &decode) {
				t.Fatalf("decoded %#v, %v", v, err)
			}
			if v != nil || decode.SerializerID != p.SerializerID || decode.Manifest != p.Manifest {
				t.Fatalf("decoded %#v, %v", v, err)
			}
		})
	}
}

func TestDecode_NestingLimitOfTheJVM(t *testing.T) {
	p := serialization.Payload{SerializerID: serialization.IDProtobuf, Manifest: "com.google.protobuf.Value", Bytes: nestedValue(t, 40)}
	if _, err := hostileRegistry(t).Decode(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func TestLZ4DocumentHasItsStatedLength(t *testing.T) {
	p := serialization.Payload{SerializerID: 31, Manifest: "json.Any#2", Bytes: []byte("\x87\xd9\x6d\xf6\x00\x00\x00\x03\x20{}")}
	if _, err := hostileRegistry(t).Decode(t.Context(), p); err == nil || !strings.Contains(err.Error(), "2 bytes instead of 3") {
		t.Fatalf("error is %v", err)
	}
}

func TestDecode_StatedLengthIsNotAllocated(t *testing.T) {
	const limit = 1 << 20
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	if _, err := w.Write(make([]byte, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	small := goldenRegistry(t, serialization.WithMaxDecompressed(limit/8))
	usual := goldenRegistry(t)
	for name, tc := range map[string]struct {
		registry *serialization.Registry
		payload  serialization.Payload
	}{
		"gzip bomb":   {small, serialization.Payload{SerializerID: 31, Manifest: "golden.Events$JsonOrder", Bytes: bomb.Bytes()}},
		"LZ4 size":    {usual, serialization.Payload{SerializerID: 31, Manifest: "golden.Events$JsonOrder", Bytes: []byte("\x87\xd9\x6d\xf6\x03\xff\xff\xff\x20{}")}},
		"CBOR length": {usual, serialization.Payload{SerializerID: 33, Manifest: "golden.Events$CborOrder", Bytes: []byte("\xa1dnote\x7a\x7f\xff\xff\xff")}},
		"snapshot":    {usual, serialization.Payload{SerializerID: 8, Bytes: []byte("\xff\xff\xff\x7f\x14\x00\x00\x00")}},
		"event":       {usual, serialization.Payload{SerializerID: 7, Bytes: []byte("\x0a\xff\xff\xff\x7f")}},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := tc.registry.Decode(t.Context(), tc.payload)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Fatal("decoded")
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > limit {
				t.Fatalf("%d bytes were allocated", allocated)
			}
		})
	}
}

func TestParsersReturnDecodeErrors(t *testing.T) {
	var decode *serialization.DecodeError
	if _, err := serialization.ParseRepr([]byte{0x0a}); !errors.As(err, &decode) || decode.SerializerID != serialization.IDMessage {
		t.Errorf("event: %v", err)
	}
	if _, err := serialization.ParseSnapshot([]byte{0x0a}); !errors.As(err, &decode) || decode.SerializerID != serialization.IDSnapshot {
		t.Errorf("snapshot: %v", err)
	}
}

func TestJavaObjectsAreNamedByTheirClass(t *testing.T) {
	const magic = "\xac\xed\x00\x05"
	for name, tc := range map[string]struct{ stream, class string }{
		"object":               {"sr\x00\x05a.B$C\x00", "a.B$C"},
		"array":                {"ur\x00\x02[B\xac\xf3", "[B"},
		"enum":                 {"~r\x00\x03a.E", "a.E"},
		"string with more":     {"t\x00\x07event-1p", "java.lang.String"},
		"long string cut off":  {"|\x00\x00\x00\x00\x00\x00\x00\x01", "java.lang.String"},
		"class":                {"vr\x00\x03a.E", "java.lang.Class"},
		"proxy":                {"s}\x00\x00\x00\x01", ""},
		"null":                 {"p", ""},
		"name beyond 16 bits":  {"sr\x00\x06\xed\xa0\xbd\xed\xb8\x80", "\uFFFD"},
		"class without a name": {"sr\x00\x00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := serialization.Payload{SerializerID: serialization.IDJava, Bytes: []byte(magic + tc.stream)}
			v, err := serialization.NewRegistry().Decode(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			object, is := v.(serialization.JavaObject)
			if !is || object.Class != tc.class {
				t.Fatalf("decoded %#v", v)
			}
			again, err := serialization.NewRegistry().Encode(t.Context(), object)
			if err != nil || !again.Equal(p) {
				t.Fatalf("encoded %+v, %v", again, err)
			}
		})
	}
}
