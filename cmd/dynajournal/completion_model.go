package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completedCommand is a command as the scripts of completion know it.
type completedCommand struct {
	// path has the names of the command and of those above it, separated by spaces. It is empty for
	// the program itself.
	path, help string
	commands   []string
	// flags are its own, not those of the commands above it.
	flags     []completedFlag
	arguments completedValue
}

// completedFlag is a flag as it is completed.
type completedFlag struct {
	names      []string // with hyphens
	help       string
	value      completedValue
	repeatable bool
}

// completedValue is the value of a flag, or of an argument.
type completedValue struct {
	kind  valueKind
	name  string   // that the help shows for it
	words []string // of a valueWord
}

// valueKind is what a value is completed with.
type valueKind int

const (
	valueNone   valueKind = iota // the flag has no value
	valueAny                     // nothing is known about it
	valueWord                    // one of some words
	valueFile                    // the name of a file
	valueFolder                  // the name of a folder
)

// completedCommands returns a command and all below it, each in front of those below it. Hidden
// commands and flags are left out.
func completedCommands(node *kong.Node) []completedCommand {
	c := completedCommand{path: node.Path(), help: firstSentence(node.Help)}
	for _, flag := range node.Flags {
		if !flag.Hidden {
			c.flags = append(c.flags, newCompletedFlag(flag))
		}
	}
	for _, argument := range node.Positional {
		// Arguments are not told apart by their places: those that are known are rare, and the
		// other arguments are completed with nothing.
		if v := newCompletedValue(argument, argument.Name); v.kind > c.arguments.kind {
			c.arguments = v
		}
	}
	found := []completedCommand{c}
	for _, child := range node.Children {
		if !child.Hidden {
			found[0].commands = append(found[0].commands, child.Name)
			found = append(found, completedCommands(child)...)
		}
	}
	return found
}

func newCompletedFlag(flag *kong.Flag) completedFlag {
	f := completedFlag{names: []string{"--" + flag.Name}, help: firstSentence(flag.Help),
		repeatable: flag.Target.Kind() == reflect.Slice}
	if flag.Short != 0 {
		f.names = append(f.names, "-"+string(flag.Short))
	}
	if flag.Tag.Negatable != "" {
		f.names = append(f.names, "--no-"+flag.Name)
	}
	if !flag.IsBool() {
		f.value = newCompletedValue(flag.Value, flag.FormatPlaceHolder())
	}
	return f
}

func newCompletedValue(value *kong.Value, name string) completedValue {
	v := completedValue{kind: valueAny, name: name}
	switch upper := " " + strings.ToUpper(name); {
	case value.Enum != "":
		v.kind = valueWord
		v.words = slices.DeleteFunc(value.EnumSlice(), func(word string) bool { return word == "" })
	case strings.HasSuffix(upper, " FILE"): // also the last of several arguments
		v.kind = valueFile
	case strings.HasSuffix(upper, " DIR"):
		v.kind = valueFolder
	}
	return v
}

// patterns match a flag of this command behind the path of the command that it is given to: this
// one or one below it. A * is any text.
func (c completedCommand) patterns(flag completedFlag) []string {
	var patterns []string
	for _, name := range flag.names {
		if c.path != "" {
			patterns = append(patterns, c.path+" "+name)
		}
		if len(c.commands) > 0 {
			patterns = append(patterns, strings.TrimPrefix(c.path+" * "+name, " "))
		}
	}
	return patterns
}

// firstSentence returns the first sentence of a help, without its stop.
func firstSentence(help string) string {
	sentence, _, _ := strings.Cut(strings.ReplaceAll(help, "\n", " "), ". ")
	return strings.TrimSuffix(sentence, ".")
}
