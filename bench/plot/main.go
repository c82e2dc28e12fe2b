// Command plot draws the plots of bench/RESULTS.md and docs/formats.md from the files in
// bench/figures, which `dynajournal bench`, bench/pekko and the test of hot keys have printed as
// JSON. It is a separate module, so that the journal does not depend on its drawing libraries. It
// does not import the journal.
//
//	cd bench/plot && go run . -figures ../figures -out ../../docs/plots
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

func main() {
	figures := flag.String("figures", "../figures", "folder with the figures")
	out := flag.String("out", "../../docs/plots", "folder for the plots")
	flag.Parse()
	if err := draw(*figures, *out); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

// figure is a line that `dynajournal bench` or the test of hot keys has printed.
type figure struct {
	Name               string
	Value, Base, Ratio float64
}

type compared struct {
	Name                  string
	Pekko, Shared, Native float64
}

func draw(figures, out string) error {
	var measured []figure
	if err := read(filepath.Join(figures, "bench.jsonl"), &measured); err != nil {
		return err
	}
	var pekko []compared
	if err := read(filepath.Join(figures, "pekko.jsonl"), &pekko); err != nil {
		return err
	}
	var entities []figure
	if err := read(filepath.Join(figures, "entities.jsonl"), &entities); err != nil {
		return err
	}
	var projected []figure
	if err := read(filepath.Join(figures, "projections.jsonl"), &projected); err != nil {
		return err
	}
	var behaviors []compared
	if err := read(filepath.Join(figures, "pekko-entities.jsonl"), &behaviors); err != nil {
		return err
	}
	var keys []figure
	if err := read(filepath.Join(figures, "hot-key.jsonl"), &keys); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	return errors.Join(
		scale(measured, "scale-events", "stored events", filepath.Join(out, "scale-events.png")),
		scale(measured, "scale-entities", "entities that write in turn", filepath.Join(out, "scale-entities.png")),
		writes(measured, filepath.Join(out, "writes.png")),
		beside(pekko, filepath.Join(out, "pekko.png")),
		besideBehaviors(behaviors, filepath.Join(out, "pekko-entities.png")),
		hotEntity(entities, behaviors, filepath.Join(out, "hot-entity.png")),
		entityCosts(entities, filepath.Join(out, "entities.png")),
		projections(projected, filepath.Join(out, "projections.png")),
		hotKeys(keys, filepath.Join(out, "hot-key.png")))
}

// read reads a file with one JSON object per line.
func read[T any](path string, into *[]T) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read figures: %w", err)
	}
	defer file.Close() // it is only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var f T
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		*into = append(*into, f)
	}
	return lines.Err()
}

const width, height = 16 * vg.Centimeter, 10 * vg.Centimeter

// scale draws the cost of an event for a growing number of something, relative to the bare SDK's
// cost.
func scale(figures []figure, workload, what, path string) error {
	p := plot.New()
	p.Title.Text = "What an event costs, in parts of a bare PutItem"
	p.X.Label.Text, p.Y.Label.Text = what, "ratio to PutItem"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Min = 0
	p.Legend.Top = true
	var lines []any
	for _, kind := range []struct{ suffix, name string }{{"/cpu", "processor time"}, {"/write-units", "write units"}, {"/requests", "requests"}} {
		var points plotter.XYs
		for _, f := range figures {
			size, found := strings.CutPrefix(f.Name, workload+"/")
			if size, found = strings.CutSuffix(size, kind.suffix); !found || !strings.HasPrefix(f.Name, workload+"/") {
				continue
			}
			n, err := strconv.ParseFloat(size, 64)
			if err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			points = append(points, plotter.XY{X: n, Y: f.Ratio})
		}
		if len(points) == 0 {
			return fmt.Errorf("there are no figures of %s%s", workload, kind.suffix)
		}
		lines = append(lines, kind.name, points)
	}
	if err := plotutil.AddLinePoints(p, lines...); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p.Y.Max = max(p.Y.Max, 1.5) // space for the legend
	return p.Save(width, height, path)
}

