package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
)

// process returns a process that runs the command line.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(binary, args...)
	c.Env = append(os.Environ(), asCommand+"=1")
	return c
}

// server is a running `dynajournal serve`.
type server struct {
	*exec.Cmd
	url    string
	stderr *bytes.Buffer
}

func serve(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{Cmd: process(t, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...),
		stderr: &bytes.Buffer{}}
	s.Stderr = s.stderr
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.ProcessState == nil { // the test failed before it stopped the server
			_ = s.Process.Kill()
			_ = s.Wait()
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ready := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "listening on ")
	if err != nil || !ready {
		t.Fatalf("the server said %q, %v", line, err)
	}
	s.url = url
	return s
}

// terminate stops the server gracefully.
func (s *server) terminate(t *testing.T) {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); err != nil || s.stderr.Len() > 0 {
		t.Errorf("the server ended with %v, %s", err, s.stderr)
	}
}

func TestServeEndsCleanlyAndKeepsItsData(t *testing.T) {
	clean(t)
	folder := t.TempDir()
	s := serve(t, "--data", folder)
	must(t, "--endpoint", s.url, "tables", "create")
	must(t, "--endpoint", s.url, "append", "a", "--string", "x")
	s.terminate(t)
	if got := must(t, "--data", folder, "events", "a"); len(got) != 1 || got[0]["payload"] != "x" {
		t.Errorf("%v", got)
	}
}

func TestServeInjectsFaults(t *testing.T) {
	clean(t)
	s := serve(t, "--memory", "--seed", "7", "--without", "partiql,transactions", "--throughput",
		"--fault", "expired-token,operation=PutItem,key=journal-P-a-*", "--fault", "throttling,operation=PutItem,key=journal-P-b-*,nth=1")
	must(t, "--endpoint", s.url, "tables", "create")
	if o := invoke(t.Context(), "", "--endpoint", s.url, "append", "a", "--string",
		"x"); o.status != statusFailed || !strings.Contains(o.err, "ExpiredToken") {
		t.Errorf("%+v", o)
	}
	must(t, "--endpoint", s.url, "append", "b", "--string", "x") // retried after the throttling
	client := dynamodb.New(dynamodb.Options{BaseEndpoint: &s.url, Region: "us-east-1",
		Credentials: aws.CredentialsProviderFunc(dummyCredentials)})
	_, err := client.ExecuteStatement(t.Context(),
		&dynamodb.ExecuteStatementInput{Statement: new(`SELECT * FROM "pekko-persistence"`)})
	if err == nil || !strings.Contains(err.Error(), "UnknownOperation") {
		t.Errorf("PartiQL: %v", err)
	}
	s.terminate(t)
}

func TestServeChangesFaultsWhileItRuns(t *testing.T) {
	clean(t)
	s := serve(t, "--memory", "--control")
	must(t, "--endpoint", s.url, "tables", "create")
	add, err := http.Post(s.url+"/control/faults", "text/plain", strings.NewReader("expired-token,operation=PutItem"))
	if err != nil {
		t.Fatal(err)
	}
	_ = add.Body.Close()
	if o := invoke(t.Context(), "", "--endpoint", s.url, "append", "a", "--string", "x"); o.status != statusFailed {
		t.Errorf("%+v", o)
	}
	remove, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.url+"/control/faults", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	removed, err := http.DefaultClient.Do(remove)
	if err != nil {
		t.Fatal(err)
	}
	_ = removed.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	must(t, "--endpoint", s.url, "append", "a", "--string", "x")
	s.terminate(t)
	if o := invoke(t.Context(), "", "serve", "--memory", "--control", "--addr", "0.0.0.0:0"); o.status != statusUsage ||
		!strings.Contains(o.err, "--control needs a loopback address") {
		t.Errorf("%+v", o)
	}
}

func TestServeServesOtherProcesses(t *testing.T) {
	clean(t)
	s := serve(t, "--memory")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%s, %v", answer.Status, err)
	}
	s.terminate(t)
}

