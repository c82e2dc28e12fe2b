package systemtest

import (
	"errors"
	"fmt"
	"path"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// goldenWritten lists the scenarios that only write to the journal.
var goldenWritten = []string{
	"akka-1.1.1/batch-30",
	"akka-1.1.1/batch-cross-100",
	"akka-1.1.1/batch-mid",
	"akka-1.1.1/odd-pids",
	"akka-1.1.1/payload-kinds",
	"akka-1.1.1/singles-205",
	"akka-1.1.1/singles-5",
	"pekko-1.1.0/batch-120",
	"pekko-1.1.0/batch-30",
	"pekko-1.1.0/batch-cross-100",
	"pekko-1.1.0/batch-end-99",
	"pekko-1.1.0/batch-first",
	"pekko-1.1.0/batch-mid",
	"pekko-1.1.0/batch-start-100",
	"pekko-1.1.0/batch-start-101",
	"pekko-1.1.0/current-events",
	"pekko-1.1.0/odd-pids",
	"pekko-1.1.0/payload-kinds",
	"pekko-1.1.0/payload-kinds-batch",
	"pekko-1.1.0/singles-100",
	"pekko-1.1.0/singles-205",
	"pekko-1.1.0/singles-5",
	"pekko-1.1.0/singles-99",
	"pekko-1.1.0/snapshots",
	"pekko-1.1.0/too-big",
}

func TestGolden_WrittenItemsEqualPlugIn(t *testing.T) {
	t.Parallel()
	for _, name := range goldenWritten {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden := loadGolden(t, name)
			j, client := openGolden(t, func(c *dynajournal.Config) {
				// the plug-in's limit
				c.OldEventFormat, c.MaxItemSize = path.Dir(name) == "akka-1.1.1", 400_000
			})
			writers := map[string]*dynajournal.Writer{}
			for _, step := range golden.Steps {
				if step.Op != "write" {
					continue
				}
				if writers[step.Pid] == nil {
					writers[step.Pid] = recoverWriter(t, j, step.Pid, 0)
				}
				golden.write(t, writers[step.Pid], step)
			}
			checkGoldenTable(t, client, dynajournal.DefaultJournalTable, "num", golden.journal)
		})
	}
}

// write runs a step that writes. Events that the plug-in rejected must be rejected.
func (g *goldenDeeds) write(tb testing.TB, w *dynajournal.Writer, step goldenDeed) {
	tb.Helper()
	next, err := w.NextSequenceNumber(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	events := make([]any, step.N, step.N+len(step.Events))
	for i := range events {
		prefix := step.V
		if prefix == "" {
			prefix = "event-"
		}
		events[i] = fmt.Sprint(prefix, next+int64(i))
	}
	for i, in := range step.Events {
		event := javaPayload(tb, stored(tb, g.journal, step.Pid, next+int64(i)))
		if event == nil {
			event = in.value(tb)
		}
		events = append(events, event)
	}
	if step.Atomic {
		_, err = w.Append(tb.Context(), events...)
	} else {
		_, err = w.AppendEach(tb.Context(), events...)
	}
	if rejected := len(step.Result.Errors) > 0; rejected != errors.Is(err, dynajournal.ErrRejected) || !rejected && err != nil {
		tb.Fatalf("write %q from %d: %v, the plug-in says %q", step.Pid, next, err, step.Result.Errors)
	}
}
