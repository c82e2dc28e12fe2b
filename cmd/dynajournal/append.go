package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

type appendCommand struct {
	PersistenceID string `arg:"" name:"pid" help:"Persistence id."`
	String        values `placeholder:"S" help:"Append this string as an event (serializer 20). Can be repeated."`
	BytesBase64   values `name:"bytes-base64" placeholder:"B" help:"Append these bytes, given in base64, as an event (serializer 4). Can be repeated."`
	JSON          values `name:"json" placeholder:"FILE" help:"Append the JSON value in this file as an event (serializer 31). - is standard input. Can be repeated."`
	Manifest      string `placeholder:"CLASS" help:"Manifest of the JSON events: the class, which a JVM needs to read them. Default: none."`
	Atomic        bool   `help:"Write all events as one atomic write: all of them or none. Default: one after the other."`
	Expect        *int64 `placeholder:"N" help:"Write nothing unless the next sequence number is N. Default: any."`
}

// values are the values of a flag that can be repeated. A value may contain commas, and may begin
// with a hyphen.
type values []string

// Decode takes the next word of the command line.
func (v *values) Decode(c *kong.DecodeContext) error {
	word := c.Scan.Pop()
	if word.IsEOL() {
		return errors.New("a value is missing")
	}
	*v = append(*v, word.String())
	return nil
}

// Help returns the text below the help of the flags.
func (*appendCommand) Help() string {
	return "Events are written in the order of their flags, after a recovery, which fences all other writers. " +
		"On an embedded engine without tables, the command first creates the tables of a native journal."
}

// appendedResult is an event that was written.
type appendedResult struct {
	PersistenceID string `json:"persistence_id"`
	SequenceNr    int64  `json:"sequence_nr"`
	WriterUUID    string `json:"writer_uuid"`
}

func (r appendedResult) text() string {
	return fmt.Sprintf("%s: wrote event %d", printable(r.PersistenceID), r.SequenceNr)
}

// Run runs the command.
func (c *appendCommand) Run(ctx context.Context, s *session, line *kong.Context) error {
	events, err := c.events(s.in, line)
	if err != nil {
		return err
	}
	return s.journal(ctx, appending, func(j journal) error {
		w, err := j.recover(ctx, c.PersistenceID)
		if err != nil {
			return err
		}
		return c.write(ctx, s, w, events)
	})
}

func (c *appendCommand) write(ctx context.Context, s *session, w writer, events []any) error {
	if err := c.checkExpected(ctx, w); err != nil {
		return err
	}
	if c.Atomic {
		written, err := w.Append(ctx, events...)
		if err != nil {
			return err
		}
		for seq := written.First; seq <= written.Last; seq++ {
			if err := s.result.write(appendedResult{c.PersistenceID, seq, w.WriterUUID()}); err != nil {
				return err
			}
		}
		return nil
	}
	outcomes, err := w.AppendEach(ctx, events...)
	for _, o := range outcomes {
		if o.Err == nil {
			err = errors.Join(err, s.result.write(appendedResult{c.PersistenceID, o.SequenceNumber, w.WriterUUID()}))
		}
	}
	return err
}

func (c *appendCommand) checkExpected(ctx context.Context, w writer) error {
	if c.Expect == nil {
		return nil
	}
	next, err := w.NextSequenceNumber(ctx)
	if err != nil {
		return err
	}
	if next != *c.Expect {
		return fmt.Errorf("%q: expected next sequence number %d, got %d; nothing written",
			c.PersistenceID, *c.Expect, next)
	}
	return nil
}

// events returns the events of the flags, in the order of the command line.
func (c *appendCommand) events(stdin io.Reader, line *kong.Context) ([]any, error) {
	var events []any
	given := map[string]int{}
	for _, step := range line.Path {
		if step.Flag == nil {
			continue
		}
		name := step.Flag.Name
		var event any
		var err error
		switch i := given[name]; name {
		case "string":
			event = c.String[i]
		case "bytes-base64":
			event, err = base64.StdEncoding.DecodeString(c.BytesBase64[i])
		case "json":
			event, err = readJSON(stdin, c.JSON[i], c.Manifest)
		default:
			continue
		}
		if err != nil {
			return nil, usagef("--%s number %d: %w", name, given[name]+1, err)
		}
		given[name]++
		events = append(events, event)
	}
	if len(events) == 0 {
		return nil, usagef("no event is given: use --string, --bytes-base64 or --json")
	}
	return events, nil
}
