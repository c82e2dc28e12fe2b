package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	mangokong "github.com/alecthomas/mango-kong"
	"github.com/muesli/mango"
	"github.com/muesli/roff"
)

type manCommand struct{}

// Help returns the text below the help of the flags.
func (*manCommand) Help() string {
	return "To read it: `dynajournal man | man -l -`. To install it: write it to " +
		"/usr/local/share/man/man1/dynajournal.1, or to a man1 folder of your $MANPATH."
}

// Run runs the command.
func (manCommand) Run(s *session, line *kong.Context) error {
	page := mangokong.NewManPage(1, line.Model)
	joinDetails(&page.Root)
	text := page.Build(undated{roff.NewDocument()})
	// Otherwise roff makes hyphens and quotation marks of them, which no shell takes.
	text = strings.NewReplacer("-", `\-`, "`", `\(ga`).Replace(text)
	title := fmt.Sprintf(".TH DYNAJOURNAL 1 \"\" \"dynajournal %s\" \"dynajournal\"\n", buildVersion())
	if _, err := io.WriteString(s.out, title+strings.TrimPrefix(text, "\n")); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// joinDetails puts the details of each command behind its help. The page would have them behind the
// command's name.
func joinDetails(c *mango.Command) {
	for _, below := range c.Commands {
		if details := strings.TrimSpace(below.Usage); details != "" {
			below.Short, below.Usage = below.Short+" "+strings.ReplaceAll(details, "\n\n", " "), ""
		}
		joinDetails(below)
	}
}

// undated is a page without the title, which would have the day on which it is printed: the same
// program prints the same page.
type undated struct{ *roff.Document }

// Heading writes nothing.
func (undated) Heading(uint, string, string, time.Time) {}

// Text writes a text, which roff takes for a format.
func (u undated) Text(text string) { u.Document.Text(strings.ReplaceAll(text, "%", "%%")) }
