package applicationconf_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/applicationconf"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "application.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad_PluginKeys(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want applicationconf.Settings
	}{
		"an empty section sets nothing": {"dynamodb-journal {}", applicationconf.Settings{}},
		"a plug-in by name, with no section": {"pekko.persistence.journal.plugin = dynamodb-journal",
			applicationconf.Settings{}},
		"every key of the journal": {`
			dynamodb-journal {
			  endpoint = "http://localhost:8000"
			  region = eu-west-1
			  journal-table = events
			  journal-name = bank
			  sequence-shards = 7
			  aws-access-key-id = AK
			  aws-secret-access-key = SK
			  replay-parallelism = 3
			  tracing = on
			  log-config = on
			  replay-dispatcher = "x"
			  aws-api-limits { max-batch-get = 10, max-batch-write = 5, max-item-size = 1000 }
			}
			dynamodb-snapshot-store.snapshot-table = snaps
			dynamodb-read-journal.persistence-ids-index-name = idx`,
			applicationconf.Settings{Region: "eu-west-1", Debug: true, Config: dynajournal.Config{
				Endpoint: "http://localhost:8000", JournalTable: "events", JournalName: "bank", SequenceShards: 7, AccessKeyID: "AK", SecretAccessKey: "SK",
				ReplayParallelism: 3, MaxBatchGet: 10, MaxBatchWrite: 5, MaxItemSize: 1000,
				SnapshotTable: "snaps", IDsIndexName: "idx",
			}}},
		"every key of the client": {`
			dynamodb-journal.aws-client-config {
			  client-execution-timeout = 5000, connection-max-idle-millis = 6000, connection-timeout = 700, connection-ttl = default
			  local-address = "127.0.0.1", max-connections = 9, max-error-retry = 4, request-timeout = 800, socket-timeout = "2 seconds"
			  socket-buffer-size-hints = [ 1024, 2048 ], use-tcp-keepalive = false, user-agent = bank
			  proxy-host = proxy, proxy-port = 3128, proxy-username = u, proxy-password = "p@"
			}`,
			applicationconf.Settings{Config: dynajournal.Config{
				OperationTimeout: 5 * time.Second, AttemptTimeout: 800 * time.Millisecond, MaxConnections: 9, Retries: 4, UserAgent: "bank",
				HTTP: dynajournal.HTTPConfig{
					IdleTimeout: 6 * time.Second, ConnectTimeout: 700 * time.Millisecond, ResponseTimeout: 2 * time.Second, LocalAddress: "127.0.0.1",
					WriteBuffer: 1024, ReadBuffer: 2048, KeepAlive: -1, Proxy: "http://u:p%40@proxy:3128",
				},
			}}},
		"the word default sets nothing": {
			"dynamodb-journal.aws-client-config { max-connections = default, socket-buffer-size-hints = default, request-timeout = default }",
			applicationconf.Settings{}},
		"a journal called default": {
			"dynamodb-journal.journal-name = default", applicationconf.Settings{Config: dynajournal.Config{JournalName: "default"}}},
		"table names built from the plug-in's defaults": {
			"dynamodb-journal.journal-table = ${dynamodb-journal.journal-table}-x",
			applicationconf.Settings{Config: dynajournal.Config{JournalTable: "pekko-persistence-x"}}},
		"table names built from Akka's defaults": {`
			akka.persistence.journal.plugin = dynamodb-journal
			dynamodb-journal.journal-table = ${dynamodb-journal.journal-table}-x`,
			applicationconf.Settings{Config: dynajournal.Config{JournalTable: "akka-persistence-x", SnapshotTable: "akka-persistence-snapshot"}}},
		"keys of the host": {`
			dynamodb-journal {
			  circuit-breaker { max-failures = 3, call-timeout = 5s, reset-timeout = 1m }, recovery-event-timeout = 5s
			  replay-filter { mode = off, window-size = 5, max-old-writers = 1, debug = on }, max-message-batch-size = 10
			  event-adapters { tagging = "a.B" }, event-adapter-bindings { "a.C" = [ tagging ] }
			  dispatcher.fork-join-executor.parallelism-factor = 2
			}
			dynamodb-snapshot-store { snapshot-is-optional = true, circuit-breaker.max-failures = 3, snapshot-table = snaps }`,
			applicationconf.Settings{Config: dynajournal.Config{SnapshotTable: "snaps"}}},
		"sections twice": {
			"dynamodb-journal { journal-table = a, journal-name = n }\ndynamodb-journal { journal-table = b }",
			applicationconf.Settings{Config: dynajournal.Config{JournalTable: "b", JournalName: "n"}}},
		"a second journal that is not selected": {
			"dynamodb-journal.journal-table = a\ndynamodb-journal-2 = ${dynamodb-journal} { journal-table = b }",
			applicationconf.Settings{Config: dynajournal.Config{JournalTable: "a"}}},
		"a snapshot store that repeats the journal's settings": {`
			dynamodb-journal { endpoint = "http://a", aws-client-config.max-connections = 5 }
			dynamodb-snapshot-store { endpoint = "http://a", aws-client-config.max-connections = 5, tracing = on }`,
			applicationconf.Settings{Debug: true, Config: dynajournal.Config{Endpoint: "http://a", MaxConnections: 5}}},
		"a snapshot store of the host": {`
			pekko.persistence.journal.plugin = bank
			pekko.persistence.snapshot-store.plugin = pekko.persistence.snapshot-store.local
			bank = ${dynamodb-journal} { journal-name = bank }`,
			applicationconf.Settings{Config: dynajournal.Config{JournalName: "bank"}}},
		"environment variables that are not set": {`
			dynamodb-journal { journal-table = events, journal-table = ${?APPLICATIONCONF_UNSET}, aws-access-key-id = ${?APPLICATIONCONF_UNSET} }`,
			applicationconf.Settings{Config: dynajournal.Config{JournalTable: "events"}}},
		"no retries": {"dynamodb-journal.aws-client-config.max-error-retry = 0",
			applicationconf.Settings{Config: dynajournal.Config{Retries: -1}}},
		"a section of another name": {`
			pekko.persistence.journal.plugin = "bank.journal"
			bank.journal = ${dynamodb-journal}
			bank.journal { journal-table = other }
			dynamodb-journal.journal-name = shared`,
			applicationconf.Settings{Config: dynajournal.Config{JournalTable: "other", JournalName: "shared"}}},
		"Akka's section, with Akka's tables": {`
			akka.persistence.journal.plugin = "my-journal"
			akka.persistence.snapshot-store.plugin = "my-snapshots"
			my-journal = ${dynamodb-journal} { journal-name = x }
			my-snapshots = ${dynamodb-snapshot-store} { journal-name = x }`,
			applicationconf.Settings{Config: dynajournal.Config{JournalName: "x", JournalTable: "akka-persistence", SnapshotTable: "akka-persistence-snapshot"}}},
		"an endpoint without a scheme": {
			`dynamodb-journal.endpoint = "dynamodb.eu-west-1.amazonaws.com"`,
			applicationconf.Settings{Config: dynajournal.Config{Endpoint: "https://dynamodb.eu-west-1.amazonaws.com"}}},
		"an endpoint without a scheme, and a protocol": {
			`dynamodb-journal { endpoint = "localhost:8000", aws-client-config.protocol = HTTP }`,
			applicationconf.Settings{Config: dynajournal.Config{Endpoint: "http://localhost:8000"}}},
		"a reference to a default on the class path": {
			"app.port = ${akka.http.port}\ndynamodb-journal.journal-table = t",
			applicationconf.Settings{Config: dynajournal.Config{JournalTable: "t"}}},
		"operation-timeout of the oldest versions": {
			"dynamodb-journal { operation-timeout = 10 seconds }",
			applicationconf.Settings{Config: dynajournal.Config{OperationTimeout: 10 * time.Second}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := applicationconf.Load(write(t, c.text))
			if err != nil {
				t.Fatal(err)
			}
			got.Origins = nil // TestLoad_Origins has them
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestLoad_WrongValues(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"not a number": {"dynamodb-journal.sequence-shards = many",
			`sequence-shards is "many", not a whole number`},
		"not a flag": {"dynamodb-journal.tracing = perhaps",
			`tracing is "perhaps", not on or off`},
		"not a duration": {"dynamodb-journal.operation-timeout = 3 fortnights",
			"not a length of time"},
		"a negative duration": {"dynamodb-journal.operation-timeout = -3s", "not a length of time"},
		"one buffer size": {"dynamodb-journal.aws-client-config.socket-buffer-size-hints = [1]",
			"two sizes"},
		"a plug-in without a section": {"pekko.persistence.journal.plugin = nowhere",
			"no section of that name"},
		"a snapshot store at another endpoint": {`dynamodb-snapshot-store.endpoint = "http://other"`,
			"both must be the same"},
		"a snapshot store of another journal": {"dynamodb-snapshot-store.journal-name = other",
			"both must be the same"},
		"a missing brace": {"dynamodb-journal {", "a } is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := applicationconf.Load(write(t, c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
		})
	}
}

func TestLoad_Origins(t *testing.T) {
	path := write(t, `akka.persistence.journal.plugin = dynamodb-journal
include "more.conf"
dynamodb-journal {
  region = eu-west-1
  aws-client-config {
    use-tcp-keepalive = off, socket-buffer-size-hints = [1, 2]
    proxy-host = p
    max-error-retry = 0
  }
}
`)
	more := filepath.Join(filepath.Dir(path), "more.conf")
	if err := os.WriteFile(more, []byte("\ndynamodb-journal.journal-table = t"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := applicationconf.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	const journal = "dynamodb-journal."
	const client = journal + "aws-client-config."
	want := map[string]applicationconf.Origin{
		"JournalTable":     {File: more, Line: 2, Key: journal + "journal-table"},
		"SnapshotTable":    {File: path},
		"Region":           {File: path, Line: 4, Key: journal + "region"},
		"Retries":          {File: path, Line: 8, Key: client + "max-error-retry"},
		"HTTP.KeepAlive":   {File: path, Line: 6, Key: client + "use-tcp-keepalive"},
		"HTTP.ReadBuffer":  {File: path, Line: 6, Key: client + "socket-buffer-size-hints"},
		"HTTP.WriteBuffer": {File: path, Line: 6, Key: client + "socket-buffer-size-hints"},
		"HTTP.Proxy":       {File: path, Line: 7, Key: client + "proxy-host"},
	}
	if !reflect.DeepEqual(s.Origins, want) {
		t.Errorf("got  %+v\nwant %+v", s.Origins, want)
	}
}

// Every field with a value has an origin.
func TestLoad_OriginOfEachField(t *testing.T) {
	s, err := applicationconf.Load(filepath.Join("testdata", "every_key.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		prefix string
		fields reflect.Value
	}{{"", reflect.ValueOf(s.Config)}, {"HTTP.", reflect.ValueOf(s.Config.HTTP)}} {
		for i := range of.fields.NumField() {
			name := of.fields.Type().Field(i).Name
			if _, has := s.Origins[of.prefix+name]; !of.fields.Field(i).IsZero() && !has && name != "HTTP" {
				t.Errorf("%s%s has no origin", of.prefix, name)
			}
		}
	}
}
