package journaltest

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// listingCases test which ids are listed.
func listingCases() []readCase {
	return []readCase{
		{name: "an empty journal has no ids", run: func(s *readScene) { s.wantIDs(IDs{}) }},
		{name: "each id is listed once, however odd it is", run: oddIDsListed},
		{name: "each id is listed once, however many events it has", run: manyEvents},
		{name: "an id whose first events were deleted is listed", run: deletedFirst},
		{name: "a purged id is not listed, until it is used again", run: purgedIDs},
		{name: "several journals in one table are not mixed", run: severalJournals},
		{name: "ids that an older plug-in or a crash left in the table", table: true, run: plantedIDs},
		{name: "an id whose first number was never written is listed", table: true, run: sealedFirstNumber},
		{name: "a listing continues after every id", run: resumed},
		{name: "a listing continues after an id that was deleted or purged meanwhile", run: resumedAfterGone},
		{name: "a limit bounds a listing", run: limited},
		{name: "a prefix bounds a listing", run: prefixed},
		{name: "a listing can be left, and begun again", run: leftListing},
		{name: "a listing ends with its context, and returns the error", run: cancelledListing},
		{name: "wrong arguments of a listing are refused", run: wrongListing},
		{name: "ten thousand ids", run: manyIDs},
		{name: "a listing while writers are at work", run: listingAmongWriters},
	}
}

// odd are ids whose keys could be read in more than one way.
var odd = []string{
	"a", "A", "a-", "-a", "a-0", "a-1", "a-00", "a-0-0", "0", "-0", "0-0", "7", "a7", "a-77", "order-1", "order-1-0", "order-10",
	"P", "-P-", "P-x", "x-P-y", "a-P-a-0", "SL", "-SL-", "SL-y", "x-SL-y-0", "x-SL-y-3", "SH-y-3", "x-SH-y-0", "x-META", "META",
	"journal", "journal-P-x", "journal-SL-x-0", "journal2", "user|42", "Order|", "ünïcöde 漢字 😀", "sp ace/slash%25", "a\tb", "a\u0000b",
	"\u0001", "\uffff", "\U0010ffff", strings.Repeat("long ", 100),
}

func oddIDsListed(s *readScene) {
	s.wantStarted(odd...)
	s.wantIDs(IDs{}, odd...)
	s.wantIDs(IDs{Sorted: true}, odd...)
}

func manyEvents(s *readScene) {
	s.batch(s.recovered(s.journal, "batch"), 150)
	s.singles(s.recovered(s.journal, "singles"), 205)
	s.batch(s.written("both", 99), 3)
	s.wantIDs(IDs{}, "batch", "both", "singles")
}

// deletedFirst deletes in steps that leave low marks in several shards.
func deletedFirst(s *readScene) {
	var all []string
	for _, pid := range append(slices.Clone(odd), "one", "some", "all") {
		all = append(all, pid)
		s.deleteTo(s.written(pid, 2), 1)
	}
	s.deleteTo(s.recovered(s.journal, "all"), math.MaxInt64)
	long := s.written("long", 305)
	for _, to := range []int64{1, 99, 100, 150, 250, 304, math.MaxInt64} {
		s.deleteTo(long, to)
		s.wantIDs(IDs{}, append(all, "long")...)
	}
	s.singles(long, 1)
	s.wantIDs(IDs{}, append(all, "long")...)
	s.wantIDs(IDs{Sorted: true}, append(all, "long")...)
}

func purgedIDs(s *readScene) {
	s.wantStarted("a", "b", "c", "d")
	s.singles(s.recovered(s.journal, "b"), 120)
	s.deleteTo(s.recovered(s.journal, "b"), 110)
	s.deleteTo(s.recovered(s.journal, "d"), 1)
	long := s.written("long", 305)
	s.deleteTo(long, 50)
	s.deleteTo(long, 150)
	s.deleteTo(long, 250)
	for _, pid := range []string{"a", "b", "d", "long", "never written"} {
		s.purge(pid)
	}
	s.wantIDs(IDs{}, "c")
	for _, pid := range []string{"b", "d", "long"} {
		s.singles(s.recovered(s.journal, pid), 1)
	}
	s.wantIDs(IDs{}, "b", "c", "d", "long")
	s.purge("b")
	s.wantIDs(IDs{}, "c", "d", "long")
}

