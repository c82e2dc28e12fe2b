package simulate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/explore"
)

const (
	// late is the fault of a delayed request: its sender gets a reset, and the request may arrive
	// at any later time.
	late = "late"
	// maxLate limits the delayed requests. maxInside limits the requests that the engine has not
	// yet performed.
	maxLate   = 6
	maxInside = 3
)

// injectFault serves a request, with or without a fault. That depends only on the seed, the
// request, and how often the request was sent.
func (g *simulation) injectFault(r *explore.Request) {
	if g.refuseOld(r) {
		return
	}
	g.harmless(r)
	g.served[r.String()]++
	dice := explore.Roll(g.seed, r, g.served[r.String()])
	if g.fair {
		dice = 1000
	}
	if dice -= g.lateness; dice < 0 && r.Changes() && len(g.net.Late()) < maxLate {
		g.sum.injected[late]++
		g.trace("late", r)
		g.net.Delay(r)
		return
	}
	f, dice := explore.PickFault(dice, r.Operation, g.rates, len(g.inside) < maxInside)
	if f != nil {
		g.hit(r, *f)
		return
	}
	for i, f := range foreigners {
		if dice -= g.foreign[i]; dice < 0 {
			g.misanswer(r, f)
			return
		}
	}
	g.carry(r)
}

// trace prints a step, if tracing is on.
func (g *simulation) trace(what any, of any) {
	if *tracing {
		g.Logf("%s %v: %v", time.Now().Format("15:04:05.000000"), what, of)
	}
}

// inside is a request that the engine will perform later, even if its sender no longer waits.
type inside struct {
	*explore.Request

	due time.Time
}

// hit injects a fault of the engine into a request.
func (g *simulation) hit(r *explore.Request, f embedded.Fault) {
	g.trace(f.String(), r)
	due, err := explore.InjectFault(g.net, g.engine, r, f)
	if err != nil {
		g.Fatal(err)
	}
	if !due.IsZero() {
		g.inside = append(g.inside, inside{r, due})
	}
	g.learn(r)
}

// carry delivers a request, and records its write.
func (g *simulation) carry(r *explore.Request) {
	defer g.unharmed(r)()
	g.sum.requests++
	status, answer := g.net.Deliver(r)
	g.trace(status, r)
	if status != http.StatusOK {
		return
	}
	if r.Operation != "PutItem" && r.Operation != "BatchWriteItem" && r.Operation != "BatchExecuteStatement" || bytes.Contains(r.Body, []byte(snapshotTable)) {
		g.learn(r)
		return
	}
	for _, l := range g.ledgers {
		if err := l.Wrote(r.Body, answer); err != nil {
			g.Fatal(err)
		}
	}
}

// learn reads the items that a request may have written, if its response does not show that.
func (g *simulation) learn(r *explore.Request) {
	if !r.Changes() {
		return
	}
	defer g.unharmed(r)()
	keys := touched(r)
	for chunk := range slices.Chunk(keys, 100) {
		var get struct{ TransactItems []map[string]any }
		for _, k := range chunk {
			get.TransactItems = append(get.TransactItems, map[string]any{"Get": map[string]any{"TableName": k.table, "Key": k.key}})
		}
		var got struct {
			Responses []struct{ Item json.RawMessage }
		}
		g.ask("TransactGetItems", get, &got)
		for i, k := range chunk {
			item := got.Responses[i].Item
			if item == nil {
				item = json.RawMessage("null")
			}
			g.observe(k, item)
		}
	}
}

// observe reports the item at a key to the oracles.
func (g *simulation) observe(k tableKey, item json.RawMessage) {
	for e := range g.ledgers {
		var err error
		if k.table == snapshotTable {
			err = g.snapshots[e].observe(k.key, item)
		} else {
			err = g.ledgers[e].Stored(k.key, item)
		}
		if err != nil {
			g.Fatal(err)
		}
	}
}

// learnAll reads the whole table of events.
func (g *simulation) learnAll() {
	for _, row := range g.scan(journalTable) {
		g.observe(tableKey{journalTable, row}, row)
	}
}

func (g *simulation) scan(table string) []json.RawMessage {
	var rows []json.RawMessage
	ask := map[string]any{"TableName": table, "ConsistentRead": true}
	for {
		var got struct {
			Items            []json.RawMessage
			LastEvaluatedKey json.RawMessage
		}
		g.ask("Scan", ask, &got)
		rows = append(rows, got.Items...)
		if got.LastEvaluatedKey == nil {
			return rows
		}
		ask["ExclusiveStartKey"] = got.LastEvaluatedKey
	}
}

