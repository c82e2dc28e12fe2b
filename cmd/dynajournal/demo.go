package main

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/dynajournal/dynajournal/cmd/dynajournal/internal/demo"
)

type demoCommand struct{}

// Help returns the text below the help of the flags.
func (demoCommand) Help() string {
	return "The demo runs on the embedded engine, in memory unless --data sets a folder. It checks everything " +
		"that it shows, and ends with `demo: ok`."
}

// Run runs the command.
func (demoCommand) Run(ctx context.Context, s *session) (err error) {
	options := demo.Options{Out: s.out, Color: isTerminal(s.out)}
	if s.location.Data != "" {
		options.IDSuffix = "-" + rand.Text()[:6]
	} else if !s.location.isSet() {
		s.location.Memory = true
	}
	engine, err := s.location.openEngine(ctx, s.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	options.AWS, options.Next = engine.AWSConfig(), afterDemo(s.location)
	return demo.Run(ctx, options)
}

// afterDemo returns the commands to try after the demo. They use the demo's data if it is in a
// folder.
func afterDemo(l *location) []string {
	if l.Data == "" {
		return []string{"dynajournal demo --data ./demo", "dynajournal append cart-1 --string opened",
			"dynajournal events cart-1"}
	}
	data := " --data '" + strings.ReplaceAll(l.Data, "'", `'\''`) + "'"
	return []string{"dynajournal ids --sorted" + data, "dynajournal verify --all" + data,
		"dynajournal projections list" + data, "dynajournal help location"}
}