// severalJournals has journals whose names are prefixes of each other and of each other's keys.
func severalJournals(s *readScene) {
	names := []string{DefaultName, DefaultName + "2", DefaultName + "-2", "journa", DefaultName + "-P-x"}
	ids := []string{"a", "a-0", "y", "2-a", "x-P-q", "x-SL-q", "P-x", "long"}
	scenes := make([]*readScene, len(names))
	var want [][]string
	for i, journalName := range names {
		scenes[i] = s
		if journalName != DefaultName {
			scenes[i] = s.in(journalName)
		}
		var own []string
		for k, pid := range ids {
			if (k+i)%3 == 0 {
				continue // so that some are mixed
			}
			w := scenes[i].written(pid, 2)
			if pid == "long" {
				scenes[i].singles(w, 150)
			}
			own = append(own, pid)
		}
		want = append(want, own)
	}
	check := func() {
		s.Helper()
		for i := range names {
			for _, w := range scenes[i].ways {
				found := scenes[i].list(w, IDs{})
				slices.Sort(found)
				sorted := slices.Sorted(slices.Values(want[i]))
				s.same(fmt.Sprintf("journal %q, %s", names[i], w.Name), IDs{}, found, sorted)
			}
		}
	}
	check()
	for i := range names {
		for k, pid := range want[i] {
			if k%2 == 0 {
				scenes[i].deleteTo(scenes[i].recovered(scenes[i].journal, pid), 1)
			}
		}
	}
	check()
	for i := range names {
		scenes[i].purge(want[i][0])
		want[i] = want[i][1:]
	}
	check()
}

// plantedIDs has items of journals whose names make their keys ambiguous. Such a journal can no
// longer be created, but one may exist. Every event contains its own id.
func plantedIDs(s *readScene) {
	s.wantStarted("a", "b")
	s.singles(s.recovered(s.journal, "a"), 104)
	t := *s.store.Table
	for _, journalName := range []string{DefaultName + "-P", DefaultName + "-SL", DefaultName + "-SH", DefaultName + "-P-x"} {
		t.JournalName = journalName
		s.plant(
			t.single("y", 1, writerA), t.single("y", 100, writerA), t.single("y", 101, writerA), t.highMark("y", 100),
			t.single("z-0", 1, writerA), t.tombstoneOf("w", 1),
		)
	}
	s.wantIDs(IDs{}, "a", "b")
	s.wantIDs(IDs{Sorted: true}, "a", "b")
}

// tombstoneOf returns a tombstone that does not expire soon.
func (t *Table) tombstoneOf(pid string, seq int64) item {
	it := t.seal(pid, seq)
	it["expires"] = number(math.MaxInt32)
	return it
}

// sealedFirstNumber has an atomic write whose first member was never stored. The next writer
// continues after it.
func sealedFirstNumber(s *readScene) {
	s.plant(s.store.Table.member("a", 2, writerA, 1, 2))
	w := s.recovered(s.journal, "a")
	s.singles(w, 1)
	s.wantIDs(IDs{}, "a")
	s.deleteTo(w, math.MaxInt64)
	s.wantIDs(IDs{}, "a")
}

// eachResumable calls check for each way whose listings can be resumed.
func (s *readScene) eachResumable(check func(w Way)) {
	s.Helper()
	for _, w := range s.ways {
		if !w.Unordered {
			check(w)
		}
	}
}

// someIDs are odd ids, some with deleted first events.
func someIDs(s *readScene) []string {
	s.Helper()
	s.wantStarted(odd...)
	for i, pid := range odd {
		if i%3 == 0 {
			s.deleteTo(s.recovered(s.journal, pid), 1)
		}
	}
	return odd
}

func resumed(s *readScene) {
	someIDs(s)
	s.eachResumable(func(w Way) {
		for _, sorted := range []bool{false, true} {
			all := s.list(w, IDs{Sorted: sorted})
			for i, pid := range all {
				if rest := s.list(w, IDs{After: pid, Sorted: sorted}); !slices.Equal(rest, all[i+1:]) {
					s.Fatalf("%s, sorted %t: after %q are listed %q, want %q", w.Name, sorted, pid, rest, all[i+1:])
				}
			}
		}
	})
}

// resumedAfterGone continues after an id that has changed. No other id may be skipped.
func resumedAfterGone(s *readScene) {
	ids := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for i, w := range s.ways {
		if w.Unordered {
			continue
		}
		var mine []string
		for _, pid := range ids {
			mine = append(mine, fmt.Sprintf("%d%s", i, pid))
		}
		s.wantStarted(mine...)
		all := s.list(w, IDs{Prefix: fmt.Sprint(i)})
		if len(all) != len(ids) {
			s.Fatalf("%s lists %q", w.Name, all)
		}
		s.deleteTo(s.recovered(s.journal, all[2]), 1)
		s.purge(all[4])
		for _, k := range []int{2, 4} {
			rest := s.list(w, IDs{After: all[k], Prefix: fmt.Sprint(i)})
			for _, pid := range all[k+1:] {
				if pid != all[4] && !slices.Contains(rest, pid) {
					s.Errorf("%s: after %q, which is gone, are listed %q: %q is left out", w.Name, all[k], rest, pid)
				}
			}
		}
	}
}

