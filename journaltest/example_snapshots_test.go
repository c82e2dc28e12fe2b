package journaltest_test

import (
	"context"
	"fmt"
	"log"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/journaltest"
)

// Criteria select snapshots. All journals under test must select the same way.
func ExampleAdaptSnapshots() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	if err := dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}); err != nil {
		log.Fatal(err)
	}
	opened, err := dynajournal.Open(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer opened.Close()

	snapshots := journaltest.AdaptSnapshots(opened)
	for _, number := range []int64{10, 20} {
		saved := journaltest.Snapshot{SequenceNumber: number, State: []byte(fmt.Sprintf("state %d", number))}
		if err := snapshots.Save(ctx, "account-1", saved); err != nil {
			log.Fatal(err)
		}
	}
	newest, found, err := snapshots.Load(ctx, "account-1", journaltest.Criteria{MaxSequenceNumber: 19})
	fmt.Println(string(newest.State), found, err)
	// Output: state 10 true <nil>
}
