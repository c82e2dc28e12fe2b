package systemtest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*dynajournal.Config){
		"a journal name that ends in -P":              func(c *dynajournal.Config) { c.JournalName = "a-P" },
		"a journal name that ends in -SH":             func(c *dynajournal.Config) { c.JournalName = "a-SH" },
		"a journal name that ends in -SL":             func(c *dynajournal.Config) { c.JournalName = "a-SL" },
		"a journal name that ends in -META":           func(c *dynajournal.Config) { c.JournalName = "a-META" },
		"a journal name that is no UTF-8":             func(c *dynajournal.Config) { c.JournalName = "a\xff" },
		"a journal table that is no UTF-8":            func(c *dynajournal.Config) { c.JournalTable = "a\xff" },
		"a snapshot table that is no UTF-8":           func(c *dynajournal.Config) { c.SnapshotTable = "a\xff" },
		"an index name that is no UTF-8":              func(c *dynajournal.Config) { c.IDsIndexName = "a\xff" },
		"a journal name with a NUL":                   func(c *dynajournal.Config) { c.JournalName = "a\x00b" },
		"a journal name that is too long":             func(c *dynajournal.Config) { c.JournalName = strings.Repeat("j", 2048) },
		"a negative number of shards":                 func(c *dynajournal.Config) { c.SequenceShards = -1 },
		"too many shards":                             func(c *dynajournal.Config) { c.SequenceShards = 1 << 20 },
		"an item size over DynamoDB's":                func(c *dynajournal.Config) { c.MaxItemSize = 400<<10 + 1 },
		"a batch get over DynamoDB's":                 func(c *dynajournal.Config) { c.MaxBatchGet = 101 },
		"a batch write over DynamoDB's":               func(c *dynajournal.Config) { c.MaxBatchWrite = 26 },
		"a negative time-out":                         func(c *dynajournal.Config) { c.OperationTimeout = -1 },
		"a fence window under an hour":                func(c *dynajournal.Config) { c.FenceWindow = time.Hour - time.Second },
		"a fence window in parts of seconds":          func(c *dynajournal.Config) { c.FenceWindow = time.Hour + time.Millisecond },
		"more connections than a journal takes":       func(c *dynajournal.Config) { c.MaxConnections = 10_001 },
		"more partitions read ahead than connections": func(c *dynajournal.Config) { c.ReplayParallelism = 10_001 },
		"a huge buffer":                               func(c *dynajournal.Config) { c.HTTP.WriteBuffer = 1 << 31 },
		"a negative write buffer":                     func(c *dynajournal.Config) { c.HTTP.WriteBuffer = -1 },
		"a negative read buffer":                      func(c *dynajournal.Config) { c.HTTP.ReadBuffer = -1 },
		"a handover time below the minimum":           func(c *dynajournal.Config) { c.HandoverTime = time.Second },
		"a negative fence window":                     func(c *dynajournal.Config) { c.FenceWindow = -1 },
		"no connections":                              func(c *dynajournal.Config) { c.MaxConnections = -1 },
		"no parallelism":                              func(c *dynajournal.Config) { c.ReplayParallelism = -1 },
		"an endpoint that is no URL":                  func(c *dynajournal.Config) { c.Endpoint = "localhost" },
		"an endpoint of another scheme":               func(c *dynajournal.Config) { c.Endpoint = "ftp://localhost" },
		"a proxy that is no URL":                      func(c *dynajournal.Config) { c.HTTP.Proxy = "proxy:80:80" },
		"a local address that is none":                func(c *dynajournal.Config) { c.AWS.HTTPClient, c.HTTP.LocalAddress = nil, "here" },
		"neither a region nor an endpoint":            func(c *dynajournal.Config) { c.AWS.Region, c.AWS.BaseEndpoint = "", nil },
		"a negative number of events an atomic write": func(c *dynajournal.Config) { c.MaxBatchEvents = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := &counter{}
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig(), Hooks: []dynajournal.Hook{{OnRequest: requests.OnRequest}}}
			change(&config)
			_, err := dynajournal.Open(t.Context(), config)
			wantError(t, "Open", err, dynajournal.ErrInvalidArgument)
			wantError(t, "CreateTables", dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}), dynajournal.ErrInvalidArgument)
			if argument := new(dynajournal.ArgumentError); !errors.As(err, &argument) || !strings.HasPrefix(argument.Argument, "Config.") {
				t.Errorf("the error %v does not name the field", err)
			}
			if n := requests.requests.Load(); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

