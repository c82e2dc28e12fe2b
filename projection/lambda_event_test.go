package projection_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/awslambda"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// badEvent has a record of the journal table. The tests break it.
const badEvent = `{"Records":[{"eventID":"c4ca4238a0b923820dcc509a6f75849b","eventName":"INSERT",
"eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"us-east-1","dynamodb":{
"ApproximateCreationDateTime":1479499740,"Keys":{"par":{"S":"journal-P-a-0"},"num":{"N":"1"}},
"NewImage":{"par":{"S":"journal-P-a-0"},"num":{"N":"1"}},
"SequenceNumber":"4421584500000000017450439091","SizeBytes":26,"StreamViewType":"NEW_AND_OLD_IMAGES"},
"eventSourceARN":"arn:aws:dynamodb:us-east-1:123456789012:table/pekko-persistence/stream/2015-06-27T00:48:05.899"}]}`

func TestInvalidEventIsAnError(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	all := &recorder{}
	g := group(t, b.journal, onLambda(), projection.AtLeastOnce("all", all))
	for name, replace := range map[string][2]string{
		"no JSON":                {`{"Records"`, `"Records"`},
		"no records":             {`"Records"`, `"Recs"`},
		"records of another key": {`[{"eventID"`, `[null,{"eventID"`},
		"another source":         {`aws:dynamodb`, `aws:kinesis`},
		"another table":          {`table/pekko-persistence/`, `table/other/`},
		"no stream":              {`/stream/`, `/index/`},
		"no operation":           {`"INSERT"`, `"UPSERT"`},
		"no change":              {`"dynamodb":`, `"dynamo":`},
		"no key":                 {`"Keys":{"par"`, `"Keys":{"pra"`},
		"a key of a number":      {`"Keys":{"par":{"S":"journal-P-a-0"}`, `"Keys":{"par":{"N":"1"}`},
		"a key that is null":     {`"Keys":{"par":{"S":"journal-P-a-0"}`, `"Keys":{"par":null`},
		"no sequence number":     {`"4421584500000000017450439091"`, `""`},
		"a text as number":       {`"4421584500000000017450439091"`, `"44e3"`},
		"a long number":          {`"4421584500000000017450439091"`, `"` + strings.Repeat("1", 41) + `"`},
		"a value of two types":   {`"num":{"N":"1"}},` + "\n" + `"S`, `"num":{"N":"1","S":"x"}},` + "\n" + `"S`},
		"a value of no type":     {`"num":{"N":"1"}},` + "\n" + `"S`, `"num":{}},` + "\n" + `"S`},
		"a deep null":            {`"num":{"N":"1"}},` + "\n" + `"S`, `"num":{"M":{"x":{"L":[null]}}}},` + "\n" + `"S`},
		"bad base64":             {`"num":{"N":"1"}},` + "\n" + `"S`, `"num":{"B":"?"}},` + "\n" + `"S`},
	} {
		event := strings.Replace(badEvent, replace[0], replace[1], 1)
		if event == badEvent {
			t.Errorf("%s: nothing was replaced", name)
		}
		_, err := awslambda.Handler(g)(t.Context(), json.RawMessage(event))
		wantError(t, name, err, awslambda.ErrInvalidEvent)
		if _, ok := errors.AsType[*awslambda.EventError](err); !ok {
			t.Errorf("%s: %T", name, err)
		}
	}
	if list, err := operator.List(t.Context(), b.journal); err != nil || len(list) > 0 {
		t.Errorf("something is registered: %v, %v", list, err)
	}
	if _, err := awslambda.Handler(g)(t.Context(), json.RawMessage(`{"Records":[]}`)); err != nil {
		t.Errorf("no records: %v", err)
	}
}

