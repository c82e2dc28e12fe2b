package main

import (
	"fmt"
	"io"
	"strings"
)

// fishHead has the conditions of the completions.
//
//nolint:dupword // each end closes its block
const fishHead = `# fish completion of dynajournal

# Print the command in front of the cursor.
function __dynajournal_path
	set -l path
	set -l skip
	for word in (commandline -opc)[2..-1]
		if test -n "$skip"
			set skip
			continue
		end
		switch $word
			case --
				break
			case '-*=*'
			case '-*'
				__dynajournal_takes "$path" $word; and set skip 1
			case '*'
				set -l below (string trim -- "$path $word")
				contains -- $below $__dynajournal_commands; and set path $below
		end
	end
	echo "$path"
end

# Report whether the command in front of the cursor is $argv, or below it.
function __dynajournal_below
	string match -q -- "$argv *" (__dynajournal_path)" "
end

# Report whether the command in front of the cursor is $argv.
function __dynajournal_at
	test (__dynajournal_path) = "$argv"
end

complete -c dynajournal -f
`

// writeFish writes the script for fish.
func writeFish(w io.Writer, found []completedCommand) error {
	script := &strings.Builder{}
	script.WriteString(fishHead)
	help := map[string]string{}
	script.WriteString("set -g __dynajournal_commands")
	for _, c := range found {
		help[c.path] = c.help
		if c.path != "" {
			script.WriteString(" " + fishQuote(c.path))
		}
	}
	script.WriteString("\n\n# Report whether a flag of a command has a value.\nfunction __dynajournal_takes\n\tswitch \"$argv\"\n")
	for _, c := range found {
		for _, flag := range c.flags {
			if flag.value.kind == valueNone {
				continue
			}
			for _, p := range c.patterns(flag) {
				fmt.Fprintf(script, "\t\tcase %s\n\t\t\treturn 0\n", fishQuote(p))
			}
		}
	}
	script.WriteString("\tend\n\treturn 1\nend\n\n")
	for _, c := range found {
		below, at := "", "-n "+fishQuote("__dynajournal_at "+fishQuote(c.path))
		if c.path != "" {
			below = "-n " + fishQuote("__dynajournal_below "+fishQuote(c.path))
		}
		for _, name := range c.commands {
			path := strings.TrimPrefix(c.path+" "+name, " ")
			fmt.Fprintf(script, "complete -c dynajournal %s -a %s -d %s\n", at, name, fishQuote(help[path]))
		}
		if c.arguments.kind > valueAny {
			fmt.Fprintf(script, "complete -c dynajournal %s%s\n", at, c.arguments.fish())
		}
		for _, flag := range c.flags {
			fmt.Fprintf(script, "complete -c dynajournal %s%s\n", below, flag.fish())
		}
	}
	_, err := io.WriteString(w, script.String())
	return err
}

// fish returns the options that describe a flag.
func (f completedFlag) fish() string {
	var options strings.Builder
	for _, name := range f.names {
		if long, found := strings.CutPrefix(name, "--"); found {
			options.WriteString(" -l " + long)
		} else {
			options.WriteString(" -s " + strings.TrimPrefix(name, "-"))
		}
	}
	if f.value.kind != valueNone {
		options.WriteString(" -r")
	}
	return options.String() + f.value.fish() + " -d " + fishQuote(f.help)
}

// fish returns the options that say what completes a value.
func (v completedValue) fish() string {
	switch v.kind {
	case valueWord:
		return " -f -a " + fishQuote(strings.Join(v.words, " "))
	case valueFile:
		return " -F"
	case valueFolder:
		return " -f -a " + fishQuote("(__fish_complete_directories)")
	default:
		return " -f"
	}
}

// fishQuote quotes a text for fish.
func fishQuote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
