package demo

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// screen writes the text of the demo. It records the first write error, which end returns.
type screen struct {
	w     io.Writer
	color bool
	err   error
}

// Escapes of a terminal.
const (
	bold  = "\x1b[1;36m"
	green = "\x1b[32m"
	red   = "\x1b[31m"
	faint = "\x1b[2m"
	reset = "\x1b[0m"
)

func (s *screen) paint(color, text string) string {
	if !s.color {
		return text
	}
	return color + text + reset
}

func (s *screen) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(s.w, format, args...); err != nil && s.err == nil {
		s.err = fmt.Errorf("show the demo: %w", err)
	}
}

func (s *screen) title(text string) { s.printf("\n%s\n", s.paint(bold, text)) }

func (s *screen) say(format string, args ...any) {
	s.printf("  %s\n", strings.Join(wrap(fmt.Sprintf(format, args...), columns-len("  ")), "\n  "))
}

// failed shows an expected error.
func (s *screen) failed(err error) {
	for i, line := range wrap(err.Error(), columns-len("  ! ")) {
		s.printf("  %s\n", s.paint(red, []string{"! ", "  "}[min(i, 1)]+line))
	}
}

// checked shows a claim that is true.
func (s *screen) checked(claim string) {
	mark := "ok:"
	if s.color {
		mark = "✓"
	}
	indent := strings.Repeat(" ", len("  ")+utf8.RuneCountInString(mark)+len(" "))
	lines := wrap(claim, columns-len(indent))
	s.printf("  %s %s\n", s.paint(green, mark), strings.Join(lines, "\n"+indent))
}

// columns is the width of the text: the width of the narrowest usual terminal.
const columns = 80

// wrap breaks a text between words into lines of at most width characters. A longer word gets its
// own line.
func wrap(text string, width int) []string {
	var lines []string
	for utf8.RuneCountInString(text) > width {
		runes := []rune(text)
		at := strings.LastIndexByte(string(runes[:width+1]), ' ')
		if at < 0 {
			if at = strings.IndexByte(text, ' '); at < 0 {
				break
			}
		}
		lines = append(lines, text[:at])
		text = text[at+1:]
	}
	return append(lines, text)
}

// table shows rows in columns. The first column is aligned to the left, the others to the right.
func (s *screen) table(head []string, rows [][]string) {
	width := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(row []string) string {
		var b strings.Builder
		for i, cell := range row {
			space := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString(cell + space)
			} else {
				b.WriteString("  " + space + cell)
			}
		}
		return b.String()
	}
	s.printf("  %s\n", s.paint(faint, line(head)))
	for _, row := range rows {
		s.printf("  %s\n", line(row))
	}
}

func (s *screen) costs(lines []costLine) {
	rows := make([][]string, len(lines))
	for i, l := range lines {
		rows[i] = []string{l.what, fmt.Sprint(l.cost.Requests), fmt.Sprint(l.cost.ReadUnits),
			fmt.Sprint(l.cost.WriteUnits)}
	}
	s.table([]string{"", "requests", "read units", "write units"}, rows)
}

// end shows that the demo has succeeded, and returns the first write error.
func (s *screen) end() error {
	s.printf("\n%s\n", s.paint(green, "demo: ok"))
	return s.err
}
