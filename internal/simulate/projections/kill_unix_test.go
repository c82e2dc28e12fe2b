//go:build unix

package projections_test

import (
	"bufio"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// TestKilledProcesses lets three processes handle the events that a fourth one writes to a served
// engine, and kills and stops all of them at random moments. In the end every event must have been
// handled in order, with its transactional effect once.
func TestKilledProcesses(t *testing.T) {
	t.Parallel()
	s, url := serveSimulation(t)
	file := filepath.Join(t.TempDir(), "handled")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fork := func(role string) *exec.Cmd { return fork(t, role, url, file) }
	roles := []string{roleWorker, roleWorker, roleWorker, roleWriter}
	var running []*exec.Cmd
	for _, role := range roles {
		running = append(running, fork(role))
	}
	random := rand.New(rand.NewPCG(s.seed, 2))
	kills, stops := 0, 0
	for range testsize.Of(3, 24) {
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		i := random.IntN(len(running))
		if random.IntN(2) == 0 {
			kills++
			send(t, running[i], syscall.SIGKILL)
			_ = running[i].Wait() // it was killed
			running[i] = fork(roles[i])
			continue
		}
		stops++
		send(t, running[i], syscall.SIGSTOP)
		// Up to three times the timeouts.
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
		send(t, running[i], syscall.SIGCONT)
	}
	last := len(running) - 1
	stop(t, running[last])
	for _, id := range s.stored {
		s.recover(id)
	}
	s.heal()
	for _, worker := range running[:last] {
		stop(t, worker)
	}
	s.readLines(file)
	s.oracle.round()
	s.oracle.afterwards()
	if err := s.oracle.failed(); err != nil {
		t.Error(err)
	}
	t.Logf("%d events, %d handled, %d of them again, %d processes killed, %d stopped", s.sum.events, s.sum.reported, s.sum.repeated, kills, stops)
}

// serveSimulation returns a simulation with a served engine, whose oracle checks the work of
// processes, and the engine's address.
func serveSimulation(t *testing.T) (s *simulation, url string) {
	t.Helper()
	s = &simulation{
		T: t, sum: &totals{injected: map[string]int{}}, kinds: []kind{called{}, effects{}},
		history: history{seed: 1, groups: []groupOf{{attempts: 1000}}},
	}
	t.Logf("the seed is %d", s.seed)
	engine, err := embedded.OpenMemory(embedded.WithStreamShards(3))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	serving := make(chan error, 1)
	go func() { serving <- engine.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-serving, engine.Close()); err != nil {
			t.Error(err)
		}
	})
	s.engine = engine
	s.table, s.records = dynamodb.NewFromConfig(engine.AWSConfig()), dynamodbstreams.NewFromConfig(engine.AWSConfig())
	s.oracle = newOracle(s)
	s.makeTables()
	if s.writers, err = dynajournal.Open(t.Context(), s.config(0)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.writers.Close() })
	for i := range served {
		s.stored = append(s.stored, &stored{number: i, pid: odd[i], purgeTried: map[int]bool{}})
	}
	return s, "http://" + listener.Addr().String()
}

// fork starts the test program in a role.
func fork(t *testing.T, role, url, file string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program)
	c.Env = append(os.Environ(), roleVariable+"="+role, urlVariable+"="+url, fileVariable+"="+file)
	c.Stderr = os.Stderr
	if _, err := c.StdinPipe(); err != nil { // the process ends when this one does
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait() // the test has failed
		}
	})
	return c
}

func send(t *testing.T, c *exec.Cmd, s syscall.Signal) {
	t.Helper()
	if err := c.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// stop stops a process, which must end without an error. A process that the signal has terminated
// was not yet listening to signals, so it had not started.
func stop(t *testing.T, c *exec.Cmd) {
	t.Helper()
	send(t, c, syscall.SIGTERM)
	err := c.Wait()
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGTERM {
		return
	}
	if err != nil {
		t.Errorf("%v: %v", c.Env[len(c.Env)-3], err)
	}
}

// readLines reports the events that were handled at least once to the oracle.
func (s *simulation) readLines(file string) {
	f, err := os.Open(file)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for all := bufio.NewScanner(f); all.Scan(); {
		id, rest, _ := strings.Cut(all.Text(), " ")
		seq, text, _ := strings.Cut(rest, " ")
		i, wrong := strconv.Atoi(id)
		n, wrongNumber := strconv.ParseInt(seq, 10, 64)
		if wrong != nil || wrongNumber != nil {
			s.Fatalf("the file has the line %q", all.Text())
		}
		s.oracle.record(0, called{}, odd[i], report{event, text, n, n})
	}
}
