package systemtest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// Events that are written during a check are not damage, whichever request of the check they
// follow.
func TestVerifyOfAJournalThatIsWrittenTo(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		for after := range 8 {
			t.Run(fmt.Sprintf("%s, after %d requests", kind, after), func(t *testing.T) {
				t.Parallel()
				engine := openEngine(t)
				config := dynajournal.Config{AWS: engine.AWSConfig()}
				createTables(t, config, options)
				w := written(t, openJournal(t, config), "a", 95)
				var requests atomic.Int64
				var checking atomic.Bool
				write := sync.OnceFunc(func() {
					appendStrings(t, w, 3, false)
					appendStrings(t, w, 60, true)
					appendStrings(t, w, 60, false)
				})
				config.Hooks = []dynajournal.Hook{{OnRequest: func(context.Context, dynajournal.Request) {
					if checking.Load() && requests.Add(1) > int64(after) {
						write()
					}
				}}}
				j := openJournal(t, config)
				checking.Store(true)
				for f, err := range j.VerifyAll(t.Context(), dynajournal.VerifyOptions{}) {
					t.Errorf("%+v, %v", f, err)
				}
			})
		}
	}
}
