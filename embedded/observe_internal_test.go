package embedded

import (
	"bytes"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

const put = "X-Amz-Target: DynamoDB_20120810.PutItem"

// withTable creates a table on the handler's engine.
func withTable(t *testing.T, run *serving, name string) {
	t.Helper()
	body := fmt.Sprintf(`{"TableName":%q,"BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],`+
		`"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]}`, name)
	if got := serve(run, http.MethodPost, "/", body, "X-Amz-Target: DynamoDB_20120810.CreateTable"); got.Code != http.StatusOK {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
}

func TestLog_HasOperationTableAndStatusButNoData(t *testing.T) {
	var out bytes.Buffer
	run := handlerOf(t, Server{Log: slog.New(slog.NewTextHandler(&out, nil))}, loopbackAddress)
	withTable(t, run, "orders")
	serve(run, http.MethodPost, "/", `{"TableName":"orders","Item":{"pk":{"S":"secret-key"},"secret-name":{"S":"secret-value"}}}`, put)
	serve(run, http.MethodPost, "/", `{"Statement":"SELECT * FROM orders WHERE pk = 'secret-key'"}`, "X-Amz-Target: DynamoDB_20120810.ExecuteStatement")
	serve(run, http.MethodPost, "/", `{"TableName":"secret name\nlevel=ERROR","Item":{}}`, put)
	serve(run, http.MethodPost, "/", `{`, "X-Amz-Target: DynamoDB_20120810.secret-operation")
	serve(run, http.MethodPost, "/", `{}`, "Host: secret.example")
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for i, want := range []string{
		"operation=CreateTable table=orders status=200 duration=",
		"operation=PutItem table=orders status=200 duration=",
		"operation=ExecuteStatement table=orders status=200 duration=",
		"operation=PutItem status=400 error=ValidationException duration=",
		"operation=none status=400 error=SerializationException duration=",
		"operation=none status=403 error=AccessDeniedException duration=",
	} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("line %d does not have %s:\n%s", i, want, out.String())
		}
	}
	if len(lines) != 6 || strings.Contains(out.String(), "secret") {
		t.Errorf("the log has more lines:\n%s", out.String())
	}
	if !strings.Contains(lines[1], "received=90 sent=2") {
		t.Errorf("the sizes are wrong: %s", lines[1])
	}
}

func TestMetricsCountRequestsAndTheCapacityOfExistingTables(t *testing.T) {
	run := handlerOf(t, Server{}, loopbackAddress)
	withTable(t, run, "orders")
	withTable(t, run, "dropped")
	item := `{"TableName":%q,"Item":{"pk":{"S":"a"}}}`
	serve(run, http.MethodPost, "/", fmt.Sprintf(item, "orders"), put)
	serve(run, http.MethodPost, "/", fmt.Sprintf(item, "orders"), put)
	serve(run, http.MethodPost, "/", fmt.Sprintf(item, "dropped"), put)
	serve(run, http.MethodPost, "/", `{"TableName":"dropped"}`, "X-Amz-Target: DynamoDB_20120810.DeleteTable")
	serve(run, http.MethodPost, "/", `{}`, "X-Amz-Target: DynamoDB_20120810.made-up")
	if _, err := run.Engine.Inject(Fault{Effect: EffectThrottling, Operation: "PutItem"}); err != nil {
		t.Fatal(err)
	}
	serve(run, http.MethodPost, "/", fmt.Sprintf(item, "orders"), put)
	got := serve(run, http.MethodGet, "/metrics", "")
	if got.Code != http.StatusOK || !strings.HasPrefix(got.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %v", got.Code, got.Header())
	}
	for _, want := range []string{
		`dynajournal_engine_requests_total{code="OK",operation="PutItem"} 3`,
		`dynajournal_engine_requests_total{code="ThrottlingException",operation="PutItem"} 1`,
		`dynajournal_engine_requests_total{code="UnknownOperationException",operation="none"} 1`,
		`dynajournal_engine_throttled_requests_total 1`,
		`dynajournal_engine_faults_injected_total 1`,
		`dynajournal_engine_consumed_capacity_units_total{kind="write",table="orders"} 2`,
		`dynajournal_engine_request_duration_seconds_count{operation="PutItem"} 4`,
		`dynajournal_engine_body_memory_bytes 0`,
		`dynajournal_engine_answer_memory_bytes 0`,
		"# TYPE dynajournal_engine_request_duration_seconds histogram",
		"dynajournal_engine_open_connections ", "dynajournal_engine_storage_bytes ", "dynajournal_engine_start_time_seconds ", "go_memstats_heap_inuse_bytes ",
	} {
		if !strings.Contains(got.Body.String(), "\n"+want) {
			t.Errorf("there is no %s", want)
		}
	}
	for _, unwanted := range []string{"dropped", "made-up"} {
		if strings.Contains(got.Body.String(), unwanted) {
			t.Errorf("%s has a metric", unwanted)
		}
	}
}

func TestServe_PanicIsLoggedWithoutStack(t *testing.T) {
	var out bytes.Buffer
	defer func(flags int, before *slog.Logger) {
		slog.SetDefault(before)
		log.SetFlags(flags)
	}(log.Flags(), slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	run := handlerOf(t, Server{}, loopbackAddress)
	run.Engine.options.clock = nil // as if an operation had a mistake
	withTable := `{"TableName":"orders","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],` +
		`"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]}`
	func() {
		defer func() {
			if cause := recover(); cause != http.ErrAbortHandler { //nolint:errorlint // it is a value to panic with
				t.Errorf("the handler ended with %v", cause)
			}
		}()
		serve(run, http.MethodPost, "/", withTable, "X-Amz-Target: DynamoDB_20120810.CreateTable")
	}()
	if got := out.String(); strings.Count(got, "\n") != 2 || strings.Contains(got, "goroutine") || !strings.Contains(got, "operation=CreateTable") {
		t.Errorf("the log is:\n%s", got)
	}
	run.Engine.options.clock = time.Now
}
