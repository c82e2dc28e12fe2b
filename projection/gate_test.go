package projection_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

const projectionsTable = dynajournal.DefaultJournalTable + "-projections"

// rowKey returns the key of the row of a projection and a persistence id.
func rowKey(name, pid string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"par": &types.AttributeValueMemberS{Value: "journal\x00" + name + "\x00" + pid}}
}

// row returns the row of a projection and a persistence id.
func (b *bundle) row(name, pid string) map[string]types.AttributeValue {
	b.Helper()
	out, err := b.table.GetItem(b.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(projectionsTable), Key: rowKey(name, pid), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		b.Fatal(err)
	}
	return out.Item
}

func (b *bundle) rowNumber(name, pid, attribute string) int64 {
	b.Helper()
	return numberOf(b, b.row(name, pid)[attribute])
}

// isStuck reports whether a persistence id is stuck.
func (b *bundle) isStuck(name, pid string) bool {
	b.Helper()
	const never = 1<<53 - 1
	return b.rowNumber(name, pid, "due") == never
}

func numberOf(b *bundle, v types.AttributeValue) int64 {
	b.Helper()
	number, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(number.Value, 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// sweepPosition returns the persistence id up to which a sweep is done. It is empty if none is
// stored.
func (b *bundle) sweepPosition() string {
	b.Helper()
	out, err := b.table.GetItem(b.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(projectionsTable), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"par": &types.AttributeValueMemberS{Value: "journal\x00group\x00"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	if after, ok := out.Item["after"].(*types.AttributeValueMemberS); ok {
		return after.Value
	}
	return ""
}

// gate blocks the first request of a journal whose body contains a text.
type gate struct {
	text    string
	inner   aws.HTTPClient
	arrived chan struct{}
	passed  chan struct{}
	once    sync.Once
	open    sync.Once
	// dead makes all requests fail, as in a process that was killed.
	dead atomic.Bool
	// operation, if set, kills the process at a request of that operation, after left such
	// requests.
	operation string
	left      int
	killing   sync.Mutex
}

// killAfter makes the process die after some requests of an operation.
func (g *gate) killAfter(operation string, requests int) {
	g.killing.Lock()
	defer g.killing.Unlock()
	g.operation, g.left = operation, requests
}

// kills reports whether the process dies at a request.
func (g *gate) kills(r *http.Request) bool {
	g.killing.Lock()
	defer g.killing.Unlock()
	if g.operation == "" || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+g.operation) {
		return false
	}
	g.left--
	return g.left < 0
}

// gate makes a gate. The end of the test opens it.
func (b *bundle) gate(text string) *gate {
	g := &gate{text: text, arrived: make(chan struct{}), passed: make(chan struct{})}
	b.Cleanup(g.release)
	return g
}

func (g *gate) release() { g.open.Do(func() { close(g.passed) }) }

// install changes a configuration so that its requests pass through the gate.
func (g *gate) install(c *dynajournal.Config) {
	g.inner = c.AWS.HTTPClient
	c.AWS.HTTPClient = &http.Client{Transport: g}
}

var errKilled = errors.New("the process was killed")

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if g.kills(r) {
		g.dead.Store(true)
	}
	if g.dead.Load() {
		return nil, errKilled
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if g.text != "" && strings.Contains(string(body), g.text) {
		g.once.Do(func() {
			close(g.arrived)
			select {
			case <-g.passed:
			case <-r.Context().Done():
			}
		})
	}
	if g.dead.Load() {
		return nil, errKilled
	}
	return g.inner.Do(r)
}
