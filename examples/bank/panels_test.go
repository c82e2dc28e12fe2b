package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "measure for half a minute, and draw panels.svg")

// panelsFile is the picture of README.md.
const panelsFile = "panels.svg"

// panels are queries of the dashboard, with a shorter window: the test measures for a short time.
var panels = []struct{ title, query string }{
	{"commands a second", `sum by (error_type) (rate(dynajournal_entity_command_duration_seconds_count[10s]))`},
	{"duration of a command, p99, in seconds", `histogram_quantile(0.99, sum by (le) (rate(dynajournal_entity_command_duration_seconds_bucket[10s])))`},
	{"units a second, by purpose", `sum by (dynajournal_purpose) (rate(dynajournal_capacity_consumed_total[10s]))`},
	{"events handled a second", `sum by (messaging_destination_name) (rate(messaging_client_consumed_messages_total[10s]))`},
	{"age of events, p99, in seconds", `histogram_quantile(0.99, sum by (le) (rate(dynajournal_projection_event_age_seconds_bucket[10s])))`},
	{"requests over HTTP a second", `sum by (http_response_status_code) (rate(http_server_request_duration_seconds_count[10s]))`},
}

// A real Prometheus scrapes the bank under load. Each panel has data.
func TestPanels_HaveData(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed: it is in Debian's package prometheus")
	}
	r := startService(t)
	server, started := startPrometheus(t, program, strings.TrimPrefix(r.url, "http://")), time.Now()
	drawn := make([][]line, len(panels))
	complete := func() bool { return !slices.ContainsFunc(drawn, func(of []line) bool { return len(of) == 0 }) }
	long := 30 * time.Second
	if !*update {
		long = 0
	}
	for n := 0; !complete() || time.Since(started) < long; n++ {
		if time.Since(started) > 2*time.Minute {
			t.Fatalf("a panel has no data: %v", drawn)
		}
		for i := range 20 {
			id := fmt.Sprint("account-", i)
			r.send("POST", "/accounts/"+id+"/deposit", fmt.Sprint(n, "-", i), `{"amount": 100}`)
		}
		if n%10 == 0 {
			for i := range panels {
				drawn[i] = linesOf(t, server, panels[i].query, started)
			}
		}
	}
	if *update {
		if err := os.WriteFile(panelsFile, []byte(draw(drawn)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// startPrometheus starts a Prometheus that scrapes a target each second, until the test ends, and
// returns its URL.
func startPrometheus(t *testing.T, program, target string) string {
	t.Helper()
	folder := t.TempDir()
	config := fmt.Sprintf("scrape_configs:\n  - job_name: bank\n    scrape_interval: 1s\n    static_configs:\n      - targets: ['%s']\n", target)
	file := filepath.Join(folder, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String() // free, as far as one can know
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	process := exec.Command(program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(folder, "data"),
		"--web.listen-address="+address, "--log.level=error")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	return "http://" + address
}

// line is a series of a panel: the seconds since the start, and the values.
type line struct {
	name   string
	points [][2]float64
}

// linesOf returns the series of a query. There are none before Prometheus is ready.
func linesOf(t *testing.T, server, query string, started time.Time) []line {
	t.Helper()
	parameters := url.Values{
		"query": {query}, "step": {"1s"}, "start": {fmt.Sprint(started.Unix())}, "end": {fmt.Sprint(time.Now().Unix())},
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/api/v1/query_range?"+parameters.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return nil
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if json.NewDecoder(response.Body).Decode(&answer) != nil {
		return nil
	}
	var all []line
	for _, of := range answer.Data.Result {
		l := line{}
		for _, value := range of.Metric {
			l.name = value
		}
		for _, v := range of.Values {
			at, text := v[0].(float64), v[1].(string)
			if value, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(value) {
				l.points = append(l.points, [2]float64{at - float64(started.Unix()), value})
			}
		}
		if len(l.points) > 0 {
			all = append(all, l)
		}
	}
	return all
}

// label returns a value with three digits, or more if it is 1,000 or larger.
func label(value float64) string {
	if value >= 100 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}

// draw draws all panels, two in a row.
func draw(all [][]line) string {
	const width, height, left, top, plot = 460, 190, 50, 34, 120
	colors := []string{"#1f6feb", "#bf5700", "#2da44e", "#8250df", "#cf222e", "#57606a"}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n",
		2*width, (len(all)+1)/2*height)
	b.WriteString(`<rect width="100%" height="100%" fill="#ffffff"/>` + "\n")
	for i, lines := range all {
		x0, y0 := i%2*width+left, i/2*height+top
		largest, last := 0.0, 1.0
		for _, l := range lines {
			for _, p := range l.points {
				largest, last = max(largest, p[1]), max(last, p[0])
			}
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-weight="bold" fill="#24292f">%s</text>`+"\n", x0, y0-16, html.EscapeString(panels[i].title))
		fmt.Fprintf(&b, `<path d="M%d %dv%dh%d" fill="none" stroke="#8c959f"/>`+"\n", x0, y0, plot, width-left-20)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end" fill="#57606a">%s</text>`+"\n", x0-4, y0+8, label(largest))
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end" fill="#57606a">0</text>`+"\n", x0-4, y0+plot)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end" fill="#57606a">%.0f s</text>`+"\n", x0+width-left-20, y0+plot+14, last)
		for n, l := range lines {
			var path strings.Builder
			for k, p := range l.points {
				command := "L"
				if k == 0 {
					command = "M"
				}
				fmt.Fprintf(&path, "%s%.1f %.1f", command, float64(x0)+p[0]/last*float64(width-left-20),
					float64(y0)+float64(plot)*(1-p[1]/max(largest, 1e-9)))
			}
			color := colors[n%len(colors)]
			fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", path.String(), color)
			if l.name != "" {
				fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", x0+8+n%3*120, y0+plot+14+n/3*12, color, html.EscapeString(l.name))
			}
		}
	}
	return b.String() + "</svg>\n"
}
