package demo

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// screen writes the text of the demo. It keeps the first error of writing until the end.
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

func (s *screen) say(format string, args ...any) { s.printf("  %s\n", fmt.Sprintf(format, args...)) }

// failed shows an expected error.
func (s *screen) failed(err error) { s.printf("  %s\n", s.paint(red, "! "+err.Error())) }

// checked shows a claim that was checked.
func (s *screen) checked(claim string) {
	mark := "ok:"
	if s.color {
		mark = "✓"
	}
	s.printf("  %s %s\n", s.paint(green, mark), claim)
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
	s.say("%s", s.paint(faint, line(head)))
	for _, row := range rows {
		s.say("%s", line(row))
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

// end ends the demo.
func (s *screen) end() error {
	s.printf("\n%s\n", s.paint(green, "demo: ok"))
	return s.err
}
