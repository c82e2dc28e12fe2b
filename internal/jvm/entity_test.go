package jvm_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/jvm"
)

func start(t *testing.T, p *jvm.Plugin, pid string) *jvm.Entity {
	t.Helper()
	e, err := p.Start(t.Context(), pid)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// persist persists, and checks the number of the first event.
func persist(t *testing.T, want int64, to func() (int64, error)) {
	t.Helper()
	if first, err := to(); err != nil || first != want {
		t.Fatalf("the first number is %d, %v; want %d", first, err, want)
	}
}

// seen formats the numbers and texts of events.
func seen(events []jvm.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprintf("%d=%s", e.SequenceNumber, e.Bytes))
	}
	return strings.Join(all, " ")
}

func TestEntity_ContinuesAfterHighestNumber(t *testing.T) {
	t.Parallel()
	_, _, p := tables(t)
	ctx := t.Context()
	e := start(t, p, "a")
	persist(t, 1, func() (int64, error) { return e.Persist(ctx, "one") })
	persist(t, 2, func() (int64, error) { return e.Persist(ctx, "two", "three") })
	persist(t, 4, func() (int64, error) { return e.PersistEach(ctx, "four", []byte("five")) })
	e = start(t, p, "a")
	if got := seen(e.Events); got != "1=one 2=two 3=three 4=four 5=five" || e.Highest != 5 || e.Snapshot != nil {
		t.Errorf("it begins with %s, highest %d, %v", got, e.Highest, e.Snapshot)
	}
	if err := e.Delete(ctx, 5); err != nil {
		t.Fatal(err)
	}
	e = start(t, p, "a")
	if e.Highest != 5 || len(e.Events) > 0 {
		t.Errorf("after the deletion of all it begins with %s, highest %d", seen(e.Events), e.Highest)
	}
}

func TestEntity_StartsFromLatestSnapshot(t *testing.T) {
	t.Parallel()
	_, _, p := tables(t)
	ctx := t.Context()
	e := start(t, p, "a")
	persist(t, 1, func() (int64, error) { return e.Persist(ctx, "one") })
	if err := e.SaveSnapshot(ctx, "state at 1"); err != nil {
		t.Fatal(err)
	}
	persist(t, 2, func() (int64, error) { return e.Persist(ctx, "two") })
	e = start(t, p, "a")
	if e.Snapshot == nil || e.Snapshot.SequenceNumber != 1 || string(e.Snapshot.Payload.Bytes) != "state at 1" || seen(e.Events) != "2=two" || e.Highest != 2 {
		t.Errorf("it begins with %v, %s, highest %d", e.Snapshot, seen(e.Events), e.Highest)
	}
	if err := e.DeleteSnapshots(ctx, jvm.All()); err != nil {
		t.Fatal(err)
	}
	if e = start(t, p, "a"); e.Snapshot != nil || seen(e.Events) != "1=one 2=two" {
		t.Errorf("without a snapshot it begins with %v, %s", e.Snapshot, seen(e.Events))
	}
}

func TestEntity_RejectedEventUsesNumber(t *testing.T) {
	t.Parallel()
	_, _, p := tables(t)
	p.MaxItemSize = 200
	ctx := t.Context()
	e := start(t, p, "a")
	persist(t, 1, func() (int64, error) { return e.Persist(ctx, "one") })
	_, err := e.Persist(ctx, strings.Repeat("x", 200))
	if rejection, ok := errors.AsType[*jvm.RejectionError](err); !ok || rejection.SequenceNumber != 2 {
		t.Errorf("a large event ends with %v", err)
	}
	persist(t, 3, func() (int64, error) { return e.Persist(ctx, "three") })
	if e = start(t, p, "a"); seen(e.Events) != "1=one 3=three" || e.Highest != 3 {
		t.Errorf("it begins with %s, highest %d", seen(e.Events), e.Highest)
	}
}

func TestEntity_UnserializableValue(t *testing.T) {
	t.Parallel()
	_, _, p := tables(t)
	e := start(t, p, "a")
	if first, err := e.Persist(t.Context(), 1); err == nil || e.Highest != 0 {
		t.Errorf("a number was persisted at %d", first)
	}
}

// The journal in Go reads what the emulation writes, and the reverse.
func TestEntity_InteroperatesWithGo(t *testing.T) {
	t.Parallel()
	config, _, p := tables(t)
	ctx := t.Context()
	e := start(t, p, "a")
	persist(t, 1, func() (int64, error) { return e.Persist(ctx, "jvm-1", "jvm-2") })
	j, err := dynajournal.Open(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	var got []string
	w, err := j.Recover(ctx, "a", dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
		got = append(got, string(e.Bytes))
		return nil
	})
	if err != nil || !slices.Equal(got, []string{"jvm-1", "jvm-2"}) {
		t.Fatalf("Go recovers with %v, %v", got, err)
	}
	if _, err := w.Append(ctx, "go-3", "go-4"); err != nil {
		t.Fatal(err)
	}
	if e = start(t, p, "a"); seen(e.Events) != "1=jvm-1 2=jvm-2 3=go-3 4=go-4" {
		t.Errorf("the JVM begins with %s", seen(e.Events))
	}
}