// The event is from the AWS documentation, with the key of a journal. Its item does not exist:
// nothing is handled, and the record is done.
func TestRecordedEvent(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	all := &recorder{}
	g := group(t, b.journal, onLambda(), projection.AtLeastOnce("all", all))
	event, err := os.ReadFile("awslambda/testdata/event.json")
	if err != nil {
		t.Fatal(err)
	}
	if failed := b.invoke(g, event, time.Minute); failed != "" {
		t.Errorf("failed at %q", failed)
	}
	b.write("order|1", "x")
	if failed := b.invoke(g, event, time.Minute); failed != "" {
		t.Errorf("failed at %q", failed)
	}
	want(t, "order|1", all.of("order|1"), "1 x")
}

func TestGroupOfAnotherSourceIsNotOnLambda(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	g := group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{}))
	_, err := awslambda.Handler(g)(t.Context(), json.RawMessage(badEvent))
	wantError(t, "Handler", err, dynajournal.ErrInvalidArgument)
	wantError(t, "Maintain", awslambda.Maintain(t.Context(), g), dynajournal.ErrInvalidArgument)
	g = group(t, b.journal, onLambda(), projection.AtLeastOnce("all", &recorder{}))
	wantError(t, "Run", g.Run(t.Context()), dynajournal.ErrInvalidArgument)
}

// A journal table without a projections table.
func TestInvocationWithoutItsTable(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a", "x")
	event := b.events(0)
	if _, err := b.table.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(projectionsTable)}); err != nil {
		t.Fatal(err)
	}
	g := group(t, b.journal, onLambda(), projection.AtLeastOnce("all", &recorder{}))
	_, err := awslambda.Handler(g)(t.Context(), event)
	wantError(t, "Handler", err, projection.ErrNoTable)
}

// docs/projections-operate.md states these costs of an invocation, in addition to the costs of a
// process.
func TestCostsOfAnInvocation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open func(t testing.TB) *bundle
		// one is the cost of 1 event. many is the cost of 20 events of a persistence id. ids is the
		// cost of 20 events of different persistence ids.
		one, many, ids dynajournal.Cost
	}{
		"images": {
			func(t testing.TB) *bundle { return viewed(t, "NEW_IMAGE") },
			dynajournal.Cost{Requests: 3, ReadUnits: 2, WriteUnits: 2},
			dynajournal.Cost{Requests: 3, ReadUnits: 2, WriteUnits: 2},
			dynajournal.Cost{Requests: 41, ReadUnits: 2, WriteUnits: 40},
		},
		"keys": {
			func(t testing.TB) *bundle { return viewed(t, "KEYS_ONLY") },
			dynajournal.Cost{Requests: 5, ReadUnits: 5, WriteUnits: 2},
			dynajournal.Cost{Requests: 5, ReadUnits: 5, WriteUnits: 2},
			dynajournal.Cost{Requests: 81, ReadUnits: 62, WriteUnits: 40},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := c.open(t)
			var spent costs
			g := group(t, b.Journal(spent.install), onLambda(), projection.AtLeastOnce("all", &recorder{}))
			from := 0
			invoke := func(what string, want dynajournal.Cost) {
				t.Helper()
				spent.take()
				if failed := b.invoke(g, b.events(from), time.Minute); failed != "" {
					t.Errorf("%s: failed at %q", what, failed)
				}
				if cost := spent.take(); want != (dynajournal.Cost{}) && cost != want {
					t.Errorf("%s: %+v, want %+v", what, cost, want)
				}
				from = len(b.streamRecords())
			}
			var writers []*dynajournal.Writer
			for i := range 20 {
				writers = append(writers, b.write(idOf(i), "x"))
			}
			invoke("the first events", dynajournal.Cost{})
			add := func(w *dynajournal.Writer) {
				if _, err := w.Append(t.Context(), "y"); err != nil {
					t.Fatal(err)
				}
			}
			add(writers[0])
			invoke("one", c.one)
			for range 20 {
				add(writers[0])
			}
			invoke("many", c.many)
			for _, w := range writers {
				add(w)
			}
			invoke("ids", c.ids)
		})
	}
}
