package jvm

import "slices"

// The replay filter's default settings.
const (
	filterWindow = 100
	oldWriters   = 10
)

// filtered returns the events that Pekko's replay filter lets through by default: if several
// writers have written, the events of the newer one. It holds back the last events of its window.
// At the first event of a new writer, it drops the held events with the same or a higher number.
func filtered(events []Event) []Event {
	var passed, held []Event
	var writer string
	var old []string
	last := int64(-1)
	for _, e := range events {
		if len(held) == filterWindow {
			passed, held = append(passed, held[0]), held[1:]
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
			held = slices.DeleteFunc(held, func(h Event) bool { return h.SequenceNumber >= e.SequenceNumber })
		}
		held, last = append(held, e), e.SequenceNumber
	}
	return append(passed, held...)
}
