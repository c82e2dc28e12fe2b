package systemtest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/persistentpb"
	"github.com/dynajournal/dynajournal/serialization"
)

// Classes of the golden data.
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
		ID     string  `json:"id"`
		Amount int32   `json:"amount"`
		Note   *string `json:"note"`
	}
	// domainEvent is stored as a string by an event adapter.
	domainEvent string
)

// domainAdapter is the golden data's event adapter.
type domainAdapter struct{}

const domainManifest, domainPrefix = "domain-v1", "D:"

func (domainAdapter) ToJournal(event any) (stored any, manifest string, err error) {
	if d, ok := event.(domainEvent); ok {
		return domainPrefix + string(d), domainManifest, nil
	}
	return event, "", nil
}

func (domainAdapter) FromJournal(stored any, manifest string) ([]any, error) {
	text, ok := stored.(string)
	if !ok || manifest != domainManifest {
		return []any{stored}, nil
	}
	return []any{domainEvent(strings.TrimPrefix(text, domainPrefix))}, nil
}

// goldenRegistry returns a registry with the classes of the golden data, as Akka or Pekko writes
// them.
func goldenRegistry(tb testing.TB, prefix serialization.ManifestPrefix) *serialization.Registry {
	tb.Helper()
	r := serialization.NewRegistry(serialization.WithManifestPrefix(prefix))
	err := errors.Join(
		serialization.JSON[jsonOrder](r, "golden.Events$JsonOrder"),
		serialization.JSON[versionedOrder](r, "golden.Events$VersionedOrder", serialization.Version(2)),
		serialization.CBOR[cborOrder](r, "golden.Events$CborOrder"),
		serialization.Protobuf[*wrapperspb.StringValue](r, "com.google.protobuf.StringValue"),
	)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// goldenInput is a value in the form of the scenarios.
type goldenInput struct {
	T string          `json:"t"`
	V json.RawMessage `json:"v"`
	N int             `json:"n"`
}

// value returns the Go value of in, or nil if only Java serialization writes its kind.
func (in goldenInput) value(tb testing.TB) any {
	tb.Helper()
	switch in.T {
	case "string":
		return parsed[string](tb, in.V)
	case "bigstring":
		return strings.Repeat(parsed[string](tb, in.V), in.N)
	case "bytes":
		return parsed[[]byte](tb, in.V)
	case "bytestring":
		return parsed[serialization.ByteString](tb, in.V)
	case "long":
		return parsed[int64](tb, in.V)
	case "int":
		return parsed[int32](tb, in.V)
	case "bool":
		return parsed[bool](tb, in.V)
	case "protobuf":
		return wrapperspb.String(parsed[string](tb, in.V))
	case "json":
		return parsed[jsonOrder](tb, in.V)
	case "json-big":
		const word = "compressible "
		order, note := parsed[jsonOrder](tb, in.V), strings.Repeat(word, (in.N+len(word)-1)/len(word))
		order.Note = &note
		return order
	case "json-v2":
		return parsed[versionedOrder](tb, in.V)
	case "cbor":
		return parsed[cborOrder](tb, in.V)
	case "domain":
		return parsed[domainEvent](tb, in.V)
	case "java", "tagged":
		return nil
	}
	tb.Fatalf("a golden value of the unknown kind %q", in.T)
	return nil
}

func parsed[T any](tb testing.TB, data []byte) T {
	tb.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		tb.Fatalf("a golden value %s: %v", data, err)
	}
	return v
}

// goldenDeed is a step of a scenario that is repeated in Go.
type goldenDeed struct {
	Op, Pid, V, File string
	N                int
	Atomic           bool
	Events           []goldenInput
	Event            *goldenInput
	Seq, ToSeq       int64
	MinSeq, MaxSeq   int64
	MinTS, MaxTS     *int64
	Result           goldenResult
}

type goldenResult struct {
	SeqNr, Timestamp int64
	Class            string
	Value            json.RawMessage
	Errors           []string
}

// goldenDeeds has the steps of a scenario, and the resulting items of the journal table and the
// snapshot table.
type goldenDeeds struct {
	Steps  []goldenDeed
	Tables map[string][]map[string]goldenValue

	journal, snapshots []map[string]goldenValue
}

func loadGolden(tb testing.TB, name string) *goldenDeeds {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "golden", filepath.FromSlash(name)+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	var g goldenDeeds
	if err := json.Unmarshal(data, &g); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	for table, items := range g.Tables {
		if strings.HasSuffix(table, "snapshot") {
			g.snapshots = items
		} else {
			g.journal = items
		}
	}
	return &g
}

// stored returns the item of a golden table with the given number in the attribute seq or in the
// envelope, or nil.
func stored(tb testing.TB, items []map[string]goldenValue, pid string, seq int64) map[string]goldenValue {
	tb.Helper()
	for _, item := range items {
		if item["seq"].N != nil && item["seq"].number(tb) == seq && strings.Contains(item["par"].text(), "-P-"+pid) {
			return item
		}
		if item["num"].N != nil && item["pay"].B != nil {
			if m := enveloped(tb, *item["pay"].B); m.GetPersistenceId() == pid && m.GetSequenceNr() == seq {
				return item
			}
		}
	}
	return nil
}

