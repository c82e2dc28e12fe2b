package serialization_test

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"strconv"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/dynajournal/dynajournal/serialization"
)

type counter struct{ N uint32 }

// counterCodec is the application's serializer 9001.
func counterCodec(manifest string) serialization.Codec[counter] {
	return serialization.Codec[counter]{
		SerializerID: 9001,
		Manifest:     manifest,
		Encode: func(c counter) ([]byte, error) {
			if c.N == 0 {
				return nil, nil
			}

			return binary.BigEndian.AppendUint32(nil, c.N), nil
		},
		Decode: func(data []byte) (counter, error) {
			if len(data) != 4 {
				return counter{}, errors.New("bad counter")
			}

			return counter{binary.BigEndian.Uint32(data)}, nil
		},
	}
}

func TestEncode_UnknownType(t *testing.T) {
	r := serialization.NewRegistry()
	for name, value := range map[string]any{
		"nil": nil, "uint64": uint64(1), "struct": counter{}, "pointer": &counter{}, "nil pointer": (*counter)(nil),
		"unregistered message": durationpb.New(1),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := r.Encode(t.Context(), value); !errors.Is(err, serialization.ErrUnknownType) {
				t.Fatalf("error is %v", err)
			}
		})
	}
}

func TestEncodeRefusesValuesItCannotRepresent(t *testing.T) {
	r := goldenRegistry(t)
	for name, value := range map[string]any{
		"nil message":             (*wrapperspb.StringValue)(nil),
		"nil pointer to string":   (*string)(nil),
		"nil pointer to payload":  (*serialization.Payload)(nil),
		"string not UTF-8":        "\xff",
		"uint above a Long":       uint(math.MaxInt64) + 1,
		"largest uint":            uint(math.MaxUint),
		"text field not UTF-8":    serialization.PersistentRepr{PersistenceID: "\xff"},
		"destination not UTF-8":   serialization.AtLeastOnceDeliverySnapshot{Unconfirmed: []serialization.UnconfirmedDelivery{{Destination: "\xff"}}},
		"inner manifest no UTF-8": serialization.Snapshot{Data: serialization.Payload{Manifest: "\xff"}},
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := r.Encode(t.Context(), value); err == nil {
				t.Fatalf("encoded as %+v", p)
			}
		})
	}
}

func TestIntAndUintAreWrittenAsLong(t *testing.T) {
	r := serialization.NewRegistry()
	pointed := 7
	for _, tc := range []struct {
		value any
		want  int64
	}{
		{0, 0},
		{-1, -1},
		{math.MaxInt, math.MaxInt},
		{math.MinInt, math.MinInt},
		{uint(0), 0},
		{uint(math.MaxInt64), math.MaxInt64},
		{&pointed, 7},
	} {
		got, err := r.Encode(t.Context(), tc.value)
		if err != nil {
			t.Fatal(err)
		}
		long, err := r.Encode(t.Context(), tc.want)
		if err != nil {
			t.Fatal(err)
		}
		if got.SerializerID != serialization.IDLong || !got.Equal(long) {
			t.Errorf("%T %v is written as %+v, not as %+v", tc.value, tc.value, got, long)
		}
		if back, err := r.Decode(t.Context(), got); err != nil || back != any(tc.want) {
			t.Errorf("%T %v is read as %T %v, %v", tc.value, tc.value, back, back, err)
		}
	}
}

func TestDecodeNamesTheUnknownSerializer(t *testing.T) {
	r := goldenRegistry(t)
	for _, p := range []serialization.Payload{
		{SerializerID: 9001, Manifest: "m", Bytes: []byte("x")},
		{SerializerID: serialization.IDProtobuf, Manifest: "com.example.Unknown"},
		{SerializerID: serialization.IDJacksonJSON, Manifest: "com.example.Unknown#2"},
		{SerializerID: serialization.IDMessage, Manifest: "org.apache.pekko.persistence.Unknown"},
	} {
		_, err := r.Decode(t.Context(), p)
		var decode *serialization.DecodeError
		if !errors.Is(err, serialization.ErrUnknownSerializer) || !errors.As(err, &decode) {
			t.Fatalf("error is %v", err)
		}
		if decode.SerializerID != p.SerializerID || decode.Manifest != p.Manifest {
			t.Fatalf("error %v for %+v", err, p)
		}
	}
}

