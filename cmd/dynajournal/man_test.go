package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/muesli/roff"
)

// manPage is what the command prints.
func manPage(t *testing.T) string {
	t.Helper()
	o := invoke(t.Context(), "", "man")
	if o.status != statusDone || o.err != "" {
		t.Fatalf("%+v", o)
	}
	return o.out
}

// formatter formats a page from the standard input.
func formatter(t *testing.T) *exec.Cmd {
	t.Helper()
	if path, err := exec.LookPath("mandoc"); err == nil {
		// Less than an error is a page without a date.
		return exec.CommandContext(t.Context(), path, "-Tascii", "-Werror,stop")
	}
	path, err := exec.LookPath("man")
	if err != nil {
		t.Skipf("skipped: it formats the page with mandoc or man, which are not found: %v", err)
	}
	return exec.CommandContext(t.Context(), path, "--warnings", "-P", "cat", "-l", "-")
}

func TestTheManualPageIsFormattedWithoutErrors(t *testing.T) {
	clean(t)
	command := formatter(t)
	command.Stdin = strings.NewReader(manPage(t))
	command.Env = append(command.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80")
	var errs strings.Builder
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%v: %s", err, errs.String())
	}
	for _, want := range []string{"tables create", "--billing", "Exit status: 0 done"} {
		if !strings.Contains(withoutOverstrikes(string(out)), want) {
			t.Errorf("%q is not in it:\n%s", want, out)
		}
	}
}

// withoutOverstrikes returns a formatted page without the characters that a terminal prints on top
// of each other to make them bold.
func withoutOverstrikes(text string) string {
	var kept []rune
	for _, r := range text {
		if r == '\b' && len(kept) > 0 {
			kept = kept[:len(kept)-1]
		} else {
			kept = append(kept, r)
		}
	}
	return string(kept)
}

func TestTheManualPageIsTheSameOnEachDay(t *testing.T) {
	clean(t)
	title, body, _ := strings.Cut(manPage(t), "\n")
	if want := `.TH DYNAJOURNAL 1 "" "dynajournal ` + buildVersion() + `" "dynajournal"`; title != want {
		t.Errorf("the title is %s, want %s", title, want)
	}
	if strings.Contains(body, ".TH") {
		t.Error("it has a second title")
	}
}

// roff takes texts for formats.
func TestTheManualPageHasPercentSigns(t *testing.T) {
	page := undated{roff.NewDocument()}
	page.Text("100% of it")
	if got := page.String(); got != "100% of it" {
		t.Errorf("%q", got)
	}
}
