package jvm

import "slices"

// The replay filter's default settings.
const (
	filterWindow = 100
	oldWriters   = 10
)

// filtered returns the events that Pekko's replay filter lets through by default: if several
// writers have written, the events of the newer one. It holds back the last events of its window.
// At the first event of a new writer, it drops the events in rest with the same or a higher number.
func filtered(events []Event) []Event {
	var passed, rest []Event
	var writer string
	var old []string
	last := int64(-1)
	for _, e := range events {
		if len(rest) == filterWindow {
			passed, rest = append(passed, rest[0]), rest[1:]
		}
		switch {
		case e.Writer == writer:
			if e.SequenceNumber < last {
				continue
			}
		case slices.Contains(old, e.Writer):
			continue
		default:
			if writer != "" {
				old = append(old, writer)
			}
			old = old[max(len(old)-oldWriters, 0):]
			writer = e.Writer
			rest = slices.DeleteFunc(rest, func(h Event) bool { return h.SequenceNumber >= e.SequenceNumber })
		}
		rest, last = append(rest, e), e.SequenceNumber
	}
	return append(passed, rest...)
}