func TestPayloadsAreWrittenAsTheyAre(t *testing.T) {
	r := goldenRegistry(t)
	for _, want := range []serialization.Payload{
		{SerializerID: 9001, Manifest: "akka.unknown", Bytes: []byte("raw")},
		{SerializerID: serialization.IDJava, Bytes: []byte("not even a stream")},
		{SerializerID: serialization.IDString, Manifest: "\xff", Bytes: []byte{0xff}},
		{},
	} {
		for _, value := range []any{want, &want} {
			got, err := r.Encode(t.Context(), value)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v became %+v", want, got)
			}
		}
	}
}

func TestEncode_Pointer(t *testing.T) {
	r := goldenRegistry(t)
	for _, value := range []any{"text", int64(7), jsonOrder{ID: "x"}, serialization.FilteredPayload{}} {
		p := reflect.New(reflect.TypeOf(value))
		p.Elem().Set(reflect.ValueOf(value))
		direct, err := r.Encode(t.Context(), value)
		if err != nil {
			t.Fatal(err)
		}
		through, err := r.Encode(t.Context(), p.Interface())
		if err != nil {
			t.Fatal(err)
		}
		if !direct.Equal(through) {
			t.Fatalf("%+v and %+v", direct, through)
		}
	}
}

func TestFilteredPayloadHasManifestFAndNoBytes(t *testing.T) {
	r := serialization.NewRegistry()
	p, err := r.Encode(t.Context(), serialization.FilteredPayload{})
	if err != nil {
		t.Fatal(err)
	}
	want := serialization.Payload{SerializerID: 34, Manifest: "F", Bytes: []byte{}}
	if !reflect.DeepEqual(p, want) {
		t.Fatalf("encoded as %+v", p)
	}
	if v, err := r.Decode(t.Context(), p); err != nil || v != any(serialization.FilteredPayload{}) {
		t.Fatalf("decoded as %v, %v", v, err)
	}
}

func TestBuiltInsIgnoreTheManifestWhenRead(t *testing.T) {
	p := serialization.Payload{SerializerID: serialization.IDString, Manifest: "java.lang.String", Bytes: []byte("x")}
	if v, err := serialization.NewRegistry().Decode(t.Context(), p); err != nil || v != "x" {
		t.Fatalf("decoded as %v, %v", v, err)
	}
}

func TestEncode_EmptyValueHasNonNilBytes(t *testing.T) {
	r := goldenRegistry(t)
	if err := serialization.Custom(r, counterCodec("c")); err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{
		"", []byte(nil), serialization.ByteString(nil), serialization.JavaObject{}, &wrapperspb.StringValue{}, counter{},
	} {
		p, err := r.Encode(t.Context(), value)
		if err != nil {
			t.Fatal(err)
		}
		if p.Bytes == nil || len(p.Bytes) != 0 {
			t.Errorf("%T encoded as %#v", value, p.Bytes)
		}
	}
	for _, id := range []int32{serialization.IDByteArray, serialization.IDByteString} {
		v, err := r.Decode(t.Context(), serialization.Payload{SerializerID: id})
		if err != nil || reflect.ValueOf(v).IsNil() {
			t.Errorf("serializer %d decoded as %#v, %v", id, v, err)
		}
	}
}

