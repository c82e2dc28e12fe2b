package awslambda

import (
	"errors"
	"math/big"
	"os"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// FuzzLambdaEvent parses any event. The records that it finds can be reported as failures.
func FuzzLambdaEvent(f *testing.F) {
	served, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = served.Close() })
	config := dynajournal.Config{AWS: served.AWSConfig()}
	if err := dynajournal.CreateTables(f.Context(), config, dynajournal.TableOptions{}); err != nil {
		f.Fatal(err)
	}
	journal, err := dynajournal.Open(f.Context(), config)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = journal.Close() })
	g := &engine.Group{Journal: journal, Table: engine.OpenTable(journal), Config: engine.Settings{Source: &lambda{}}}
	recorded, err := os.ReadFile("testdata/event.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(recorded)
	for _, seed := range []string{
		`{"Records":[]}`, `{"Records":[null]}`, `[]`,
		`{"Records":[{"dynamodb":{"NewImage":{"x":{"L":[{"M":{"y":{"BS":["AA=="]}}}]}}}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		b, err := parse(g, event)
		if err != nil {
			if !errors.Is(err, ErrInvalidEvent) {
				t.Error(err)
			}
			return
		}
		response := b.response()
		if len(b.ids) == 0 {
			if len(response.BatchItemFailures) > 0 {
				t.Errorf("a failure of no record: %v", response)
			}
			return
		}
		lowest, ok := new(big.Int).SetString(response.BatchItemFailures[0].ItemIdentifier, 10)
		for _, id := range b.ids {
			n, isNumber := new(big.Int).SetString(id.lowest, 10)
			if !ok || !isNumber || lowest.Cmp(n) > 0 || id.pid == "" || len(id.records) == 0 {
				t.Errorf("%v is reported, below it is %+v", response, id)
			}
			b.finish(id)
		}
		if len(b.response().BatchItemFailures) > 0 {
			t.Error("what is done is reported")
		}
	})
}