func TestServeWarnsIfOtherMachinesCanReachIt(t *testing.T) {
	clean(t)
	c := process(t, "serve", "--memory", "--addr", "0.0.0.0:0")
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil ||
		!strings.HasPrefix(line, "listening on http://") {
		t.Errorf("%q, %v", line, err)
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || !strings.Contains(errs.String(), "no authentication") {
		t.Errorf("%v, %s", err, errs.String())
	}
}

// appender is a process that appends.
type appender struct {
	*exec.Cmd
	out, err bytes.Buffer
}

func startAppender(t *testing.T, url, name string, round, events int) *appender {
	t.Helper()
	args := []string{"--endpoint", url, "append", "account-1"}
	for i := range events {
		args = append(args, "--string", fmt.Sprintf("%s-%d-%d", name, round, i))
	}
	a := &appender{Cmd: process(t, args...)}
	a.Stdout, a.Stderr = &a.out, &a.err
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	return a
}

// Two processes write to one persistence id at the same time. A round in which one finished before
// the other started proves nothing, so rounds are repeated until they overlap.
func TestServe_TwoProcessesOneID(t *testing.T) {
	clean(t)
	s := serve(t, "--memory")
	must(t, "--endpoint", s.url, "tables", "create")
	const events, enough, most = 20, 5, 60
	type key struct {
		seq    int64
		writer string
	}
	acknowledged := map[int64]key{}
	conflicts := 0
	for round := 0; conflicts < enough; round++ {
		if round == most {
			t.Fatalf("after %d rounds there were %d conflicts", round, conflicts)
		}
		pair := []*appender{startAppender(t, s.url, "left", round, events),
			startAppender(t, s.url, "right", round, events)}
		for _, a := range pair {
			err := a.Wait()
			exit := new(exec.ExitError)
			switch {
			case err == nil:
			case errors.As(err, &exit) && exit.ExitCode() == statusFailed:
				conflicts++
				if !strings.Contains(a.err.String(), dynajournal.ErrWriterConflict.Error()) ||
					strings.Count(a.err.String(), "\n") != 1 {
					t.Errorf("the loser does not name the conflict: %s", a.err.String())
				}
			default:
				t.Fatalf("%v: %s", err, a.err.String())
			}
			for _, r := range results(t, a.out.String()) {
				k := key{numbers(t, []map[string]any{r}, "sequence_nr")[0], fmt.Sprint(r["writer_uuid"])}
				if other, taken := acknowledged[k.seq]; taken {
					t.Errorf("sequence number %d was acknowledged to %s and to %s", k.seq, other.writer, k.writer)
				}
				acknowledged[k.seq] = k
			}
		}
	}
	standing := map[int64]string{}
	for _, r := range must(t, "--endpoint", s.url, "events", "account-1") {
		standing[numbers(t, []map[string]any{r}, "sequence_nr")[0]] = fmt.Sprint(r["writer_uuid"])
	}
	for seq, k := range acknowledged {
		if standing[seq] != k.writer {
			t.Errorf("event %d of writer %s was acknowledged, but %q stands there", seq, k.writer, standing[seq])
		}
	}
	if len(standing) < len(acknowledged) {
		t.Errorf("%d events stand, %d were acknowledged", len(standing), len(acknowledged))
	}
	s.terminate(t)
}

// The server is killed while clients write. Afterwards every acknowledged write is stored, in
// order. At most one more event of each client is stored: the event whose response was lost.
func TestServe_KillLosesNothingAcknowledged(t *testing.T) {
	clean(t)
	folder := t.TempDir()
	s := serve(t, "--data", folder)
	must(t, "--endpoint", s.url, "tables", "create")
	config := dynajournal.Config{Endpoint: s.url,
		AWS: aws.Config{Credentials: aws.CredentialsProviderFunc(dummyCredentials)}, Retries: -1}
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	const clients, enough = 4, 200
	var acknowledged [clients]int
	tokens := make(chan struct{}, enough)
	var group sync.WaitGroup
	for i := range clients {
		w, err := j.Recover(t.Context(), fmt.Sprintf("client-%d", i), dynajournal.RecoverOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for {
				if _, err := w.Append(t.Context(), fmt.Sprintf("event %d", acknowledged[i]+1)); err != nil {
					return
				}
				acknowledged[i]++
				select {
				case tokens <- struct{}{}:
				default: // enough are written, the kill is in progress
				}
			}
		})
	}
	for range enough {
		<-tokens
	}
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	_ = s.Wait() // it was killed
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for i, count := range acknowledged {
		found := must(t, "--data", folder, "events", fmt.Sprintf("client-%d", i))
		if len(found) < count || len(found) > count+1 {
			t.Errorf("client %d was told of %d events, and %d are there", i, count, len(found))
		}
		for n, r := range found {
			if r["sequence_nr"] != float64(n+1) || r["payload"] != fmt.Sprintf("event %d", n+1) {
				t.Errorf("client %d: event %d is %v", i, n+1, r)
			}
		}
	}
}

