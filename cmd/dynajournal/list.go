package main

import (
	"context"
	"fmt"
	"strings"
)

type listCommand struct {
	PersistenceID string `arg:"" name:"pid" help:"Persistence id."`
}

// listResult has the numbers of the stored items.
type listResult struct {
	PersistenceID string  `json:"persistence_id"`
	LowMarks      []int64 `json:"low_marks"`
	HighMarks     []int64 `json:"high_marks"`
	SequenceNrs   []int64 `json:"sequence_nrs"`
	Tombstones    []int64 `json:"tombstones"`
	Seals         []int64 `json:"seals"`
}

func (r listResult) text() string {
	return fmt.Sprintf("%s\n  low marks   %s\n  high marks  %s\n  events      %s\n  tombstones  %s\n  seals       %s",
		printable(r.PersistenceID),
		runs(r.LowMarks), runs(r.HighMarks), runs(r.SequenceNrs), runs(r.Tombstones), runs(r.Seals))
}

// runs formats ascending numbers, with consecutive ones as a range: 1–3, 7.
func runs(numbers []int64) string {
	if len(numbers) == 0 {
		return "none"
	}
	var text strings.Builder
	for i := 0; i < len(numbers); {
		end := i + 1
		for end < len(numbers) && numbers[end] == numbers[end-1]+1 {
			end++
		}
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprint(&text, numbers[i])
		if end-i > 1 {
			fmt.Fprintf(&text, "–%d", numbers[end-1])
		}
		i = end
	}
	return text.String()
}

// Run runs the command.
func (c *listCommand) Run(ctx context.Context, s *session) error {
	return s.journal(ctx, reading, func(j journal) error {
		list, err := j.list(ctx, c.PersistenceID)
		if err != nil {
			return err
		}
		return s.result.write(list)
	})
}

// present makes no elements an empty array in JSON, not null.
func present[T any](elements []T) []T {
	if elements == nil {
		return []T{}
	}
	return elements
}
