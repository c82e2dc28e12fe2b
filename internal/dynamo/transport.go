package dynamo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// ownBody gives a request its body anew, from memory. The SDK's own is bad for the transport in two ways. Smithy closes it as
// soon as the head of the answer is there, and WriteTo of a closed body says that the body has ended: the transport, which
// looks for a rest after what it has written, takes that for a body that was cut short, and closes the connection under the
// answer; with answers as fast as those over loopback, some requests fail. And the transport does not know it for one that is
// in memory, so it sends the head on its own first: a second write, and a second time that the service wakes up for.
func ownBody(r *http.Request) error {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength <= 0 {
		return nil
	}
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if err := r.Body.Close(); err != nil {
		return fmt.Errorf("close the request: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// transport is what the SDK sends requests by.
type transport struct {
	inner    aws.HTTPClient
	endpoint *endpoint
	clock    *clock.Clock
}

// Do sends a request of the SDK, unless it has been sent and answered already.
func (t transport) Do(r *http.Request) (*http.Response, error) {
	if sent, ok := r.Context().Value(replyKey{}).(*reply); ok {
		return sent.take()
	}
	if err := ownBody(r); err != nil {
		return nil, err
	}
	wanted, ok := r.Context().Value(lessonKey{}).(*lesson)
	if !ok {
		return t.send(r)
	}
	e := exampleOf(r)
	answer, err := t.send(r)
	if err == nil {
		wanted.learn(e, answer)
	}
	return answer, err
}

// begunKey is the key of the context's value that says when an attempt began: a clock.Moment.
type begunKey struct{}

// longestStart bounds the time between the check before an attempt and its sending.
const longestStart = time.Minute

// errSlept is the failure of an attempt that was not sent, as too much time had passed since the
// check that allowed it: the machine slept. A later attempt is checked anew.
var errSlept = errors.New("the machine slept before the request was sent")

// send sends a request, and checks the answer. The SDK checks a checksum only when the answer is
// closed, and then tells nobody: a damaged answer would be taken for an acknowledgement.
//
// A machine that sleeps between the check before an attempt and the signing would sign what the
// check no longer allows with a fresh date, so the time is looked at once more here, behind the
// signing. After that the signature's age protects: the service refuses one that is older than 15
// minutes.
func (t transport) send(r *http.Request) (*http.Response, error) {
	begun, ok := r.Context().Value(begunKey{}).(clock.Moment)
	if safeguard.SleptUnsent && ok && t.clock.Since(begun) > longestStart {
		return nil, errSlept
	}
	answer, err := t.inner.Do(r)
	if err != nil {
		return nil, err //nolint:wrapcheck // a transport hands errors on as they are
	}
	if err := t.endpoint.check(answer); err != nil {
		return nil, err
	}
	if dated(answer) && (!ok || t.clock.Since(begun) <= longestStart) { // one that waited here in a sleep states an old time
		if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
			t.clock.Learn(date)
		}
	}
	return answer, nil
}

// dated reports whether the Date of an answer is the service's: a failure without a checksum can be
// of a proxy in between.
func dated(answer *http.Response) bool {
	return answer.StatusCode == http.StatusOK || answer.Header.Get(sumHeader) != ""
}
