package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/dynajournal/dynajournal/bench"
)

// commands is the grammar of the command line.
type commands struct {
	Help     help `help:"Show this help." short:"h"`
	location `embed:"" group:"Location"`
	Full     bool   `help:"Show long payloads in full. Default: on a terminal, a line is cut at its width."`
	Output   string `enum:"text,json," default:"" help:"Output as text, or as one JSON object per line. Default: text on a terminal, otherwise json." placeholder:"text|json"`

	Demo        demoCommand        `cmd:"" help:"Demonstrate a journal end to end: entities that persist events, crash and recover."`
	Serve       serveCommand       `cmd:"" help:"Serve the embedded engine as a DynamoDB endpoint for any SDK."`
	Tables      tablesCommand      `cmd:"" help:"Create, update, describe and delete a journal's tables."`
	Append      appendCommand      `cmd:"" help:"Append events to a persistence id."`
	Events      eventsCommand      `cmd:"" help:"Replay the events of a persistence id."`
	Tail        tailCommand        `cmd:"" help:"Show events as they are written, until interrupted."`
	Highest     highestCommand     `cmd:"" help:"Show the lowest and the highest sequence number of a persistence id."`
	IDs         idsCommand         `cmd:"" name:"ids" help:"List the persistence ids."`
	List        listCommand        `cmd:"" help:"Show the numbers of the stored items of a persistence id."`
	Snapshots   snapshotsCommand   `cmd:"" help:"Show the snapshots of a persistence id, newest first."`
	Snapshot    snapshotCommand    `cmd:"" help:"Load, save and delete snapshots."`
	Delete      deleteCommand      `cmd:"" help:"Delete the events of a persistence id up to a sequence number."`
	Confirm     confirmCommand     `cmd:"" help:"Confirm an event, in the older layouts that have confirmations."`
	Purge       purgeCommand       `cmd:"" help:"Remove everything that is stored for a persistence id."`
	Verify      verifyCommand      `cmd:"" help:"Check the stored data, and show what is wrong."`
	Repair      repairCommand      `cmd:"" help:"Repair the stored data without losing an event."`
	Doctor      doctorCommand      `cmd:"" help:"Check tables, permissions, clock and projections, and say what to do."`
	Projections projectionsCommand `cmd:"" help:"Operate the projections of the journal."`
	Bench       benchCommand       `cmd:"" help:"Measure the performance of a journal, compared with the bare AWS SDK."`
	Export      exportCommand      `cmd:"" help:"Write persistence ids with their events and snapshots into a file."`
	Import      importCommand      `cmd:"" help:"Write the content of an exported file into a journal."`
	Migrate     migrateCommand     `cmd:"" help:"Copy a journal from an older layout, another table or another endpoint."`
	Settings    configCommand      `cmd:"" name:"config" help:"Show every effective setting and its source."`
	Version     versionCommand     `cmd:"" help:"Show the version of this program."`
	Explain     helpCommand        `cmd:"" name:"help" help:"Explain a command, or the flags that select the location."`
	Completion  completionCommand  `cmd:"" help:"Print a script that completes command lines in bash, zsh or fish."`
	Network     networkCommand     `cmd:"" hidden:"" help:"Delay requests on their way to a service, for bench."`
}

// streams are the standard streams of the process.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// session is the environment of a command.
type session struct {
	streams
	location *location
	result   *output
	// opened is the location while a command works on it.
	opened *connection
}

// message writes a line to stderr.
func (s *session) message(format string, args ...any) error {
	if _, err := fmt.Fprintf(s.err, format+"\n", args...); err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	return nil
}

// printFolder prints the folder that a location created, once.
func (s *session) printFolder(l *location) error {
	made := l.made
	if l.made = ""; made == "" {
		return nil
	}
	return s.message("made the folder %s for the embedded engine", printable(made))
}

// printNotes prints where a JVM interprets the file of --config differently.
func (s *session) printNotes() error {
	for _, note := range s.location.notes {
		if err := s.message("note: %s", printable(note)); err != nil {
			return err
		}
	}
	return nil
}

