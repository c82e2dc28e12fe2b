package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// pages are the pages whose console blocks are run here, by section. A block shows command lines
// behind "$ " and what they print.
var pages = []string{"faq.md", "quickstart-aws.md", "quickstart-jvm.md"}

// notRun precedes a console block that is only parsed, and says what it needs.
var notRun = regexp.MustCompile(`^<!-- not run: \S.* -->$`)

// step is a command line of a page and what it prints.
type step struct {
	command string
	printed []string
	// run reports whether the command can be run. Others need AWS, a JVM or another tool.
	run bool
}

// section is the part of a page below a heading of the second level. Its steps share a folder.
type section struct {
	title string
	steps []step
}

// sections returns the sections of a page that have console blocks.
func sections(page string) []section {
	var found []section
	inside, run, before := false, true, ""
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		title, isTitle := strings.CutPrefix(line, "## ")
		switch {
		case !inside && isTitle:
			found = append(found, section{title: title})
		case !inside && line == "```console":
			inside, run = true, !notRun.MatchString(before)
		case inside && line == "```":
			inside = false
		case inside:
			s := &found[len(found)-1]
			command, isCommand := strings.CutPrefix(line, "$ ")
			if last := len(s.steps) - 1; isCommand {
				s.steps = append(s.steps, step{command: command, run: run})
			} else if strings.HasSuffix(s.steps[last].command, "\\") {
				s.steps[last].command += "\n" + line
			} else {
				s.steps[last].printed = append(s.steps[last].printed, line)
			}
		}
		if line != "" {
			before = line
		}
	}
	return found
}

// prints reports whether lines are those that a page shows. In a shown line "…" stands for any
// text, and alone on a line for any lines.
func prints(lines, shown []string) bool {
	if len(shown) == 0 {
		return len(lines) == 0
	}
	if shown[0] == "…" {
		for i := range len(lines) + 1 {
			if prints(lines[i:], shown[1:]) {
				return true
			}
		}
		return false
	}
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(shown[0]), "…", ".*") + "$"
	return len(lines) > 0 && regexp.MustCompile(pattern).MatchString(lines[0]) && prints(lines[1:], shown[1:])
}

// reader has what a reader of a page has: a folder, a shell, the command, and a free port.
type reader struct {
	folder, address string
	environment     []string
	// serving is the process of the last command that ends with "&", serverOutput its output.
	serving      *exec.Cmd
	serverOutput io.Closer
}