// tableOf creates a table with the given keys.
func tableOf(t *testing.T, client *dynamodb.Client, keys ...types.AttributeDefinition) {
	t.Helper()
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(dynajournal.DefaultJournalTable), AttributeDefinitions: keys, BillingMode: types.BillingModePayPerRequest,
	}
	for i, k := range keys {
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: k.AttributeName, KeyType: []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i]})
	}
	if _, err := client.CreateTable(t.Context(), in); err != nil {
		t.Fatalf("create a table: %v", err)
	}
}

func key(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
}

func TestTablesAreChecked(t *testing.T) {
	t.Parallel()
	const s, n, b = types.ScalarAttributeTypeS, types.ScalarAttributeTypeN, types.ScalarAttributeTypeB
	header := func(attributes map[string]string) func(*testing.T, dynajournal.Config) {
		return func(t *testing.T, c dynajournal.Config) {
			t.Helper()
			createTables(t, c, dynajournal.TableOptions{SharedWithJVM: true})
			item := map[string]types.AttributeValue{
				"par": &types.AttributeValueMemberS{Value: "journal-META"}, "num": &types.AttributeValueMemberN{Value: "0"},
			}
			for name, v := range attributes {
				item[name] = &types.AttributeValueMemberN{Value: v}
				if name == "kind" {
					item[name] = &types.AttributeValueMemberS{Value: v}
				}
			}
			putAll(t, dynamodb.NewFromConfig(c.AWS), []map[string]types.AttributeValue{item})
		}
	}
	table := func(keys ...types.AttributeDefinition) func(*testing.T, dynajournal.Config) {
		return func(t *testing.T, c dynajournal.Config) {
			t.Helper()
			tableOf(t, dynamodb.NewFromConfig(c.AWS), keys...)
		}
	}
	for name, c := range map[string]struct {
		prepare func(*testing.T, dynajournal.Config)
		shards  int
		want    error
	}{
		"no table":                         {func(*testing.T, dynajournal.Config) {}, 0, dynajournal.ErrTableNotFound},
		"a table with a hash key alone":    {table(key("par", s)), 0, dynajournal.ErrTableSchema},
		"a table of the oldest layout":     {table(key("key", s)), 0, dynajournal.ErrTableSchema},
		"a table of snapshots":             {table(key("par", s), key("seq", n)), 0, dynajournal.ErrTableSchema},
		"a table with a binary hash key":   {table(key("par", b), key("num", n)), 0, dynajournal.ErrTableSchema},
		"a table with a string range key":  {table(key("par", s), key("num", s)), 0, dynajournal.ErrTableSchema},
		"another number of shards":         {header(map[string]string{"kind": "shared", "shards": "10", "version": "1"}), 20, dynajournal.ErrHeaderMismatch},
		"an unknown version":               {header(map[string]string{"kind": "shared", "shards": "10", "version": "2"}), 0, dynajournal.ErrHeaderMismatch},
		"a header of an unknown kind":      {header(map[string]string{"kind": "strange", "shards": "10", "version": "1"}), 0, dynajournal.ErrHeaderMismatch},
		"a header without a version":       {header(map[string]string{"kind": "shared", "shards": "10"}), 0, dynajournal.ErrHeaderMismatch},
		"a header without shards":          {header(map[string]string{"kind": "shared", "version": "1"}), 0, dynajournal.ErrHeaderMismatch},
		"a header with no shard":           {header(map[string]string{"kind": "shared", "shards": "0", "version": "1"}), 0, dynajournal.ErrHeaderMismatch},
		"a header with a fraction of them": {header(map[string]string{"kind": "shared", "shards": "1.5", "version": "1"}), 0, dynajournal.ErrHeaderMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
			c.prepare(t, config)
			config.SequenceShards = c.shards
			j, err := dynajournal.Open(t.Context(), config)
			wantError(t, "Open", err, c.want)
			if j != nil {
				t.Error("Open returned a journal and an error")
			}
			if !errors.Is(c.want, dynajournal.ErrTableNotFound) {
				wantError(t, "CreateTables", dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{SharedWithJVM: true}), c.want)
			}
		})
	}
}

func TestTablesOfAnotherKindAreRefused(t *testing.T) {
	t.Parallel()
	for made, options := range kinds {
		t.Run(made, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
			createTables(t, config, options)
			createTables(t, config, options) // creating the same tables again succeeds
			other := dynajournal.TableOptions{SharedWithJVM: !options.SharedWithJVM}
			wantError(t, "CreateTables", dynajournal.CreateTables(t.Context(), config, other), dynajournal.ErrHeaderMismatch)
			config.SequenceShards = 7
			want := map[string]error{"native": dynajournal.ErrInvalidArgument, "shared": dynajournal.ErrHeaderMismatch}[made]
			wantError(t, "CreateTables", dynajournal.CreateTables(t.Context(), config, options), want)
		})
	}
}

