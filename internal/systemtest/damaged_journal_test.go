package systemtest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// damaged is a journal whose table the test can change directly.
type damaged struct {
	*dynajournal.Journal
	t      *testing.T
	table  *dynamodb.Client
	clock  *time.Time
	config dynajournal.Config
}

func openDamaged(t *testing.T, opts dynajournal.TableOptions, enveloped bool) *damaged {
	t.Helper()
	now := new(time.Now())
	engine, err := embedded.OpenMemory(embedded.WithClock(func() time.Time { return *now }))
	if err != nil {
		t.Fatal(err)
	}
	config := dynajournal.Config{AWS: engine.AWSConfig(), OldEventFormat: enveloped}
	if err := dynajournal.CreateTables(t.Context(), config, opts); err != nil {
		t.Fatal(err)
	}
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = j.Close()
		_ = engine.Close()
	})
	return &damaged{j, t, dynamodb.NewFromConfig(engine.AWSConfig()), now, config}
}

func eventKey(par string, num int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"par": &types.AttributeValueMemberS{Value: par},
		"num": &types.AttributeValueMemberN{Value: strconv.Itoa(num)},
	}
}

func (d *damaged) remove(par string, num int) {
	d.t.Helper()
	removeItem(d.t, d.table, par, num)
}

// put stores an item with a key and attributes.
func (d *damaged) put(par string, num int, attributes map[string]any) {
	d.t.Helper()
	item := eventKey(par, num)
	addAttributes(item, attributes)
	if _, err := d.table.PutItem(d.t.Context(), &dynamodb.PutItemInput{TableName: new(dynajournal.DefaultJournalTable), Item: item}); err != nil {
		d.t.Fatal(err)
	}
}

// addAttributes adds attributes to an item: strings, numbers and bytes.
func addAttributes(item map[string]types.AttributeValue, attributes map[string]any) {
	for name, v := range attributes {
		switch v := v.(type) {
		case string:
			item[name] = &types.AttributeValueMemberS{Value: v}
		case int:
			item[name] = &types.AttributeValueMemberN{Value: strconv.Itoa(v)}
		case []byte:
			item[name] = &types.AttributeValueMemberB{Value: v}
		}
	}
}

// event stores an event of "a", as another writer would.
func (d *damaged) event(seq int, writer string, batch ...int) {
	d.t.Helper()
	attributes := map[string]any{"persistence_id": "a", "seq": seq, "event": []byte("x"), "writer_uuid": writer, "ev_ser_id": 20}
	if len(batch) == 2 {
		attributes["idx"], attributes["cnt"] = batch[0], batch[1]
	}
	d.put(fmt.Sprintf("journal-P-a-%d", seq/100), seq%100, attributes)
}

func (d *damaged) write(n int, atomic bool) {
	d.t.Helper()
	appendStrings(d.t, recoverWriter(d.t, d.Journal, "a", 0), n, atomic)
}

func (d *damaged) deleteTo(seq int64) {
	d.t.Helper()
	if _, err := recoverWriter(d.t, d.Journal, "a", 0).DeleteTo(d.t.Context(), seq); err != nil {
		d.t.Fatal(err)
	}
}

// deleteCovered deletes events that a snapshot covers.
func (d *damaged) deleteCovered(seq int64) {
	d.t.Helper()
	if _, err := recoverWriter(d.t, d.Journal, "a", 0).DeleteCovered(d.t.Context(), seq); err != nil {
		d.t.Fatal(err)
	}
}

// highMark stores a high mark in its shard.
func (d *damaged) highMark(seq int) {
	d.t.Helper()
	d.put(fmt.Sprintf("journal-SH-a-%d", seq/100%d.SequenceShards()), 0, map[string]any{"seq": seq})
}

func (d *damaged) lowMark(seq int, more map[string]any) {
	d.t.Helper()
	attributes := map[string]any{"seq": seq}
	maps.Copy(attributes, more)
	d.put(fmt.Sprintf("journal-SL-a-%d", seq/100%d.SequenceShards()), 0, attributes)
}

// payload stores an event of another serializer.
func (d *damaged) payload(seq, serializer int, manifest string, bytes []byte) {
	d.t.Helper()
	d.put("journal-P-a-0", seq, map[string]any{
		"persistence_id": "a", "seq": seq, "event": bytes, "writer_uuid": "w", "ev_ser_id": serializer, "ev_ser_manifest": manifest,
	})
}