func limited(s *readScene) {
	someIDs(s)
	for _, w := range s.ways {
		for _, most := range []int{1, 2, len(odd) - 1, len(odd), len(odd) + 1, math.MaxInt} {
			found := s.list(w, IDs{Limit: most})
			if len(found) != min(most, len(odd)) {
				s.Errorf("%s: with limit %d, %d ids are listed", w.Name, most, len(found))
			}
		}
	}
	s.eachResumable(func(w Way) { // page by page
		var all []string
		for opts := (IDs{Limit: 7}); ; {
			found := s.list(w, opts)
			if all = append(all, found...); len(found) < opts.Limit {
				break
			}
			opts.After = found[len(found)-1]
		}
		slices.Sort(all)
		s.same(w.Name+", page by page", IDs{}, all, slices.Sorted(slices.Values(odd)))
	})
}

func prefixed(s *readScene) {
	someIDs(s)
	for _, prefix := range []string{"a", "a-", "a-0", "order-1", "-", "journal", "x-P-y", "ü", "漢", "\u0000", "\U0010ffff", "none", "long", "zzz", strings.Repeat("x", 1500)} {
		var want []string
		for _, pid := range odd {
			if strings.HasPrefix(pid, prefix) {
				want = append(want, pid)
			}
		}
		s.wantIDs(IDs{Prefix: prefix}, want...)
		s.wantIDs(IDs{Prefix: prefix, Sorted: true}, want...)
		s.eachResumable(func(w Way) {
			all := s.list(w, IDs{Prefix: prefix})
			for i, pid := range all {
				if rest := s.list(w, IDs{Prefix: prefix, After: pid, Limit: 2}); !slices.Equal(rest, all[i+1:min(i+3, len(all))]) {
					s.Errorf("%s, prefix %q: the two after %q are %q, want of %q", w.Name, prefix, pid, rest, all[i+1:])
				}
			}
		})
	}
	// A sorted listing can also continue after text that is not an id, before its prefix or after
	// it.
	order := []string{"order-1", "order-1-0", "order-10"}
	for _, after := range []string{"A", "order", "order-1", "order-1!", "order-1-", "order-1-0", "order-1.", "order-2", "p"} {
		want := slices.DeleteFunc(slices.Clone(order), func(pid string) bool { return pid <= after })
		s.eachResumable(func(w Way) {
			if found := s.list(w, IDs{Prefix: "order", After: after, Sorted: true}); !slices.Equal(found, want) {
				s.Errorf("%s: sorted, with prefix order, after %q: listed %q, want %q", w.Name, after, found, want)
			}
		})
	}
}

func leftListing(s *readScene) {
	someIDs(s)
	for _, w := range s.ways {
		sequence := w.Read.CurrentIDs(s.Context(), IDs{})
		for most := 1; most <= len(odd); most += 5 {
			n := 0
			for _, err := range sequence {
				if err != nil {
					s.Fatalf("%s: %v", w.Name, err)
				}
				if n++; n == most {
					break
				}
			}
			if n != most {
				s.Errorf("%s: left after %d, had %d ids", w.Name, most, n)
			}
		}
	}
}

func cancelledListing(s *readScene) {
	s.wantStarted(odd...)
	for _, w := range s.ways {
		for _, after := range []int{0, 1} {
			ctx, cancel := context.WithCancel(s.Context())
			if after == 0 {
				cancel()
			}
			n, ended := 0, error(nil)
			for _, err := range w.Read.CurrentIDs(ctx, IDs{}) {
				if err != nil {
					ended = err
					break
				}
				if n++; n == after {
					cancel()
				}
			}
			cancel()
			if ended == nil && n < len(odd) {
				s.Errorf("%s: cancelled after %d ids, it listed %d of %d without an error", w.Name, after, n, len(odd))
			}
		}
	}
}

func wrongListing(s *readScene) {
	s.wantStarted("a")
	for _, w := range s.ways {
		refused(s, w.Name+", a negative limit", func(ctx context.Context) iter.Seq2[string, error] { return w.Read.CurrentIDs(ctx, IDs{Limit: -1}) })
		refused(s, w.Name+", a negative limit, live", func(ctx context.Context) iter.Seq2[string, error] { return w.Read.IDs(ctx, IDs{Limit: -1}) })
		for what, after := range map[string]string{"too long": strings.Repeat("x", 3000), "not UTF-8": "a\xff"} {
			if w.Unordered {
				refused(s, w.Name+", to go on without an order", func(ctx context.Context) iter.Seq2[string, error] { return w.Read.CurrentIDs(ctx, IDs{After: "a"}) })
				continue
			}
			for _, err := range w.Read.CurrentIDs(s.Context(), IDs{After: after}) {
				if err != nil && !s.suite.IsInvalid(err) {
					s.Errorf("%s, after an id that is %s: got error %v, want an error of invalid arguments",
						w.Name, what, err)
				}
			}
		}
	}
}

