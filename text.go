package dynajournal

import (
	"errors"
	"slices"
	"unicode/utf8"
)

// errManifestNotText is why events and states are rejected whose manifest another would not read as
// it was written.
var errManifestNotText = errors.New("its manifest is not valid UTF-8")

// isText reports whether texts can be stored as they are. DynamoDB stores UTF-8 only, and on the
// way to it other bytes become replacement characters: two texts would become one.
func isText(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !utf8.ValidString(text) })
}