// saveSnapshot saves a snapshot of several parts, and returns the keys of its items, the head
// first.
func (d *damaged) saveSnapshot(seq int64, size int) []string {
	d.t.Helper()
	metadata := dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: seq}
	if _, err := d.SaveSnapshot(d.t.Context(), metadata, strings.Repeat("s", size)); err != nil {
		d.t.Fatal(err)
	}
	out, err := d.table.Query(d.t.Context(), &dynamodb.QueryInput{
		TableName:                 new(dynajournal.DefaultSnapshotTable),
		ScanIndexForward:          new(false),
		KeyConditionExpression:    new("par = :p"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: "journal-P-a"}},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	var keys []string
	for _, item := range out.Items {
		keys = append(keys, item["seq"].(*types.AttributeValueMemberN).Value)
	}
	return keys
}

func (d *damaged) removeSnapshotItem(number string) {
	d.t.Helper()
	if _, err := d.table.DeleteItem(d.t.Context(), &dynamodb.DeleteItemInput{
		TableName: new(dynajournal.DefaultSnapshotTable),
		Key: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: "journal-P-a"},
			"seq": &types.AttributeValueMemberN{Value: number},
		},
	}); err != nil {
		d.t.Fatal(err)
	}
}

// putSnapshot stores an item in the snapshot table.
func (d *damaged) putSnapshot(seq int, attributes map[string]any) {
	d.t.Helper()
	item := map[string]types.AttributeValue{
		"par": &types.AttributeValueMemberS{Value: "journal-P-a"}, "seq": &types.AttributeValueMemberN{Value: strconv.Itoa(seq)},
	}
	addAttributes(item, attributes)
	if _, err := d.table.PutItem(d.t.Context(), &dynamodb.PutItemInput{TableName: new(dynajournal.DefaultSnapshotTable), Item: item}); err != nil {
		d.t.Fatal(err)
	}
}

// fraction stores an item between 2 and 3.
func (d *damaged) fraction() {
	d.t.Helper()
	item := eventKey("journal-P-a-0", 2)
	item["num"] = &types.AttributeValueMemberN{Value: "2.5"}
	if _, err := d.table.PutItem(d.t.Context(), &dynamodb.PutItemInput{TableName: new(dynajournal.DefaultJournalTable), Item: item}); err != nil {
		d.t.Fatal(err)
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// noTTL disables TTL on the journal table.
func (d *damaged) noTTL() {
	d.t.Helper()
	if _, err := d.table.UpdateTimeToLive(d.t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               new(dynajournal.DefaultJournalTable),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("expires"), Enabled: new(false)},
	}); err != nil {
		d.t.Fatal(err)
	}
}

// seen returns the result of a reader as text: its events and its final error.
func (d *damaged) seen() string {
	d.t.Helper()
	var all []string
	for e, err := range d.Events(d.t.Context(), "a", dynajournal.Range{SkipMissing: true}) {
		if err != nil {
			all = append(all, err.Error())
			break
		}
		all = append(all, fmt.Sprintf("%d %s %x", e.SequenceNumber, e.WriterUUID, e.Serialized().Bytes))
	}
	return strings.Join(all, "\n")
}

// items returns all items of the journal table.
func (d *damaged) items() map[string]map[string]types.AttributeValue {
	d.t.Helper()
	out, err := d.table.Scan(d.t.Context(), &dynamodb.ScanInput{TableName: new(dynajournal.DefaultJournalTable)})
	if err != nil {
		d.t.Fatal(err)
	}
	all := map[string]map[string]types.AttributeValue{}
	for _, item := range out.Items {
		all[item["par"].(*types.AttributeValueMemberS).Value+" "+item["num"].(*types.AttributeValueMemberN).Value] = item
	}
	return all
}

type foundAt struct {
	kind       dynajournal.FindingKind
	seq        int64
	repairable bool
}

func collect(t *testing.T, findings func(yield func(dynajournal.Finding, error) bool)) []foundAt {
	t.Helper()
	var all []foundAt
	for f, err := range findings {
		if err != nil {
			t.Fatal(err)
		}
		if f.Detail == "" || f.PersistenceID != "a" {
			t.Errorf("finding without detail or of another id: %+v", f)
		}
		all = append(all, foundAt{f.Kind, f.SequenceNumber, f.Repairable})
	}
	return all
}
