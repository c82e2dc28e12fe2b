package repotest

import (
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// wordBudgets are constructions that readers stumble over, each with the number of its uses in
// comments of Go files. .github/CONTRIBUTING.md says what to write instead. The numbers only fall.
var wordBudgets = []struct {
	words string
	uses  int
}{
	{`those (of|that|which)`, 12},
	{`that of`, 3},
	{`what (is|was|it|follows)`, 23},
	{`go(es)? on`, 0},
	{`behind`, 31},
	{`beside`, 2},
	{`a (reading|look)`, 1},
	{`nobody|whoever`, 0},
}

// comments returns the text of all comments of a Go file, with one space between two words.
func comments(source string) string {
	var file scanner.Scanner
	position := token.NewFileSet().AddFile("", -1, len(source))
	file.Init(position, []byte(source), nil, scanner.ScanComments)
	var all []string
	for {
		_, kind, text := file.Scan()
		if kind == token.EOF {
			return strings.Join(all, " ")
		}
		if kind == token.COMMENT {
			all = append(all, strings.Fields(strings.NewReplacer("//", " ", "/*", " ", "*/", " ").Replace(text))...)
		}
	}
}

func TestComments_WordBudgets(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, file := range sources(t, ".go") {
		if source := readFile(t, file); !generated.MatchString(source) {
			all.WriteString(comments(source) + "\n")
		}
	}
	for _, of := range wordBudgets {
		uses := len(regexp.MustCompile(`(?i)\b(`+of.words+`)\b`).FindAllString(all.String(), -1))
		switch {
		case uses > of.uses:
			t.Errorf("comments have %q %d times, %d more than before: .github/CONTRIBUTING.md says what to write instead",
				of.words, uses, uses-of.uses)
		case uses < of.uses:
			t.Errorf("comments have %q %d times: lower its number here from %d", of.words, uses, of.uses)
		}
	}
}
