package repotest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// sentActions is an HTTP client that records the IAM actions that its requests need.
type sentActions struct {
	client aws.HTTPClient

	mu sync.Mutex
	// found has the actions by resource: a table, an index as TABLE/index/NAME, or the stream of
	// the journal table.
	found map[string]map[string]bool
	// allowed has the actions that are not denied, by resource. If it is nil, no action is denied.
	allowed map[string][]string
}

// streamOfJournal is the resource of the stream of the journal table.
const streamOfJournal = dynajournal.DefaultJournalTable + "/stream/*"

var insertInto = regexp.MustCompile(`^INSERT INTO "([^"]+)"`)

// Do sends a request. It records the actions before, so that failed requests also count.
func (s *sentActions) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	service, operation, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	var named struct {
		TableName, IndexName string
		RequestItems         map[string]any
		Statements           []struct{ Statement string }
		TransactItems        []map[string]struct{ TableName string }
	}
	if err := json.Unmarshal(body, &named); err != nil {
		return nil, err
	}
	resource, denied := named.TableName, false
	if named.IndexName != "" {
		resource += "/index/" + named.IndexName
	}
	if strings.HasPrefix(service, "DynamoDBStreams") {
		resource = streamOfJournal
	}
	if resource != "" {
		denied = s.note(resource, operation)
	}
	for table := range named.RequestItems {
		denied = s.note(table, operation) || denied
	}
	for _, statement := range named.Statements {
		denied = s.note(insertInto.FindStringSubmatch(statement.Statement)[1], "PartiQLInsert") || denied
	}
	for _, item := range named.TransactItems { // the policy has the actions of its parts
		for part, of := range item {
			denied = s.note(of.TableName, part+"Item") || denied
		}
	}
	if denied {
		return &http.Response{
			StatusCode: http.StatusBadRequest, Request: request,
			Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
			Body: io.NopCloser(strings.NewReader(`{"__type":"com.amazon.coral.service#AccessDeniedException",` +
				`"message":"not authorized to perform ` + operation + `"}`)),
		}, nil
	}
	return s.client.Do(request)
}

// note records an action, and reports whether it is denied.
func (s *sentActions) note(resource, action string) (denied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found[resource] == nil {
		s.found[resource] = map[string]bool{}
	}
	s.found[resource]["dynamodb:"+action] = true
	return s.allowed != nil && !slices.Contains(s.allowed[resource], "dynamodb:"+action)
}

// actions returns the actions that were sent, by resource, in order.
func (s *sentActions) actions() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := map[string][]string{}
	for resource, actions := range s.found {
		sent[resource] = slices.Sorted(maps.Keys(actions))
	}
	return sent
}

// useJournal uses a native journal like a service: it writes single events and atomic writes,
// saves, loads and deletes snapshots, deletes, purges, reads and lists.
func useJournal(t *testing.T, config dynajournal.Config) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	journal, err := dynajournal.Open(ctx, config)
	must(err)
	defer journal.Close()
	ignore := func(dynajournal.Event) error { return nil }
	writer, err := journal.Recover(ctx, "order-7", dynajournal.RecoverOptions{}, ignore)
	must(err)
	_, err = writer.Append(ctx, "placed")
	must(err)
	events := make([]any, 150)
	for i := range events {
		events[i] = "changed"
	}
	_, err = writer.Append(ctx, events...)
	must(err)
	for number, state := range map[int64]string{1: "small", 100: strings.Repeat("large", 100_000)} {
		_, err = journal.SaveSnapshot(ctx, dynajournal.SnapshotMetadata{PersistenceID: "order-7", SequenceNumber: number}, state)
		must(err)
	}
	_, _, err = journal.LoadSnapshot(ctx, "order-7", dynajournal.SnapshotCriteria{})
	must(err)
	_, err = journal.DeleteSnapshots(ctx, "order-7", dynajournal.SnapshotCriteria{MaxSequenceNumber: 1})
	must(err)
	_, err = writer.DeleteTo(ctx, 100)
	must(err)
	writer, err = journal.Recover(ctx, "order-7", dynajournal.RecoverOptions{}, ignore)
	must(err)
	for _, err := range journal.Events(ctx, "order-7", dynajournal.Range{}) {
		must(err)
	}
	for _, err := range journal.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{}) {
		must(err)
	}
	_, err = writer.Purge(ctx, dynajournal.PurgeOptions{})
	must(err)
	useEntity(t, journal)
}

// useEntity runs commands of an entity that saves snapshots and deletes events, and reads its
// state.
func useEntity(t *testing.T, journal *dynajournal.Journal) {
	t.Helper()
	orders, err := entity.Open(journal, entity.Type[string, string]{
		Name: "order", Evolve: func(_, event string) string { return event },
		Snapshots: entity.Snapshots{Every: 2, Keep: 1, DeleteEvents: true},
	}, entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	record := func(tx *entity.Tx[string, string]) error {
		tx.Record("changed")
		return nil
	}
	for _, key := range []string{"1", "2", "3", "4", "5"} {
		if _, err := orders.Update(t.Context(), "8", record, entity.CommandID(key), entity.Fresh()); err != nil {
			t.Fatal(err)
		}
	}
	show := func(string) error { return nil }
	if _, err := orders.View(t.Context(), "8", show); err != nil {
		t.Fatal(err)
	}
	if err := orders.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
