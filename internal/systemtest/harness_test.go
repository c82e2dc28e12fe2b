package systemtest

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// transports are the ways to an engine.
var transports = map[string]func(testing.TB, *embedded.Engine) aws.Config{
	"in process": func(_ testing.TB, engine *embedded.Engine) aws.Config { return engine.AWSConfig() },
	"over HTTP": func(tb testing.TB, engine *embedded.Engine) aws.Config {
		tb.Helper()
		server := httptest.NewServer(engine)
		tb.Cleanup(server.Close)
		config := engine.AWSConfig()
		config.HTTPClient, config.BaseEndpoint = nil, &server.URL
		return config
	},
}

// kinds are the kinds of journals.
var kinds = map[string]dynajournal.TableOptions{
	"native": {},
	"shared": {SharedWithJVM: true},
}

// openEngine opens an empty engine.
func openEngine(tb testing.TB, options ...embedded.Option) *embedded.Engine {
	tb.Helper()
	engine, err := embedded.OpenMemory(options...)
	if err != nil {
		tb.Fatalf("open an engine: %v", err)
	}
	tb.Cleanup(func() {
		if err := engine.Close(); err != nil {
			tb.Errorf("close the engine: %v", err)
		}
	})
	return engine
}

// openJournal opens a journal whose tables exist.
func openJournal(tb testing.TB, config dynajournal.Config) *dynajournal.Journal {
	tb.Helper()
	j, err := dynajournal.Open(tb.Context(), config)
	if err != nil {
		tb.Fatalf("open a journal: %v", err)
	}
	tb.Cleanup(func() {
		if err := j.Close(); err != nil {
			tb.Errorf("close the journal: %v", err)
		}
	})
	return j
}

// createTables creates the tables of a journal.
func createTables(tb testing.TB, config dynajournal.Config, options dynajournal.TableOptions) {
	tb.Helper()
	if err := dynajournal.CreateTables(tb.Context(), config, options); err != nil {
		tb.Fatalf("create the tables: %v", err)
	}
}

// system is an open journal with its engine and clients.
type system struct {
	engine   *embedded.Engine
	config   dynajournal.Config
	journal  *dynajournal.Journal
	table    *dynamodb.Client // bypasses the journal
	requests *counter
}

// setup opens a journal on its own in-memory engine. change changes the configuration before the
// tables are created.
func setup(t *testing.T, options dynajournal.TableOptions, change ...func(*dynajournal.Config)) *system {
	t.Helper()
	s := &system{engine: openEngine(t), requests: &counter{}}
	s.table = dynamodb.NewFromConfig(s.engine.AWSConfig())
	s.config = dynajournal.Config{AWS: s.engine.AWSConfig(), Hooks: []dynajournal.Hook{{OnRequest: s.requests.OnRequest}}}
	for _, f := range change {
		f(&s.config)
	}
	createTables(t, s.config, options)
	s.journal = openJournal(t, s.config)
	return s
}

// openFresh opens a journal on its own engine.
func openFresh(t *testing.T, options dynajournal.TableOptions, change ...func(*dynajournal.Config)) *dynajournal.Journal {
	t.Helper()
	return setup(t, options, change...).journal
}

