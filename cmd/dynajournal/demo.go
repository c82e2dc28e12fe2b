package main

import (
	"context"
	"crypto/rand"
	"errors"

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
	options.AWS = engine.AWSConfig()
	return demo.Run(ctx, options)
}