// run runs one command line, and returns the exit status.
func run(ctx context.Context, args []string, s streams) (status int) {
	what := "command line"
	defer func() {
		if cause := recover(); cause != nil {
			status = fail(s.err, what, fmt.Errorf("internal error: %v", cause))
		}
	}()
	var c commands
	parser, err := newGrammar(ctx, &c, s)
	if err != nil {
		return fail(s.err, what, err)
	}
	if completes(parser) {
		return statusDone
	}
	if err := checkText(args); err != nil {
		return fail(s.err, what, err)
	}
	line, err := parser.Parse(args)
	if errors.Is(err, errHelped) {
		return statusDone
	}
	if err != nil {
		return fail(s.err, what, wrongLine(err, c.Output))
	}
	what = selected(line)
	if err := checkPersistenceID(line); err != nil {
		return fail(s.err, what, err)
	}
	result := newOutput(s.out, c.Output, c.Full)
	session := &session{streams: s, location: &c.location, result: result}
	err = line.Run(session)
	if err = errors.Join(err, result.flush()); err == nil {
		err = errors.Join(session.printNotes(), session.printFolder(session.location))
	}
	if err != nil {
		return fail(s.err, what, namedByFlag(err, line.Flags()))
	}
	return statusDone
}

// checkPersistenceID refuses an empty persistence id. The journal also refuses it, but only after a
// command has created the tables.
func checkPersistenceID(line *kong.Context) error {
	for _, word := range line.Path {
		if arg := word.Positional; arg != nil && arg.Name == "pid" && arg.Target.String() == "" {
			return usagef("the persistence id must not be empty")
		}
	}
	return nil
}

// newGrammar returns the parser of command lines into c.
func newGrammar(ctx context.Context, c *commands, s streams) (*kong.Kong, error) {
	mappers := kong.NewRegistry().RegisterDefaults()
	layout := flagVars{mappers.ForType(reflect.TypeFor[string]()), kong.Vars{
		"enum_layouts": strings.Join(layouts, ","), "layouts": strings.Join(layouts, ", "),
	}}
	workload := flagVars{mappers.ForType(reflect.TypeFor[[]string]()), kong.Vars{
		"workloads": strings.Join(bench.Workloads(), ", "),
	}}
	parser, err := kong.New(c, kong.Name("dynajournal"), kong.Description(description), kong.Writers(s.out, s.err),
		kong.NoDefaultHelp(), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: helpWidth}), kong.Help(printHelp),
		kong.NamedMapper("layout", layout), kong.NamedMapper("workload", workload),
		kong.WithHyphenPrefixedParameters(true), kong.Exit(func(int) {}), kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		return nil, fmt.Errorf("make the parser: %w", err)
	}
	return parser, nil
}

// flagVars provides variables for the tags of flags of one type. kong expands variables of the
// whole grammar again for each flag, which would take most of the time of building the parser.
type flagVars struct {
	kong.Mapper
	vars kong.Vars
}

// Vars implements kong.VarsContributor.
func (v flagVars) Vars(*kong.Value) kong.Vars { return v.vars }

// wrongLine returns the error for a command line that can't be parsed. If the command is missing,
// it also prints the help, except with --output json.
func wrongLine(err error, output string) error {
	parse := new(kong.ParseError)
	if !errors.As(err, &parse) || parse.Context == nil {
		return &usageError{err}
	}
	if !endsBeforeCommand(parse) {
		return explain(parse.Context, parse)
	}
	if output != "json" {
		if err := parse.Context.PrintUsage(false); err != nil {
			return fmt.Errorf("print the help: %w", err)
		}
	}
	return usagef("no command is given")
}

// checkText refuses a command line that is not valid UTF-8. Invalid bytes would become replacement
// characters, so that two persistence ids could become equal.
func checkText(args []string) error {
	for _, word := range args {
		if !utf8.ValidString(word) {
			return usagef("%+q is not valid UTF-8", word)
		}
	}
	return nil
}

// selected returns the name of the command on the command line.
func selected(line *kong.Context) string {
	var names []string
	for _, step := range line.Path {
		if step.Command != nil {
			names = append(names, step.Command.Name)
		}
	}
	return strings.Join(names, " ")
}