// recoverWriter recovers an id from a snapshot.
func recoverWriter(t *testing.T, j *dynajournal.Journal, pid string, after int64) *dynajournal.Writer {
	t.Helper()
	w, err := j.Recover(t.Context(), pid, dynajournal.RecoverOptions{Snapshot: after}, func(dynajournal.Event) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// loseJournal recovers an id from a snapshot with RecoverOptions.JournalLost: the snapshot counts
// even if the journal lacks its events.
func loseJournal(tb testing.TB, j *dynajournal.Journal, pid string, snapshot int64) *dynajournal.Writer {
	tb.Helper()
	w, err := j.Recover(tb.Context(), pid, dynajournal.RecoverOptions{Snapshot: snapshot, JournalLost: true}, nil)
	if err != nil {
		tb.Fatalf("recover %q after %d: %v", pid, snapshot, err)
	}
	return w
}

func appendStrings(t *testing.T, w *dynajournal.Writer, n int, atomic bool) dynajournal.Cost {
	t.Helper()
	events := make([]any, n)
	for i := range events {
		events[i] = fmt.Sprintf("event-%d", i)
	}
	if atomic {
		result, err := w.Append(t.Context(), events...)
		if err != nil {
			t.Fatal(err)
		}
		return result.Cost
	}
	var sum dynajournal.Cost
	for _, e := range events {
		result, err := w.Append(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		sum = sum.Add(result.Cost)
	}
	return sum
}

func recoverAfter(tb testing.TB, j *dynajournal.Journal, pid string, after int64) (w *dynajournal.Writer, replayed int) {
	tb.Helper()
	return recoverCounting(tb, j, pid, dynajournal.RecoverOptions{Snapshot: after})
}

// recoverCounting recovers an id, and counts the replayed events.
func recoverCounting(
	tb testing.TB, j *dynajournal.Journal, pid string, opts dynajournal.RecoverOptions,
) (w *dynajournal.Writer, replayed int) {
	tb.Helper()
	w, err := j.Recover(tb.Context(), pid, opts, func(dynajournal.Event) error {
		replayed++
		return nil
	})
	if err != nil {
		tb.Fatalf("recover %q after %d: %v", pid, opts.Snapshot, err)
	}
	return w, replayed
}

func wantNext(tb testing.TB, w *dynajournal.Writer, want int64) {
	tb.Helper()
	if got, err := w.NextSequenceNumber(tb.Context()); err != nil || got != want {
		tb.Errorf("the writer continues at %d, %v; want %d", got, err, want)
	}
}

// counter counts requests.
type counter struct{ requests atomic.Int64 }

// OnRequest counts an attempt.
func (c *counter) OnRequest(context.Context, dynajournal.Request) { c.requests.Add(1) }

// recovered recovers an id without replaying.
func recovered(tb testing.TB, j *dynajournal.Journal, pid string) *dynajournal.Writer {
	tb.Helper()
	w, err := j.Recover(tb.Context(), pid, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		tb.Fatalf("Recover(%.40q): %v", pid, err)
	}
	return w
}

// written recovers an id and writes single events.
func written(tb testing.TB, j *dynajournal.Journal, pid string, n int) *dynajournal.Writer {
	tb.Helper()
	w := recovered(tb, j, pid)
	for range n {
		if _, err := w.Append(tb.Context(), "event"); err != nil {
			tb.Fatalf("Append to %.40q: %v", pid, err)
		}
	}
	return w
}

// wantError checks the error of a call.
func wantError(tb testing.TB, what string, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("%s: error %v, want %q", what, err, want)
	}
}

// readError reads a window to its end, and returns the error.
func readError(ctx context.Context, j *dynajournal.Journal, pid string, w dynajournal.Range) error {
	for _, err := range j.Events(ctx, pid, w) {
		if err != nil {
			return err
		}
	}
	return nil
}

func noHandler(dynajournal.Event) error { return nil }

func readEvents(tb testing.TB, j *dynajournal.Journal, pid string, w dynajournal.Range) []dynajournal.Event {
	tb.Helper()
	var events []dynajournal.Event
	for e, err := range j.Events(tb.Context(), pid, w) {
		if err != nil {
			tb.Fatalf("Events(%.40q, %s): %v", pid, windowText(w), err)
		}
		events = append(events, e)
	}
	return events
}

func readBounds(tb testing.TB, j *dynajournal.Journal, pid string) dynajournal.Bounds {
	tb.Helper()
	b, err := j.Bounds(tb.Context(), pid)
	if err != nil {
		tb.Fatalf("Bounds(%.40q): %v", pid, err)
	}
	return b
}

func numbersOf(events []dynajournal.Event) []int64 {
	numbers := make([]int64, len(events))
	for i, e := range events {
		numbers[i] = e.SequenceNumber
	}
	return numbers
}

// numbersText formats numbers as ranges.
func numbersText(numbers []int64) string {
	var parts []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		if part := strconv.FormatInt(numbers[i], 10); last == i {
			parts = append(parts, part)
		} else {
			parts = append(parts, fmt.Sprintf("%s-%d", part, numbers[last]))
		}
		i = last + 1
	}
	return strings.Join(parts, ",")
}

func windowText(w dynajournal.Range) string {
	text := fmt.Sprintf("%d..%d", w.From, w.To)
	if w.Limit != nil {
		text += fmt.Sprintf(" max %d", *w.Limit)
	}
	return text
}

// putAll puts items into the journal table unchanged.
func putAll(tb testing.TB, client *dynamodb.Client, items []map[string]types.AttributeValue) {
	tb.Helper()
	const most = 25
	for chunk := range slices.Chunk(items, most) {
		writes := make([]types.WriteRequest, len(chunk))
		for i, it := range chunk {
			writes[i].PutRequest = &types.PutRequest{Item: it}
		}
		out, err := client.BatchWriteItem(tb.Context(), &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{dynajournal.DefaultJournalTable: writes},
		})
		if err != nil || len(out.UnprocessedItems) > 0 {
			tb.Fatalf("planting items: %v, left over: %v", err, out)
		}
	}
}

// removeItem deletes an item of the journal table without the journal, and returns it, or nil if it
// did not exist.
func removeItem(tb testing.TB, client *dynamodb.Client, par string, num int) map[string]types.AttributeValue {
	tb.Helper()
	out, err := client.DeleteItem(tb.Context(), &dynamodb.DeleteItemInput{
		TableName:    new(dynajournal.DefaultJournalTable),
		Key:          eventKey(par, num),
		ReturnValues: types.ReturnValueAllOld,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out.Attributes
}
