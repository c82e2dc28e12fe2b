//go:build interop

package interop_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// program is a running Java program: a JVM service with one configuration of the plug-in.
type program struct {
	// mu is held from a request to its answer.
	mu      sync.Mutex
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// programs are those that run, by their settings.
var programs struct {
	sync.Mutex
	running map[string]*program
}

// jvm is the program with Pekko's plug-in and the given settings, key=value of the plug-in's
// configuration; it is started if it does not run.
func jvm(tb testing.TB, settings ...string) *program {
	tb.Helper()
	return pekko110.run(tb, settings...)
}

// run is the program with a plug-in.
func (pl *plugin) run(tb testing.TB, settings ...string) *program {
	tb.Helper()
	settings = append(slices.Clone(settings), "dynamodb-journal.endpoint="+endpoint(tb), "dynamodb-read-journal.endpoint="+endpoint(tb))
	key := pl.name + "\n" + strings.Join(settings, "\n")
	programs.Lock()
	defer programs.Unlock()
	if p := programs.running[key]; p != nil {
		return p
	}
	p, err := startProgram(pl, settings)
	if err != nil {
		tb.Fatal(err)
	}
	if programs.running == nil {
		programs.running = map[string]*program{}
	}
	programs.running[key] = p
	return p
}

// start is a program of a test's own, which ends with it.
func (pl *plugin) start(tb testing.TB, settings ...string) *program {
	tb.Helper()
	p, err := startProgram(pl, settings)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(p.in.Close(), p.process.Wait()); err != nil {
			tb.Error(err)
		}
	})
	return p
}

func startProgram(pl *plugin, settings []string) (*program, error) {
	folder, err := pl.built()
	if err != nil {
		return nil, err
	}
	// What starts fast and stays small: several run at the same time, none of them for long.
	args := []string{"-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Daws.java.v1.disableDeprecationAnnouncement=true"}
	for _, s := range settings {
		args = append(args, "-D"+s)
	}
	classes := filepath.Join(folder, "interop.jar") + string(os.PathListSeparator) + filepath.Join(folder, "lib", "*")
	p := &program{process: exec.CommandContext(context.Background(), "java", append(args, "-cp", classes, "interop.Program")...)}
	p.process.Stderr = os.Stderr
	if p.in, err = p.process.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the Java program: %w", err)
	}
	out, err := p.process.StdoutPipe()
	if err == nil {
		err = p.process.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the Java program: %w", err)
	}
	p.out = bufio.NewReader(out)
	return p, nil
}

// stopPrograms ends all programs.
func stopPrograms() error {
	var all []error
	for _, p := range programs.running {
		all = append(all, p.in.Close(), p.process.Wait())
	}
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("stop the Java programs: %w", err)
	}
	return nil
}

// request is what the program is asked for. A criterion or a bound that is nil is none.
type request struct {
	Op     string  `json:"op"`
	PID    string  `json:"pid,omitempty"`
	Events []typed `json:"events,omitempty"`
	Atomic bool    `json:"atomic,omitempty"`
	State  *typed  `json:"state,omitempty"`
	By     string  `json:"by,omitempty"`

	From *int64 `json:"from,omitempty"`
	To   *int64 `json:"to,omitempty"`
	Max  *int64 `json:"max,omitempty"`

	MinSeq *int64 `json:"minSeq,omitempty"`
	MaxSeq *int64 `json:"maxSeq,omitempty"`
	MinTS  *int64 `json:"minTs,omitempty"`
	MaxTS  *int64 `json:"maxTs,omitempty"`
}

// answer is the program's. Failure is what the plug-in failed with; nothing else is set then.
type answer struct {
	Failure string

	// Events are those recovered or replayed, Last the last sequence number that an entity knows, Highest that of a replay.
	Events        []replayed
	Last, Highest int64

	// Snapshot is the number of the snapshot that an entity began with, Seq that of one that was loaded.
	Snapshot, Seq *int64
	State         *typed
	TS            int64

	IDs                 []string
	LowMarks, HighMarks []int64
	Reply               string
}

// replayed is an event as the plug-in gave it.
type replayed struct {
	Seq      int64
	Manifest string
	Writer   string
	Event    typed
}

// ask asks, whatever the plug-in answers.
func (p *program) ask(tb testing.TB, r request) answer {
	tb.Helper()
	line, err := json.Marshal(r)
	if err != nil {
		tb.Fatalf("make a request: %v", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err = p.in.Write(append(line, '\n')); err == nil {
		line, err = p.out.ReadBytes('\n')
	}
	if err != nil {
		tb.Fatalf("ask the Java program to %s: %v", r.Op, err)
	}
	var a answer
	if err := decode(line, &a); err != nil {
		tb.Fatalf("the Java program answers %.200q: %v", line, err)
	}
	return a
}

// do asks for what must not fail.
func (p *program) do(tb testing.TB, r request) answer {
	tb.Helper()
	a := p.ask(tb, r)
	if a.Failure != "" {
		tb.Fatalf("the JVM fails to %s %q: %s", r.Op, r.PID, a.Failure)
	}
	return a
}

// decode reads JSON and leaves numbers as they are written: they may be beyond what a float64 holds.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into) //nolint:wrapcheck // the caller says what it was
}
