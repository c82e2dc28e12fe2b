package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shown is the address that the page shows. The test takes any free port.
const shown = "127.0.0.1:8080"

// pageCommand is a command of the page, and its output according to the page.
type pageCommand struct{ line, printed string }

// pageCommands returns the commands in the console blocks of a page.
func pageCommands(page string) (commands []pageCommand) {
	for _, block := range regexp.MustCompile("(?ms)^```console\n\\$ (.*?)^```$").FindAllStringSubmatch(page, -1) {
		for command := range strings.SplitSeq(block[1], "\n$ ") {
			line, printed, _ := strings.Cut(command, "\n")
			commands = append(commands, pageCommand{line, strings.TrimSuffix(printed, "\n")})
		}
	}
	return commands
}

// prints reports whether a text matches the output that the page shows, where "…" matches any text.
func prints(text, page string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(page), "…", ".*")
	return regexp.MustCompile(`^` + pattern + `\n?$`).MatchString(text)
}

// service is a running step.
type service struct {
	url, want string
	printed   bytes.Buffer // it is complete when ended has a value
	stop      context.CancelFunc
	ended     chan error
}

// start runs a step, and returns when it listens or has ended.
func start(t *testing.T, step, folder, want string) *service {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := &service{want: want, stop: stop, ended: make(chan error, 1)}
	reader, writer := io.Pipe()
	log.SetOutput(writer)
	stepEnded := make(chan error, 1)
	go func() {
		err := run(ctx, writer, step, "127.0.0.1:0", folder)
		stepEnded <- err
		_ = writer.Close()
	}()
	listens := make(chan string, 1)
	go func() {
		chunk := make([]byte, 1000) // a log record is one write, and shorter
		for {
			n, err := reader.Read(chunk)
			text := string(chunk[:n])
			if _, url, ok := strings.Cut(strings.TrimSpace(text), "listening on "); ok {
				text = strings.Replace(text, strings.TrimPrefix(url, "http://"), shown, 1)
				listens <- url
			}
			s.printed.WriteString(text)
			if err != nil {
				close(listens)
				s.ended <- <-stepEnded
				return
			}
		}
	}()
	s.url = <-listens
	return s
}

// end stops a step, and compares what it has printed.
func (s *service) end(t *testing.T) {
	t.Helper()
	s.stop()
	if err := <-s.ended; err != nil {
		t.Errorf("the step ends with %v", err)
	}
	if !prints(s.printed.String(), s.want) {
		t.Errorf("the step prints\n%s\nthe page shows\n%s", &s.printed, s.want)
	}
}

var curlCommand = regexp.MustCompile(`^curl (?:-H 'Idempotency-Key: (\w+)' -d '([^']*)' )?'?localhost:8080(/[^ ']*)'?$`)

// curl sends the request of a command line with curl, and returns its output.
func (s *service) curl(ctx context.Context, line string) (string, error) {
	m := curlCommand.FindStringSubmatch(line)
	if m == nil {
		return "", fmt.Errorf("the test does not understand %q", line)
	}
	method := http.MethodGet
	if m[1] != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+m[3], strings.NewReader(m[2]))
	if err != nil {
		return "", err
	}
	if m[1] != "" {
		request.Header.Set("Idempotency-Key", m[1])
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// setEnvironment sets the variables that the page sets, except that the address is the address of
// an engine served here. It unsets the variables of the developer's own AWS account.
func setEnvironment(t *testing.T, page string) {
	t.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	t.Cleanup(func() {
		server.Close()
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_DYNAMODB_STREAMS"} {
		t.Setenv(name, "")
	}
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, filepath.Join(t.TempDir(), "none"))
	}
	variables := regexp.MustCompile(`\b(AWS_\w+)=(\S+)`).FindAllStringSubmatch(page, -1)
	if len(variables) != 4 {
		t.Fatalf("the page sets %d variables", len(variables))
	}
	for _, v := range variables {
		t.Setenv(v[1], strings.Replace(v[2], "http://127.0.0.1:8000", server.URL, 1))
	}
}

// Every command of the page prints what the page shows. The steps share a folder, as a reader's do.
func TestCommandsOfThePagePrintWhatItShows(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	setEnvironment(t, string(page))
	log.SetFlags(0)
	defer log.SetOutput(io.Discard)
	folder, steps := filepath.Join(t.TempDir(), "data"), map[string]bool{}
	var running *service
	for _, command := range pageCommands(string(page)) {
		step, isStep := strings.CutPrefix(command.line, "go run ./examples/tutorial ")
		switch {
		case isStep:
			if running != nil {
				running.end(t)
			}
			running, steps[step] = start(t, step, folder, command.printed), true
		case running == nil:
			t.Fatalf("nothing runs before %q", command.line)
		default:
			if got, err := running.curl(t.Context(), command.line); err != nil || !prints(got, command.printed) {
				t.Errorf("%s\nprints %s, %v\nthe page shows %s", command.line, got, err, command.printed)
			}
		}
	}
	running.end(t)
	if len(steps) != 5 {
		t.Errorf("the page runs %v, want steps 1, 3, 4, 5 and 6", steps)
	}
}

func TestUnknownStepIsRefused(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), io.Discard, "step2", shown, t.TempDir()); err == nil {
		t.Error("step2 runs, but it is a test")
	}
}
