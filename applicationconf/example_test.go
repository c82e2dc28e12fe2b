package applicationconf_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/applicationconf"
	"github.com/dynajournal/dynajournal/embedded"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A service opens the journal of a service on the JVM. On AWS, load an aws.Config for
// Settings.Region with the SDK's config module, and set Config.AWS to it.
func ExampleLoad() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory()
	check(err)
	defer engine.Close()
	server := httptest.NewServer(engine)
	defer server.Close()
	folder, err := os.MkdirTemp("", "applicationconf")
	check(err)
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "application.conf")
	check(os.WriteFile(file, []byte(`
		pekko.persistence.journal.plugin = "dynamodb-journal"
		dynamodb-journal {
		  endpoint = "`+server.URL+`"
		  aws-access-key-id = any, aws-secret-access-key = any
		  journal-table = orders
		  sequence-shards = 20
		  aws-client-config.max-connections = 100
		}
		dynamodb-snapshot-store.snapshot-table = orders-snapshot
	`), 0o600))

	settings, err := applicationconf.Load(file)
	check(err)
	config := settings.Config
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{SharedWithJVM: true}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	defer journal.Close()
	fmt.Println(config.JournalTable, config.SnapshotTable, journal.SequenceShards())
	// Output: orders orders-snapshot 20
}

func ExampleError() {
	folder, err := os.MkdirTemp("", "applicationconf")
	check(err)
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "application.conf")
	check(os.WriteFile(file, []byte("dynamodb-journal {\n  journal-tabel = orders\n}"), 0o600))

	_, err = applicationconf.Load(file)
	if wrong, ok := errors.AsType[*applicationconf.Error](err); ok {
		fmt.Println("line", wrong.Line)
		fmt.Println(wrong.Err)
	}
	// Output:
	// line 2
	// dynamodb-journal.journal-tabel is not known; did you mean journal-table?
}
