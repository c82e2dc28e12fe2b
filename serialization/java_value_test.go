package serialization_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dynajournal/dynajournal/serialization"
)

// javaStream is a stream written by Java, with testdata/java-17/Streams.java.
type javaStream struct {
	Name string
	// Kind is string, long, int, bool, or other for a stream that stays bytes.
	Kind string
	// Value is the text of the value, to be repeated Times times; for kind other it is the class.
	Value []byte
	Times int
	Bytes []byte
}

func javaStreams(tb testing.TB) []javaStream {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "java-17", "streams.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var all []javaStream
	if err := json.Unmarshal(data, &all); err != nil {
		tb.Fatal(err)
	}

	return all
}

func (s javaStream) payload() serialization.Payload {
	return serialization.Payload{SerializerID: serialization.IDJava, Bytes: s.Bytes}
}

// want returns the value that the stream must be decoded as.
func (s javaStream) want(t *testing.T) any {
	t.Helper()
	text := strings.Repeat(string(s.Value), s.Times)
	number := func(bits int) int64 {
		n, err := strconv.ParseInt(text, 10, bits)
		if err != nil {
			t.Fatal(err)
		}

		return n
	}
	switch s.Kind {
	case "string":
		return text
	case "long":
		return number(64)
	case "int":
		return int32(number(32))
	case "bool":
		return text == "true"
	default:
		return serialization.JavaObject{Class: text, Bytes: s.Bytes}
	}
}

func TestStringsNumbersAndBooleansOfJavaAreDecoded(t *testing.T) {
	seen := map[string]int{}
	for _, s := range javaStreams(t) {
		t.Run(s.Name, func(t *testing.T) {
			got, err := serialization.NewRegistry().Decode(t.Context(), s.payload())
			if err != nil {
				t.Fatal(err)
			}
			if want := s.want(t); !equal(got, want) {
				t.Fatalf("decoded %.100q, want %.100q", got, want)
			}
		})
		seen[s.Kind]++
	}
	for _, kind := range []string{"string", "long", "int", "bool", "other"} {
		if seen[kind] == 0 {
			t.Errorf("there is no stream of kind %s", kind)
		}
	}
}

// TestDecodeJava_AnyManifest decodes with a manifest, although Java's serializer
// does not write one: the other built-in serializers ignore manifests.
func TestDecodeJava_AnyManifest(t *testing.T) {
	p := serialization.Payload{
		SerializerID: serialization.IDJava,
		Manifest:     "java.lang.String",
		Bytes:        []byte("\xac\xed\x00\x05t\x00\x01x"),
	}
	if got, err := serialization.NewRegistry().Decode(t.Context(), p); err != nil || got != "x" {
		t.Fatalf("decoded %v, %v", got, err)
	}
}

// TestDecodeJava_OnlyStreamsOfJava changes each byte of each short value, and cuts and lengthens
// the stream. The result is either the value that Java would have written as these bytes, or a
// JavaObject with all bytes and the class that they name.
func TestDecodeJava_OnlyStreamsOfJava(t *testing.T) {
	r := serialization.NewRegistry()
	for _, s := range javaStreams(t) {
		if len(s.Bytes) > 200 {
			continue
		}
		for at := range s.Bytes {
			for value := range 256 {
				changed := bytes.Clone(s.Bytes)
				changed[at] = byte(value)
				checkJavaDecoding(t, r, changed)
			}
			checkJavaDecoding(t, r, s.Bytes[:at])
		}
		checkJavaDecoding(t, r, append(bytes.Clone(s.Bytes), 0))
	}
}

