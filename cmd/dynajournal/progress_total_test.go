package main

import (
	"io"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// Work on a whole journal knows its approximate total.
func TestProgress_Totals(t *testing.T) {
	clean(t)
	for _, pid := range []string{"a", "b", "c"} {
		must(t, "append", pid, "--string", "x", "--string", "y")
	}
	s := &session{streams: streams{err: io.Discard}, location: &location{Layout: layoutCurrent}}
	err := s.currentJournal(t.Context(), checking, func(j *dynajournal.Journal) error {
		if got := countIDs(t.Context(), j); got != 3 {
			t.Errorf("%d persistence ids, want 3", got)
		}
		if got := s.idsProgress(t.Context(), j, "persistence ids", 2).total; got != 2 {
			t.Errorf("the total of two given persistence ids is %d", got)
		}
		if got := s.idsProgress(t.Context(), j, "persistence ids", 0).total; got != unknownTotal {
			t.Errorf("without a terminal the total is %d", got)
		}
		// The header is also an item.
		if got := countItems(t.Context(), s.opened.config); got != 7 {
			t.Errorf("%d items, want 7", got)
		}
		missing := s.opened.config
		missing.JournalTable = "missing"
		if got := countItems(t.Context(), missing); got != unknownTotal {
			t.Errorf("a missing table has %d items", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
