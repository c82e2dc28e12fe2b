package tags

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Offset is a position in the events of a tag: how far each lane was read. The zero value is the
// start. Offsets can be compared, and stored as text. An offset is valid for one index and one tag:
// a rebuilt index has other offsets.
type Offset struct {
	// text is the id of the index, a hash of the tag, and the number of the last read entry of each
	// lane, with dots between them. It is empty for the start.
	text string
}

// String returns the offset as text for [ParseOffset]. It is empty for the start. It has at most
// 1,300 bytes, and 30 in a small index of 4 lanes.
func (o Offset) String() string { return o.text }

// indexIDLength and tagHashLength are the lengths of the id of an index and of the hash of a tag.
const (
	indexIDLength = 8
	tagHashLength = 8
)

// ParseOffset parses a text of [Offset.String]. The error is a *dynajournal.ArgumentError. Whether
// the offset belongs to an index is only checked when the index is read.
func ParseOffset(text string) (Offset, error) {
	if text == "" {
		return Offset{}, nil
	}
	if _, ok := splitTagOffset(text); !ok {
		return Offset{}, engine.Argument("offset", fmt.Sprintf("%.100s", text), "it is not the text of an Offset")
	}
	return Offset{text}, nil
}

// tagPlace is a parsed offset.
type tagPlace struct {
	index, tagHash string
	positions      []int64
}

// splitTagOffset parses the text of an offset other than the start.
func splitTagOffset(text string) (tagPlace, bool) {
	const fixed = 2 // the index and the tag
	parts := strings.SplitN(text, ".", fixed+MaxLanes+1)
	if len(parts) <= fixed || len(parts) > fixed+MaxLanes {
		return tagPlace{}, false
	}
	place := tagPlace{index: parts[0], tagHash: parts[1]}
	if !isIndexID(place.index) || len(place.tagHash) != tagHashLength || !isHex(place.tagHash) {
		return tagPlace{}, false
	}
	for _, part := range parts[fixed:] {
		n, err := strconv.ParseInt(part, 10, 64)
		// MaxInt64 has no number after it.
		if err != nil || n < 0 || n == math.MaxInt64 || strconv.FormatInt(n, 10) != part {
			return tagPlace{}, false
		}
		place.positions = append(place.positions, n)
	}
	return place, true
}

// newTagOffset returns the offset of positions in the lanes of a tag.
func newTagOffset(index, tagHash string, positions []int64) Offset {
	b := make([]byte, 0, indexIDLength+tagHashLength+len(positions)*4)
	b = append(append(append(b, index...), '.'), tagHash...)
	for _, position := range positions {
		b = strconv.AppendInt(append(b, '.'), position, 10)
	}
	return Offset{string(b)}
}

// positions returns the last read entry of each lane of a tag.
func (x *Index) positions(tagHash string, from Offset) ([]int64, error) {
	if from.text == "" {
		return make([]int64, x.header.lanes), nil
	}
	place, ok := splitTagOffset(from.text)
	switch {
	case !ok || place.index != x.header.id || len(place.positions) != x.header.lanes:
		return nil, engine.Argument("offset", from.text, "it is not of this index")
	case place.tagHash != tagHash:
		return nil, engine.Argument("offset", from.text, "it is of another tag")
	}
	return place.positions, nil
}

// hashOf returns the hash of a tag, which its offsets contain.
func hashOf(tag string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(tag)) // it has no error
	return fmt.Sprintf("%08x", h.Sum32())
}

// isIndexID reports whether a text can be the id of an index.
func isIndexID(id string) bool { return len(id) == indexIDLength && isHex(id) }

// isHex reports whether a text has only lower-case hexadecimal digits.
func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
