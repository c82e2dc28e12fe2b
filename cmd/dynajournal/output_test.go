package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLinesWithPayloadsAreCutAtTheWidthOfTheTerminal(t *testing.T) {
	t.Parallel()
	event := eventResult{SequenceNr: 7, SerializerID: 20, PayloadBase64: strings.Repeat("ä", 200)}
	bounds := boundsResult{PersistenceID: strings.Repeat("a", 200)}
	for width, want := range map[int]int{0: 0, 80: 80, 120: 120, 1000: 0} {
		var out bytes.Buffer
		o := newOutput(&out, "text", false)
		o.width = width
		for _, r := range []result{event, bounds} {
			if err := o.write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.flush(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.String(), "\n")
		if want == 0 && lines[0] != event.text() {
			t.Errorf("width %d: %s", width, lines[0])
		}
		if got := utf8.RuneCountInString(lines[0]); want > 0 && (got != want || !strings.HasSuffix(lines[0], "…")) {
			t.Errorf("width %d: %d characters: %s", width, got, lines[0])
		}
		if lines[1] != bounds.text() {
			t.Errorf("width %d: a line without a payload is cut: %s", width, lines[1])
		}
	}
}

func TestWhatIsNoTerminalHasNoWidth(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	if got := newOutput(&bytes.Buffer{}, "text", false).width; got != 0 {
		t.Errorf("the width is %d", got)
	}
}
