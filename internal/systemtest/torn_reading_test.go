package systemtest

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// cutShort writes events up to 300 and deletes the events up to 250. The deletion ends after 25
// tombstones.
func cutShort(t *testing.T, config dynajournal.Config) {
	t.Helper()
	const deleted = 250
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	removed := false
	config.ReplayParallelism = 1
	config.AWS.HTTPClient = through(config.AWS.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
		if operation(r) == "BatchWriteItem" { // 25 tombstones each
			if removed {
				cancel()
				return nil, ctx.Err()
			}
			removed = true
		}
		return send(r)
	})
	w := recoverWriter(t, openJournal(t, config), "a", 0)
	appendStrings(t, w, 290, false)
	_, err := w.DeleteTo(ctx, deleted)
	wantError(t, "DeleteTo", err, context.Canceled)
}

// A reader reads the marks when there are 10 events. Then more events are written and deleted. The
// reader must see the state before or after the deletion, even if the deletion was interrupted.
func TestReadingIsConsistentAfterAnInterruptedDeletion(t *testing.T) {
	t.Parallel()
	readers := map[string]func(t *testing.T, j *dynajournal.Journal) string{
		"Events": func(t *testing.T, j *dynajournal.Journal) string {
			t.Helper()
			return numbersText(numbersOf(readEvents(t, j, "a", dynajournal.Range{})))
		},
		"Recover": func(t *testing.T, j *dynajournal.Journal) string {
			t.Helper()
			return replayed(t, j, "a", dynajournal.RecoverOptions{})
		},
		"Records": func(t *testing.T, j *dynajournal.Journal) string {
			t.Helper()
			all := recordsText(records(t, j, "a", 0))
			low, events, _ := strings.Cut(all, ", ")
			if low != "low 251" {
				t.Errorf("the records begin with %q", low)
			}
			first, _, _ := strings.Cut(events, ", ")
			return first + "-" + all[strings.LastIndexByte(all, ' ')+1:]
		},
	}
	for kind, options := range kinds {
		for name, read := range readers {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				aside := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
				createTables(t, aside, options)
				appendStrings(t, recoverWriter(t, openJournal(t, aside), "a", 0), 10, false)
				config, marks := aside, make(chan struct{})
				var marksRead, written sync.Once
				armed := false
				config.AWS.HTTPClient = through(aside.AWS.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
					switch {
					case !armed:
					case operation(r) == "Query":
						<-marks
						written.Do(func() { cutShort(t, aside) })
					case operation(r) == "BatchGetItem":
						response, err := send(r)
						marksRead.Do(func() { close(marks) })
						return response, err
					}
					return send(r)
				})
				j := openJournal(t, config)
				armed = true
				if got := read(t, j); got != "251-300" {
					t.Errorf("it read %s, want 251-300", got)
				}
			})
		}
	}
}