// newReader returns a reader with an empty folder. The command is this test program. It prints text
// as on a terminal.
func newReader(t *testing.T) *reader {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{folder: t.TempDir(), address: listener.Addr().String()}
	commands := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\ncase \" $* \" in *' --output'*) ;; *) set -- --output=text \"$@\";; esac\n%s=1 exec '%s' \"$@\"\n", asCommand, program)
	for _, err := range []error{
		listener.Close(),
		os.WriteFile(filepath.Join(commands, "dynajournal"), []byte(script), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r.environment = []string{
		"PATH=" + commands + ":" + os.Getenv("PATH"), "HOME=" + r.folder, "XDG_STATE_HOME=" + r.folder, "TMPDIR=" + r.folder,
	}
	t.Cleanup(func() {
		if err := r.stopServing(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	return r
}

// stopServing ends the server, if there is one, and waits for its end.
func (r *reader) stopServing() error {
	if r.serving == nil {
		return nil
	}
	defer r.serverOutput.Close()
	if err := r.serving.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := r.serving.Wait()
	r.serving = nil
	return err
}

// shell returns a shell that runs a command line of a page. The page's port is replaced by a free
// one.
func (r *reader) shell(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", r.own(command))
	cmd.Dir, cmd.Env = r.folder, r.environment
	return cmd
}

// own returns a text of a page with the reader's port for the page's.
func (r *reader) own(text string) string {
	return strings.ReplaceAll(text, "127.0.0.1:8000", r.address)
}

// do runs a step, and fails if it does not print what the page shows.
func (r *reader) do(t *testing.T, s *step) {
	t.Helper()
	shown := strings.Split(r.own(strings.Join(s.printed, "\n")), "\n")
	if len(s.printed) == 0 {
		shown = nil
	}
	if server, isServer := strings.CutSuffix(s.command, " &"); isServer {
		r.serve(t, server, shown)
		return
	}
	var out bytes.Buffer
	cmd := r.shell(t.Context(), s.command)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run() // a status that is not 0 may be what the page shows
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	if !prints(lines, shown) {
		t.Errorf("$ %s\nprints (%v)\n%s\nthe page shows\n%s", s.command, err, out.String(), strings.Join(shown, "\n"))
	}
}

// serve starts a server, and waits until it has printed what the page shows.
func (r *reader) serve(t *testing.T, command string, shown []string) {
	t.Helper()
	if err := r.stopServing(); err != nil {
		t.Fatal(err)
	}
	r.serving = r.shell(context.WithoutCancel(t.Context()), "exec "+command)
	out, err := r.serving.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.serverOutput = out
	if err := r.serving.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for _, want := range shown {
		line, err := lines.ReadString('\n')
		if err != nil || !prints([]string{strings.TrimSuffix(line, "\n")}, []string{want}) {
			t.Fatalf("$ %s &\nprints %q (%v), the page shows %q", command, line, err, want)
		}
	}
}

// parse fails if a command line that is not run has a syntax error, or names a command or a flag
// that there is not.
func (r *reader) parse(t *testing.T, s *step) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "sh", "-n", "-c", s.command).CombinedOutput(); err != nil {
		t.Errorf("$ %s\n%v: %s", s.command, err, out)
	}
	if !strings.HasPrefix(s.command, "dynajournal ") {
		return
	}
	// The help is printed instead of running the command, after its words were checked.
	if out, err := r.shell(t.Context(), s.command+" --help").CombinedOutput(); err != nil {
		t.Errorf("$ %s\n%v: %s", s.command, err, out)
	}
}

func TestCommandsOfThePagesPrintWhatThePagesShow(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	_, noCurl := exec.LookPath("curl")
	for _, name := range pages {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range sections(string(page)) {
			t.Run(name+"/"+part.title, func(t *testing.T) {
				t.Parallel()
				r := newReader(t)
				for _, s := range part.steps {
					switch {
					case t.Failed():
						return
					case !s.run:
						r.parse(t, &s)
					case noCurl != nil && strings.Contains(s.command, "curl "):
						t.Skip("there is no curl")
					default:
						r.do(t, &s)
					}
				}
			})
		}
	}
}

func TestWhatAPageShowsIsCompared(t *testing.T) {
	t.Parallel()
	page := "## One\n\n```console\n$ a \\\n  b\n1\n$ c\n```\n\n## Two\n\n<!-- not run: it needs AWS -->\n\n```console\n$ d\n```\n"
	found := sections(page)
	if len(found) != 2 || len(found[0].steps) != 2 || found[0].steps[0].command != "a \\\n  b" || !found[0].steps[1].run ||
		len(found[0].steps[0].printed) != 1 || len(found[1].steps) != 1 || found[1].steps[0].run {
		t.Errorf("found %+v", found)
	}
	for text, same := range map[string]bool{
		"a b c|a b c":   true,
		"a b c|a … c":   true,
		"a,b,c|…,b,…":   true,
		"b|…,b,…":       true,
		"|":             true,
		"a|":            false,
		"|a":            false,
		"a,b|a":         false,
		"a b c|a … d":   false,
		"a,b,c|…,d,…":   false,
		"axb|a.b":       false,
		"a,b,c|a,…":     true,
		"a,b,c|…,a,b,…": true,
	} {
		printed, shown, _ := strings.Cut(text, "|")
		split := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) }
		if prints(split(printed), split(shown)) != same {
			t.Errorf("%q: the comparison is not %v", text, same)
		}
	}
}
