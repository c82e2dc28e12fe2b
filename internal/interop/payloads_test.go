//go:build interop

package interop_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/serialization"
)

// kinds returns values of every kind for which both sides have a type.
func kinds() []any {
	return []any{
		"text", "", "Grüße 漢字 😀 \"quoted\"", []byte{0, 1, 0xff}, []byte{}, serialization.ByteString("bytes"),
		int64(1), int64(-1 << 63), int32(-7), true, false,
		wrapperspb.String("protobuf"),
		orderPlaced{"a-1", 1 << 40, "note\n\u2028 é"}, orderShipped{"a-1", -5, "by sea"},
		remark{"stored as a string, with a manifest"},
	}
}

// kinds returns the values with the same serializer on both sides: Akka 2.5 does not have Jackson
// serializers, and writes booleans with Java serialization.
func (s *service) kinds() []any {
	return slices.DeleteFunc(kinds(), func(value any) bool {
		switch value.(type) {
		case orderPlaced, orderShipped, bool:
			return s.plugin == akka130
		}
		return false
	})
}

// eachKind writes values of every kind with each plug-in, one by one and as one atomic write.
func eachKind(t *testing.T, test func(t *testing.T, s *service, atomically bool)) {
	eachPlugin(t, func(t *testing.T, s *service) {
		for name, atomically := range map[string]bool{"one by one": false, "as one atomic write": true} {
			t.Run(name, func(t *testing.T) { test(t, s, atomically) })
		}
	})
}

func TestGoReadsEveryKindThatTheJVMWrites(t *testing.T) {
	eachKind(t, func(t *testing.T, s *service, atomically bool) {
		pid, j := newPID(t), s.open(t)
		s.writeJVM(t, pid, atomically, s.kinds()...)
		checkSeen(t, "Go", readGo(t, j, pid, dynajournal.Range{}), numbered(t, 1, s.kinds()...))
		checkSeen(t, "Go, recovering,", recoverGo(t, j, pid, 0).events, numbered(t, 1, s.kinds()...))
	})
}

func TestJVMReadsEveryKindThatGoWrites(t *testing.T) {
	eachKind(t, func(t *testing.T, s *service, atomically bool) { s.checkJVMReads(t, s.open(t), atomically) })
}

// The later plug-ins read the form of the plug-ins 1.0 and 1.1.1, which store the whole event in
// one attribute.
func TestJVMReadsTheOldFormThatGoWrites(t *testing.T) {
	eachKind(t, func(t *testing.T, s *service, atomically bool) {
		j := s.open(t, func(c *dynajournal.Config) { c.OldEventFormat, c.OldSnapshotFormat = true, true })
		pid := s.checkJVMReads(t, j, atomically)
		saveGo(t, j, pid, 2, "state")
		started := s.startJVM(t, pid)
		s.stopJVM(t, pid)
		if started.Snapshot == nil || *started.Snapshot != 2 || !started.State.same(typedOf(t, "state")) {
			t.Errorf("the JVM starts with %v at %v, want the snapshot at 2", started.State, started.Snapshot)
		}
	})
}

// checkJVMReads makes Go write values of every kind, and checks that the JVM replays them.
func (s *service) checkJVMReads(t *testing.T, j *dynajournal.Journal, atomically bool) (pid string) {
	t.Helper()
	pid = newPID(t)
	recoverGo(t, j, pid, 0).appendAll(t, atomically, s.kinds()...)
	checkSeen(t, "the plug-in", seenJVM(s.replayJVM(t, pid)), numbered(t, 1, s.kinds()...))
	checkSeen(t, "a persistent actor", seenJVM(s.startJVM(t, pid)), numbered(t, 1, s.kinds()...))
	s.stopJVM(t, pid)
	return pid
}

func TestItemsOfBothSidesAreTheSameBytes(t *testing.T) {
	eachKind(t, func(t *testing.T, s *service, atomically bool) {
		byGo, byJVM := newPID(t), newPID(t)
		j := s.open(t)
		if s.plugin != pekko110 {
			j = s.open(t, withRegistry(registry(t, nil, nil, serialization.WithManifestPrefix(serialization.Akka))))
		}
		recoverGo(t, j, byGo, 0).appendAll(t, atomically, s.kinds()...)
		s.writeJVM(t, byJVM, atomically, s.kinds()...)
		checkSameItems(t, s, byGo, byJVM)
	})
}

// checkSameItems compares the items of two persistence ids, except their names and writers.
func checkSameItems(tb testing.TB, s *service, pid, twin string) {
	tb.Helper()
	got, want := anonymous(s.journalItems(tb, pid), pid), anonymous(s.journalItems(tb, twin), twin)
	for key := range got {
		if want[key] == nil {
			tb.Errorf("only one side has an item %s", key)
		}
	}
	for key, item := range want {
		if !reflect.DeepEqual(got[key], item) {
			tb.Errorf("at %s there is\n%s\nwant\n%s", key, show(got[key]), show(item))
		}
	}
}

