package main

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// The files of entities contain several runs, one after the other. The plots show the median.

// middle returns the median of a value of the figures with a name.
func middle[T any](figures []T, name string, nameOf func(T) string, of func(T) float64) (float64, error) {
	var values []float64
	for _, f := range figures {
		if nameOf(f) == name {
			values = append(values, of(f))
		}
	}
	if len(values) == 0 {
		return 0, fmt.Errorf("there is no figure %q", name)
	}
	slices.Sort(values)
	return values[len(values)/2], nil
}

// ratio returns a ratio of `dynajournal bench`.
func ratio(figures []figure, name string) (float64, error) {
	return middle(figures, name, func(f figure) string { return f.Name }, func(f figure) float64 { return f.Ratio })
}

// ratios returns the ratios of the shared and of the native journal to Pekko's figure.
func ratios(figures []compared, name string) (shared, native float64, err error) {
	nameOf := func(f compared) string { return f.Name }
	if shared, err = middle(figures, name, nameOf, func(f compared) float64 { return f.Shared / f.Pekko }); err != nil {
		return 0, 0, err
	}
	native, err = middle(figures, name, nameOf, func(f compared) float64 { return f.Native / f.Pekko })
	return shared, native, err
}

// besideBehaviors draws the commands of entities relative to the commands of event-sourced
// behaviors.
func besideBehaviors(figures []compared, path string) error {
	p := plot.New()
	p.Title.Text = "Commands a second, in parts of Pekko's event-sourced behaviors'"
	p.Y.Label.Text = "ratio to Pekko"
	var shared, native plotter.Values
	var labels []string
	for _, n := range []int{1, 64, 256} {
		s, o, err := ratios(figures, fmt.Sprintf("commands, %d entities: commands", n))
		if err != nil {
			return err
		}
		shared, native, labels = append(shared, s), append(native, o), append(labels, fmt.Sprintf("%d entities", n))
	}
	if err := bars(p, []string{"shared journal", "native journal"}, shared, native); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p.NominalX(labels...)
	return p.Save(width, height, path)
}

// hotEntity draws the commands of one entity relative to commands that run one at a time, and
// relative to Pekko.
func hotEntity(figures []figure, behaviors []compared, path string) error {
	const what = "commands, one entity with 64 callers, a service 3ms away"
	alone, err := ratio(figures, "entities-hot/commands")
	if err != nil {
		return err
	}
	shared, native, err := ratios(behaviors, what+": commands")
	if err != nil {
		return err
	}
	joined, _, err := ratios(behaviors, what+", joined: commands")
	if err != nil {
		return err
	}
	p := plot.New()
	p.Title.Text = "One entity, 64 callers, a service 3 ms away: commands a second"
	p.Y.Label.Text = "ratio"
	if err := bars(p, []string{"entities"}, plotter.Values{alone, native, joined, shared}); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p.NominalX("to one at a time", "native, to Pekko", "shared, joined,\nto Pekko", "shared, to Pekko")
	return p.Save(width, height, path)
}

// entityCosts draws the cost of entities relative to the parts that they are built from.
func entityCosts(figures []figure, path string) error {
	p := plot.New()
	p.Title.Text = "Entities beside appends, and beside a map in memory"
	p.Y.Label.Text = "ratio"
	var values plotter.Values
	var labels []string
	for _, n := range []struct{ figure, label string }{
		{"entities-many/commands", "commands a\nsecond, to\nappends"}, {"entities-many/p99", "p99, to\nappends"},
		{"entities-many/cpu", "CPU, to\nappends"}, {"entities-memory/view", "View, to\na map"},
		{"entities-memory/command", "command\nwithout events,\nto a map"},
	} {
		r, err := ratio(figures, n.figure)
		if err != nil {
			return err
		}
		values, labels = append(values, r), append(labels, n.label)
	}
	if err := bars(p, []string{"entities"}, values); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p.NominalX(labels...)
	return p.Save(width, height, path)
}