func TestPersistenceIDsAreChecked(t *testing.T) {
	t.Parallel()
	for kind, longest := range map[string]int{"native": 1016, "shared": 2019} {
		const readable = 2048 - len("journal-P--0")
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := setup(t, kinds[kind])
			j, requests := s.journal, s.requests
			if err := readError(t.Context(), j, strings.Repeat("l", longest), dynajournal.Range{}); err != nil {
				t.Errorf("an id of %d bytes: %v", longest, err)
			}
			written(t, j, strings.Repeat("漢", longest/3)+strings.Repeat("x", longest%3), 2)
			before := requests.requests.Load()
			for name, pid := range map[string]string{"empty": "", "too long": strings.Repeat("l", longest+1), "no UTF-8": "a\xffb"} {
				_, err := j.Recover(t.Context(), pid, dynajournal.RecoverOptions{}, noHandler)
				wantError(t, name+": Recover", err, dynajournal.ErrInvalidArgument)
			}
			for name, pid := range map[string]string{"empty": "", "too long": strings.Repeat("l", readable+1), "no UTF-8": "a\xffb"} {
				wantError(t, name+": Events", readError(t.Context(), j, pid, dynajournal.Range{}), dynajournal.ErrInvalidArgument)
				_, err := j.Bounds(t.Context(), pid)
				wantError(t, name+": Bounds", err, dynajournal.ErrInvalidArgument)
				_, err = j.List(t.Context(), pid)
				wantError(t, name+": List", err, dynajournal.ErrInvalidArgument)
			}
			if n := requests.requests.Load() - before; n != 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

// TestPersistenceIDsFitTheIndex uses the table of a JVM whose ids index has par as its range key,
// which halves the limit.
func TestPersistenceIDsFitTheIndex(t *testing.T) {
	t.Parallel()
	const longest = 1024 - len("journal-SH--") - 17
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createPlainTable(t, config, pluginIndex("par"))
	j := openJournal(t, config)
	written(t, j, strings.Repeat("l", longest), 1)
	_, err := j.Recover(t.Context(), strings.Repeat("l", longest+1), dynajournal.RecoverOptions{}, nil)
	wantError(t, "Recover", err, dynajournal.ErrInvalidArgument)
}

func TestWindowsAreChecked(t *testing.T) {
	t.Parallel()
	s := setup(t, kinds["native"])
	j, requests := s.journal, s.requests
	w := written(t, j, "a", 2)
	before := requests.requests.Load()
	for _, window := range []dynajournal.Range{{From: -1}, {To: -1}, {Limit: aws.Int64(-1)}, {From: math.MinInt64}, {From: 2, To: -5}} {
		wantError(t, "Events of "+windowText(window), readError(t.Context(), j, "a", window), dynajournal.ErrInvalidArgument)
	}
	for _, o := range []dynajournal.RecoverOptions{
		{After: -1}, {To: -1}, {Limit: aws.Int64(-1)}, {After: math.MaxInt64}, {Snapshot: -1}, {Snapshot: math.MaxInt64},
		{After: 1, Snapshot: 2}, {After: 2, Snapshot: 1}, {Expect: aws.Int64(-1)},
		{Latest: true, After: 1}, {Latest: true, Snapshot: 1}, {Latest: true, To: 1}, {Latest: true, Limit: aws.Int64(1)},
	} {
		_, err := j.Recover(t.Context(), "a", o, noHandler)
		wantError(t, fmt.Sprintf("Recover(%+v)", o), err, dynajournal.ErrInvalidArgument)
	}
	_, err := w.DeleteTo(t.Context(), -1)
	wantError(t, "DeleteTo(-1)", err, dynajournal.ErrInvalidArgument)
	if n := requests.requests.Load() - before; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestEventsAreChecked(t *testing.T) {
	t.Parallel()
	s := setup(t, kinds["native"], func(c *dynajournal.Config) { c.MaxBatchEvents, c.MaxBatchBytes = 3, 10_000 })
	j, requests := s.journal, s.requests
	w := written(t, j, "a", 1)
	before := requests.requests.Load()
	large := strings.Repeat("x", 4000)
	for name, c := range map[string]struct {
		events []any
		want   error
		index  int
	}{
		"no events":                      {nil, dynajournal.ErrInvalidArgument, 0},
		"nil":                            {[]any{nil}, dynajournal.ErrRejected, 0},
		"a value without a serializer":   {[]any{"a", struct{ A int }{1}}, dynajournal.ErrRejected, 1},
		"a function":                     {[]any{func() {}}, dynajournal.ErrRejected, 0},
		"an event over the limit":        {[]any{"a", "b", strings.Repeat("x", dynajournal.DefaultMaxItemSize+1)}, dynajournal.ErrRejected, 2},
		"too many events":                {[]any{"a", "b", "c", "d"}, dynajournal.ErrRejected, -1},
		"too many bytes in all":          {[]any{large, large, large}, dynajournal.ErrRejected, -1},
		"a string that is no UTF-8":      {[]any{"a\xff"}, nil, 0},
		"a text that fills most of them": {[]any{large, large}, nil, 0},
	} {
		if c.want == nil {
			continue
		}
		_, err := w.Append(t.Context(), c.events...)
		wantError(t, name, err, c.want)
		if rejected := new(dynajournal.RejectedError); errors.As(err, &rejected) && rejected.Index != c.index {
			t.Errorf("%s: the error %v names event %d, want %d", name, err, rejected.Index, c.index)
		}
	}
	outcomes, err := w.AppendEach(t.Context())
	if len(outcomes) != 0 || err != nil {
		t.Errorf("AppendEach of nothing gave %v, %v", outcomes, err)
	}
	if n := requests.requests.Load() - before; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	if result, err := w.Append(t.Context(), large, large); err != nil || result.First != 2 {
		t.Errorf("after rejections, Append gave %+v, %v; want it from 2 on", result, err)
	}
}

// TestStoredItemsAreChecked stores items that no writer writes. Readers must report the item, and
// return no events after it.
func TestStoredItemsAreChecked(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, config, kinds["shared"])
	j, client := openJournal(t, config), dynamodb.NewFromConfig(config.AWS)
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for i, c := range []struct {
		attribute string
		value     types.AttributeValue // nil removes it
	}{
		{"event", text("a text")},
		{"persistence_id", nil},
		{"persistence_id", number("7")},
		{"persistence_id", text("another")},
		{"writer_uuid", nil},
		{"ev_ser_id", nil},
		{"ev_ser_id", number("4.5")},
		{"ev_ser_id", number("3000000000")},
		{"ev_ser_manifest", number("1")},
		{"manifest", number("1")},
		{"seq", nil},
		{"seq", number("5")},
		{"seq", number("1E+30")},
		{"idx", number("0")},
		{"cnt", number("0")},
	} {
		pid := fmt.Sprintf("a%d", i)
		written(t, j, pid, 4)
		item := map[string]types.AttributeValue{
			"par": text("journal-P-" + pid + "-0"), "num": number("3"), "persistence_id": text(pid), "seq": number("3"),
			"event": &types.AttributeValueMemberB{Value: []byte("x")}, "writer_uuid": text("w"), "ev_ser_id": number("4"),
		}
		item[c.attribute] = c.value
		if c.value == nil {
			delete(item, c.attribute)
		}
		putAll(t, client, []map[string]types.AttributeValue{item})
		what := fmt.Sprintf("%s = %v", c.attribute, c.value)
		var seen []int64
		_, err := j.Recover(t.Context(), pid, dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
			seen = append(seen, e.SequenceNumber)
			return nil
		})
		wantError(t, "Recover, "+what, err, dynajournal.ErrCorruptItem)
		if len(seen) > 2 {
			t.Errorf("%s: Recover handed out %s", what, numbersText(seen))
		}
		err = readError(t.Context(), j, pid, dynajournal.Range{})
		wantError(t, "Events, "+what, err, dynajournal.ErrCorruptItem)
		other := map[string]string{"idx": "cnt", "cnt": "idx"}
		if corrupt := new(dynajournal.ItemError); !errors.As(err, &corrupt) || corrupt.Par != "journal-P-"+pid+"-0" || corrupt.Num != 3 ||
			corrupt.Attribute != c.attribute && corrupt.Attribute != other[c.attribute] {
			t.Errorf("%s: the error %v does not name item and attribute", what, err)
		}
	}
}

func TestStoredMarksAreChecked(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, config, kinds["shared"])
	j, client := openJournal(t, config), dynamodb.NewFromConfig(config.AWS)
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for i, c := range []struct {
		kind       string
		attributes map[string]types.AttributeValue
	}{
		{"SH", nil},
		{"SH", map[string]types.AttributeValue{"seq": text("100")}},
		{"SH", map[string]types.AttributeValue{"seq": number("-100")}},
		{"SL", nil},
		{"SL", map[string]types.AttributeValue{"seq": number("1.5")}},
		{"SL", map[string]types.AttributeValue{"seq": number("9223372036854775808")}},
		{"SL", map[string]types.AttributeValue{"seq": number("2"), "removed": text("x")}},
		{"SL", map[string]types.AttributeValue{"seq": number("2"), "removed": number("2"), "cut_start": number("1")}},
		{"SL", map[string]types.AttributeValue{"seq": number("2"), "removed": number("2"), "cut_start": text("1"), "cut_cnt": number("3"), "cut_writer": text("w")}},
	} {
		pid := fmt.Sprintf("a%d", i)
		item := map[string]types.AttributeValue{"par": text("journal-" + c.kind + "-" + pid + "-0"), "num": number("0")}
		maps.Copy(item, c.attributes)
		putAll(t, client, []map[string]types.AttributeValue{item})
		what := fmt.Sprintf("%s %v", c.kind, c.attributes)
		_, err := j.Recover(t.Context(), pid, dynajournal.RecoverOptions{}, noHandler)
		wantError(t, "Recover, "+what, err, dynajournal.ErrCorruptItem)
		wantError(t, "Events, "+what, readError(t.Context(), j, pid, dynajournal.Range{}), dynajournal.ErrCorruptItem)
		_, err = j.Bounds(t.Context(), pid)
		wantError(t, "Bounds, "+what, err, dynajournal.ErrCorruptItem)
	}
}

