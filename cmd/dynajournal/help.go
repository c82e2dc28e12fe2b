package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// description is the text at the top of the help.
const description = `Event sourcing on DynamoDB: a journal that two writers can't break.

Without --endpoint or --aws, commands use an embedded engine with its data in a folder (--data), by default in the user's state directory.
They use AWS instead if --region is set, or if the file of --config or the environment has an AWS region or AWS credentials.

Exit status: 0 success; 1 failure, or something was found; 2 wrong usage or configuration. A failure prints one line on stderr.`

// The flags of location are the same for every command, so only the help of this topic has them.
const (
	locationGroup = "Location"
	locationTopic = "location"
)

// help prints the help instead of running the command.
type help bool

// errHelped stops the parsing of the command line after the help was printed.
var errHelped = errors.New("help was shown")

// BeforeReset is called if the flag is set.
func (help) BeforeReset(c *kong.Context) error {
	if err := c.PrintUsage(false); err != nil {
		return fmt.Errorf("print the help: %w", err)
	}
	return errHelped
}

// IgnoreDefault makes the flag have no effect if it is not set.
func (help) IgnoreDefault() {}

type helpCommand struct {
	Command []string `arg:"" optional:"" help:"Command to explain, or location. Default: list all commands."`
}

// Run runs the command.
func (c *helpCommand) Run(parser *kong.Kong) error {
	words, topic := c.Command, len(c.Command) == 1 && c.Command[0] == locationTopic
	if topic {
		words = nil
	}
	line, err := kong.Trace(parser, words)
	if err == nil {
		err = line.Error
	}
	if err != nil {
		return explain(line, err)
	}
	if topic {
		err = printLocation(line)
	} else {
		err = line.PrintUsage(false)
	}
	if err != nil {
		return fmt.Errorf("print the help: %w", err)
	}
	return nil
}

// printHelp prints the help of the selected command, or of all, without the flags of location.
func printHelp(options kong.HelpOptions, line *kong.Context) error {
	for _, flag := range line.Model.Flags {
		flag.Hidden = flag.Hidden || flag.Group != nil && flag.Group.Key == locationGroup
	}
	if err := kong.DefaultHelpPrinter(options, line); err != nil {
		return err
	}
	var end strings.Builder
	if lines := examples[selected(line)]; len(lines) > 0 {
		end.WriteString("\nExamples:\n")
		for _, example := range lines {
			end.WriteString("  " + example + "\n")
		}
	}
	end.WriteString("\nFlags that select the location, such as --data, --endpoint and --aws:\n" +
		"dynajournal help " + locationTopic + "\n")
	if line.Selected() == nil {
		end.WriteString("More about a command: dynajournal help COMMAND\n")
	}
	if _, err := line.Stdout.Write([]byte(end.String())); err != nil {
		return fmt.Errorf("write the help: %w", err)
	}
	return nil
}

// printLocation prints only the flags of location. It changes the model of the command line, which
// can't be used afterwards.
func printLocation(line *kong.Context) error {
	for _, flag := range line.Model.Flags {
		flag.Hidden = flag.Group == nil || flag.Group.Key != locationGroup
	}
	line.Model.Help = "Every command has these flags. Flags override the environment, which overrides --config. " +
		"Only one of --endpoint, --data, --memory and --aws can be set."
	line.Model.Children = nil
	return kong.DefaultHelpPrinter(kong.HelpOptions{
		NoAppSummary: true, WrapUpperBound: helpWidth, ValueFormatter: kong.DefaultHelpValueFormatter,
	}, line)
}

// helpWidth is the largest width of the help, in columns.
const helpWidth = 110

// endsBeforeCommand reports whether a command line fails because the command is missing.
func endsBeforeCommand(parse *kong.ParseError) bool {
	return parse.Context.Error == nil && hasCommands(parse.Context) &&
		strings.HasPrefix(parse.Error(), "expected one of ")
}

// hasCommands reports whether the next word of a command line has to be a command.
func hasCommands(line *kong.Context) bool {
	if node := line.Selected(); node != nil {
		return len(node.Children) > 0
	}
	return true
}

// explain returns an error of the parser as a usageError. It names the unknown command or the
// missing argument.
func explain(line *kong.Context, err error) error {
	const unexpected, guess = "unexpected argument ", ", did you mean "
	text := err.Error()
	at := strings.LastIndex(text, guess)
	if at < 0 {
		at = len(text)
	}
	what, suggestion := text[:at], strings.TrimPrefix(text[at:], guess)
	word, isArgument := strings.CutPrefix(what, unexpected)
	isCommand := isArgument && hasCommands(line)
	if isCommand {
		what = fmt.Sprintf("unknown command %q", word)
	}
	missing, isMissing := strings.CutPrefix(text, "expected \"<")
	switch {
	case isMissing && line.Selected() != nil:
		name, _, _ := strings.Cut(missing, ">")
		return usagef("<%s> is missing: see %s --help", name, line.Selected().FullPath())
	case suggestion != "":
		return usagef("%s: did you mean %s", what, suggestion)
	case isCommand:
		return usagef("%s: dynajournal help lists them", what)
	default:
		return &usageError{err}
	}
}
