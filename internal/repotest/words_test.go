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
	{`behind`, 23},
	{`beside`, 2},
	{`a (reading|look)`, 0},
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

// householdVerbs are verbs that do not say what a program does, such as "hold" for block, acquire
// or contain. .github/CONTRIBUTING.md has the field's verbs.
var householdVerbs = regexp.MustCompile(`^(begin|begins|began|begun|held|hold|holds|kept|look|looks|looked|` +
	`owe|owes|owed|settle|settled|tell|tells|told)$`)

// householdNames are the names with such a verb that are right: names of other packages and of
// DynamoDB, and Lookup in its two spellings.
var householdNames = map[string]bool{
	"BeginTx": true, "BeginsWith": true, "RangeBeginsWith": true, "LookUp": true, "LookPath": true, "maxLookAhead": true,
}

var wordOfName = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

func TestNames_NoHouseholdVerbs(t *testing.T) {
	t.Parallel()
	for _, path := range sources(t, ".go") {
		source := readFile(t, path)
		if generated.MatchString(source) {
			continue
		}
		for _, name := range names(source) {
			if householdNames[name] || strings.HasPrefix(name, "Test") {
				continue
			}
			for _, word := range wordOfName.FindAllString(name, -1) {
				if householdVerbs.MatchString(strings.ToLower(word)) {
					t.Errorf("%s: the name %s has the verb %q: .github/CONTRIBUTING.md says what to write instead",
						path, name, strings.ToLower(word))
				}
			}
		}
	}
}

// names returns the different identifiers of a Go file, in the order of their first uses.
func names(source string) []string {
	var file scanner.Scanner
	file.Init(token.NewFileSet().AddFile("", -1, len(source)), []byte(source), nil, 0)
	seen := map[string]bool{}
	var all []string
	for {
		_, kind, text := file.Scan()
		if kind == token.EOF {
			return all
		}
		if kind == token.IDENT && !seen[text] {
			seen[text] = true
			all = append(all, text)
		}
	}
}
