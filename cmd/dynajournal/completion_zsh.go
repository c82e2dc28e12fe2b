package main

import (
	"fmt"
	"io"
	"strings"
)

// writeZsh writes the script for zsh: a function for each command, which completes the flags, and
// calls the one of the command below it.
func writeZsh(w io.Writer, found []completedCommand) error {
	script := &strings.Builder{}
	script.WriteString("#compdef dynajournal\n# zsh completion of dynajournal\n")
	flags, help := map[string][]completedFlag{}, map[string]string{}
	for _, c := range found {
		help[c.path] = c.help
	}
	for _, c := range found {
		above := ""
		if i := strings.LastIndex(c.path, " "); i >= 0 {
			above = c.path[:i]
		}
		flags[c.path] = c.flags
		if c.path != "" {
			flags[c.path] = append(flags[c.path][:len(c.flags):len(c.flags)], flags[above]...)
		}
		fmt.Fprintf(script, "\n%s() {\n", zshFunction(c.path))
		if len(c.commands) > 0 {
			script.WriteString("\tlocal curcontext=$curcontext context state state_descr line\n\ttypeset -A opt_args\n")
		}
		script.WriteString("\t_arguments -C -S")
		for _, flag := range flags[c.path] {
			for _, name := range flag.names {
				fmt.Fprintf(script, " \\\n\t\t%s", zshFlag(name, flag))
			}
		}
		if len(c.commands) == 0 {
			if c.arguments.kind != valueNone {
				fmt.Fprintf(script, " \\\n\t\t%s", shQuote("*"+c.arguments.zsh()))
			}
			script.WriteString("\n}\n")
			continue
		}
		script.WriteString(" \\\n\t\t'(-): :->command' \\\n\t\t'(-)*:: :->below' && return\n\tcase $state in\n")
		script.WriteString("\tcommand)\n\t\tlocal -a commands=(")
		for _, name := range c.commands {
			text := help[strings.TrimPrefix(c.path+" "+name, " ")]
			fmt.Fprintf(script, "\n\t\t\t%s", shQuote(name+":"+text))
		}
		script.WriteString("\n\t\t)\n\t\t_describe command commands\n\t\t;;\n\tbelow)\n\t\tcase $line[1] in\n")
		for _, name := range c.commands {
			fmt.Fprintf(script, "\t\t%s) %s ;;\n", name, zshFunction(strings.TrimPrefix(c.path+" "+name, " ")))
		}
		script.WriteString("\t\tesac\n\t\t;;\n\tesac\n}\n")
	}
	script.WriteString("\nif [[ $funcstack[1] == _dynajournal ]]; then\n\t_dynajournal \"$@\"\nelse\n" +
		"\tcompdef _dynajournal dynajournal\nfi\n")
	_, err := io.WriteString(w, script.String())
	return err
}

func zshFunction(path string) string {
	return "_" + strings.NewReplacer(" ", "_", "-", "_").Replace(strings.TrimSpace("dynajournal "+path))
}

// zshFlag is a flag as _arguments takes it.
func zshFlag(name string, flag completedFlag) string {
	text := ""
	if flag.repeatable {
		text = "*"
	}
	text += name
	if flag.value.kind != valueNone && strings.HasPrefix(name, "--") {
		text += "="
	}
	text += "[" + zshText(flag.help) + "]"
	if flag.value.kind != valueNone {
		text += flag.value.zsh()
	}
	return shQuote(text)
}

// zsh returns the message and the action of a value for _arguments.
func (v completedValue) zsh() string {
	action := " "
	switch v.kind {
	case valueWord:
		action = "(" + strings.Join(v.words, " ") + ")"
	case valueFile:
		action = "_files"
	case valueFolder:
		action = "_files -/"
	default:
	}
	return ":" + zshText(v.name) + ":" + action
}

// zshText escapes what _arguments takes for the end of a text.
func zshText(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(text)
}