func TestOtherFormsOfJavaValuesStayBytes(t *testing.T) {
	const magic = "\xac\xed\x00\x05"
	number := "xr\x00\x10java.lang.Number\x86\xac\x95\x1d\x0b\x94\xe0\x8b\x02\x00\x00xp"
	long := magic + "sr\x00\x0ejava.lang.Long\x3b\x8b\xe4\x90\xcc\x8f\x23\xdf\x02\x00\x01J\x00\x05value"
	flag := magic + "sr\x00\x11java.lang.Boolean\xcd\x20\x72\x80\xd5\x9c\xfa\xee\x02\x00\x01Z\x00\x05valuexp"
	for name, stream := range map[string]string{
		"string longer than the stream":       magic + "t\x00\x02x",
		"string shorter than the stream":      magic + "t\x00\x01xy",
		"string with half a length":           magic + "t\x00",
		"long string that is endless":         magic + "|\xff\xff\xff\xff\xff\xff\xff\xffx",
		"long string of a negative size":      magic + "|\x80\x00\x00\x00\x00\x00\x00\x01x",
		"long string with half a length":      magic + "|\x00\x00\x00\x00",
		"string with NUL as a byte":           magic + "t\x00\x01\x00",
		"string with a letter in two bytes":   magic + "t\x00\x02\xc1\x81",
		"string with NUL in three bytes":      magic + "t\x00\x03\xe0\x80\x80",
		"string with é in three bytes":        magic + "t\x00\x03\xe0\x83\xa9",
		"string with four bytes of UTF-8":     magic + "t\x00\x04\xf0\x9f\x98\x80",
		"string that ends within a letter":    magic + "t\x00\x01\xc3",
		"string that ends within a pair":      magic + "t\x00\x03\xed\xa0\xbd",
		"string that begins within a letter":  magic + "t\x00\x01\x80",
		"string with a letter that is cut":    magic + "t\x00\x02\xc3A",
		"string with a high half and text":    magic + "t\x00\x04\xed\xa0\xbdA",
		"string with two high halves":         magic + "t\x00\x06\xed\xa0\xbd\xed\xa0\xbd",
		"long of seven bytes":                 long + number + "1234567",
		"long of nine bytes":                  long + number + "123456789",
		"long without its superclass":         long + "xp12345678",
		"long of another serialVersionUID":    strings.Replace(long, "\x3b\x8b", "\x3b\x8c", 1) + number + "12345678",
		"long with a field of another name":   strings.Replace(long, "value", "velue", 1) + number + "12345678",
		"long of a superclass of another UID": long + strings.Replace(number, "\x86\xac", "\x86\xad", 1) + "12345678",
		"boolean 2":                           flag + "\x02",
		"boolean of no byte":                  flag,
		"boolean of two bytes":                flag + "\x01\x01",
	} {
		t.Run(name, func(t *testing.T) {
			p := serialization.Payload{SerializerID: serialization.IDJava, Bytes: []byte(stream)}
			got, err := serialization.NewRegistry().Decode(t.Context(), p)
			object, is := got.(serialization.JavaObject)
			if err != nil || !is || string(object.Bytes) != stream {
				t.Fatalf("decoded %#v, %v", got, err)
			}
		})
	}
}

// TestDecodeJava_StatedLengthIsNotAllocated decodes a stream that is shorter than its length field.
func TestDecodeJava_StatedLengthIsNotAllocated(t *testing.T) {
	stream := []byte("\xac\xed\x00\x05|\x00\x00\x00\x00\x7f\xff\xff\xffx")
	p := serialization.Payload{SerializerID: serialization.IDJava, Bytes: stream}
	r := serialization.NewRegistry()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := r.Decode(t.Context(), p)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; err != nil || allocated > 1<<20 {
		t.Fatalf("%d bytes were allocated, %v", allocated, err)
	}
}

