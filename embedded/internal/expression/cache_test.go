package expression_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

func TestCache_ParsesOnce(t *testing.T) {
	parsed := 0
	cache := expression.NewCache(2, func(text string) (string, error) {
		parsed++
		if text == "" {
			return "", errors.New("empty")
		}
		return text, nil
	})
	for _, c := range []struct {
		text string
		want int
	}{{"a", 1}, {"a", 1}, {"b", 2}, {"a", 2}, {"b", 2}, {"", 3}, {"", 4}, {"a", 4}, {"c", 5}, {"c", 5}} {
		if got, err := cache.Get(c.text); got != c.text || (err == nil) != (c.text != "") || parsed != c.want {
			t.Fatalf("%q: %q, %v, parsed %d times, want %d", c.text, got, err, parsed, c.want)
		}
	}
	// The cache has room for two texts, so one of the three was evicted.
	_, _ = cache.Get("a")
	_, _ = cache.Get("b")
	if parsed < 6 {
		t.Fatal("the cache holds more than it may")
	}
}

func TestParser_ConcurrentUse(t *testing.T) {
	parser := expression.NewParser()
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 100 {
				name := fmt.Sprintf("a%d", (g+i)%7)
				_, err1 := parser.Condition(name + " = :v")
				_, err2 := parser.Filter(name + " = :v")
				_, err3 := parser.KeyCondition(name + " = :v")
				_, err4 := parser.Projection(name)
				_, err5 := parser.Update("REMOVE " + name)
				if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}
