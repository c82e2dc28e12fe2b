package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut_AtTerminalWidth(t *testing.T) {
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
		if got := strings.Join(strings.Fields(strings.Join(lines[1:], " ")), " "); got != bounds.text() {
			t.Errorf("width %d: a line without a payload is cut: %q", width, lines[1:])
		}
	}
}

func TestWidthOf_NoTerminal(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	if got := newOutput(&bytes.Buffer{}, "text", false).width; got != 0 {
		t.Errorf("the width is %d", got)
	}
}

func TestWrap_AtWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "",
		"a line":                     "a line",
		"twelve chars":               "twelve chars",
		"a line of thirteen":         "a line of\n    thirteen",
		"no-space-to-break-here":     "no-space-to-break-here",
		"no-space-to-break-here end": "no-space-to-break-here end",
		"a  b  c  d  e  f  g":        "a  b  c  d\n    e  f  g",
		"äöü äöü äöü äöü":            "äöü äöü äöü\n    äöü",
	} {
		if got := wrap(text, 12); got != want {
			t.Errorf("%q is wrapped as %q, want %q", text, got, want)
		}
		if got := wrap(text, 0); got != text {
			t.Errorf("%q is %q without a width", text, got)
		}
	}
}
