//go:build differential

package conformance_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/internal/dynoxide"
)

// TestScripts_SameResponsesAsDynoxide sends the scripts to the engine and
// to dynoxide.
func TestScripts_SameResponsesAsDynoxide(t *testing.T) {
	binary := dynoxide.Find(t)
	for _, file := range scripts(t) {
		t.Run(title(file), func(t *testing.T) {
			if title(file) == "multi_attribute_keys" {
				t.Skip("skipped: dynoxide has no index keys with several HASH or RANGE attributes")
			}
			s := readScript(t, file)
			engine, other := serveEngine(t), dynoxide.Serve(t, binary)
			for _, step := range s.steps {
				compare(t, engine, other, step.operation, step.body)
			}
		})
	}
}

// sequencesVariable names the environment variable with the number of generated sequences.
const sequencesVariable = "DYNAJOURNAL_SEQUENCES"

// TestGeneratedRequests_SameResponsesAsDynoxide sends seeded sequences of
// requests to both.
func TestGeneratedRequests_SameResponsesAsDynoxide(t *testing.T) {
	binary := dynoxide.Find(t)
	sequences := uint64(20)
	if given := os.Getenv(sequencesVariable); given != "" {
		var err error
		if sequences, err = strconv.ParseUint(given, 10, 32); err != nil {
			t.Fatalf("%s: %v", sequencesVariable, err)
		}
	}
	for seed := range sequences {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			engine, other := serveEngine(t), dynoxide.Serve(t, binary)
			g := generator{rand.New(rand.NewPCG(seed, 1))}
			for _, table := range generatedTables {
				compare(t, engine, other, "CreateTable", table)
			}
			for range 250 {
				operation, body := g.request()
				if !compare(t, engine, other, operation, body) {
					return // later responses would differ because of this one
				}
			}
		})
	}
}

// compare sends a request to both, and reports whether the responses are equal or differ in a known
// way.
func compare(t *testing.T, engine, other, operation, body string) bool {
	t.Helper()
	ours, theirs := normal(t, operation, ask(t, engine, operation, body)), normal(t, operation, ask(t, other, operation, body))
	if ours == theirs {
		return true
	}
	for _, d := range differences {
		if d.explains(t, operation, body, ours, theirs) {
			return true
		}
	}
	t.Errorf("%s %.1500s\n  ours %.1500s\ntheirs %.1500s", operation, body, ours, theirs)
	return false
}

// normal removes the parts of a digest that are not guaranteed: the wording of messages, the
// descriptions of tables (which have their own scripts), the order of unordered items, and
// estimates of sizes.
func normal(t *testing.T, operation, response string) string {
	t.Helper()
	status, rest, _ := strings.Cut(response, " ")
	if kind, _, failed := strings.Cut(rest, ": "); failed && strings.HasPrefix(status, "4") && !strings.HasPrefix(rest, "{") {
		if kind != "TransactionCanceledException" {
			return status + " " + kind
		}
		_, rest, _ = strings.Cut(rest, "] ")
	}
	var members map[string]any
	if json.Unmarshal([]byte(rest), &members) != nil {
		return status
	}
	delete(members, "TableDescription")
	delete(members, "Table")
	ordered := operation == "Query" || operation == "ExecuteStatement"
	return status + " " + encode(t, simple(t, members, ordered))
}

func simple(t *testing.T, value any, ordered bool) any {
	t.Helper()
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = simple(t, value[i], ordered)
		}
	case map[string]any:
		for name, member := range value {
			switch list, isList := member.([]any); {
			case name == "SizeEstimateRangeGB", name == "Message":
				value[name] = "*"
			case isList && len(list) == 0 && name == "Items":
				delete(value, name)
			case isList && (name == "SS" || name == "NS" || name == "BS" || name == "Items" && !ordered || name == "ConsumedCapacity"):
				slices.SortFunc(list, func(x, y any) int { return strings.Compare(encode(t, x), encode(t, y)) })
			default:
				value[name] = simple(t, member, ordered)
			}
		}
	}
	return value
}
