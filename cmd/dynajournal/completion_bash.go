package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// bashHead finds the command, and completes the word at the cursor. It also works in bash 3.2, that
// of macOS, which has neither associative arrays nor compopt.
//
// COMP_WORDS has the line split at the characters of COMP_WORDBREAKS, as at the = of --output=json.
// The words are joined again; what is completed is only the part behind the last such character.
const bashHead = `# bash completion of dynajournal
_dynajournal() {
	local IFS=$' \t\n' words=() path='' flag='' cur='' prefix='' i w joined='' waiting='' only=''
	local commands flags kind values
	for ((i = 1; i <= COMP_CWORD; i++)); do
		w=${COMP_WORDS[i]}
		if [[ ${#words[@]} -gt 0 && $w =~ ^[=:]+$ ]]; then
			words[${#words[@]}-1]+=$w joined=1
		elif [[ $joined ]]; then
			words[${#words[@]}-1]+=$w joined=''
		else
			words+=("$w")
		fi
	done
	[[ ${#words[@]} -gt 0 ]] || words=('')
	cur=${words[${#words[@]}-1]}
	for ((i = 0; i < ${#words[@]} - 1; i++)); do
		w=${words[i]}
		if [[ $waiting ]]; then
			waiting=''
		elif [[ $only ]]; then
			:
		elif [[ $w == -- ]]; then
			only=1
		elif [[ $w == -* ]]; then
			[[ $w != *=* ]] && _dynajournal_value "$path" "$w" && waiting=$w
		elif _dynajournal_command "${path:+$path }$w"; then
			path=${path:+$path }$w
		fi
	done
	COMPREPLY=()
	_dynajournal_command "$path"
	if [[ $waiting ]]; then
		_dynajournal_value "$path" "$waiting"
	elif [[ ! $only && $cur == --*=* ]]; then
		flag=${cur%%=*} cur=${cur#*=}
		[[ $COMP_WORDBREAKS == *=* ]] || prefix=$flag=
		_dynajournal_value "$path" "$flag" || return 0
	elif [[ ! $only && $cur == -* ]]; then
		kind=words values=$flags
	else
		values="$commands $values"
	fi
	case $kind in
	words)
		for w in $values; do
			[[ $w == "$cur"* ]] && COMPREPLY+=("$prefix$w")
		done
		;;
	file) _dynajournal_files default -f "$cur" ;;
	folder) _dynajournal_files dirnames -d "$cur" ;;
	esac
	return 0
}

# Let bash complete names of files, with its rules of quoting, or list them where it can't.
_dynajournal_files() {
	compopt -o "$1" 2>/dev/null && return
	while IFS= read -r w; do
		COMPREPLY+=("$prefix$w")
	done < <(compgen "$2" -- "$3")
}

`

// writeBash writes the script for bash. Its functions set variables of the one that calls them.
func writeBash(w io.Writer, found []completedCommand) error {
	script := &strings.Builder{}
	script.WriteString(bashHead)
	script.WriteString("# Set what a command is followed by. Fails if there is no such command.\n")
	script.WriteString("_dynajournal_command() {\n\tcase $1 in\n")
	flags := map[string]string{} // by path, with those of the commands above
	for _, c := range found {
		above := ""
		if i := strings.LastIndex(c.path, " "); i >= 0 {
			above = c.path[:i]
		}
		flags[c.path] = strings.TrimSpace(strings.Join(c.flagNames(), " ") + " " + flags[above])
		fmt.Fprintf(script, "\t%s)\n\t\tcommands=%s\n\t\tflags=%s\n\t\t%s\n\t\t;;\n", shQuote(c.path),
			shQuote(strings.Join(c.commands, " ")), shQuote(flags[c.path]), c.arguments.bash())
	}
	script.WriteString("\t*) return 1 ;;\n\tesac\n}\n\n")
	script.WriteString("# Set what the value of a flag of a command is. Fails if the flag has no value.\n")
	script.WriteString("_dynajournal_value() {\n\tcase \"$1 $2\" in\n")
	for _, f := range slices.Backward(found) { // those further down first: they are more precise
		for _, flag := range f.flags {
			if flag.value.kind == valueNone {
				continue
			}
			var patterns []string
			for _, p := range f.patterns(flag) {
				patterns = append(patterns, strings.ReplaceAll(shQuote(p), "*", "'*'"))
			}
			fmt.Fprintf(script, "\t%s) %s ;;\n", strings.Join(patterns, "|"), flag.value.bash())
		}
	}
	script.WriteString("\t*) return 1 ;;\n\tesac\n}\n\ncomplete -F _dynajournal dynajournal\n")
	_, err := io.WriteString(w, script.String())
	return err
}

// bash sets the variables of bashHead that say what completes a value.
func (v completedValue) bash() string {
	kind := map[valueKind]string{valueNone: "words", valueAny: "any", valueWord: "words", valueFile: "file",
		valueFolder: "folder"}[v.kind]
	return "kind=" + kind + " values=" + shQuote(strings.Join(v.words, " "))
}

func (c completedCommand) flagNames() []string {
	var names []string
	for _, flag := range c.flags {
		names = append(names, flag.names...)
	}
	return names
}

// shQuote quotes a text for bash and zsh.
func shQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
