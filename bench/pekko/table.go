package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// row has a figure of each service, and the intended ratio to Pekko's figure.
type row struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Pekko  float64 `json:"pekko"`
	Shared float64 `json:"shared"`
	Native float64 `json:"native"`
	Goal   string  `json:"goal,omitempty"`
}

type table struct{ rows []row }

// print prints a Markdown table, or one JSON object per line.
func (t *table) print(w io.Writer, asJSON bool) error {
	if asJSON {
		lines := json.NewEncoder(w)
		for _, r := range t.rows {
			if err := lines.Encode(r); err != nil {
				return fmt.Errorf("print: %w", err)
			}
		}
		return nil
	}
	var text strings.Builder
	text.WriteString("| what | unit | Pekko | shared | ratio | native | ratio | goal |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range t.rows {
		fmt.Fprintf(&text, "| %s | %s | %.0f | %.0f | %.2f | %.0f | %.2f | %s |\n", r.Name, r.Unit, r.Pekko,
			r.Shared, r.Shared/r.Pekko, r.Native, r.Native/r.Pekko, r.Goal)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
