package bench_test

import "testing"

// BenchmarkStreams compares puts into a table with a stream of each view with puts into a table
// without a stream.
func BenchmarkStreams(b *testing.B) {
	for place, open := range storages(b) {
		for _, view := range []string{"KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"} {
			b.Run(place+"/"+view, func(b *testing.B) {
				compareTwo(b, rawCallers,
					&candidate{name: "stream", do: putsInto(b, open, view), items: 1},
					&candidate{name: "none", do: putsInto(b, open, ""), items: 1})
			})
		}
	}
}