func TestRegistry_DoesNotRetainBytes(t *testing.T) {
	r := goldenRegistry(t)
	for _, kind := range allGolden(t) {
		before, err := r.Decode(t.Context(), kind.payload)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := r.Encode(t.Context(), before)
		if err != nil {
			t.Fatal(err)
		}
		for i := range kind.payload.Bytes {
			kind.payload.Bytes[i] ^= 0xff
		}
		again, err := r.Decode(t.Context(), encoded)
		if err != nil {
			t.Fatal(err)
		}
		if !equal(before, again) {
			t.Errorf("%s: the value changed with its bytes", kind.name)
		}
	}
	value := []byte("value")
	p, err := r.Encode(t.Context(), value)
	if err != nil {
		t.Fatal(err)
	}
	value[0] = 'X'
	if string(p.Bytes) != "value" {
		t.Error("the bytes changed with the value")
	}
}

func TestManifestsOfAkkaAndPekkoAreInterchangeable(t *testing.T) {
	const akka, pekko = "akka.persistence.AtomicWrite", "org.apache.pekko.persistence.AtomicWrite"
	value := serialization.AtomicWrite{Events: []serialization.PersistentRepr{{SequenceNr: 1, Payload: serialization.Payload{Bytes: []byte{}}}}}
	for prefix, written := range map[serialization.ManifestPrefix]string{"": pekko, serialization.Pekko: pekko, serialization.Akka: akka} {
		r := serialization.NewRegistry()
		if prefix != "" {
			r = serialization.NewRegistry(serialization.WithManifestPrefix(prefix))
		}
		p, err := r.Encode(t.Context(), value)
		if err != nil {
			t.Fatal(err)
		}
		if p.Manifest != written {
			t.Errorf("with prefix %q, the manifest is %q", prefix, p.Manifest)
		}
		for _, manifest := range []string{akka, pekko} {
			p.Manifest = manifest
			if got, err := r.Decode(t.Context(), p); err != nil || !reflect.DeepEqual(got, value) {
				t.Errorf("with prefix %q, %q decodes to %+v, %v", prefix, manifest, got, err)
			}
		}
	}
}

func TestRegisteredClassesFollowThePrefixToo(t *testing.T) {
	r := serialization.NewRegistry(serialization.WithManifestPrefix(serialization.Akka))
	if err := serialization.JSON[counter](r, "org.apache.pekko.Counter", serialization.Version(2)); err != nil {
		t.Fatal(err)
	}
	p, err := r.Encode(t.Context(), counter{3})
	if err != nil {
		t.Fatal(err)
	}
	if p.Manifest != "akka.Counter#2" {
		t.Fatalf("manifest is %q", p.Manifest)
	}
	for _, manifest := range []string{"akka.Counter#1", "org.apache.pekko.Counter#2"} {
		p.Manifest = manifest
		if v, err := r.Decode(t.Context(), p); err != nil || v != any(counter{3}) {
			t.Fatalf("%q decodes to %v, %v", manifest, v, err)
		}
	}
	for _, manifest := range []string{"akkaCounter", "my.akka.Counter"} {
		p.Manifest = manifest
		if _, err := r.Decode(t.Context(), p); !errors.Is(err, serialization.ErrUnknownSerializer) {
			t.Fatalf("%q decodes with error %v", manifest, err)
		}
	}
}

func TestCustomCodecServesItsIDAndManifest(t *testing.T) {
	r := serialization.NewRegistry()
	if err := serialization.Custom(r, counterCodec("c2")); err != nil {
		t.Fatal(err)
	}
	old := counterCodec("c1")
	old.Encode = nil
	old.Decode = func(data []byte) (counter, error) { return counter{uint32(len(data))}, nil }
	if err := serialization.Custom(r, old); err != nil {
		t.Fatal(err)
	}
	p, err := r.Encode(t.Context(), counter{5})
	if err != nil {
		t.Fatal(err)
	}
	if want := (serialization.Payload{SerializerID: 9001, Manifest: "c2", Bytes: []byte{0, 0, 0, 5}}); !p.Equal(want) {
		t.Fatalf("encoded as %+v", p)
	}
	for manifest, want := range map[string]counter{"c2": {5}, "c1": {4}} {
		p.Manifest = manifest
		if got, err := r.Decode(t.Context(), p); err != nil || got != any(want) {
			t.Fatalf("%s decodes to %v, %v", manifest, got, err)
		}
	}
}

