package simulate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/explore"
)

// fates are the faults that a request can meet, in the engine's own words: every effect it has. Stale answers are not among
// them, as they are not of one request: see lag.
var fates = parsed(
	"throughput-exceeded", "throttling", "request-limit", "expired-token",
	"internal-error", "internal-error,applied", "unavailable", "unavailable,applied",
	"reset", "reset,applied", "truncated", "garbage",
	"slow,delay=2s", "slow,delay=6s", "slow,applied,delay=6s", "hang", "hang,applied",
	"unprocessed", "unprocessed,some", "transaction-conflict",
	"statement-errors", "statement-errors,some", "statement-errors,some,applied,code=InternalServerError",
)

// stale are the faults that make indexes answer from the past.
var stale = parsed("index-lag,delay=5s", "stale-read,delay=30s")

const (
	// late is the fate of a request that the network keeps: its sender sees a reset, and it may land at any later time.
	late = "late"
	// maxLate bounds the requests under way that nobody waits for, maxInside those that the engine has not done yet.
	maxLate   = 6
	maxInside = 3
)

func parsed(texts ...string) []embedded.Fault {
	faults := make([]embedded.Fault, len(texts))
	for i, text := range texts {
		f, err := embedded.ParseFault(text)
		if err != nil {
			panic(err)
		}
		faults[i] = f
	}
	return faults
}

// can says whether an effect can be had on an operation.
func can(f *embedded.Fault, operation string) bool {
	switch f.Effect {
	case embedded.EffectUnprocessed:
		return operation == "BatchGetItem" || operation == "BatchWriteItem"
	case embedded.EffectStatementErrors:
		return operation == "BatchExecuteStatement"
	case embedded.EffectTransactionConflict:
		return operation == "PutItem" || operation == "UpdateItem" || operation == "DeleteItem"
	}
	return true
}

func writes(r *explore.Request) bool {
	switch r.Operation {
	case "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "BatchExecuteStatement":
		return true
	}
	return false
}

// fate lets a request meet its fate, which follows from the seed, the request, and how often it was sent.
func (g *game) fate(r *explore.Request) {
	if g.refuseOld(r) {
		return
	}
	g.harmless(r)
	hash := fnv.New64a()
	g.served[r.String()]++
	fmt.Fprint(hash, g.seed, r, g.served[r.String()])
	dice := int(hash.Sum64() >> 8 % 1000)
	if g.fair {
		dice = 1000
	}
	if dice -= g.lateness; dice < 0 && writes(r) && len(g.net.Late()) < maxLate {
		g.sum.injected[late]++
		g.trace("late", r)
		g.net.Delay(r)
		return
	}
	for i := range fates {
		f := &fates[i]
		lasts := f.Effect == embedded.EffectSlow || f.Effect == embedded.EffectHang
		if !can(f, r.Operation) || lasts && len(g.inside) >= maxInside {
			continue
		}
		if dice -= g.rates[i]; dice < 0 {
			g.hit(r, *f)
			return
		}
	}
	for i, f := range foreigners {
		if dice -= g.foreign[i]; dice < 0 {
			g.misanswer(r, f)
			return
		}
	}
	g.carry(r)
}

// trace prints a step, if it is to.
func (g *game) trace(what any, of any) {
	if *tracing {
		g.Logf("%s %v: %v", time.Now().Format("15:04:05.000000"), what, of)
	}
}

// inside is a request that the engine will do at a later time, whether its sender waits or not.
type inside struct {
	*explore.Request

	due time.Time
}

// hit has the engine hit a request with a fault.
func (g *game) hit(r *explore.Request, f embedded.Fault) {
	g.trace(f.String(), r)
	f.Times = 1
	remove, err := g.engine.Inject(f)
	if err != nil {
		g.Fatal(err)
	}
	defer remove()
	switch f.Effect {
	case embedded.EffectSlow, embedded.EffectHang:
		g.net.Submit(r)
		synctest.Wait()
		if f.Effect == embedded.EffectSlow && !f.Applied {
			g.inside = append(g.inside, inside{r, time.Now().Add(f.Delay)})
		}
	default:
		g.net.Deliver(r)
	}
	remove()
	g.learn(r)
}

// carry carries a request out, and takes note of what was written.
func (g *game) carry(r *explore.Request) {
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

// learn reads what stands where a request may have written, as its answer does not tell.
func (g *game) learn(r *explore.Request) {
	if !writes(r) {
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
			g.stands(k, item)
		}
	}
}

// stands tells the oracles what stands at a key.
func (g *game) stands(k tableKey, item json.RawMessage) {
	for e := range g.ledgers {
		var err error
		if k.table == snapshotTable {
			err = g.shelves[e].stands(k.key, item)
		} else {
			err = g.ledgers[e].Stands(k.key, item)
		}
		if err != nil {
			g.Fatal(err)
		}
	}
}

// learnAll reads the whole table of events.
func (g *game) learnAll() {
	for _, row := range g.scan() {
		g.stands(tableKey{journalTable, row}, row)
	}
}

func (g *game) scan() []json.RawMessage {
	var rows []json.RawMessage
	ask := map[string]any{"TableName": journalTable, "ConsistentRead": true}
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

// tableKey is the key of an item in one of the tables, in the protocol's JSON; it may be the whole item.
type tableKey struct {
	table string
	key   json.RawMessage
}

// touched are the keys of the items that a write is about.
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

// attributeName finds the names of the attributes that a statement inserts, in the order of its
// parameters.
var attributeName = regexp.MustCompile(`'([a-z_]+)':\?`)

// ask asks the engine behind everybody's back.
func (g *game) ask(operation string, in, out any) {
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

// settle lets everybody come to rest, learns what the engine has done since, and then judges what actors were told.
func (g *game) settle() {
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
	told := g.told
	g.told = nil
	g.mu.Unlock()
	for _, judge := range told {
		judge()
	}
	g.copies.settle()
	for e, l := range g.ledgers {
		if g.erasing[e] && !g.underWay(e) && !slices.ContainsFunc(g.actors, func(a *actor) bool { return !a.idle() && a.doing == purgeEntity && a.on == e }) {
			g.erasing[e] = false
		}
		if life := l.Life(); life != g.lives[e] {
			g.lives[e] = life
			g.numbers[e].forget()
		}
	}
}

// tell has something judged when all that was written is known.
func (g *game) tell(judge func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told = append(g.told, judge)
}

// tally counts what an engine has injected.
func (g *game) tally() {
	for _, i := range g.engine.Injected() {
		i.Fault.Times, i.Fault.Probability = 0, 0
		g.sum.injected[i.Fault.String()]++
	}
}

// underWay says whether a request about an entity is under way that nobody waits for.
func (g *game) underWay(entity int) bool {
	about := func(r *explore.Request) bool {
		return strings.Contains(r.Label, pid(entity)+"-") || strings.Contains(r.Label, pid(entity)+"/")
	}
	return slices.ContainsFunc(g.net.Late(), about) || slices.ContainsFunc(g.inside, func(i inside) bool { return about(i.Request) })
}
