package engine

import "testing"

func TestRowCache_Bounded(t *testing.T) {
	t.Parallel()
	c := newRowCache()
	c.most = 3 * (cachedRowBytes + len("a") + len("w"))
	at := func(seq int64) Row {
		return Row{Offset: Offset{Seq: seq, Writer: "w"}, Started: true}
	}
	for i, key := range []string{"a", "b", "c", "a", "d"} { // b was used longest ago
		c.add(key, at(int64(i)))
	}
	for key, want := range map[string]int64{"a": 3, "c": 2, "d": 4} {
		if got, ok := c.take(key); !ok || got.Offset != at(want).Offset || !got.Started {
			t.Errorf("%s: %+v, %v", key, got, ok)
		}
		if _, ok := c.take(key); ok {
			t.Errorf("%s is still there", key)
		}
	}
	if _, ok := c.take("b"); ok || c.bytes != 0 || c.used.Len() != 0 {
		t.Errorf("b is there: %v; %d bytes of %d rows", ok, c.bytes, c.used.Len())
	}
	c.add(string(make([]byte, 1000)), at(1)) // too large
	if c.bytes != 0 {
		t.Errorf("%d bytes", c.bytes)
	}
}
