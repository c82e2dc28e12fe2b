package embedded_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/embedded"
)

func openFolder(t *testing.T, dir string) *embedded.Engine {
	t.Helper()
	engine, err := embedded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func closeEngine(t *testing.T, engine *embedded.Engine) {
	t.Helper()
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpen_TablesAndItemsAfterReopening(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	engine := openFolder(t, dir)
	run(t, engine, []step{
		{"CreateTable", richTable, `{"TableDescription":{…`},
		{"CreateTable", simpleTable, `{"TableDescription":{…`},
		{"UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"e"}}`, `{…`},
		{"TagResource", `{"ResourceArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tab","Tags":[{"Key":"a","Value":"b"}]}`, ``},
		{"DeleteTable", `{"TableName":"rich"}`, `{…`},
		{"CreateTable", richTable, `{"TableDescription":{…`},
	})
	fill(t, engine)
	before := encode(t, describe(t, engine, "rich"))
	closeEngine(t, engine)
	closeEngine(t, engine)

	engine = openFolder(t, dir)
	defer closeEngine(t, engine)
	if after := encode(t, describe(t, engine, "rich")); after != before {
		t.Errorf("got %s\nwant %s", after, before)
	}
	run(t, engine, []step{
		{"DescribeTimeToLive", `{"TableName":"tab"}`, `{"TimeToLiveDescription":{"AttributeName":"e","TimeToLiveStatus":"ENABLED"}}`},
		{"ListTagsOfResource", `{"ResourceArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tab"}`, `{"Tags":[{"Key":"a","Value":"b"}]}`},
		{"Query", `{"TableName":"rich","IndexName":"group","KeyConditionExpression":"grp = :g","ExpressionAttributeValues":{":g":{"S":"g"}},` +
			`"Select":"COUNT"}`, `{"Count":6,"ScannedCount":6}`},
	})
}

func TestBackfill_NextEngineFinishesIt(t *testing.T) {
	dir := t.TempDir()
	engine := openFolder(t, dir)
	run(t, engine, []step{{"CreateTable", simpleTable, `{"TableDescription":{…`}})
	for i := range 5 {
		run(t, engine, []step{{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"` + strings.Repeat("x", i+1) + `"},"grp":{"N":"1"}}}`, `{}`}})
	}
	run(t, engine, []step{{"UpdateTable", newIndex, `{"TableDescription":{…`}})
	closeEngine(t, engine)
	engine = openFolder(t, dir)
	defer closeEngine(t, engine)
	waitForIndexes(t, engine, "tab")
	run(t, engine, []step{{"Scan", `{"TableName":"tab","IndexName":"idx","Select":"COUNT"}`, `{"Count":5,"ScannedCount":5}`}})
}

func TestOpen_SameFolderTwice(t *testing.T) {
	dir := t.TempDir()
	engine := openFolder(t, dir)
	_, err := embedded.Open(dir)
	if err == nil || !strings.Contains(err.Error(), "in use by another engine") {
		t.Errorf("the second engine: %v", err)
	}
	closeEngine(t, engine)
	closeEngine(t, openFolder(t, dir))
}

func TestForeignFoldersAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ file, content, want string }{
		"a later format":           {"FORMAT", "dynajournal embedded 2\n", `has the format "dynajournal embedded 2"`},
		"something else's format":  {"FORMAT", "", `has the format ""`},
		"a folder of other things": {"letter.txt", "Dear", "is not an engine's"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := embedded.Open(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClose_LaterRequestsFail(t *testing.T) {
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf(engine)
	createTable(t, client, "orders")
	closeEngine(t, engine)
	if _, err = client.ListTables(t.Context(), &dynamodb.ListTablesInput{}); !errors.Is(err, embedded.ErrClosed) {
		t.Errorf("a request: %v", err)
	}
	if _, err = engine.SweepExpired(); !errors.Is(err, embedded.ErrClosed) {
		t.Errorf("a sweep: %v", err)
	}
}

func TestTransport_EndedContext(t *testing.T) {
	engine := openWith(t, simpleTable)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := clientOf(engine).PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("tab"), Item: attributes{"pk": text("a")}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	run(t, engine, []step{{"Scan", `{"TableName":"tab"}`, `{"Count":0,"Items":[],"ScannedCount":0}`}})
}

func TestServeReturnsWhenItsContextEnds(t *testing.T) {
	engine := openMemory(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- engine.Serve(ctx, listener) }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
	if err = response.Body.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	if err = <-ended; err != nil {
		t.Error(err)
	}
	run(t, engine, []step{{"ListTables", `{}`, `{"TableNames":[]}`}})
}

// The race detector makes the test fail if Serve waits for connections before it counts the
// goroutine that accepts them.
func TestServeWithAnEndedContextReturns(t *testing.T) {
	engine := openMemory(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		listener := must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
		if err := engine.Serve(ctx, listener); err != nil {
			t.Error(err)
		}
	}
}
