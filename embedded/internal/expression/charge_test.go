package expression_test

import "testing"

func TestCharge_OfClauses(t *testing.T) {
	for text, want := range map[string]int{
		"SET a = :s":                           3 + 19 + 1 + 3,
		"SET a = :s, b = :s":                   3 + 2*(19+1+3),
		"SET a.abc = :s":                       3 + 19 + (1 + 4 + 3) + 3,
		"SET a[10] = :s":                       3 + 19 + (1 + 4 + 2) + 3,
		"SET c = abc":                          3 + 19 + 1 + (1 + 14 + 3),
		"SET c = m.a[1]":                       3 + 19 + 1 + (1 + 14 + 1 + 14 + 1 + 14 + 1),
		"SET n = n + :n":                       3 + 19 + 1 + 34 + (1 + 14 + 1) + 2,
		"SET n = n - :n":                       3 + 19 + 1 + 37 + (1 + 14 + 1) + 2,
		"SET c = if_not_exists(c, :s)":         3 + 19 + 1 + 39 + (1 + 14 + 1) + 3,
		"SET c = list_append(c, :l)":           3 + 19 + 1 + 37 + (1 + 14 + 1) + (3 + 1 + 3),
		"SET #a = :s REMOVE b, m.abc ADD n :n": 3 + (19 + 1 + 3) + (1 + 1) + (1 + 1 + 4 + 3) + (19 + 1 + 2),
		"DELETE ss :ss":                        3 + 1 + 2,
	} {
		update, err := bindUpdate(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := update.Charge(); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
}
