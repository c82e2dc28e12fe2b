package systemtest

import (
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// A service closes idle connections. If this happens while a request is sent, the attempt fails,
// and the next attempt uses another connection. Every event must be written once.
func TestConnectionsClosedByTheServiceLoseNothing(t *testing.T) {
	t.Parallel()
	const rounds, writers = 50, 8
	engine := openEngine(t)
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	config := overHTTP(engine, server.URL)
	createTables(t, dynajournal.Config{AWS: engine.AWSConfig()}, kinds["native"])
	j := openJournal(t, config)
	all := make([]*dynajournal.Writer, writers)
	for i := range all {
		all[i] = recovered(t, j, fmt.Sprint("a", i))
	}
	for range rounds {
		var writing sync.WaitGroup
		for _, w := range all {
			writing.Go(func() {
				if _, err := w.Append(t.Context(), "event"); err != nil {
					t.Error(err)
				}
			})
		}
		writing.Wait()
		server.CloseClientConnections()
	}
	for i := range all {
		if got := numbersText(numbersOf(readEvents(t, j, fmt.Sprint("a", i), dynajournal.Range{}))); got != fmt.Sprint("1-", rounds) {
			t.Errorf("the events are %s", got)
		}
	}
}
