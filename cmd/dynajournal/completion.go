package main

import (
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell: ${enum}."`
}

// Help returns the text below the help of the flags.
func (*completionCommand) Help() string {
	return "For the current shell: `source <(dynajournal completion bash)`, or zsh, or in fish " +
		"`dynajournal completion fish | source`. The script completes commands, flags, values that are " +
		"one of a list, files and folders. It never completes persistence ids: that would send requests. " +
		"It runs no other program. Print it again after an upgrade."
}

// Run runs the command.
func (c *completionCommand) Run(s *session, line *kong.Context) error {
	writers := map[string]func(io.Writer, []completedCommand) error{
		"bash": writeBash, "zsh": writeZsh, "fish": writeFish,
	}
	if err := writers[c.Shell](s.out, completedCommands(line.Model.Node)); err != nil {
		return fmt.Errorf("write the script: %w", err)
	}
	return nil
}