// writes draws events per second relative to the bare SDK's PutItems.
func writes(figures []figure, path string) error {
	p := plot.New()
	p.Title.Text = "Events a second, in parts of bare conditional PutItems"
	p.Y.Label.Text = "ratio to PutItem"
	entities := []string{"64", "256", "1024"}
	var grouped, single plotter.Values
	for _, n := range entities {
		for suffix, values := range map[string]*plotter.Values{"/events": &grouped, "/events-ungrouped": &single} {
			i := slices.IndexFunc(figures, func(f figure) bool { return f.Name == "write-"+n+suffix })
			if i < 0 {
				return fmt.Errorf("there is no figure write-%s%s", n, suffix)
			}
			*values = append(*values, figures[i].Ratio)
		}
	}
	if err := bars(p, []string{"group commit", "without"}, grouped, single); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p.NominalX("64 entities", "256 entities", "1,024 entities")
	return p.Save(width, height, path)
}

// beside draws the journal's figures relative to the plug-in's.
func beside(figures []compared, path string) error {
	p := plot.New()
	p.Title.Text = "Events a second, in parts of the Pekko plug-in's"
	p.Y.Label.Text = "ratio to Pekko"
	names := []struct{ figure, label string }{
		{"persist, 64 entities: events", "persist, 64"}, {"persist, 256 entities: events", "persist, 256"},
		{"replay, 1 × 10000 events: events", "replay, 1"}, {"replay, 64 × 1000 events: events", "replay, 64"},
	}
	var shared, native plotter.Values
	var labels []string
	for _, n := range names {
		i := slices.IndexFunc(figures, func(f compared) bool { return f.Name == n.figure })
		if i < 0 {
			return fmt.Errorf("there is no figure %q", n.figure)
		}
		shared, native = append(shared, figures[i].Shared/figures[i].Pekko), append(native, figures[i].Native/figures[i].Pekko)
		labels = append(labels, n.label)
	}
	if err := bars(p, []string{"shared journal", "native journal"}, shared, native); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p.NominalX(labels...)
	return p.Save(width, height, path)
}

// hotKeys draws events per second by the number of busy entities, for each layout. Layouts with the
// same figures are drawn as one line.
func hotKeys(figures []figure, path string) error {
	p := plot.New()
	p.Title.Text = "Events of 20 KB a second, 1,000 write units a second for a partition key"
	p.X.Label.Text, p.Y.Label.Text = "busy entities", "events a second"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Y.Tick.Marker = plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(3)
	var lines []any
	var ticks plot.ConstantTicks
	for i, kind := range []struct{ layout, name string }{
		{"hash-key", "hash-key: no events share a key"},
		{"native", "current (native, shared) and pay: a hundred do"},
		{"naive", "naive: all of an entity do"},
	} {
		var points plotter.XYs
		for _, f := range figures {
			entities, found := strings.CutPrefix(f.Name, "hot-key/"+kind.layout+"/")
			n, err := strconv.ParseFloat(entities, 64)
			if !found || err != nil { // another layout, or new entities
				continue
			}
			points = append(points, plotter.XY{X: n, Y: f.Value})
			if i == 0 {
				ticks = append(ticks, plot.Tick{Value: n, Label: entities})
			}
		}
		if len(points) == 0 {
			return fmt.Errorf("there are no figures of hot-key/%s", kind.layout)
		}
		lines = append(lines, kind.name, points)
	}
	if err := plotutil.AddLinePoints(p, lines...); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p.X.Tick.Marker = ticks
	p.Y.Min, p.Y.Max = 10, 100_000 // space for the legend
	return p.Save(width, height, path)
}

// bars draws groups of bars next to each other, and a line at 1.
func bars(p *plot.Plot, names []string, groups ...plotter.Values) error {
	const thick = 20
	for i, values := range groups {
		chart, err := plotter.NewBarChart(values, vg.Points(thick))
		if err != nil {
			return fmt.Errorf("draw bars: %w", err)
		}
		chart.Color = plotutil.Color(i)
		chart.Offset = vg.Points(thick * (float64(i) - float64(len(groups)-1)/2))
		p.Add(chart)
		p.Legend.Add(names[i], chart)
	}
	one := plotter.NewFunction(func(float64) float64 { return 1 })
	one.Dashes = []vg.Length{vg.Points(4), vg.Points(4)}
	p.Add(one)
	p.Legend.Top = true
	p.Y.Min = 0
	p.Y.Max *= 1.25 // space for the legend
	return nil
}
