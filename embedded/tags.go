package embedded

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxTags        = 50
	maxTagKey      = 128
	maxTagContents = 256
)

type tagParameter struct{ key, value *string }

func (r *decoder) tags() []tagParameter {
	tags := []tagParameter{}
	given := r.list(func() {
		var t tagParameter
		r.structure("Tag", func(name string) {
			switch name {
			case "Key":
				t.key = r.text()
			case "Value":
				t.value = r.text()
			default:
				r.skip()
			}
		})
		tags = append(tags, t)
	})
	if !given {
		return nil
	}
	return tags
}

func (c *constraints) tags(tags []tagParameter) {
	for i, t := range tags {
		member := "tags." + strconv.Itoa(i+1) + ".member."
		c.required(has(t.value), member+"value")
		if t.value != nil {
			c.length(utf8.RuneCountInString(*t.value), *t.value, member+"value", 0, maxTagContents)
		}
		c.required(has(t.key), member+"key")
		if t.key != nil {
			c.length(utf8.RuneCountInString(*t.key), *t.key, member+"key", 1, maxTagKey)
		}
	}
}

// mergeTags returns the tags of a table after some were added.
func mergeTags(present map[string]string, added []tagParameter) (map[string]string, error) {
	merged := maps.Clone(present)
	if merged == nil {
		merged = map[string]string{}
	}
	given := map[string]bool{}
	for _, t := range added {
		if given[*t.key] {
			return nil, invalid("Duplicate tag key found: %s", *t.key)
		}
		given[*t.key] = true
		switch {
		case strings.HasPrefix(*t.key, "aws:"):
			return nil, invalid(invalidParameters+"The tag key '%s' begins with aws:, which is reserved", *t.key)
		case !isTagText(*t.key), !isTagText(*t.value):
			return nil, invalid(invalidParameters + "Tag keys and values can only contain letters, white space, numbers and " +
				"the characters + - = . _ : / @")
		}
		merged[*t.key] = *t.value
	}
	if len(merged) > maxTags {
		return nil, invalid("One of the provided tags exceeds the limit of %d tags of a resource", maxTags)
	}
	return merged, nil
}

// isTagText reports whether the text has only characters that tags can have.
func isTagText(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsSpace(r) && !unicode.IsMark(r) &&
			!strings.ContainsRune("+-=._:/@", r)
	})
}

func describeTags(tags map[string]string) []object {
	described := make([]object, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		described = append(described, object{"Key": key, "Value": tags[key]})
	}
	return described
}
