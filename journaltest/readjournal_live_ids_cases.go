package journaltest

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// livingListCases test live lists of ids.
func livingListCases() []readCase {
	return []readCase{
		{name: "a live listing gives the ids that are there, then new ones, each once", run: liveIDs},
		{name: "a live listing ends at its limit", run: liveIDsLimited},
		{name: "a live listing is bounded by its prefix", run: liveIDsPrefixed},
	}
}

func liveIDs(s *readScene) {
	s.wantStarted("a", "b", "c")
	s.deleteTo(s.recovered(s.journal, "b"), 1)
	queries := make([]*live[string], len(s.ways))
	for i, w := range s.ways {
		queries[i] = start(s, func(ctx context.Context) iter.Seq2[string, error] { return w.Read.IDs(ctx, IDs{}) })
	}
	want := []string{"a", "b", "c"}
	for i := range 5 {
		for k, q := range queries {
			found := q.await(s, len(want))
			if !slices.Equal(slices.Sorted(slices.Values(found)), slices.Sorted(slices.Values(want))) {
				s.Errorf("%s: given are %q, want %q", s.ways[k].Name, found, want)
			}
		}
		pid := fmt.Sprintf("0-new-%d", i)
		s.wantStarted(pid)
		s.singles(s.recovered(s.journal, "a"), 1)
		s.deleteTo(s.recovered(s.journal, "c"), 1)
		want = append(want, pid)
	}
	for k, q := range queries {
		q.await(s, len(want))
		if found := q.ended(s); len(found) != len(want) {
			s.Errorf("%s: given are %q, want %q", s.ways[k].Name, found, want)
		}
	}
}

func liveIDsLimited(s *readScene) {
	s.wantStarted("a", "b")
	for _, w := range s.ways {
		q := start(s, func(ctx context.Context) iter.Seq2[string, error] { return w.Read.IDs(ctx, IDs{Limit: 2}) })
		<-q.done
		if found, err := q.soFar(); len(found) != 2 || err != nil {
			s.Errorf("%s: with limit 2, the query gave %q, error %v", w.Name, found, err)
		}
	}
	w := s.ways[0]
	q := start(s, func(ctx context.Context) iter.Seq2[string, error] { return w.Read.IDs(ctx, IDs{Limit: 3}) })
	q.await(s, 2)
	s.wantStarted("c", "d")
	<-q.done
	if found, err := q.soFar(); len(found) != 3 || err != nil {
		s.Errorf("%s: with limit 3, the query gave %q, error %v", w.Name, found, err)
	}
}

func liveIDsPrefixed(s *readScene) {
	s.wantStarted("a-1", "b-1")
	for i, w := range s.ways {
		q := start(s, func(ctx context.Context) iter.Seq2[string, error] { return w.Read.IDs(ctx, IDs{Prefix: "a-"}) })
		q.await(s, i+1)
		s.wantStarted(fmt.Sprintf("b-%d", i+2), fmt.Sprintf("a-%d", i+2))
		q.await(s, i+2)
		for _, pid := range q.ended(s) {
			if pid[0] != 'a' {
				s.Errorf("%s: with prefix a-, the query gave %q", w.Name, pid)
			}
		}
	}
}
