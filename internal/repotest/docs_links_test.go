package repotest

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	codeBlock   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	codeSpan    = regexp.MustCompile("`[^`\n]*`")
	inlineLink  = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)`)
	heading     = regexp.MustCompile(`(?m)^#{1,6} +(.*?)[ #]*$`)
	linkOfTitle = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// anchors returns the anchors of a page's headings, as GitHub generates them: the letters, digits,
// hyphens and underscores in lower case, with a hyphen for each space. A repeated anchor gets a
// number.
func anchors(page string) map[string]bool {
	names := map[string]bool{}
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(page, ""), -1) {
		title := linkOfTitle.ReplaceAllString(m[1], "$1")
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, title)
		if n := seen[name]; n > 0 {
			names[fmt.Sprintf("%s-%d", name, n)] = true
		} else {
			names[name] = true
		}
		seen[name]++
	}
	return names
}

// brokenLinks returns the faults of a page's links to files and headings of the repository. It does
// not follow links to other sites.
func brokenLinks(page, text string, read func(string) (string, error)) []string {
	var broken []string
	text = codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "code")
	for _, m := range inlineLink.FindAllStringSubmatch(text, -1) {
		u, err := url.Parse(m[1])
		if err != nil {
			broken = append(broken, err.Error())
			continue
		}
		if u.IsAbs() {
			continue
		}
		target := page
		if u.Path != "" {
			target = path.Join(path.Dir(page), u.Path)
		}
		content, err := read(target)
		switch {
		case err != nil:
			broken = append(broken, fmt.Sprintf("%s links to %s: %v", page, m[1], err))
		case u.Fragment != "" && !anchors(content)[u.Fragment]:
			broken = append(broken, fmt.Sprintf("%s links to %s: %s has no such heading", page, m[1], target))
		}
	}
	return broken
}

func TestLinksBetweenPagesHaveATarget(t *testing.T) {
	t.Parallel()
	read := func(name string) (string, error) {
		info, err := os.Stat(inRoot(name))
		if err != nil || info.IsDir() {
			return "", err
		}
		return readFile(t, name), nil
	}
	for _, page := range sources(t, ".md") {
		for _, broken := range brokenLinks(page, readFile(t, page), read) {
			t.Error(broken)
		}
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"docs/a.md": "# One `two`, three\n\n## Same\n\n## Same\n\n```\n# no heading\n```\n",
		"b.md":      "",
	}
	read := func(name string) (string, error) {
		if text, ok := pages[name]; ok {
			return text, nil
		}
		return "", os.ErrNotExist
	}
	for link, found := range map[string]bool{
		"a.md":               true,
		"#one-two-three":     true,
		"a.md#same-1":        true,
		"../b.md":            true,
		"https://a.b/c.md#d": true,
		"c.md":               false,
		"b.md":               false,
		"a.md#same-2":        false,
		"#no-heading":        false,
		"../b.md#one":        false,
	} {
		text := pages["docs/a.md"] + "See [this](" + link + ").\n"
		if broken := brokenLinks("docs/a.md", text, read); (len(broken) == 0) != found {
			t.Errorf("link %s: %q", link, broken)
		}
	}
}
