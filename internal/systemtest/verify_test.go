package systemtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dynajournal/dynajournal"
)

func TestVerifyAllChecksEveryID(t *testing.T) {
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	for i := range 30 {
		appendStrings(t, recoverWriter(t, d.Journal, fmt.Sprintf("id-%d", i), 0), 3, false)
	}
	d.write(105, false)
	d.remove("journal-SH-a-0", 0)
	checked := 0
	got := collect(t, d.VerifyAll(t.Context(), dynajournal.VerifyOptions{Parallelism: 4, Progress: func(string) { checked++ }}))
	if want := []foundAt{{dynajournal.FindingMissingHighMark, 100, true}}; !slices.Equal(got, want) || checked != 31 {
		t.Errorf("found %v in %d ids, want %v in 31", got, checked, want)
	}
	for _, err := range d.VerifyAll(t.Context(), dynajournal.VerifyOptions{Parallelism: 4}) {
		if err != nil {
			t.Error(err)
		}
		break // leaving the loop ends the check
	}
}