func TestServeRefusesWhatItCannotListenOn(t *testing.T) {
	clean(t)
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for _, c := range []struct {
		args   []string
		status int
		err    string
	}{
		{[]string{"--addr", "nonsense"}, statusUsage, `--addr "nonsense" is not HOST:PORT`},
		{[]string{"--addr", ""}, statusUsage, `is not HOST:PORT`},
		{[]string{"--addr", "127.0.0.1:65536"}, statusUsage, "the port is not a number from 0 to 65535"},
		{[]string{"--addr", "127.0.0.1:-1"}, statusUsage, "the port is not a number from 0 to 65535"},
		{[]string{"--addr", "127.0.0.1:"}, statusUsage, "the port is not a number from 0 to 65535"},
		{[]string{"--allow-origin", "*"}, statusUsage, "only exact origins"},
		{[]string{"--allow-origin", "http://a/"}, statusUsage, "a slash at its end"},
		{[]string{"--allow-host", "http://a"}, statusUsage, "is not a name without port"},
		{[]string{"--addr", taken.Addr().String()}, statusFailed, "address already in use"},
	} {
		o := invoke(t.Context(), "", append([]string{"serve", "--memory"}, c.args...)...)
		if o.status != c.status || o.out != "" || !strings.HasPrefix(o.err, "dynajournal: serve: ") ||
			!strings.Contains(o.err, c.err) || strings.Count(o.err, "\n") != 1 {
			t.Errorf("%q: %+v", c.args, o)
		}
	}
}

func TestServeAllowsHostsAndOriginsAndLogsRequests(t *testing.T) {
	clean(t)
	s := serve(t, "--memory", "--allow-host", "db.example", "--allow-origin", "http://localhost:3000", "--log")
	for _, c := range []struct {
		host, origin string
		status       int
		allowed      string
	}{
		{"evil.example", "", http.StatusForbidden, ""},
		{"db.example", "", http.StatusBadRequest, ""}, // it names no operation
		{"", "http://evil.example", http.StatusForbidden, ""},
		{"", "http://localhost:3000", http.StatusBadRequest, "http://localhost:3000"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = c.host
		if c.origin != "" {
			request.Header.Set("Origin", c.origin)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != c.status ||
			answer.Header.Get("Access-Control-Allow-Origin") != c.allowed {
			t.Errorf("%+v: %s, %v, %v", c, answer.Status, answer.Header, err)
		}
	}
	must(t, "--endpoint", s.url, "tables", "create")
	must(t, "--endpoint", s.url, "append", "secret-id", "--string", "secret-value")
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	logged := s.stderr.String()
	if !strings.Contains(logged, "operation=PutItem table=pekko-persistence status=200") ||
		strings.Contains(logged, "secret") {
		t.Errorf("the log is\n%s", logged)
	}
}
