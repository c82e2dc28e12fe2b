package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell: ${enum}."`
}

// Help returns the text below the help of the flags.
func (*completionCommand) Help() string {
	return "In the current shell, run `source <(dynajournal completion bash)`, or the same with zsh, " +
		"or in fish `dynajournal completion fish | source`. The script runs this program to " +
		"complete commands, flags, and values from a fixed list. bash and zsh complete file names for " +
		"everything else. Persistence ids are never completed, because that would send requests."
}

// Run prints the script.
func (c *completionCommand) Run(line *kong.Context) error {
	script := kongcompletion.Completion{Shell: c.Shell, Code: true}
	if err := script.Run(line); err != nil {
		return fmt.Errorf("write the script: %w", err)
	}
	return nil
}

// completes prints the completions of the command line in the environment variable COMP_LINE, which
// a shell sets. It reports whether the variable is set.
func completes(parser *kong.Kong) bool {
	if os.Getenv("COMP_LINE") == "" {
		return false // without building the model of the library at each start
	}
	done := false
	kongcompletion.Register(parser, kongcompletion.WithExitFunc(func(int) { done = true }))
	return done
}
