//go:build long

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

var (
	kills = flag.Int("kills", 5, "how often the service is killed")
	seed  = flag.Uint64("seed", 1, "seed of the moments at which it is killed")
)

// asBank is the environment variable that makes the test program run the bank.
const asBank = "BANK_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asBank) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// bank is a process of the service.
type bank struct {
	*exec.Cmd

	url string
}

// startBank starts the service with arguments, and returns when it listens.
func startBank(t *testing.T, args ...string) *bank {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bank{Cmd: exec.Command(program, append(args, "-addr", "127.0.0.1:0")...)}
	b.Env = append(os.Environ(), asBank+"=1", "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b")
	said, err := b.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	line, err := lines.ReadString('\n')
	_, url, listens := strings.Cut(line, "listening on ")
	if err != nil || !listens {
		_ = b.Process.Kill()
		rest, _ := io.ReadAll(lines)
		t.Fatalf("the bank says %q: %v\n%s", line, err, rest)
	}
	b.url = strings.TrimSpace(url)
	return b
}

// end sends a signal to the service, and waits until it has ended.
func (b *bank) end(signal syscall.Signal) error {
	if err := b.Process.Signal(signal); err != nil {
		return err
	}
	return b.Wait()
}

// request is a request of a client, and its outcome.
type request struct {
	account, kind, key string
	amount             int64
	// done reports that the response was 200, with a version. Otherwise the withdrawal was refused.
	done    bool
	version int64
	// tries counts how often the request was sent.
	tries int
}

// town is the state that the clients and the test of the service share.
type town struct {
	t *testing.T

	mu sync.Mutex
	// bank is the running process. generation is its number. changed is closed when another process
	// runs, or when no process runs any more.
	bank       *bank
	generation int
	changed    chan struct{}
	closed     bool
	// acknowledged receives a value for each response.
	acknowledged chan struct{}
}

func (to *town) replace(b *bank) {
	to.mu.Lock()
	defer to.mu.Unlock()
	to.bank, to.closed = b, b == nil
	to.generation++
	close(to.changed)
	to.changed = make(chan struct{})
}

// after waits for the first process after a generation, and returns its URL and its number. It
// reports false if no process runs any more.
func (to *town) after(generation int) (string, int, bool) {
	for {
		to.mu.Lock()
		bank, number, changed, closed := to.bank, to.generation, to.changed, to.closed
		to.mu.Unlock()
		switch {
		case closed:
			return "", 0, false
		case number > generation:
			return bank.url, number, true
		}
		<-changed
	}
}

// send sends a request until it has an outcome. After 503 it sends the request to the same process
// again. Without a response, because the process was killed, it sends the request to the next
// process. It reports false if no process runs any more.
func (to *town) send(client *http.Client, r *request) bool {
	url, generation, ok := to.after(0)
	for ok {
		r.tries++
		status, version, err := post(client, url, r)
		switch {
		case err != nil:
			client.CloseIdleConnections()
			url, generation, ok = to.after(generation)
			continue
		case status == http.StatusServiceUnavailable:
			url, generation, ok = to.after(generation - 1)
			continue
		case status == http.StatusOK && r.version != 0 && r.version != version:
			to.t.Errorf("%s: version %d, and %d when it was sent again", r.key, r.version, version)
		case status == http.StatusOK:
			r.done, r.version = true, version
		case status != http.StatusConflict || r.kind != "withdraw" || r.done:
			to.t.Errorf("%s: status %d", r.key, status)
		}
		to.acknowledged <- struct{}{}
		return true
	}
	return false
}

func post(client *http.Client, url string, r *request) (status int, version int64, err error) {
	body := bytes.NewReader(fmt.Appendf(nil, `{"amount": %d}`, r.amount))
	sent, err := http.NewRequest(http.MethodPost, url+"/accounts/"+r.account+"/"+r.kind, body)
	if err != nil {
		return 0, 0, err
	}
	sent.GetBody = nil // the client must not retry it by itself
	sent.Header.Set("Idempotency-Key", r.key)
	response, err := client.Do(sent)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return response.StatusCode, 0, err
	}
	var answer struct{ Version int64 }
	err = json.Unmarshal(text, &answer)
	return response.StatusCode, answer.Version, err
}

// client sends requests one after the other, until no process runs any more. It sends some of them
// again although they have an outcome. It returns all requests, including the last one, which has
// no outcome.
func (to *town) client(number int) []*request {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	random := rand.New(rand.NewPCG(*seed, uint64(number)))
	var requests []*request
	for i := 0; ; i++ {
		r := &request{
			account: fmt.Sprintf("account-%d", random.IntN(2)), kind: "deposit",
			key: fmt.Sprintf("client-%d-%d", number, i), amount: 1 + random.Int64N(100),
		}
		if random.IntN(2) == 0 {
			r.kind = "withdraw"
		}
		requests = append(requests, r)
		for again := true; again; again = r.done && random.IntN(10) == 0 {
			if !to.send(client, r) {
				return requests
			}
		}
	}
}

