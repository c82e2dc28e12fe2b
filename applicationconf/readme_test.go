package applicationconf_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/applicationconf"
)

// readme returns the configuration blocks of the plug-ins' README files for a host, as a user
// completes them. The snapshot store leaves out the credentials, and the read journal sets nothing.
func readme(host string) string {
	return strings.ReplaceAll(`
HOST.persistence.journal.plugin = "my-dynamodb-journal"

my-dynamodb-journal = ${dynamodb-journal} # include the default settings
my-dynamodb-journal {                     # and add some overrides
    journal-table =  orders
    journal-name =  shop
    aws-access-key-id =  AKIDEXAMPLE
    aws-secret-access-key =  hunter2
    endpoint =  "https://dynamodb.us-east-1.amazonaws.com" # or where your deployment is
}
my-dynamodb-journal.aws-client-config.max-connections = 200

HOST.persistence.snapshot-store.plugin = "my-dynamodb-snapshot-store"

my-dynamodb-snapshot-store = ${dynamodb-snapshot-store} # include the default settings
my-dynamodb-snapshot-store {                     # and add some overrides
    snapshot-table =  orders-snapshot
    journal-name =  shop
    endpoint =  "https://dynamodb.us-east-1.amazonaws.com" # default is the same as journal
}

dynamodb-read-journal {
  # persistence-ids-index-name: "persistence-ids-idx"
}
`, "HOST", host)
}

