package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

func TestMain(m *testing.M) {
	// The client that the AWS SDK creates closes its connections only after a long idle time.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

// clock is the clock of S3.
type clock struct{ now time.Time }

func (c clock) Now() time.Time                  { return c.now }
func (c clock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// serve serves S3 with two objects that are two days old, and DynamoDB with the tables of a
// journal. It returns the flags for them.
func serve(t *testing.T) []string {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	source := clock{time.Now().Add(-48 * time.Hour)}
	backend := s3mem.New(s3mem.WithTimeSource(source))
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"p/" + strings.Repeat("A", 26), "p/readme"} {
		if _, err := backend.PutObject("bucket", key, nil, strings.NewReader("data"), 4, nil); err != nil {
			t.Fatal(err)
		}
	}
	objects := httptest.NewServer(gofakes3.New(backend, gofakes3.WithTimeSkewLimit(0), gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	t.Cleanup(objects.Close)
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	if err := dynajournal.CreateTables(t.Context(), dynajournal.Config{AWS: engine.AWSConfig(), JournalTable: "events"}, dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- engine.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, engine.Close()); err != nil {
			t.Error(err)
		}
	})
	conf := filepath.Join(t.TempDir(), "application.conf")
	text := `dynamodb-journal { journal-table = events, region = eu-west-1, endpoint = "http://` + listener.Addr().String() + `" }`
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-bucket", "bucket", "-prefix", "p/", "-config", conf, "-s3-endpoint", objects.URL}
}

func TestLeftoversAreListedThenRemoved(t *testing.T) {
	args := serve(t)
	for i, want := range []struct {
		more    []string
		lines   int
		removed bool
	}{
		{nil, 1, false}, {nil, 1, false}, {[]string{"-min-age", "49h"}, 0, false}, {[]string{"-remove"}, 1, true}, {[]string{"-remove"}, 0, true},
	} {
		var out, messages bytes.Buffer
		if status := run(t.Context(), append(args, want.more...), &out, &messages); status != 0 {
			t.Fatalf("%d: status %d: %s", i, status, messages.String())
		}
		if got := strings.Count(out.String(), "\n"); got != want.lines {
			t.Errorf("%d: %d lines: %s", i, got, out.String())
		}
		var line leftover
		if want.lines > 0 {
			if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Removed != want.removed || line.Key != "p/"+strings.Repeat("A", 26) || line.Bytes != 4 {
				t.Errorf("%d: %+v, %v", i, line, err)
			}
		}
		if !strings.Contains(messages.String(), "read units") {
			t.Errorf("%d: messages %q", i, messages.String())
		}
	}
}

func TestFailuresHaveAStatus(t *testing.T) {
	args := serve(t)
	for name, c := range map[string]struct {
		args []string
		want int
	}{
		"no bucket":              {nil, 2},
		"an age that is too low": {[]string{"-bucket", "b", "-min-age", "59m"}, 2},
		"an argument":            {[]string{"-bucket", "b", "more"}, 2},
		"an unknown flag":        {[]string{"-bucket", "b", "-force"}, 2},
		"help":                   {[]string{"-help"}, 0},
		"a missing bucket":       {append(append([]string{}, args...), "-bucket", "none"), 1},
		"a missing table":        {append(append([]string{}, args...), "-tables", "none"), 1},
		"a missing file":         {append(append([]string{}, args...), "-config", "none.conf"), 1},
	} {
		var out, messages bytes.Buffer
		if got := run(t.Context(), c.args, &out, &messages); got != c.want || out.Len() > 0 || messages.Len() == 0 {
			t.Errorf("%s: status %d, %s%s", name, got, out.String(), messages.String())
		}
	}
}
