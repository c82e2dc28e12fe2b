package outbox

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// The id of a message never changes: targets recognize messages by it.
func TestMessageID_NeverChanges(t *testing.T) {
	t.Parallel()
	const want = "3c9a038b4189b80e04ae50fba2386026dc177d3bdce81a8428ad50ed0bf0cfe1"
	if got := messageIDOf("journal", "group/out", "a", engine.Offset{Seq: 7, Writer: "writer"}, 2); got != want {
		t.Errorf("the id is %s", got)
	}
	known := map[string]bool{}
	for _, of := range [][3]string{{"a", "b", "c"}, {"ab", "", "c"}, {"a", "", "bc"}, {"a", "bc", ""}, {"", "a:b", "c"}} {
		known[messageIDOf(of[0], of[1], of[2], engine.Offset{Seq: 1, Writer: ""}, 0)] = true
		known[messageIDOf(of[0], of[1], of[2], engine.Offset{Seq: 11, Writer: ""}, 0)] = true
		known[messageIDOf(of[0], of[1], of[2], engine.Offset{Seq: 1, Writer: "1"}, 0)] = true
		known[messageIDOf(of[0], of[1], of[2], engine.Offset{Seq: 1, Writer: ""}, 10)] = true
	}
	if len(known) != 20 {
		t.Errorf("there are %d ids", len(known))
	}
}

func FuzzStoredMessages(f *testing.F) {
	id := strings.Repeat("0a", 32)
	f.Add([]byte(`[{"id":"` + id + `","pid":"a","seq":1,"topic":"t","headers":{"h":"v"},"body":"eA=="}]`))
	f.Add([]byte(`[]`))
	f.Add([]byte(`[{"id":"` + id + `","pid":"a","seq":-1}]`))
	f.Add([]byte(`[{"headers":{"a\r\nb":"v"}}]`))
	f.Fuzz(func(t *testing.T, stored []byte) {
		messages, err := decodeMessages(stored)
		if err != nil {
			return
		}
		encoded, err := json.Marshal(messages)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeMessages(encoded)
		if err != nil || len(again) != len(messages) {
			t.Errorf("%q: %v", encoded, err)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{"", "1", "-1", "99999999999999999999", "Wed, 21 Oct 2026 07:28:00 GMT", "soon"} {
		f.Add(value)
	}
	now := time.Date(2026, 10, 21, 7, 27, 30, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string) {
		if pause := retryAfter(value, now); pause < 0 || pause > maxRetryAfter {
			t.Errorf("%q: %v", value, pause)
		}
	})
}

func FuzzHeaderValue(f *testing.F) {
	for _, value := range []string{"", " ", "a\r\nb: c", "100%", "ü", " a b "} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		encoded := headerValue(value)
		if decoded, err := url.PathUnescape(encoded); decoded != value || err != nil {
			t.Errorf("%q: %q, %v", value, decoded, err)
		}
		if strings.ContainsFunc(encoded, func(r rune) bool { return r < ' ' || r > '~' }) || strings.TrimSpace(encoded) != encoded {
			t.Errorf("%q: %q", value, encoded)
		}
		if len(encoded) > 3*len(value) {
			t.Errorf("%q has %d bytes", value, len(encoded))
		}
	})
}
