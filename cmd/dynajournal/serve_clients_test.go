package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	slowClients = flag.Int("serve.clients", 60,
		"how many clients send a half of a large request to a server whose memory is measured")
	slowBytes = flag.Int("serve.bytes", 3<<20, "how many bytes each of them tries to send")
)

// residentPeak returns the peak resident memory of a process, in bytes.
func residentPeak(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if peak, found := strings.CutPrefix(line, "VmHWM:"); found {
			n, err := strconv.Atoi(strings.Fields(peak)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("the process does not tell how much memory it had")
	return 0
}

// metric returns the value of a server's metric.
func metric(t *testing.T, url, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	_, found, _ := strings.Cut(string(all), "\n"+name+" ")
	value, _, _ := strings.Cut(found, "\n")
	return value
}

// Clients send half a request, as large as the server accepts, and then nothing. Other clients
// write at the same time, and SIGTERM stops the server. With -v the test logs the memory that the
// server used.
func TestServe_MemoryWithSlowClients(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: the memory of a process is read in Linux' way")
	}
	clean(t)
	s := serve(t, "--memory")
	before := residentPeak(t, s.Process.Pid)
	address := strings.TrimPrefix(s.url, "http://")
	head := "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\nAuthorization: AWS4-HMAC-SHA256 x\r\n" +
		"Content-Type: application/x-amz-json-1.0\r\nContent-Length: 16777216\r\n\r\n"
	sent := []byte(head + `{"x":"` + strings.Repeat("a", *slowBytes))
	var group sync.WaitGroup
	var connections []net.Conn
	for range *slowClients {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		connections = append(connections, connection)
		group.Go(func() { _, _ = io.Copy(connection, bytes.NewReader(sent)) })
	}
	for waiting := 0; waiting < *slowClients/4; {
		_, err := fmt.Sscanf(metric(t, s.url, "dynajournal_engine_waiting_requests"), "%d", &waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	must(t, "--endpoint", s.url, "tables", "create")
	must(t, "--endpoint", s.url, "append", "a", "--string", "x")
	peak := residentPeak(t, s.Process.Pid)
	t.Logf("%d clients sent up to %d bytes each: the server had %d MiB before, and at most %d MiB", *slowClients,
		*slowBytes, before>>20, peak>>20)
	if most := 640 << 20; peak > most {
		t.Errorf("the server had %d MiB, at most %d are expected", peak>>20, most>>20)
	}
	s.terminate(t)
	for _, connection := range connections {
		_ = connection.Close()
	}
	group.Wait()
}