func TestRegistrationRefuses(t *testing.T) {
	type other struct{}
	without := counterCodec("c")
	without.Decode = nil
	builtIn := counterCodec("")
	builtIn.SerializerID = serialization.IDString
	builtInType := serialization.Codec[string]{
		SerializerID: 9002,
		Encode:       func(string) ([]byte, error) { return nil, nil },
		Decode:       func([]byte) (string, error) { return "", nil },
	}
	for name, register := range map[string]func(*serialization.Registry) error{
		"a type twice": func(r *serialization.Registry) error { return serialization.JSON[jsonOrder](r, "com.example.Other") },
		"a class twice": func(r *serialization.Registry) error {
			return serialization.CBOR[other](r, "golden.Events$JsonOrder")
		},
		"a former class that is in use": func(r *serialization.Registry) error {
			return serialization.JSON[other](r, "com.example.Other", serialization.FormerClasses("golden.Events$JsonOrder"))
		},
		"a message class twice": func(r *serialization.Registry) error {
			return serialization.Protobuf[*durationpb.Duration](r, "com.google.protobuf.StringValue")
		},
		"an interface as JSON": func(r *serialization.Registry) error { return serialization.JSON[any](r, "com.example.Any") },
		"an interface as message": func(r *serialization.Registry) error {
			return serialization.Protobuf[proto.Message](r, "com.example.Any")
		},
		"a class with a version":     func(r *serialization.Registry) error { return serialization.JSON[other](r, "com.example.Other#2") },
		"an empty class":             func(r *serialization.Registry) error { return serialization.JSON[other](r, "") },
		"a class that is not UTF-8":  func(r *serialization.Registry) error { return serialization.JSON[other](r, "\xff") },
		"a message class not UTF-8":  func(r *serialization.Registry) error { return serialization.Protobuf[*durationpb.Duration](r, "\xff") },
		"a codec manifest not UTF-8": func(r *serialization.Registry) error { return serialization.Custom(r, counterCodec("\xff")) },
		"a version below 1": func(r *serialization.Registry) error {
			return serialization.JSON[other](r, "com.example.Other", serialization.Version(-1))
		},
		"a migration without a version": func(r *serialization.Registry) error {
			return serialization.JSON[other](r, "com.example.Other",
				serialization.Migrate(func(int, []byte) ([]byte, error) { return nil, nil }))
		},
		"an unknown compression": func(r *serialization.Registry) error {
			return serialization.JSON[other](r, "com.example.Other", serialization.Compress(serialization.LZ4+1, 0))
		},
		"a codec without Decode":   func(r *serialization.Registry) error { return serialization.Custom(r, without) },
		"a codec for a built-in":   func(r *serialization.Registry) error { return serialization.Custom(r, builtIn) },
		"a codec for a basic type": func(r *serialization.Registry) error { return serialization.Custom(r, builtInType) },
	} {
		t.Run(name, func(t *testing.T) {
			r := goldenRegistry(t)
			if err := register(r); err == nil {
				t.Fatal("registered")
			}
			if _, err := r.Encode(t.Context(), other{}); !errors.Is(err, serialization.ErrUnknownType) {
				t.Fatalf("the refused type is registered in part: %v", err)
			}
		})
	}
}

func TestRegistryIsSafeForConcurrentUse(t *testing.T) {
	r := serialization.NewRegistry()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			codec := counterCodec(strconv.Itoa(i))
			if i > 0 {
				codec.Encode = nil
			}
			if err := serialization.Custom(r, codec); err != nil {
				t.Error(err)
			}
			p, err := r.Encode(t.Context(), "text")
			if err != nil {
				t.Error(err)
			}
			if v, err := r.Decode(t.Context(), p); err != nil || v != "text" {
				t.Errorf("decoded %v, %v", v, err)
			}
		})
	}
	wg.Wait()
}
