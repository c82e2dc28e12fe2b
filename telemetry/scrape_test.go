package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/telemetry"
)

// Prometheus scrapes a service. Each query of the dashboard has data.
func TestDashboard_HasDataInPrometheus(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed: it is in Debian's package prometheus")
	}
	s, registry := newExportedService(t)
	page := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer page.Close()
	server := s.prometheus(program, strings.TrimPrefix(page.URL, "http://"))

	// Another process: writes of both meet.
	other, err := entity.Open(s.journal, counterType, entity.Options{Hooks: []entity.Hook{s.of.EntityHook()}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(context.Background()) }()
	missing := telemetry.PanelQueries(t)
	// Prometheus is another program, so the test polls it.
	for deadline := time.Now().Add(2 * time.Minute); len(missing) > 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there is no data of %q", missing)
		}
		s.add("anna", 1)
		if _, err := other.Update(t.Context(), "anna", func(tx *entity.Tx[int64, opened]) error {
			tx.Record(opened{1})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for name, query := range missing {
			if hasData(t, server, query) {
				delete(missing, name)
			}
		}
	}
}

// prometheus starts a Prometheus that scrapes a target each second, until the test ends, and
// returns its URL.
func (s *service) prometheus(program, target string) string {
	s.Helper()
	folder := s.TempDir()
	config := fmt.Sprintf("scrape_configs:\n  - job_name: service\n    scrape_interval: 1s\n    static_configs:\n      - targets: ['%s']\n", target)
	file := filepath.Join(folder, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		s.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	address := listener.Addr().String() // free, as far as one can know
	if err := listener.Close(); err != nil {
		s.Fatal(err)
	}
	process := exec.Command(program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(folder, "data"),
		"--web.listen-address="+address, "--log.level=error")
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	return "http://" + address
}

// hasData reports whether a query has a result with a number. It has none before Prometheus is
// ready.
func hasData(t *testing.T, server, query string) bool {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/api/v1/query?query="+url.QueryEscape(query), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Error string
		Data  struct{ Result []struct{ Value []any } }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return false
	}
	if answer.Error != "" {
		t.Fatalf("%s: %s", query, answer.Error)
	}
	for _, result := range answer.Data.Result {
		if len(result.Value) == 2 && result.Value[1] != "NaN" {
			return true
		}
	}
	return false
}