// serveEngine serves an engine over HTTP, until the end of the test.
func serveEngine(t *testing.T, options ...embedded.Option) (engine *embedded.Engine, url string) {
	t.Helper()
	engine, err := embedded.OpenMemory(append(options, embedded.WithSweepInterval(0))...)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- engine.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-served, engine.Close()); err != nil {
			t.Error(err)
		}
	})
	return engine, "http://" + listener.Addr().String()
}

// The service is killed at random moments while clients send requests. In the end each request with
// a response is done, and no request is done twice. The last process is stopped with SIGTERM, also
// under load.
func TestNoRequestIsLostOrDoneTwiceWhenTheServiceIsKilled(t *testing.T) {
	engine, endpoint := serveEngine(t)
	to := &town{t: t, changed: make(chan struct{}), acknowledged: make(chan struct{})}
	requests := make([][]*request, 8)
	var clients sync.WaitGroup
	for i := range requests {
		clients.Go(func() { requests[i] = to.client(i) })
	}
	random := rand.New(rand.NewPCG(*seed, 0xbaad))
	var last *bank
	for kill := range *kills + 1 {
		last = startBank(t, "-endpoint", endpoint)
		to.replace(last)
		for range 30 + random.IntN(60) {
			<-to.acknowledged
		}
		if kill == *kills {
			break
		}
		if err := last.end(syscall.SIGKILL); err == nil {
			t.Error("the bank has ended without an error")
		}
	}
	// Requests that get their responses while the service stops must not wait for the test.
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for range to.acknowledged {
		}
	}()
	if err := last.end(syscall.SIGTERM); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	to.replace(nil)
	clients.Wait()
	close(to.acknowledged)
	<-drained
	check := startBank(t, "-endpoint", endpoint)
	defer func() {
		if err := check.end(syscall.SIGTERM); err != nil {
			t.Errorf("after SIGTERM: %v", err)
		}
	}()
	compare(t, engine, check, requests)
}

// compare compares the stored events, and the balances that the service shows, with the responses.
func compare(t *testing.T, engine *embedded.Engine, b *bank, requests [][]*request) {
	t.Helper()
	r, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	journal, err := dynajournal.Open(t.Context(), dynajournal.Config{AWS: engine.AWSConfig(), Serialization: r})
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	byKey := map[string]*request{}
	done, refused, again := 0, 0, 0
	for _, ofClient := range requests {
		for i, r := range ofClient {
			byKey[r.key] = r
			again += min(1, r.tries-1)
			switch {
			case r.done:
				done++
			case i < len(ofClient)-1:
				refused++
			}
		}
	}
	t.Logf("%d requests were done, %d refused, and %d of all were sent again", done, refused, again)
	seen := map[string]bool{}
	for _, account := range []string{"account-0", "account-1"} {
		var balance, version int64
		for stored, err := range journal.Events(t.Context(), "account|"+account, dynajournal.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			event, err := dynajournal.Decode[Event](t.Context(), stored)
			if err != nil {
				t.Fatal(err)
			}
			key := stored.Metadata["dj.command"] // the id of the command: see docs/formats.md
			balance, version = event.apply(Account{balance}).Balance, stored.SequenceNumber
			sent := byKey[key]
			switch {
			case sent == nil:
				t.Errorf("%s has an event %d of a request %q that no client has sent", account, version, key)
				continue
			case seen[key]:
				t.Errorf("request %s is done twice, at %d", key, version)
			case sent.done && sent.version != version:
				t.Errorf("request %s is done at %d, and its response says %d", key, version, sent.version)
			case balance < 0:
				t.Errorf("%s has %d after event %d", account, balance, version)
			}
			seen[key] = true
			wanted := map[string]Event{"deposit": Deposited{sent.amount}, "withdraw": Withdrawn{sent.amount}}[sent.kind]
			if event != wanted || sent.account != account {
				t.Errorf("request %s is done as %v on %s, want %v on %s", key, event, account, wanted, sent.account)
			}
		}
		response, err := http.Get(b.url + "/accounts/" + account)
		if err != nil {
			t.Fatal(err)
		}
		var shown struct{ Balance, Version int64 }
		err = json.NewDecoder(response.Body).Decode(&shown)
		response.Body.Close()
		if err != nil || shown.Balance != balance || shown.Version != version {
			t.Errorf("%s is shown as %+v, %v; the events say %d at %d", account, shown, err, balance, version)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	for _, ofClient := range requests {
		for i, r := range ofClient {
			if open := i == len(ofClient)-1 && !r.done; !open && seen[r.key] != r.done {
				t.Errorf("request %s: the response says %v, the events %v", r.key, r.done, seen[r.key])
			}
		}
	}
}