// FuzzJavaValues compares every decoded value with the bytes that Java writes for it.
func FuzzJavaValues(f *testing.F) {
	const most = 1000 // longer values slow the fuzzer down, and find nothing new
	for _, s := range javaStreams(f) {
		if len(s.Bytes) <= most {
			f.Add(s.Bytes)
		}
	}
	for _, v := range allGolden(f) {
		if v.payload.SerializerID == serialization.IDJava {
			f.Add(v.payload.Bytes)
		}
	}
	for _, envelope := range channelEnvelopes(f) {
		if repr, err := serialization.ParseRepr(envelope); err == nil {
			f.Add(repr.Payload.Bytes)
		}
	}
	r := serialization.NewRegistry()
	f.Fuzz(func(t *testing.T, stream []byte) {
		checkJavaDecoding(t, r, stream)
	})
}

// checkJavaDecoding decodes a stream, and encodes the value again with a writer that does not share
// code with the decoder.
func checkJavaDecoding(t *testing.T, r *serialization.Registry, stream []byte) {
	t.Helper()
	got, err := r.Decode(t.Context(), serialization.Payload{SerializerID: serialization.IDJava, Bytes: stream})
	if err != nil {
		return // not a stream, or one that ends within its class
	}
	if object, is := got.(serialization.JavaObject); is {
		if !bytes.Equal(object.Bytes, stream) {
			t.Fatalf("%x became %x", stream, object.Bytes)
		}

		return
	}
	if s, is := got.(string); is && !utf8.ValidString(s) {
		t.Fatalf("%x is decoded as %q, which is not UTF-8", stream, s)
	}
	want := javaForm(t, got)
	// Java writes this tag for long strings, and reads it for all.
	if len(stream) > 4 && stream[4] == '|' {
		want = javaLongForm(got.(string))
	}
	if !bytes.Equal(want, stream) {
		t.Fatalf("%x is decoded as %#v, which Java writes as %x", stream, got, want)
	}
}

// javaForm returns the stream that Java writes for a value.
func javaForm(t *testing.T, value any) []byte {
	t.Helper()
	const magic = "aced0005"
	const number = "7872" + "00106a6176612e6c616e672e4e756d626572" + "86ac951d0b94e08b" + "0200007870"
	switch value := value.(type) {
	case string:
		text := modifiedUTF8(value)
		if len(text) > 1<<16-1 {
			return javaLongForm(value)
		}

		head := binary.BigEndian.AppendUint16(unhex(t, magic+"74"), uint16(len(text)))

		return append(head, text...)
	case int64:
		head := "7372000e6a6176612e6c616e672e4c6f6e67" + "3b8be490cc8f23df" + "0200014a000576616c7565"

		return binary.BigEndian.AppendUint64(unhex(t, magic+head+number), uint64(value))
	case int32:
		head := "737200116a6176612e6c616e672e496e7465676572" + "12e2a0a4f7818738" + "02000149000576616c7565"

		return binary.BigEndian.AppendUint32(unhex(t, magic+head+number), uint32(value))
	case bool:
		head := "737200116a6176612e6c616e672e426f6f6c65616e" + "cd207280d59cfaee" + "0200015a000576616c75657870"
		if value {
			return unhex(t, magic+head+"01")
		}

		return unhex(t, magic+head+"00")
	default:
		t.Fatalf("decoded as %T", value)

		return nil
	}
}

func javaLongForm(value string) []byte {
	text := modifiedUTF8(value)

	head := binary.BigEndian.AppendUint64([]byte("\xac\xed\x00\x05|"), uint64(len(text)))

	return append(head, text...)
}

// modifiedUTF8 encodes each unit of UTF-16 by itself, and NUL in two bytes.
func modifiedUTF8(s string) []byte {
	var text []byte
	for _, u := range utf16.Encode([]rune(s)) {
		switch {
		case u != 0 && u < 0x80:
			text = append(text, byte(u))
		case u < 0x800:
			text = append(text, 0xc0|byte(u>>6), 0x80|byte(u&0x3f))
		default:
			text = append(text, 0xe0|byte(u>>12), 0x80|byte(u>>6&0x3f), 0x80|byte(u&0x3f))
		}
	}

	return text
}

func unhex(t *testing.T, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}

	return b
}
