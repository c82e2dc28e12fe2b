package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func TestReason_MostSpecificError(t *testing.T) {
	t.Parallel()
	for word, err := range map[string]error{
		"":                  nil,
		"other":             errors.New("an error of the caller"),
		"throttled":         fmt.Errorf("append: %w", ErrThrottled),
		"outcome_unknown":   &OutcomeUnknownError{Err: ErrUnavailable},
		"writer_ended":      fmt.Errorf("%w: %w", ErrWriterEnded, ErrWriterConflict),
		"canceled":          context.Canceled,
		"deadline_exceeded": fmt.Errorf("wait: %w", context.DeadlineExceeded),
	} {
		if got := Reason(err); got != word {
			t.Errorf("Reason(%v) is %q, want %q", err, got, word)
		}
	}
}

// Each error has one word, and no other error has the same one.
func TestReason_EveryError(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Err") {
			declared[spec.Names[0].Name] = true
		}
		return true
	})
	words := map[string]bool{}
	for _, reason := range reasons {
		if words[reason.Word] || Reason(reason.Err) != reason.Word {
			t.Errorf("Reason(%v) is %q, want %q, the word of no other error", reason.Err, Reason(reason.Err), reason.Word)
		}
		words[reason.Word] = true
	}
	const others = 3 // a condition, and the two of contexts
	if len(declared) < 20 || len(declared) != len(reasons)-others {
		t.Errorf("the package has %d errors, and Reason %d words for them", len(declared), len(reasons)-others)
	}
}