// manyIDs writes many ids, with as many writers as there are processors.
func manyIDs(s *readScene) {
	many := s.suite.Many
	pid := func(i int) string { return fmt.Sprintf("entity-%05d", i*7919%many) }
	want := make([]string, many)
	var next atomic.Int64
	var group sync.WaitGroup
	const hands = 8
	for range hands {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < many; i = int(next.Add(1)) - 1 {
				want[i] = pid(i)
				w, err := s.journal.Recover(s.Context(), want[i], Replay{}, func(Event) error { return nil })
				if err == nil {
					_, _, err = w.Append(s.Context(), payload(1))
				}
				if err == nil && i%100 == 0 {
					err = w.DeleteTo(s.Context(), 1)
				}
				if err != nil {
					s.Errorf("writing %s: %v", want[i], err)
					return
				}
			}
		})
	}
	if group.Wait(); s.Failed() {
		return
	}
	slices.Sort(want)
	for _, w := range s.ways {
		found := s.list(w, IDs{})
		if sorted := slices.Sorted(slices.Values(found)); !slices.Equal(sorted, want) {
			s.Errorf("%s: listed %d ids, want %d, each once", w.Name, len(found), many)
			continue
		}
		if w.Unordered {
			continue
		}
		for _, i := range []int{0, 1, many / 3, many / 2, many - 2, many - 1} {
			rest := s.list(w, IDs{After: found[i], Limit: 100})
			if end := min(i+101, many); !slices.Equal(rest, found[i+1:end]) {
				s.Errorf("%s: after the id at place %d the wrong ids are listed", w.Name, i)
			}
		}
	}
	s.wantIDs(IDs{Prefix: "entity-000"}, want[:min(100, many)]...)
}

// listingAmongWriters lists while ids are created, emptied, and purged. Ids that exist all the time
// are listed exactly once. Ids that never exist are not listed. An id that was purged and started
// again meanwhile may be listed once for each of its lives.
func listingAmongWriters(s *readScene) {
	const steady, rounds = 40, 12
	var all []string
	for i := range steady {
		all = append(all, fmt.Sprintf("steady-%d", i))
	}
	s.wantStarted(all...)
	var group sync.WaitGroup
	var done atomic.Bool
	work := func(do func(n int) error) {
		group.Go(func() {
			for n := 0; !done.Load(); n++ {
				if err := do(n); err != nil {
					s.Error(err)
					return
				}
			}
		})
	}
	write := func(pid string, deletes bool) error {
		w, err := s.journal.Recover(s.Context(), pid, Replay{}, func(Event) error { return nil })
		if err == nil {
			_, _, err = w.Append(s.Context(), []byte("more"))
		}
		if err == nil && deletes {
			err = w.DeleteTo(s.Context(), math.MaxInt64)
		}
		if err != nil {
			return fmt.Errorf("writing to %s: %w", pid, err)
		}
		return nil
	}
	random := rand.New(rand.NewPCG(1, 2))
	order := random.Perm(steady)
	work(func(n int) error { return write(fmt.Sprintf("new-%d", n), false) })
	work(func(n int) error { return write(all[order[n%steady]], n%2 == 0) })
	work(func(n int) error {
		pid := fmt.Sprintf("purged-%d", n%5)
		w, err := s.journal.Recover(s.Context(), pid, Replay{}, func(Event) error { return nil })
		if err == nil {
			_, _, err = w.Append(s.Context(), []byte("short-lived"))
		}
		if err == nil {
			err = w.Purge(s.Context())
		}
		if err != nil {
			return fmt.Errorf("purging %s: %w", pid, err)
		}
		return nil
	})
	for range rounds {
		for _, w := range s.ways {
			seen := map[string]int{}
			for _, pid := range s.list(w, IDs{}) {
				seen[pid]++
			}
			for _, pid := range all {
				if seen[pid] != 1 {
					s.Errorf("%s: %q is listed %d times", w.Name, pid, seen[pid])
				}
			}
			for pid, n := range seen {
				if n > 1 && strings.HasPrefix(pid, "new-") || !slices.ContainsFunc([]string{"steady-", "new-", "purged-"}, func(p string) bool { return strings.HasPrefix(pid, p) }) {
					s.Errorf("%s: %q is listed %d times", w.Name, pid, n)
				}
			}
		}
	}
	done.Store(true)
	group.Wait()
}
