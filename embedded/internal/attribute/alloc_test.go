package attribute_test

import (
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

func TestItemsAreDecodedAndEncodedWithFewAllocations(t *testing.T) {
	json := []byte(`{"par":{"S":"journal-P-account-1-0"},"num":{"N":"17"},"pay":{"B":"AAECAwQFBgcICQoLDA0ODw=="},"done":{"BOOL":true}}`)
	item, err := attribute.DecodeItem(json)
	if err != nil {
		t.Fatal(err)
	}
	stored := attribute.AppendBinaryItem(nil, item)
	buffer := make([]byte, 0, 1024)
	// The necessary allocations: one copy of the input, the map and its buckets, and each binary.
	for _, c := range []struct {
		what string
		most float64
		do   func()
	}{
		{"read JSON", 4, func() { _, err = attribute.DecodeItem(json) }},
		{"read the binary form", 3, func() { _, err = attribute.DecodeBinaryItem(stored) }},
		{"write JSON", 0, func() { buffer = attribute.AppendItem(buffer[:0], item) }},
		{"write the binary form", 0, func() { buffer = attribute.AppendBinaryItem(buffer[:0], item) }},
		{"encode a text key", 0, func() { buffer = attribute.AppendKey(buffer[:0], item["par"]) }},
		{"encode a number key", 0, func() { buffer = attribute.AppendKey(buffer[:0], item["num"]) }},
	} {
		if got := testing.AllocsPerRun(100, c.do); got > c.most || err != nil {
			t.Errorf("%s: %v allocations, want %v at most; %v", c.what, got, c.most, err)
		}
	}
}
