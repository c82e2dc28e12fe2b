package embedded

import "time"

// throughputChanges has the part of a provisioned throughput's history that descriptions show.
type throughputChanges struct {
	IncreasedAt int64 `json:"increasedAtMilliseconds,omitempty"`
	DecreasedAt int64 `json:"decreasedAtMilliseconds,omitempty"`
	// Decreases counts the decreases on the day of DecreasedAt, in UTC.
	Decreases int `json:"decreases,omitempty"`
}

// after returns c with the change from one throughput to another added. A request may increase
// reads and decrease writes, or the reverse.
func (c throughputChanges) after(from, to throughput, now int64) throughputChanges {
	if to.Read > from.Read || to.Write > from.Write {
		c.IncreasedAt = now
	}
	if to.Read < from.Read || to.Write < from.Write {
		c.Decreases = c.decreasesOn(now) + 1
		c.DecreasedAt = now
	}
	return c
}

// decreasesOn returns the number of decreases on the day of a time, in UTC.
func (c throughputChanges) decreasesOn(now int64) int {
	const day = int64(24 * time.Hour / time.Millisecond)
	if c.DecreasedAt/day != now/day {
		return 0
	}
	return c.Decreases
}

// describe returns the description of a throughput with its changes.
func (c throughputChanges) describe(t throughput, now int64) object {
	description := object{
		"ReadCapacityUnits":      t.Read,
		"WriteCapacityUnits":     t.Write,
		"NumberOfDecreasesToday": c.decreasesOn(now),
	}
	if c.IncreasedAt != 0 {
		description["LastIncreaseDateTime"] = unixSeconds(c.IncreasedAt)
	}
	if c.DecreasedAt != 0 {
		description["LastDecreaseDateTime"] = unixSeconds(c.DecreasedAt)
	}
	return description
}