func TestLoad_READMEBlocks(t *testing.T) {
	for _, host := range []string{"akka", "pekko"} {
		t.Run(host, func(t *testing.T) {
			path := write(t, readme(host))
			s, err := applicationconf.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			c := s.Config
			if c.JournalTable != "orders" || c.SnapshotTable != "orders-snapshot" || c.JournalName != "shop" ||
				c.AccessKeyID != "AKIDEXAMPLE" || c.SecretAccessKey != "hunter2" || c.MaxConnections != 200 {
				t.Errorf("%+v", c)
			}
			want := []string{
				path + ":23: dynamodb-read-journal does not set aws-access-key-id, aws-client-config.max-connections, " +
					"aws-secret-access-key, endpoint, journal-name, journal-table: Go uses the values of my-dynamodb-journal, " +
					"a JVM those of dynamodb-journal; to make the JVM use the same, write " +
					"dynamodb-read-journal.aws-access-key-id = ${my-dynamodb-journal.aws-access-key-id}, and so on",
				path + ":17: my-dynamodb-snapshot-store does not set aws-access-key-id, aws-client-config.max-connections, " +
					"aws-secret-access-key: Go uses the values of my-dynamodb-journal, a JVM those of dynamodb-journal; to make " +
					"the JVM use the same, write my-dynamodb-snapshot-store.aws-access-key-id = ${my-dynamodb-journal.aws-access-key-id}, and so on",
			}
			if got := strings.Join(s.Notes, "\n"); got != strings.Join(want, "\n") {
				t.Errorf("notes\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}
		})
	}
}

// If the file follows the advice of a note, a JVM and Go agree, and the note is gone.
func TestNotes_AdviceFollowed(t *testing.T) {
	for _, text := range []string{
		"dynamodb-journal { endpoint = \"http://a\", journal-table = t }\ndynamodb-snapshot-store {}\ndynamodb-read-journal {}",
		`pekko.persistence.journal.plugin = bank
		bank = ${dynamodb-journal} { endpoint = "http://a" }
		dynamodb-snapshot-store.endpoint = ${bank.endpoint}`,
	} {
		s, err := applicationconf.Load(write(t, text))
		if err != nil || len(s.Notes) > 0 {
			t.Errorf("%s: notes %q, %v", text, s.Notes, err)
		}
	}
}

func TestLoad_EmptySection(t *testing.T) {
	const journal = `pekko.persistence.journal.plugin = bank
		bank = ${dynamodb-journal} { endpoint = "http://a", journal-name = bank, journal-table = t }
		`
	alone, err := applicationconf.Load(write(t, journal))
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range []string{"dynamodb-read-journal {}", "dynamodb-snapshot-store {}"} {
		s, err := applicationconf.Load(write(t, journal+section))
		if err != nil || s.Config.JournalName != alone.Config.JournalName || s.Config.JournalTable != alone.Config.JournalTable ||
			s.Config.Endpoint != alone.Config.Endpoint || s.Config.SnapshotTable != alone.Config.SnapshotTable || len(s.Notes) != 1 {
			t.Errorf("%s: %+v, %v", section, s, err)
		}
	}
}

func TestNotes_SectionWithoutClass(t *testing.T) {
	path := write(t, "pekko.persistence.journal.plugin = bank\nbank { journal-table = t }")
	s, err := applicationconf.Load(path)
	want := path + ":2: bank has no class, without which a JVM does not find the plug-in: write bank = ${dynamodb-journal} { … }"
	if err != nil || strings.Join(s.Notes, "\n") != want {
		t.Errorf("notes %q, %v", s.Notes, err)
	}
}

// Sections of other plug-ins are refused before any other error in them.
func TestLoad_OtherPlugin(t *testing.T) {
	for name, c := range map[string]struct{ text, key string }{
		"a class whose name contains Akka's": {`
			akka.persistence.journal.plugin = "vendor.dynamo-db-journal"
			vendor.dynamo-db-journal { class = "com.example.vendor.akka.persistence.dynamodb.journal.DynamoDBJournal", table = t }`,
			"vendor.dynamo-db-journal.class"},
		"a class of another store": {`
			pekko.persistence.journal.plugin = "other", other { class = "com.example.JdbcJournal", endpoint = [] }`, "other.class"},
		"a snapshot store of another plug-in": {`
			dynamodb-journal { journal-table = t }
			akka.persistence.snapshot-store.plugin = "s", s { class = "com.example.dynamodb.DynamoDBSnapshotStore" }`, "s.class"},
		"a read journal of another plug-in": {`dynamodb-read-journal { class = "com.example.dynamodb.Reader" }`, "dynamodb-read-journal.class"},
		"the usual section's class":         {`dynamodb-journal { class = "com.example.DynamoDBJournal", tabel = x }`, "dynamodb-journal.class"},
		"Akka's version 2":                  {`akka.persistence.journal.plugin = "akka.persistence.dynamodb.journal"`, "akka.persistence.journal.plugin"},
		"a plug-in of the host":             {`akka.persistence.journal.plugin = "akka.persistence.journal.leveldb"`, "akka.persistence.journal.plugin"},
		"another DynamoDB plug-in":          {`akka.persistence.journal.plugin = "j5ik2o.dynamo-db-journal"`, "akka.persistence.journal.plugin"},
		"another store":                     {`pekko.persistence.journal.plugin = "jdbc-journal"`, "pekko.persistence.journal.plugin"},
		"snapshots of another plug-in, by name": {`dynamodb-journal {}
			akka.persistence.snapshot-store.plugin = "j5ik2o.dynamo-db-snapshot"`, "akka.persistence.snapshot-store.plugin"},
		"a section of another plug-in, without a class": {`
			akka.persistence.journal.plugin = "j5ik2o.dynamo-db-journal", j5ik2o.dynamo-db-journal { table-name = t }`, "akka.persistence.journal.plugin"},
		"version 2 with a class": {`
			akka.persistence.journal.plugin = "akka.persistence.dynamodb.journal"
			akka.persistence.dynamodb.journal { class = "akka.persistence.dynamodb.journal.DynamoDBJournal", table = t }`, "akka.persistence.journal.plugin"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := applicationconf.Load(write(t, c.text))
			wrong, ok := errors.AsType[*applicationconf.Error](err)
			if !errors.Is(err, applicationconf.ErrNotSupported) || !ok || wrong.Key != c.key || wrong.Line == 0 ||
				!strings.Contains(err.Error(), "only Akka's plug-in up to 1.x and Pekko's are") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestLoad_PluginClasses(t *testing.T) {
	for _, text := range []string{
		`dynamodb-journal { class = "akka.persistence.journal.dynamodb.DynamoDBJournal" }`,
		`dynamodb-journal { class = "akka.persistence.dynamodb.journal.DynamoDBJournal" }
		 dynamodb-snapshot-store { class = "akka.persistence.dynamodb.snapshot.DynamoDBSnapshotStore" }
		 dynamodb-read-journal { class = "akka.persistence.dynamodb.query.DynamodbReadJournalProvider" }`,
	} {
		if s, err := applicationconf.Load(write(t, text)); err != nil || s.Config.JournalTable != "akka-persistence" {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
}

func TestAllowKey(t *testing.T) {
	path := write(t, `akka.persistence.journal.plugin = "app-journal"
app-journal = ${dynamodb-journal}
app-journal { journal-table = "orders", stream-endpoint = "http://localhost:8000", stream { a.b = 1 } }`)
	for name, c := range map[string]struct {
		allowed []string
		want    string
	}{
		"none":                      {nil, "app-journal.stream is not known"},
		"one of two":                {[]string{"app-journal.stream"}, "app-journal.stream-endpoint is not known"},
		"paths":                     {[]string{"app-journal.stream", "app-journal.stream-endpoint"}, ""},
		"names below their section": {[]string{"stream", "stream-endpoint"}, ""},
		"another's section":         {[]string{"other.stream", "stream-endpoint"}, "app-journal.stream is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			var options []applicationconf.Option
			for _, key := range c.allowed {
				options = append(options, applicationconf.AllowKey(key))
			}
			s, err := applicationconf.Load(path, options...)
			if c.want == "" {
				if err != nil || s.Config.JournalTable != "orders" {
					t.Errorf("%+v, %v", s, err)
				}
				return
			}
			if !errors.Is(err, applicationconf.ErrUnknownKey) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestNearest_CyclicSection(t *testing.T) {
	for _, text := range []string{
		"pekko.persistence.journal.plugin = bank\nbank = ${bank}",
		"pekko.persistence.journal.plugin = bank\nbank = ${other}\nother = ${bank}",
		"pekko.persistence.journal.plugin = bank\nbank = ${nowhere}",
	} {
		if _, err := applicationconf.Load(write(t, text)); err == nil || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
