package embedded

import "testing"

func TestPatternsMatchTheWholeText(t *testing.T) {
	cases := []struct {
		pattern, text string
		want          bool
	}{
		{"", "anything", true},
		{"", "", true},
		{"*", "", true},
		{"a", "a", true},
		{"a", "ab", false},
		{"a*", "ab", true},
		{"a*", "ba", false},
		{"*a", "ba", true},
		{"*a", "ab", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"*b*", "abc", true},
		{"**", "x", true},
		{"[a-z]?", "b1", false},
	}
	for _, c := range cases {
		if got := matches(c.pattern, c.text); got != c.want {
			t.Errorf("%q on %q: %v", c.pattern, c.text, got)
		}
	}
}
