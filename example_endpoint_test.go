package dynajournal_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// An endpoint of one's own needs its URL and an access key. For AWS's, leave both empty and set AWS
// to what the SDK's config module loads.
func ExampleConfig() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory()
	check(err)
	defer engine.Close()
	server := httptest.NewServer(engine)
	defer server.Close()

	config := dynajournal.Config{
		AccessKeyID:      "any",
		SecretAccessKey:  "any",
		Endpoint:         server.URL,
		JournalName:      "orders",
		MaxConnections:   100,
		OperationTimeout: 5 * time.Second,
		Retries:          3,
	}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	defer journal.Close()
	fmt.Println("native:", journal.Native(), "shards:", journal.SequenceShards())
	// Output: native: true shards: 1
}
