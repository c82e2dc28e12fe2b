package main

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
	"strconv"
	"strings"
	"syscall"
	"time"
)

// request is a request to a service: to interop's Java program, or to the journal's service in this
// program.
type request struct {
	Op string `json:"op"`
	// Prefix is the prefix of the persistence ids, which end with a hyphen and a number from 0 to
	// Entities-1.
	Prefix   string `json:"prefix,omitempty"`
	Entities int    `json:"entities,omitempty"`
	// Seconds is the duration of persisting. Snapshots reports whether snapshots are stored and
	// loaded. Events is the number of events to store in each entity.
	Seconds   float64 `json:"seconds,omitempty"`
	Snapshots bool    `json:"snapshots,omitempty"`
	Events    int     `json:"events,omitempty"`
	// Callers is the number of callers that send commands to each entity. Joined lets commands
	// share writes even in a shared journal.
	Callers int  `json:"callers,omitempty"`
	Joined  bool `json:"joined,omitempty"`
}

// answer is the result of a request.
type answer struct {
	Failure string `json:"failure,omitempty"`
	// Count is the number of events that were persisted or replayed.
	Count      float64 `json:"count"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpuSeconds"`
	// EngineSeconds is the processor time of the engine during the request. The service does not
	// know it.
	EngineSeconds float64 `json:"-"`
	// P50 and P99 are in microseconds.
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	// Resident and Peak are in bytes.
	Resident float64 `json:"resident"`
	Peak     float64 `json:"peak"`
}

// service is a process that answers requests. Each request and each answer is a JSON object on one
// line.
type service struct {
	name    string
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// start starts a process whose output is read line by line.
func start(name string, args ...string) (*service, error) {
	// Not bound to a context: the process exits when its input ends, after the current request.
	s := &service{name: name, process: exec.CommandContext(context.Background(), args[0], args[1:]...)} //nolint:gosec // our own
	s.process.Stderr = os.Stderr
	var err error
	if s.in, err = s.process.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	out, err := s.process.StdoutPipe()
	if err == nil {
		err = s.process.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	s.out = bufio.NewReader(out)
	return s, nil
}

// ask sends a request and waits for the answer.
func (s *service) ask(ctx context.Context, r request) (answer, error) {
	var a answer
	if err := ctx.Err(); err != nil {
		return a, context.Cause(ctx)
	}
	line, err := json.Marshal(r)
	if err == nil {
		_, err = s.in.Write(append(line, '\n'))
	}
	if err == nil {
		line, err = s.out.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err == nil && a.Failure != "" {
		err = errors.New(a.Failure)
	}
	if err != nil {
		return a, fmt.Errorf("%s: %s %s: %w", s.name, r.Op, r.Prefix, err)
	}
	return a, nil
}

// processorTime returns the processor time of the process up to now, in seconds.
func (s *service) processorTime() (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the processor time of %s: %w", s.name, err)
	}
	// The name of the program, in parentheses, is the second field. User and system time are the
	// 14th and 15th, in ticks.
	const user, system, ticks = 14 - 3, 15 - 3, 100
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	sum := 0.0
	for _, i := range []int{user, system} {
		n, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return 0, fmt.Errorf("read the processor time of %s: %w", s.name, err)
		}
		sum += n / ticks
	}
	return sum, nil
}

// stopPatience is the longest time that a process may take to exit.
const stopPatience = 20 * time.Second

// stop stops a process by closing its input, and a server also by a signal.
func (s *service) stop(signal os.Signal) error {
	timer := time.AfterFunc(stopPatience, func() { _ = s.process.Process.Kill() })
	defer timer.Stop()
	err := s.in.Close()
	if signal != nil {
		err = errors.Join(err, s.process.Process.Signal(signal))
	}
	if err = errors.Join(err, s.process.Wait()); err != nil {
		return fmt.Errorf("stop %s: %w", s.name, err)
	}
	return nil
}

// startEngine starts a served in-memory engine with further flags, and returns its address.
func startEngine(command string, flags ...string) (*service, string, error) {
	args := append([]string{command, "serve", "--memory", "--addr", "127.0.0.1:0", "--output", "text"}, flags...)
	s, err := start("the engine", args...)
	if err != nil {
		return nil, "", err
	}
	line, err := s.out.ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		return nil, "", fmt.Errorf("the engine says %q: %w", line, errors.Join(err, s.stop(syscall.SIGTERM)))
	}
	return s, url, nil
}