// enveloped decodes the message of an event in Akka 1.1's form.
func enveloped(tb testing.TB, pay []byte) *persistentpb.PersistentMessage {
	tb.Helper()
	m := new(persistentpb.PersistentMessage)
	if err := proto.Unmarshal(pay, m); err != nil {
		tb.Fatalf("an event's envelope is no message: %v", err)
	}
	return m
}

// javaPayload returns the payload of a golden item that Java serialization wrote, or nil for any
// other payload.
func javaPayload(tb testing.TB, item map[string]goldenValue) any {
	tb.Helper()
	var p serialization.Payload
	switch {
	case item["event"].B != nil:
		p = serialization.Payload{SerializerID: int32(item["ev_ser_id"].number(tb)), Bytes: *item["event"].B}
	case item["pay_data"].B != nil:
		p = serialization.Payload{SerializerID: int32(item["ser_id"].number(tb)), Bytes: *item["pay_data"].B}
	case item["pay"].B != nil && item["num"].N != nil:
		payload := enveloped(tb, *item["pay"].B).GetPayload()
		p = serialization.Payload{SerializerID: payload.GetSerializerId(), Bytes: payload.GetPayload()}
	case item["pay"].B != nil:
		envelope, err := serialization.ParseSnapshot(*item["pay"].B)
		if err != nil {
			tb.Fatal(err)
		}
		p = envelope.Data
	}
	if p.SerializerID != serialization.IDJava || p.Bytes == nil {
		return nil
	}
	return p
}

// checkGoldenTable compares a table with the golden table, item by item: all attributes but the
// writer's UUID must be equal byte for byte. Gzip data is compared after decompression, because two
// compressors may differ. The journal's header is ignored, because only Go writes it.
func checkGoldenTable(tb testing.TB, client *dynamodb.Client, table, sortKey string, want []map[string]goldenValue) {
	tb.Helper()
	key := func(item map[string]types.AttributeValue) string {
		return item["par"].(*types.AttributeValueMemberS).Value + "/" + item[sortKey].(*types.AttributeValueMemberN).Value
	}
	found := map[string]map[string]types.AttributeValue{}
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: aws.String(table), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(tb.Context())
		if err != nil {
			tb.Fatalf("scan %s: %v", table, err)
		}
		for _, item := range page.Items {
			if !strings.HasSuffix(key(item), "-META/0") {
				found[key(item)] = withoutVariance(tb, item)
			}
		}
	}
	for _, golden := range want {
		item := map[string]types.AttributeValue{}
		for name, v := range golden {
			item[name] = v.attribute()
		}
		k := key(item)
		if got := found[k]; !reflect.DeepEqual(got, withoutVariance(tb, item)) {
			tb.Errorf("item %s is\n%s\nthe plug-in has\n%s", k, showItem(got), showItem(item))
		}
		delete(found, k)
	}
	for k, item := range found {
		tb.Errorf("item %s is %s, the plug-in has no such item", k, showItem(item))
	}
}

// withoutVariance removes from an item what may differ: it decompresses gzip data and ignores the
// writer's UUID.
func withoutVariance(tb testing.TB, item map[string]types.AttributeValue) map[string]types.AttributeValue {
	tb.Helper()
	for name, v := range item {
		b, ok := v.(*types.AttributeValueMemberB)
		if ok && bytes.HasPrefix(b.Value, []byte{0x1f, 0x8b}) {
			item[name] = &types.AttributeValueMemberB{Value: gunzip(tb, b.Value)}
		}
	}
	if pay, ok := item["pay"].(*types.AttributeValueMemberB); ok && item["num"] != nil {
		writer := []byte(enveloped(tb, pay.Value).GetWriterUuid())
		item["pay"] = &types.AttributeValueMemberB{Value: bytes.ReplaceAll(pay.Value, writer, make([]byte, len(writer)))}
	}
	delete(item, "writer_uuid")
	return item
}

func gunzip(tb testing.TB, data []byte) []byte {
	tb.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		tb.Fatalf("gzip: %v", err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		tb.Fatalf("gzip: %v", err)
	}
	return plain
}

func showItem(item map[string]types.AttributeValue) string {
	var lines []string
	for name, v := range item {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			lines = append(lines, fmt.Sprintf("%s=%.80q", name, v.Value))
		case *types.AttributeValueMemberN:
			lines = append(lines, fmt.Sprintf("%s=%s", name, v.Value))
		case *types.AttributeValueMemberB:
			lines = append(lines, fmt.Sprintf("%s=%.160q", name, v.Value))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

// openGolden opens a shared journal on an empty engine, configured to write the same items as the
// golden data's plug-ins.
func openGolden(tb testing.TB, change func(*dynajournal.Config)) (*dynajournal.Journal, *dynamodb.Client) {
	tb.Helper()
	config := dynajournal.Config{
		AWS:           openEngine(tb).AWSConfig(),
		Adapter:       domainAdapter{},
		Serialization: goldenRegistry(tb, serialization.Pekko),
	}
	if change != nil {
		change(&config)
	}
	createTables(tb, config, dynajournal.TableOptions{SharedWithJVM: true})
	return openJournal(tb, config), dynamodb.NewFromConfig(config.AWS)
}
