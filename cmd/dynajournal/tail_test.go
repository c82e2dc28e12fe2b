package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/embedded"
)

// lines has the lines that a tail writes to stderr while it runs.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// tailing is a tail that runs in this process.
type tailing struct {
	stop  context.CancelFunc
	lines chan string
	ended chan int
	err   lines
	// says is the expected text on stderr.
	says string
}

func startTail(t *testing.T, args ...string) *tailing {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	in, out := io.Pipe()
	tail := &tailing{stop: stop, lines: make(chan string), ended: make(chan int, 1)}
	go func() {
		status := run(ctx, append([]string{"tail"}, args...), streams{strings.NewReader(""), out, &tail.err})
		_ = out.Close() // never fails
		tail.ended <- status
	}()
	go func() {
		defer close(tail.lines)
		for shown := bufio.NewScanner(in); shown.Scan(); {
			select {
			case tail.lines <- shown.Text():
			case <-ctx.Done(): // the test has stopped reading
			}
		}
	}()
	t.Cleanup(stop)
	return tail
}

// next returns the next event, as its persistence id and payload.
func (tail *tailing) next(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-tail.lines:
		if !ok {
			t.Fatalf("the tail has ended with %d: %s", <-tail.ended, tail.err.said())
		}
		r := results(t, line)[0]
		return r["persistence_id"].(string) + " " + r["payload"].(string)
	case <-time.After(time.Minute):
		t.Fatalf("the tail shows no event for a minute: %s", tail.err.said())
		return ""
	}
}

// reads waits until the tail reports that it reads the stream.
func (tail *tailing) reads(t *testing.T) {
	t.Helper()
	tail.says = "reading the stream of the table: showing events that are written from now on\n"
	for deadline := time.Now().Add(time.Minute); tail.err.said() != tail.says; {
		if time.Sleep(time.Millisecond); time.Now().After(deadline) {
			t.Fatalf("it says %q", tail.err.said())
		}
	}
}

func (tail *tailing) interrupt(t *testing.T) {
	t.Helper()
	tail.stop()
	if status := <-tail.ended; status != statusDone || tail.err.said() != tail.says {
		t.Errorf("the tail ended with %d: %s", status, tail.err.said())
	}
}

func TestTailFollowsAPersistenceID(t *testing.T) {
	clean(t)
	s := serve(t, "--memory")
	must(t, "--endpoint", s.url, "tables", "create")
	must(t, "--endpoint", s.url, "append", "a", "--string", "1", "--string", "2")
	all, rest := startTail(t, "a", "--endpoint", s.url), startTail(t, "a", "--endpoint", s.url, "--from", "2")
	for _, want := range []string{"a 1", "a 2"} {
		if got := all.next(t); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	must(t, "--endpoint", s.url, "append", "b", "--string", "x")
	must(t, "--endpoint", s.url, "append", "a", "--string", "3")
	if got := all.next(t); got != "a 3" {
		t.Errorf("then %s", got)
	}
	if first, second := rest.next(t), rest.next(t); first != "a 2" || second != "a 3" {
		t.Errorf("from 2: %s, %s", first, second)
	}
	all.interrupt(t)
	rest.interrupt(t)
	s.terminate(t)
}

func TestTailFollowsAllPersistenceIDsAndNewOnes(t *testing.T) {
	clean(t)
	s := serve(t, "--memory")
	must(t, "--endpoint", s.url, "tables", "create")
	must(t, "--endpoint", s.url, "append", "a", "--string", "1")
	must(t, "--endpoint", s.url, "append", "other", "--string", "x")
	tail := startTail(t, "--all", "--prefix", "a", "--endpoint", s.url)
	if got := tail.next(t); got != "a 1" {
		t.Errorf("first %s", got)
	}
	must(t, "--endpoint", s.url, "append", "a-new", "--string", "2")
	if got := tail.next(t); got != "a-new 2" {
		t.Errorf("then %s", got)
	}
	tail.says = "polling each persistence id: follow a journal: table \"pekko-persistence\": " +
		"the journal table has no stream\n"
	tail.interrupt(t)
	s.terminate(t)
}

func TestTailReadsTheStream(t *testing.T) {
	p := newProjecting(t)
	must(t, p.at("append a --string before")...)
	tail := startTail(t, p.at("--all --prefix a")...)
	tail.reads(t)
	must(t, p.at("append other --string x")...)
	must(t, p.at("append a --string 1 --string 2")...)
	must(t, p.at("append a-new --string 3 --string 4 --atomic")...)
	got := map[string]string{}
	for range 4 {
		pid, payload, _ := strings.Cut(tail.next(t), " ")
		got[pid] += payload
	}
	if got["a"] != "12" || got["a-new"] != "34" {
		t.Errorf("%v", got)
	}
	tail.interrupt(t)
	stored := startTail(t, p.at("--all --from 1 --prefix a")...)
	got = map[string]string{}
	for range 5 {
		pid, payload, _ := strings.Cut(stored.next(t), " ")
		got[pid] += payload
	}
	if got["a"] != "before12" || got["a-new"] != "34" {
		t.Errorf("with --from: %v", got)
	}
	stored.interrupt(t)
}

// The shards of the stream are replaced while tail runs, and their children are listed late.
func TestTailReadsShardsThatAreListedLate(t *testing.T) {
	p := newProjecting(t)
	must(t, p.at("append a --string before")...)
	if _, err := p.engine.Inject(embedded.Fault{Effect: embedded.EffectLateShards, Delay: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	tail := startTail(t, p.at("--all")...)
	tail.reads(t)
	for i, id := range []string{"a", "new", "a"} {
		if err := p.engine.SplitShards("pekko-persistence"); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint("round-", i)
		must(t, p.at("append "+id+" --string "+text)...)
		if got := tail.next(t); got != id+" "+text {
			t.Errorf("%q, want %s %s", got, id, text)
		}
	}
	tail.interrupt(t)
}

func TestTailFailsIfThereAreTooManyPersistenceIDs(t *testing.T) {
	clean(t)
	must(t, "append", "a", "--string", "1")
	must(t, "append", "b", "--string", "1")
	if o := invoke(t.Context(), "", "tail", "--all", "--max-ids", "1"); o.status != statusFailed ||
		!strings.Contains(o.err, "--max-ids") {
		t.Errorf("%+v", o)
	}
}
