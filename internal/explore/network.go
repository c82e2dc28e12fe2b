package explore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// ErrReset is the error that a sender gets if its request, or the answer to it, was lost. The
// sender can't distinguish the two.
var ErrReset = errors.New("connection reset by peer")

// Network connects journals to the service. Requests of a blocked process wait until the test
// decides about them. Requests of other processes are delivered at once. It is safe for concurrent
// use.
type Network struct {
	service http.RoundTripper
	now     func() time.Time

	mu      sync.Mutex
	blocked map[string]bool
	crashed map[string]bool
	pending []*Request
	late    []*Request
	sent    int
}

// Request is a request that was sent and not yet answered.
type Request struct {
	// Process is the sender. Operation is DynamoDB's name of the operation.
	Process, Operation string
	Body               []byte
	// Label describes the request in one line. It is the same for the same request of another run.
	Label string
	// Sent is when it was sent, by the network's clock.
	Sent time.Time

	order   int
	message *http.Request
	answer  chan answer
}

func (r *Request) String() string { return r.Process + ": " + r.Label }

// Writes reports whether a request puts or removes items.
func (r *Request) Writes() bool {
	return r.Operation == "PutItem" || r.Operation == "BatchWriteItem" || r.Operation == "BatchExecuteStatement"
}

// Changes reports whether a request may change stored items.
func (r *Request) Changes() bool {
	return r.Writes() || r.Operation == "UpdateItem" || r.Operation == "DeleteItem"
}

type answer struct {
	status int
	header http.Header
	body   []byte
	// cut is the error that cuts off the body, or nil.
	cut error
	err error
}

// NewNetwork returns a network for a service. It holds no process.
func NewNetwork(service http.RoundTripper) *Network {
	return &Network{service: service, now: time.Now, blocked: map[string]bool{}, crashed: map[string]bool{}}
}

// SetClock makes the network take the time from now instead of the system. It must be called before
// the first request.
func (n *Network) SetClock(now func() time.Time) { n.now = now }

// Serve replaces the service of the network, as after a restart.
func (n *Network) Serve(service http.RoundTripper) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.service = service
}

// Client returns the HTTP client of a process.
func (n *Network) Client(process string) aws.HTTPClient { return client{n, process} }

type client struct {
	network *Network
	process string
}

// Do sends a request and waits for its answer. If its context ends first, the request stays in
// flight.
func (c client) Do(message *http.Request) (*http.Response, error) {
	n := c.network
	r, err := n.send(c.process, message)
	if err != nil {
		return nil, err
	}
	if r.answer == nil {
		return n.do(r).response(message)
	}
	select {
	case a := <-r.answer:
		return a.response(message)
	case <-message.Context().Done():
		n.mu.Lock()
		defer n.mu.Unlock()
		if i := slices.Index(n.pending, r); i >= 0 {
			n.pending = slices.Delete(n.pending, i, i+1)
			n.late = append(n.late, r)
		}
		return nil, message.Context().Err()
	}
}

func (n *Network) send(process string, message *http.Request) (*Request, error) {
	r := &Request{Process: process, message: message, Sent: n.now()}
	if message.Body != nil {
		var err error
		if r.Body, err = io.ReadAll(message.Body); err != nil {
			return nil, fmt.Errorf("read the request: %w", err)
		}
		if err := message.Body.Close(); err != nil {
			return nil, fmt.Errorf("close the request: %w", err)
		}
	}
	r.Operation, r.Label = describe(message, r.Body)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.crashed[process] {
		return nil, ErrReset
	}
	if n.blocked[process] {
		r.answer = make(chan answer, 1)
		n.sent++
		r.order = n.sent
		n.pending = append(n.pending, r)
	}
	return r, nil
}

// do lets the service perform a request, even if the context of its sender ends.
func (n *Network) do(r *Request) answer {
	return n.doFor(context.WithoutCancel(r.message.Context()), r)
}

func (n *Network) doFor(ctx context.Context, r *Request) answer {
	message := r.message.Clone(ctx)
	message.Body = io.NopCloser(bytes.NewReader(r.Body))
	message.ContentLength = int64(len(r.Body))
	n.mu.Lock()
	service := n.service
	n.mu.Unlock()
	response, err := service.RoundTrip(message)
	if err != nil {
		return answer{err: err}
	}
	body, cut := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, body, cut, response.Body.Close()}
}

func (a answer) response(message *http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	body := io.Reader(bytes.NewReader(a.body))
	if a.cut != nil {
		body = io.MultiReader(body, iotest.ErrReader(a.cut))
	}
	return &http.Response{
		Status:        http.StatusText(a.status),
		StatusCode:    a.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.header,
		Body:          io.NopCloser(body),
		ContentLength: int64(len(a.body)),
		Request:       message,
	}, nil
}

// Block makes the requests of a process wait for the test's decision from now on.
func (n *Network) Block(process string) { n.set(n.blocked, process, true) }

