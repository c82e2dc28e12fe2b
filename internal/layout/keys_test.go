package layout_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/internal/layout"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	for want, got := range map[layout.Key]layout.Key{
		{Par: "journal-P-pid-0", Num: 1}:        shared.Event("pid", 1),
		{Par: "journal-P-pid-0", Num: 99}:       shared.Event("pid", 99),
		{Par: "journal-P-pid-1", Num: 0}:        shared.Event("pid", 100),
		{Par: "journal-P-order-1-12", Num: 34}:  shared.Event("order-1", 1234),
		{Par: "journal-SH-pid-2", Num: 0}:       shared.HighMark("pid", 1200),
		{Par: "journal-SL-pid-0", Num: 0}:       shared.LowMark("pid", 99),
		{Par: "journal-SL-pid-9", Num: 0}:       shared.LowMark("pid", 1999),
		{Par: "journal-META", Num: 0}:           shared.Header(),
		{Par: "journal-P-ünïcöde 漢字-0", Num: 7}: shared.Event("ünïcöde 漢字", 7),
	} {
		if got != want {
			t.Errorf("key %v, want %v", got, want)
		}
	}
	if marks := shared.HighMarks("pid"); len(marks) != 10 || marks[9].Par != "journal-SH-pid-9" {
		t.Errorf("the high marks are %v", marks)
	}
	if marks := shared.LowMarks("pid"); len(marks) != 10 || marks[0].Par != "journal-SL-pid-0" {
		t.Errorf("the low marks are %v", marks)
	}
}

func TestCrossesBlock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, last int64
		want        bool
	}{{1, 1, false}, {99, 99, false}, {100, 100, true}, {101, 101, false}, {1, 99, false}, {1, 100, true}, {99, 101, true}, {100, 103, true}, {101, 199, false}, {101, 420, true}} {
		if got := layout.CrossesBlock(c.first, c.last); got != c.want {
			t.Errorf("CrossesBlock(%d, %d) = %v, want %v", c.first, c.last, got, c.want)
		}
	}
	for seq, want := range map[int64]int64{0: 0, 99: 0, 100: 100, 199: 100, 1234: 1200} {
		if got := layout.HighestBlock(seq); got != want {
			t.Errorf("HighestBlock(%d) = %d, want %d", seq, got, want)
		}
	}
}

func TestCheckNames(t *testing.T) {
	t.Parallel()
	const longest = 100 - len("journal-SH--") - 17
	for pid, want := range map[string]error{
		"a": nil, "": layout.ErrEmpty, "\xff": layout.ErrNotUTF8,
		strings.Repeat("x", longest): nil, strings.Repeat("x", longest+1): layout.ErrTooLong,
	} {
		if err := shared.CheckPersistenceID(pid, 100); !errors.Is(err, want) {
			t.Errorf("CheckPersistenceID(%q): %v, want %v", pid, err, want)
		}
	}
	for name, want := range map[string]error{
		"journal": nil, "P": nil, "a-P-b": nil, "a-": nil, "": layout.ErrEmpty, "\xff": layout.ErrNotUTF8,
		"a-P": layout.ErrAmbiguous, "a-SH": layout.ErrAmbiguous, "a-SL": layout.ErrAmbiguous, "a-META": layout.ErrAmbiguous, "-P": layout.ErrAmbiguous,
	} {
		if err := layout.CheckJournalName(name); !errors.Is(err, want) {
			t.Errorf("CheckJournalName(%q): %v, want %v", name, err, want)
		}
	}
}
