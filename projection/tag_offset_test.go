package projection_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/tags"
)

func FuzzParseTagOffset(f *testing.F) {
	for _, text := range []string{
		"", "0123abcd.89abcdef.0", "0123abcd.89abcdef.17.0.4", "0123abcd.89abcdef.", "0123abcd.89abcdef", "0123abcd.89abcdeF.1",
		"0123abcd.89abcdef.01", "0123abcd.89abcdef.-1", "0123abcd.89abcdef.9223372036854775807", "0123abcd.89abcdef" + strings.Repeat(".1", 65),
		strings.Repeat(".", 1<<16),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		offset, err := tags.ParseOffset(text)
		if err != nil {
			if !errors.Is(err, dynajournal.ErrInvalidArgument) || offset != (tags.Offset{}) {
				t.Errorf("%q: %v, %v", text, offset, err)
			}
			return
		}
		if offset.String() != text {
			t.Errorf("%q: it is %q", text, offset)
		}
	})
}

func TestParseOffset_Invalid(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"": true, "0123abcd.89abcdef.0": true, "0123abcd.89abcdef" + strings.Repeat(".1", 64): true,
		"0123abcd.89abcdef.9223372036854775806": true,
		"0":                                     false, "0123abcd.89abcdef": false, "0123abcd.89abcdef.": false,
		"0123abcd.89abcdef" + strings.Repeat(".1", 65): false,
		"0123abcd.89abcdef.9223372036854775807":        false, "0123abcd.89abcdef.-1": false, "0123abcd.89abcdef.+1": false,
		"0123abcd.89abcdef.007": false, "0123abcd.89abcdeg.1": false, "0123abc.89abcdef.1": false, " 0123abcd.89abcdef.1": false,
	} {
		if _, err := tags.ParseOffset(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