// tableKey is the key of an item in one of the tables, or the whole item, in the protocol's JSON.
type tableKey struct {
	table string
	key   json.RawMessage
}

// touched returns the keys of the items that a write concerns.
func touched(r *explore.Request) []tableKey {
	var b struct {
		TableName    string
		Item, Key    map[string]json.RawMessage
		RequestItems map[string][]struct {
			PutRequest    struct{ Item map[string]json.RawMessage }
			DeleteRequest struct{ Key map[string]json.RawMessage }
		}
		Statements []struct {
			Statement  string
			Parameters []json.RawMessage
		}
	}
	if err := json.Unmarshal(r.Body, &b); err != nil {
		panic(err)
	}
	var keys []tableKey
	add := func(table string, of map[string]json.RawMessage) {
		if of == nil {
			return
		}
		number := "num"
		if table == snapshotTable {
			number = "seq"
		}
		keys = append(keys, tableKey{table, fmt.Appendf(nil, `{"par":%s,%q:%s}`, of["par"], number, of[number])})
	}
	add(b.TableName, b.Item)
	add(b.TableName, b.Key)
	for table, writes := range b.RequestItems {
		for _, w := range writes {
			add(table, w.PutRequest.Item)
			add(table, w.DeleteRequest.Key)
		}
	}
	for _, s := range b.Statements {
		inserted := map[string]json.RawMessage{}
		for i, name := range attributeName.FindAllStringSubmatch(s.Statement, -1) {
			inserted[name[1]] = s.Parameters[i]
		}
		add(journalTable, inserted)
	}
	return keys
}

// attributeName matches the names of the attributes that a statement inserts, in the order of its
// parameters.
var attributeName = regexp.MustCompile(`'([a-z_]+)':\?`)

// ask sends a request to the engine, bypassing the network.
func (g *simulation) ask(operation string, in, out any) {
	body, err := json.Marshal(in)
	if err != nil {
		g.Fatal(err)
	}
	request, err := http.NewRequestWithContext(g.Context(), http.MethodPost, "http://engine/", bytes.NewReader(body))
	if err != nil {
		g.Fatal(err)
	}
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=embedded/20200101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	response, err := g.engine.Transport().RoundTrip(request)
	if err != nil {
		g.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(response.Body); err != nil || response.StatusCode != http.StatusOK {
		g.Fatalf("%s: %v, status %d: %s", operation, err, response.StatusCode, answer.String())
	}
	if err := json.Unmarshal(answer.Bytes(), out); err != nil {
		g.Fatal(err)
	}
}

// catchUp waits until everything is blocked, reads what the engine has done since the last call,
// and then checks the results of the actors.
func (g *simulation) catchUp() {
	synctest.Wait()
	now := time.Now()
	g.inside = slices.DeleteFunc(g.inside, func(i inside) bool {
		if i.due.After(now) {
			return false
		}
		g.learn(i.Request)
		return true
	})
	g.mu.Lock()
	checks := g.checks
	g.checks = nil
	g.mu.Unlock()
	for _, judge := range checks {
		judge()
	}
	g.copies.catchUp()
	for e, l := range g.ledgers {
		if g.erasing[e] && !g.underWay(e) && !g.beingPurged(e) {
			g.erasing[e] = false
		}
		if life := l.Life(); life != g.lives[e] {
			g.lives[e] = life
			g.cells[e].forget()
		}
	}
}

// checkLater makes catchUp call judge, after all writes are known.
func (g *simulation) checkLater(judge func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.checks = append(g.checks, judge)
}

// tally counts the faults that an engine has injected.
func (g *simulation) tally() {
	for fault := range explore.Injected(g.engine) {
		g.sum.injected[fault]++
	}
}

// underWay reports whether a delayed request about an entity exists.
func (g *simulation) underWay(entity int) bool {
	about := func(r *explore.Request) bool {
		return strings.Contains(r.Label, pid(entity)+"-") || strings.Contains(r.Label, pid(entity)+"/")
	}
	return slices.ContainsFunc(g.net.Late(), about) || slices.ContainsFunc(g.inside, func(i inside) bool { return about(i.Request) })
}
