package projection_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// actions records the operations that are sent, by table.
type actions struct {
	inner aws.HTTPClient

	mu   sync.Mutex
	sent map[string]bool
}

func (a *actions) install(c *dynajournal.Config) {
	a.inner, a.sent = c.AWS.HTTPClient, map[string]bool{}
	c.AWS.HTTPClient = a
}

func (a *actions) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var named struct {
		TableName, IndexName string
		RequestItems         map[string]any
	}
	if err := json.Unmarshal(body, &named); err != nil {
		return nil, err
	}
	tables := slices.Collect(maps.Keys(named.RequestItems))
	if named.TableName != "" {
		tables = append(tables, strings.TrimSuffix(named.TableName+"/"+named.IndexName, "/"))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, table := range tables {
		a.sent[table+" "+operation] = true
	}
	return a.inner.Do(r)
}

// docs/aws.md lists these permissions of a function.
func TestLambda_Actions(t *testing.T) {
	t.Parallel()
	b := viewed(t, "KEYS_ONLY")
	w := b.write("a", "x", "y", "z")
	var a actions
	g := group(t, b.Journal(a.install), onLambda(), projection.AtLeastOnce("all", &recorder{}))
	if _, err := w.DeleteTo(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	b.invoke(g, b.events(0), time.Minute)
	const journal = dynajournal.DefaultJournalTable
	invoked := []string{
		journal + " BatchGetItem", journal + " DescribeTable", journal + " GetItem", journal + " Query",
		projectionsTable + " BatchGetItem", projectionsTable + " DescribeTable", projectionsTable + " GetItem",
		projectionsTable + " UpdateItem", projectionsTable + "/debts Query",
	}
	want(t, "an invocation", slices.Sorted(maps.Keys(a.sent)), invoked...)
	b.write("b", "x")
	maintain(t, g)
	want(t, "Maintain", slices.Sorted(maps.Keys(a.sent)), append(invoked, journal+"/ids-idx Query")...)
}