// Free lets the requests of a process pass from now on, and delivers the ones that wait.
func (n *Network) Free(process string) {
	n.set(n.blocked, process, false)
	for _, r := range n.Pending() {
		if r.Process == process {
			n.Deliver(r)
		}
	}
}

// Crash ends a process: its requests stay in flight, but it no longer waits for the answers, and it
// sends no more requests.
func (n *Network) Crash(process string) {
	n.set(n.crashed, process, true)
	for _, r := range n.Pending() {
		if r.Process == process {
			n.Delay(r)
		}
	}
}

// Restart lets a process that has crashed send again.
func (n *Network) Restart(process string) { n.set(n.crashed, process, false) }

func (n *Network) set(of map[string]bool, process string, value bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	of[process] = value
}

// Pending returns the requests that wait for the test's decision, sorted by process and label.
func (n *Network) Pending() []*Request { return n.sorted(&n.pending) }

// Late returns the requests in flight whose senders no longer wait, sorted by process and label.
func (n *Network) Late() []*Request { return n.sorted(&n.late) }

func (n *Network) sorted(list *[]*Request) []*Request {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := slices.Clone(*list)
	slices.SortStableFunc(all, func(a, b *Request) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Label, b.Label), cmp.Compare(a.order, b.order))
	})
	return all
}

// take removes a request from pending or late, and reports whether its sender still waits.
func (n *Network) take(r *Request) (waiting bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.Index(n.pending, r); i >= 0 {
		n.pending = slices.Delete(n.pending, i, i+1)
		return true
	}
	if i := slices.Index(n.late, r); i >= 0 {
		n.late = slices.Delete(n.late, i, i+1)
	}
	return false
}

// Deliver performs a request, and answers it if its sender still waits. It returns the answer's
// status and body.
func (n *Network) Deliver(r *Request) (int, []byte) {
	waiting := n.take(r)
	a := n.do(r)
	if waiting {
		r.answer <- a
	}
	return a.status, a.body
}

// Perform performs a request while its sender continues to wait. It returns the answer's status and
// body, and release, which gives the sender the answer. Before that, Reply may give it another
// answer.
func (n *Network) Perform(r *Request) (status int, body []byte, release func()) {
	waiting := n.take(r)
	a := n.do(r)
	return a.status, a.body, func() {
		if waiting {
			r.reply(a)
		}
	}
}

// Reply answers a request with an answer that is not from the service. It does not perform the
// request, but Perform may have.
func (n *Network) Reply(r *Request, status int, header http.Header, body []byte) {
	n.take(r)
	r.reply(answer{status: status, header: header, body: body})
}

// Fail resets the connection of a request, which Perform may have performed.
func (n *Network) Fail(r *Request) {
	n.take(r)
	r.reply(answer{err: ErrReset})
}

// reply answers a request once. The answer is ignored if the sender has given up.
func (r *Request) reply(a answer) {
	select {
	case r.answer <- a:
	default:
	}
}

// LoseAnswer performs a request whose sender gets ErrReset. It returns the lost answer.
func (n *Network) LoseAnswer(r *Request) (int, []byte) {
	waiting := n.take(r)
	a := n.do(r)
	if waiting {
		r.answer <- answer{err: ErrReset}
	}
	return a.status, a.body
}

// Submit passes a request to the service, which may answer late or never. The sender waits for the
// answer, or gives up. The request is then neither pending nor late.
func (n *Network) Submit(r *Request) {
	if !n.take(r) {
		return
	}
	go func() { r.answer <- n.doFor(r.message.Context(), r) }()
}

// Lose drops a request. Its sender gets ErrReset.
func (n *Network) Lose(r *Request) {
	if n.take(r) {
		r.answer <- answer{err: ErrReset}
	}
}

// Delay leaves a request in flight, for Deliver at any later time. Its sender gets ErrReset.
func (n *Network) Delay(r *Request) {
	if n.take(r) {
		r.answer <- answer{err: ErrReset}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.late = append(n.late, r)
}

// Refuse answers a request with an error of DynamoDB, without performing it.
func (n *Network) Refuse(r *Request, status int, code string) {
	if n.take(r) {
		body := fmt.Appendf(nil, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"refused"}`, code)
		r.answer <- answer{status: status, header: headerOf(body), body: body}
	}
}

// Answer answers a request with a body as the response of the service, without performing it.
func (n *Network) Answer(r *Request, body []byte) {
	if n.take(r) {
		r.answer <- answer{status: http.StatusOK, header: headerOf(body), body: body}
	}
}

// headerOf returns the header that DynamoDB sends with a body. A client does not accept a response
// without the checksum.
func headerOf(body []byte) http.Header {
	sum := strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)
	return http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Crc32": {sum}}
}

// Forget drops the late requests.
func (n *Network) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.late = nil
}

// ForgetBefore drops the late requests that were sent before a time: the service refuses a request
// whose signature is too old.
func (n *Network) ForgetBefore(sent time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.late = slices.DeleteFunc(n.late, func(r *Request) bool { return r.Sent.Before(sent) })
}