func TestClosedJournal(t *testing.T) {
	t.Parallel()
	s := setup(t, kinds["native"])
	j, requests := s.journal, s.requests
	w := written(t, j, "a", 2)
	if err := j.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	before := requests.requests.Load()
	for name, call := range map[string]func() error{
		"Recover": func() error {
			_, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, noHandler)
			return err
		},
		"Events":             func() error { return readError(t.Context(), j, "a", dynajournal.Range{}) },
		"Events of nothing":  func() error { return readError(t.Context(), j, "a", dynajournal.Range{Limit: aws.Int64(0)}) },
		"Bounds":             func() error { _, err := j.Bounds(t.Context(), "a"); return err },
		"List":               func() error { _, err := j.List(t.Context(), "a"); return err },
		"Append":             func() error { _, err := w.Append(t.Context(), "event"); return err },
		"AppendEach":         func() error { _, err := w.AppendEach(t.Context(), "event"); return err },
		"DeleteTo":           func() error { _, err := w.DeleteTo(t.Context(), 1); return err },
		"Purge":              func() error { _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{}); return err },
		"NextSequenceNumber": func() error { _, err := w.NextSequenceNumber(t.Context()); return err },
	} {
		wantError(t, name, call(), dynajournal.ErrClosed)
	}
	if err := j.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
	if n := requests.requests.Load() - before; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestClosedWhileReading(t *testing.T) {
	t.Parallel()
	aside := openEngine(t).AWSConfig()
	config := dynajournal.Config{AWS: aside, ReplayParallelism: 1}
	createTables(t, config, kinds["native"])
	written(t, openJournal(t, config), "a", 450)
	var closing atomic.Bool
	config.AWS.HTTPClient = through(aside.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
		if closing.Load() && operation(r) == "Query" {
			// otherwise the remaining pages could arrive before the journal is closed
			<-r.Context().Done()
		}
		return send(r)
	})
	j := openJournal(t, config)
	closed := make(chan error, 1)
	var err error
	for e, failed := range j.Events(t.Context(), "a", dynajournal.Range{}) {
		err = failed
		if e.SequenceNumber == 3 {
			closing.Store(true)
			go func() { closed <- j.Close() }()
			for { // until the journal refuses new calls
				if _, err := j.Bounds(t.Context(), "a"); errors.Is(err, dynajournal.ErrClosed) {
					break
				}
			}
		}
	}
	wantError(t, "Events", err, dynajournal.ErrClosed)
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestClosedWhileWriting(t *testing.T) {
	t.Parallel()
	aside := openEngine(t).AWSConfig()
	config := dynajournal.Config{AWS: aside}
	createTables(t, config, kinds["native"])
	sent, answer := make(chan struct{}), make(chan struct{})
	config.AWS.HTTPClient = through(aside.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
		if operation(r) == "PutItem" {
			close(sent)
			<-answer
		}
		return send(r)
	})
	j := openJournal(t, config)
	w := recovered(t, j, "a")
	outcome, closed := make(chan error), make(chan error)
	go func() { _, err := w.Append(t.Context(), "event"); outcome <- err }()
	<-sent
	go func() { closed <- j.Close() }()
	select {
	case err := <-closed:
		t.Errorf("Close returned (%v) before the append that was sent had its answer", err)
	default:
	}
	close(answer)
	if err := <-outcome; err != nil {
		t.Errorf("an append that was sent when the journal was closed: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
}
