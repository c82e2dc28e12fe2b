package stream

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// fuzzed is an attribute value in the JSON of DynamoDB.
type fuzzed struct {
	S, N, B    *string
	BOOL, NULL *bool
	SS, NS     []string
	BS         [][]byte
	L          []fuzzed
	M          map[string]fuzzed
}

// streamed and read return the value as a stream and a table have it.
func (f *fuzzed) streamed() types.AttributeValue {
	switch {
	case f.S != nil:
		return &types.AttributeValueMemberS{Value: *f.S}
	case f.N != nil:
		return &types.AttributeValueMemberN{Value: *f.N}
	case f.B != nil:
		b, _ := base64.StdEncoding.DecodeString(*f.B)
		return &types.AttributeValueMemberB{Value: b}
	case f.BOOL != nil:
		return &types.AttributeValueMemberBOOL{Value: *f.BOOL}
	case f.NULL != nil:
		return &types.AttributeValueMemberNULL{Value: *f.NULL}
	case f.SS != nil:
		return &types.AttributeValueMemberSS{Value: f.SS}
	case f.NS != nil:
		return &types.AttributeValueMemberNS{Value: f.NS}
	case f.BS != nil:
		return &types.AttributeValueMemberBS{Value: f.BS}
	case f.L != nil:
		list := &types.AttributeValueMemberL{}
		for i := range f.L {
			list.Value = append(list.Value, f.L[i].streamed())
		}
		return list
	case f.M != nil:
		m := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}
		for name, v := range f.M {
			m.Value[name] = v.streamed()
		}
		return m
	}
	return &types.UnknownUnionMember{Tag: "new"}
}

func (f *fuzzed) read() dynamotypes.AttributeValue {
	switch {
	case f.S != nil:
		return &dynamotypes.AttributeValueMemberS{Value: *f.S}
	case f.N != nil:
		return &dynamotypes.AttributeValueMemberN{Value: *f.N}
	case f.B != nil:
		b, _ := base64.StdEncoding.DecodeString(*f.B)
		return &dynamotypes.AttributeValueMemberB{Value: b}
	case f.BOOL != nil:
		return &dynamotypes.AttributeValueMemberBOOL{Value: *f.BOOL}
	case f.NULL != nil:
		return &dynamotypes.AttributeValueMemberNULL{Value: *f.NULL}
	case f.SS != nil:
		return &dynamotypes.AttributeValueMemberSS{Value: f.SS}
	case f.NS != nil:
		return &dynamotypes.AttributeValueMemberNS{Value: f.NS}
	case f.BS != nil:
		return &dynamotypes.AttributeValueMemberBS{Value: f.BS}
	case f.L != nil:
		list := &dynamotypes.AttributeValueMemberL{}
		for i := range f.L {
			list.Value = append(list.Value, f.L[i].read())
		}
		return list
	case f.M != nil:
		m := &dynamotypes.AttributeValueMemberM{Value: map[string]dynamotypes.AttributeValue{}}
		for name, v := range f.M {
			m.Value[name] = v.read()
		}
		return m
	}
	return &dynamotypes.UnknownUnionMember{Tag: "new"}
}

// FuzzRecord decodes the record of an arbitrary item. The result equals the result of reading that
// item from the table. It is empty if the item can't be decoded.
func FuzzRecord(f *testing.F) {
	served, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = served.Close() })
	config := dynajournal.Config{AWS: served.AWSConfig()}
	if err := dynajournal.CreateTables(f.Context(), config, dynajournal.TableOptions{}); err != nil {
		f.Fatal(err)
	}
	journal, err := dynajournal.Open(f.Context(), config)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = journal.Close() })
	r := &reader{Consumer: &Consumer{Group: &engine.Group{Journal: journal, Table: engine.OpenTable(journal)}}}

	const event = `{"num":{"N":"7"},"persistence_id":{"S":"a"},"seq":{"N":"7"},"event":{"B":"eA=="},` +
		`"writer_uuid":{"S":"w"},"ev_ser_id":{"N":"1"}`
	for _, seed := range []string{
		event + `}`,
		event + `,"idx":{"N":"0"},"cnt":{"N":"1"}}`,
		event + `,"time":{"N":"5"},"tags":{"SS":["x"]},"meta":{"M":{"k":{"S":"v"}}}}`,
		event + `,"meta":{"M":{"k":{"L":[{"NULL":true},{"M":{}},{}]}}}}`,
		event + `,"manifest":{"BOOL":true},"ev_ser_manifest":{"NS":["1"]},"x":{"BS":["eA=="]}}`,
		event[:len(event)-1] + `.5"}}`,
		`{"num":{"N":"7"},"idx":{"N":"1000000000"},"cnt":{"N":"1000000000"},"expires":{"N":"1"}}`,
		`{"num":{"N":"7"},"pay":{"B":"eA=="}}`,
		`{"num":{"S":"7"}}`, `{"num":{"N":"-1"}}`, `{}`,
	} {
		f.Add("journal-P-a-0", []byte(seed))
	}
	f.Add("journal-P-a-007", []byte(event+`}`))
	f.Add("journal-P-a-9223372036854775807", []byte(event+`}`))
	f.Add("journal-SH-a-0", []byte(event+`}`))
	f.Fuzz(func(t *testing.T, par string, data []byte) {
		var item map[string]fuzzed
		if json.Unmarshal(data, &item) != nil {
			return
		}
		key := &types.AttributeValueMemberS{Value: par}
		stream := types.Record{
			EventName: types.OperationTypeInsert,
			Dynamodb: &types.StreamRecord{
				Keys: map[string]types.AttributeValue{engine.AttrPar: key}, NewImage: map[string]types.AttributeValue{engine.AttrPar: key},
			},
		}
		stored := dynamo.Attributes{engine.AttrPar: engine.Text(par)}
		for name, v := range item {
			if name != engine.AttrPar {
				stream.Dynamodb.NewImage[name], stored[name] = v.streamed(), v.read()
			}
		}
		record := &recordsOf(&dynamodbstreams.GetRecordsOutput{Records: []types.Record{stream}}).Records[0]
		pid, ok := triggers(r.Group, record)
		if !ok {
			return
		}
		got := r.recordOf(record)
		partition, err := strconv.ParseInt(par[strings.LastIndex(par, "-")+1:], 10, 64)
		canonical := err == nil && par == fmt.Sprintf("journal-P-%s-%d", pid, partition)
		want, event, err := core.Of(journal).ReadItem(pid, partition, stored)
		switch {
		case err != nil || !event || !canonical:
			if got != (engine.Record{}) {
				t.Errorf("%+v of what can't be read (%v)", got, err)
			}
		case got.Seq != want.SequenceNumber || got.Writer != want.Writer || (got.Event != nil) != want.Single:
			t.Errorf("%+v, want %+v", got, want)
		case got.Event != nil && !reflect.DeepEqual(delivered(t, journal, got.Event), delivered(t, journal, &want)): //nolint:govet // no error is decoded
			t.Errorf("%+v, want %+v", delivered(t, journal, got.Event), delivered(t, journal, &want))
		}
	})
}

func delivered(t *testing.T, journal *dynajournal.Journal, e *core.StoredEvent) []dynajournal.Event {
	t.Helper()
	var all []dynajournal.Event
	if err := core.DeliverEvents(t.Context(), journal, e, func(event dynajournal.Event) error {
		all = append(all, event)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