// anonymous returns items without the name of their persistence id and their writer.
func anonymous(
	items map[string]map[string]types.AttributeValue, pid string,
) map[string]map[string]types.AttributeValue {
	renamed := map[string]map[string]types.AttributeValue{}
	for key, item := range items {
		for name, v := range item {
			if text, ok := v.(*types.AttributeValueMemberS); ok {
				item[name] = &types.AttributeValueMemberS{Value: strings.ReplaceAll(text.Value, pid, "PID")}
			}
		}
		if item["writer_uuid"] != nil {
			item["writer_uuid"] = &types.AttributeValueMemberS{Value: "WRITER"}
		}
		renamed[strings.ReplaceAll(key, pid, "PID")] = item
	}
	return renamed
}

func show(item map[string]types.AttributeValue) string {
	var text strings.Builder
	for name, v := range item {
		text.WriteString(name + "=")
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			text.WriteString(v.Value)
		case *types.AttributeValueMemberN:
			text.WriteString(v.Value)
		case *types.AttributeValueMemberB:
			text.WriteString(strings.ToValidUTF8(string(v.Value), "?"))
		}
		text.WriteString(" ")
	}
	return text.String()
}

func TestCompressedPayloads(t *testing.T) {
	s := sharedService(t)
	long := strings.Repeat("compressible ", 5000)
	orders := []any{orderPlaced{"a", 1, long}, orderShipped{"a", 2, long}}
	plain := s.open(t)

	t.Run("what the JVM wrote as gzip and LZ4", func(t *testing.T) {
		pid := newPID(t)
		s.writeJVM(t, pid, false, orders...)
		var starts []byte
		for e, err := range plain.Events(t.Context(), pid, dynajournal.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			starts = append(starts, e.Bytes[0])
		}
		if want := []byte{gzipByte, lz4Byte}; string(starts) != string(want) {
			t.Fatalf("the JVM's payloads begin with % x, want % x: they are not compressed as this test wants",
				starts, want)
		}
		checkSeen(t, "Go", readGo(t, plain, pid, dynajournal.Range{}), numbered(t, 1, orders...))
	})

	for name, with := range map[string]struct {
		compression serialization.Compression
		first       byte
	}{"gzip": {serialization.Gzip, gzipByte}, "LZ4": {serialization.LZ4, lz4Byte}} {
		t.Run("what Go wrote as "+name, func(t *testing.T) {
			compress := []serialization.JacksonOption{serialization.Compress(with.compression, 0)}
			j, pid := s.open(t, withRegistry(registry(t, compress, compress))), newPID(t)
			recoverGo(t, j, pid, 0).appendAll(t, true, orders...)
			for e, err := range j.Events(t.Context(), pid, dynajournal.Range{}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Bytes[0] != with.first {
					t.Errorf("the payload of event %d begins with %x, want %x",
						e.SequenceNumber, e.Bytes[0], with.first)
				}
			}
			checkSeen(t, "the plug-in", seenJVM(s.replayJVM(t, pid)), numbered(t, 1, orders...))
		})
	}
}

// First bytes of compressed payloads.
const (
	gzipByte = 0x1f
	lz4Byte  = 0x87
)

func TestOlderVersionsAreMigratedOnBothSides(t *testing.T) {
	s := sharedService(t)
	pid, j := newPID(t), s.open(t)
	recoverGo(t, j, pid, 0).appendAll(t, false, serialization.Payload{
		SerializerID: serialization.IDJacksonJSON, Manifest: classPlaced, Bytes: []byte(`{"id":"old","amount":3}`),
	})
	want := numbered(t, 1, orderPlaced{"old", 3, "from version 1"})
	checkSeen(t, "Go", readGo(t, j, pid, dynajournal.Range{}), want)
	checkSeen(t, "the plug-in", seenJVM(s.replayJVM(t, pid)), want)
}

func TestJavaSerializationPassesThroughGoUnchanged(t *testing.T) {
	s := sharedService(t)
	original, duplicate, j := newPID(t), newPID(t), s.open(t)
	events := []typed{
		{Type: "cancelled", Value: []byte(`{"id":"a-1"}`)},
		{Type: "tagged", Value: []byte(`"an event with tags"`)},
	}
	s.startJVM(t, original)
	s.jvm.do(t, request{Op: "persist", PID: original, Events: events})
	s.stopJVM(t, original)

	var payloads []any
	var classes []string
	for e, err := range j.Events(t.Context(), original, dynajournal.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		object, err := dynajournal.Decode[serialization.JavaObject](t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		classes = append(classes, object.Class)
		payloads = append(payloads, e.Serialized())
	}
	want := []string{"interop.Values$OrderCancelled", "org.apache.pekko.persistence.journal.Tagged"}
	if !reflect.DeepEqual(classes, want) {
		t.Errorf("Go sees classes %q, want %q", classes, want)
	}
	recoverGo(t, j, duplicate, 0).appendAll(t, true, payloads...)
	checkSeen(t, "the plug-in", seenJVM(s.replayJVM(t, duplicate)), []seen{{1, events[0]}, {2, events[1]}})
}
