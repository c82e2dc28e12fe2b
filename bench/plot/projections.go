package main

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// projections draws the events of projections relative to the parts that they are built from.
func projections(figures []figure, path string) error {
	p := plot.New()
	p.Title.Text = "Projections beside bare GetRecords, and beside bare transactions"
	p.Y.Label.Text = "ratio of events a second"
	var values plotter.Values
	var labels []string
	for _, n := range []struct{ figure, label string }{
		{"projections-speed/1/events", "at least once,\n1 event an id"},
		{"projections-speed/10/events", "10 events\nan id"},
		{"projections-speed/50/events", "50 events\nan id"},
		{"projections-speed/200/events", "200 events\nan id"},
		{"projections-once/transactions/events", "transactional"},
	} {
		r, err := ratio(figures, n.figure)
		if err != nil {
			return err
		}
		values, labels = append(values, r), append(labels, n.label)
	}
	if err := bars(p, []string{"projections"}, values); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p.NominalX(labels...)
	return p.Save(width, height, path)
}
