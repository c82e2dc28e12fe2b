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

// program is a running Java program: a JVM service with a configuration of the plug-in.
type program struct {
	// mu is locked from a request to its response.
	mu      sync.Mutex
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// programs are the running programs, by their settings.
var programs struct {
	sync.Mutex
	running map[string]*program
}

// jvm returns the program with Pekko's plug-in and the given settings, key=value of the plug-in's
// configuration. It is started if it does not run.
func jvm(tb testing.TB, settings ...string) *program {
	tb.Helper()
	return pekko110.run(tb, settings...)
}

// run returns the program with a plug-in.
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

// start returns a separate program for a test. It ends with the test.
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
	// The programs start fast and stay small: several run at the same time, none of them for long.
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

// stopPrograms stops all programs.
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

// request is a request to the program. Nil criteria and limits are not applied.
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

	// retention is the retention of an event-sourced behavior that is started.
	retention
	// Hurried does not wait for the deletions after a snapshot.
	Hurried bool `json:"hurried,omitempty"`
}

// answer is the program's response. Failure is the error of the plug-in. If it is set, all other
// fields are empty.
type answer struct {
	Failure string

	// Events are the recovered or replayed events. Last is the last sequence number that an entity
	// knows, Highest the highest number that a replay found.
	Events        []replayed
	Last, Highest int64

	// Snapshot is the number of the snapshot from which an entity recovered, Seq the number of a
	// loaded snapshot.
	Snapshot, Seq *int64
	State         *typed
	TS            int64

	// DeletesTo is the number up to which a behavior deletes events after it has saved a snapshot
	// at Seq. Deleting is true if the deletion may still run.
	DeletesTo int64
	Deleting  bool

	IDs                 []string
	LowMarks, HighMarks []int64
	Reply               string
}

// replayed is an event as the plug-in returned it.
type replayed struct {
	Seq      int64
	Manifest string
	Writer   string
	Event    typed
}

// ask sends a request, which may fail.
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
		tb.Fatalf("the Java program responds %.200q: %v", line, err)
	}
	return a
}

// do sends a request that must not fail.
func (p *program) do(tb testing.TB, r request) answer {
	tb.Helper()
	a := p.ask(tb, r)
	if a.Failure != "" {
		tb.Fatalf("the JVM fails to %s %q: %s", r.Op, r.PID, a.Failure)
	}
	return a
}

// decode decodes JSON, with numbers as text because they may not fit in a float64.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}
