package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

// elsewhere are the pages whose console blocks another test runs. The tests here only parse them.
var elsewhere = map[string]string{"docs/tutorial.md": "examples/tutorial"}

// longestStep limits the time of a command of a page. For example, a server without a "&" after it
// would never stop.
const longestStep = time.Minute

// prints reports whether lines match the lines that a page shows. In a shown line, "…" matches any
// text. Alone on a line, it matches any lines.
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

// reader simulates the reader of a page. It has a folder, a shell, the command, and a free port.
type reader struct {
	folder, address string
	environment     []string
	// serving is the process of the last command that ends with "&".
	// serverOutput is the output of that process.
	serving      *exec.Cmd
	serverOutput io.Closer
}

// newReader returns a reader with an empty folder. The command is this test program, and prints
// text as on a terminal.
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

// stopServing stops the server, if one runs, and waits for it.
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
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.folder, r.environment, time.Second
	return cmd
}

// own returns a text of a page with the page's port replaced by the reader's port.
func (r *reader) own(text string) string {
	return strings.ReplaceAll(text, "127.0.0.1:8000", r.address)
}

// do runs a step, and fails if the output differs from the page.
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
	ctx, cancel := context.WithTimeout(t.Context(), longestStep)
	defer cancel()
	var out bytes.Buffer
	cmd := r.shell(ctx, s.command)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run() // the page may show a command that fails
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	if s.script && err == nil || !s.script && prints(lines, shown) {
		return
	}
	t.Errorf("$ %s\nprints (%v)\n%s\nthe page shows\n%s", s.command, err, out.String(), strings.Join(shown, "\n"))
}

// serve starts a server, and waits for the output that the page shows.
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

// pages returns the names of the pages of the project, relative to its root.
func pages(t *testing.T) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(filepath.Join("..", "..")), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if path.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// shortRun are the pages whose commands also run without the build tag long. Without it, the
// commands of other pages are only parsed.
var shortRun = map[string]bool{"README.md": true}

func TestPages_CommandsPrintWhatIsShown(t *testing.T) {
	t.Parallel()
	testsize.NoRace(t, "it does one thing after the other")
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	_, noCurl := exec.LookPath("curl")
	ran := 0
	for _, name := range pages(t) {
		page, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		parts, err := sections(string(page))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, part := range parts {
			ran++
			t.Run(name+"/"+part.title, func(t *testing.T) {
				t.Parallel()
				r := newReader(t)
				for _, s := range part.steps {
					switch {
					case t.Failed():
						return
					case !s.run || elsewhere[name] != "" && !s.script, !testsize.Long && !shortRun[name]:
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
	if ran < 40 {
		t.Errorf("found %d sections with commands, so the search is wrong", ran)
	}
}

func TestPages_ComparesOutput(t *testing.T) {
	t.Parallel()
	page := "## One\n\n```console\n$ a \\\n  b\n1\n$ c\n```\n\n## Two\n\n<!-- not run: it needs AWS -->\n\n```console\n$ d\n```\n"
	found, err := sections(page)
	if err != nil || len(found) != 2 || len(found[0].steps) != 2 || found[0].steps[0].command != "a \\\n  b" ||
		!found[0].steps[1].run || len(found[0].steps[0].printed) != 1 || len(found[1].steps) != 1 || found[1].steps[0].run {
		t.Errorf("found %+v, %v", found, err)
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

func TestPages_FindsUncheckedBlock(t *testing.T) {
	t.Parallel()
	for page, right := range map[string]bool{
		"```text\na\n```\n":              true,
		"1. a\n   ```sh\n   a\n   ```\n": true,
		"```console\n$ a\nb\n```\n":      true,
		"```\na\n```\n":                  false,
		"   ```\n   a\n   ```\n":         false,
		"```json\n{\n```\n":              false,
		"```bash\na\n```\n":              false,
		"```console\na\n```\n":           false,
	} {
		if found, err := sections(page); (err == nil) != right {
			t.Errorf("%q: %+v, %v", page, found, err)
		}
	}
}

func TestPages_CommandLines(t *testing.T) {
	t.Parallel()
	script := "N=1 dynajournal ids --sorted > ids # all\nD append a \\\n  --string 'b c' | cat\n" +
		"(go run ./cmd/dynajournal demo)\necho dynajournal; for i in 1; do dynajournal verify \"$i\"; done\n"
	want := "[[ids --sorted] [append a --string b c] [demo] [verify $i]]"
	if got := fmt.Sprint(argumentsOf(script)); got != want {
		t.Errorf("found %s, want %s", got, want)
	}
}
