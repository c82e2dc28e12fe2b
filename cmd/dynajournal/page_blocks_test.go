package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// notRun precedes a block that is only parsed, and gives the reason.
var notRun = regexp.MustCompile(`^ *<!-- not run: it \S.* -->$`)

// languages are the languages of blocks that can't be run. internal/repotest checks the blocks of
// Go.
var languages = map[string]bool{"go": true, "hocon": true, "json": true, "scala": true, "text": true}

// block is a fenced block of a page.
type block struct {
	title, language, text string
	line                  int
	run                   bool
}

// blocks returns the fenced blocks of a page, including blocks in lists.
func blocks(page string) []block {
	var found []block
	title, before, indent := "", "", ""
	inside := false
	number := 0
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		number++
		fence, language, isFence := strings.Cut(line, "```")
		isFence = isFence && strings.TrimSpace(fence) == ""
		switch {
		case !inside && isFence:
			inside, indent = true, fence
			found = append(found, block{title: title, language: language, line: number, run: !notRun.MatchString(before)})
		case inside && isFence:
			inside = false
		case inside:
			found[len(found)-1].text += strings.TrimPrefix(line, indent) + "\n"
		case strings.HasPrefix(line, "## "):
			title = strings.TrimPrefix(line, "## ")
		}
		if line != "" {
			before = line
		}
	}
	return found
}

// step is a command of a page and its output.
type step struct {
	command string
	printed []string
	// script reports whether the command is a script, whose output the page does not show.
	script bool
	// run reports whether the command can be run. Other commands need AWS, a JVM or another tool.
	run bool
}

// steps returns the steps of a block, or an error if the tests can't check the block.
func (b *block) steps() ([]step, error) {
	switch {
	case b.language == "json" && !json.Valid([]byte(b.text)):
		return nil, fmt.Errorf("line %d: the block is not valid JSON", b.line)
	case languages[b.language]:
		return nil, nil
	case b.language == "sh":
		return []step{{command: b.text, script: true, run: b.run}}, nil
	case b.language != "console":
		return nil, fmt.Errorf("line %d: a block of %q: call it console, sh, text or another known language", b.line, b.language)
	}
	var found []step
	for line := range strings.Lines(b.text) {
		line = strings.TrimSuffix(line, "\n")
		command, isCommand := strings.CutPrefix(line, "$ ")
		last := len(found) - 1
		switch {
		case isCommand:
			found = append(found, step{command: command, run: b.run})
		case last < 0:
			return nil, fmt.Errorf("line %d: the block does not begin with a command behind \"$ \"", b.line)
		case strings.HasSuffix(found[last].command, "\\"):
			found[last].command += "\n" + line
		default:
			found[last].printed = append(found[last].printed, line)
		}
	}
	return found, nil
}

// section is the part of a page below a heading of the second level. Its steps share a folder.
type section struct {
	title string
	steps []step
}

// sections returns the sections of a page that have steps.
func sections(page string) ([]section, error) {
	var found []section
	for _, b := range blocks(page) {
		steps, err := b.steps()
		if err != nil {
			return nil, err
		}
		if len(steps) == 0 {
			continue
		}
		if len(found) == 0 || found[len(found)-1].title != b.title {
			found = append(found, section{title: b.title})
		}
		found[len(found)-1].steps = append(found[len(found)-1].steps, steps...)
	}
	return found, nil
}
