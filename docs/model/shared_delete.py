"""Deletion in a journal that is shared with a JVM: one persistence id, explored breadth first.

    python3 shared_delete.py [LIMIT [WORD [BLOCK]]]

runs each claim below up to LIMIT states a scenario (60,000 by default). Then it removes each rule of
the protocol, one at a time, and runs the scenario that must break without it. WORD selects the
claims and rules whose title contains it ("without" all rules). BLOCK is how many numbers a block
has, 3 by default. It ends with status 1 if a result differs from the expected one.

What is stored

    Blocks have 3 numbers (really 100), so one begins at 3, 6 and 9, and there are 3 shards (really
    10). One step of the model is one request. At each number there is nothing, or one of:

    ("event", writer, first, last)  a member of the atomic write first..last, or a single event
    ("tomb",)       a tombstone; ("old",) one whose expiry has passed, so that it may vanish
    ("seal",)       closes its number for good
    ("fence", low)  a seal with the value to which the low mark will be raised

    Each shard has a high mark and a low mark item, see Low.

Who takes part

    Writers in Go recover, seal gaps, append single events and atomic writes, delete, purge, continue
    after a snapshot that is newer than the journal, copy a history into the id, and repair. An
    append puts its members in any order. Each writer may crash between any two requests.

    The JVM's entity has sessions, which may end before any operation. It finds the highest number
    in the block of the highest high mark, puts without a condition, and deletes by raising its low
    mark and removing what lies between the old one and the new one. Its batches and its pairs of
    event and high mark can be cut: any part of the requests was done when the session ended. While
    a session runs, no writer in Go takes a step.

What must hold in every reachable state

    1  An acknowledged event that no later deletion covers is visible to Go, and to a JVM that
       starts. (A JVM hides the rest of an atomic write of which a deletion has removed a part.)
    2  A JVM that starts continues behind every number that was acknowledged, behind every event
       that Go shows, and not below Go's low mark.
    3  No number is acknowledged to two writers, unless the first event was deleted.
    4  What Go's low mark has hidden stays hidden from Go.
    5  A JVM that starts replays no event below one that a deletion has removed.
    6  What was not visible to Go when a later event was acknowledged does not become visible.
       (If a JVM's low mark cuts an atomic write, nothing records whether it was complete: there the
       members that are left decide.) Checked where writers in Go have stopped before a JVM starts.
"""

import gc
import sys
from collections import deque
from typing import NamedTuple

BLOCK = int(sys.argv[3]) if len(sys.argv) > 3 else 3
NOW = 99  # the rank of the latest moment; 0 is "longer ago than T"

TOMB, OLD, SEAL = ("tomb",), ("old",), ("seal",)


# ---------------------------------------------------------------------------------------------
# Rules: what the protocol does. Each can be taken out, and then a scenario must break.

RULES = dict(
    # Go raises the number that a JVM reads at most to the first number of the last block.
    seq_kept=True,
    # Go's low mark item is in the shard of the block before that of its seq, so that a JVM's put
    # does not replace it.
    shard_before=True,
    # A deletion that cuts an atomic write of which it saw all members says so on the low mark.
    cut=True,
    # Of two low mark items of the same value the one by Go counts: it knows what it cuts.
    go_mark_first=True,
    # In the last block a tombstone is put only where something is.
    exists=True,
    # The highest number becomes a seal when it is deleted, not a tombstone.
    top_sealed=True,
    # Numbers are removed one after the other, the lowest first.
    rising=True,
    # A writer that was idle for longer than half the fence window looks before it writes.
    idle_look=True,
    # The number after the journal is fenced before the low mark is raised over it.
    fence=True,
    # The number of a snapshot that is newer than the journal is sealed, and has its high mark,
    # before the low mark is raised over it.
    snapshot_sealed=True,
    # A high mark is put before the event that needs it, not beside it.
    mark_first=True,
    # A recovery puts a high mark that is missing.
    mark_mended=True,
    # A purge first moves the high mark and the low mark behind the last block.
    purge_moves_on=True,
    # A purge removes all low marks before it removes a high mark.
    low_marks_first=True,
    # A copy seals the number before its low mark, and puts the high mark of it, before the mark.
    copy_sealed=True,
    # A repair removes what lies below a JVM's low mark in the last block rising.
    repair_rising=True,
    # Rules for a writer whose knowledge is older than T, beside a JVM that deletes:
    # "all" or "near" shards are read before and after its put; None: none are.
    look="all",
    # The same after it has sealed.
    look_after_seals=True,
    # The same after an atomic write of which a part has landed has met another's item.
    look_after_conflict=True,
)

# ---------------------------------------------------------------------------------------------
# Worlds: what can happen.

# A writer in Go has ended, or crashed, when a JVM starts. What was under way has landed or not,
# but tombstones of a deletion that crashed may land at any later time.
HANDOVER = dict(stopped=True, crash=True, slow=True, quick=False, late=True, lost=True, shards=3)
# The same without crashes.
CALM = dict(HANDOVER, crash=False)
# A writer in Go may stop before any request and wake at any later time, beside a JVM's session
# before or after. Between the landing of a put and the look after it nothing crashes and no JVM
# starts, and a JVM needs more than T to take over and delete.
PAUSED = dict(HANDOVER, stopped=False, quick=True)
# The same, and puts of a crashed writer may land at any later time.
HARSH = dict(PAUSED, quick=False)


class Low(NamedTuple):
    """A low mark item: seq is what a JVM reads; Go shows nothing below low; everything below
    removed is removed; cut is the atomic write that the deletion has cut, or "?" on a JVM's item,
    which says nothing: there the members that are left decide."""
    seq: int
    low: int
    removed: int
    cut: object


class Writer(NamedTuple):
    pc: int        # the next operation of its program
    life: int      # how often it has recovered after an error
    know: int      # the rank of the moment since which its knowledge is good
    began: int     # the rank of the moment when its put was attempted first
    phase: tuple


class State(NamedTuple):
    items: frozenset    # of (number, item)
    lows: tuple         # the low mark item of each shard, or None
    highs: tuple        # the high mark of each shard, 0 for none
    acked: frozenset    # acknowledged events that no deletion covers: (number, item)
    covered: frozenset  # events that were not acknowledged when a deletion covered them
    top: int            # the highest number that was acknowledged
    hidden: int         # the highest low mark that Go ever had
    snapshot: int       # the number of a snapshot, 0 for none
    jvm: tuple          # session, operation, next number (None between sessions), removal
    writers: tuple
    late: frozenset     # puts of crashed writers that can still land
    expired: bool       # the fence window has passed once


class Broken(Exception):
    pass


def begin(n):
    """The first number of a number's block."""
    return n // BLOCK * BLOCK


def event(item):
    return item is not None and item[0] == "event"


def removed(item):
    return item in (TOMB, OLD) or item is not None and item[0] == "fence"


def batch(item):
    """The atomic write of an event, None for a single one."""
    return item if item[2] < item[3] else None


def jvm_low(s):
    return max((m.seq for m in s.lows if m), default=0)


def jvm_highest(s):
    """The highest number as the plug-in finds it."""
    high = max(s.highs)
    last = max((n for n, _ in s.items if begin(n) == high), default=None)
    return max(high, jvm_low(s) - 1) if last is None else last


class Model:
    """One scenario in one world under one set of rules."""

    def __init__(self, scenario, rules, world):
        self.programs, self.sessions = scenario["go"], scenario["jvm"]
        self.rules, self.world, self.shards = rules, world, world["shards"]
        self.answers = {}
        self.after = scenario.get("after", 0)
        self.alone = scenario.get("alone", False)
        new = Writer(0, 0, 0, 0, ("new",))
        items, lows, highs = scenario.get("stored", ((), {}, {}))
        snapshot = scenario.get("snapshot", 0)
        self.start = State(
            items=frozenset(items), lows=tuple(lows.get(k) for k in range(self.shards)),
            highs=tuple(highs.get(k, 0) for k in range(self.shards)), acked=frozenset(),
            covered=frozenset(), top=scenario.get("top", snapshot), hidden=0, snapshot=snapshot,
            jvm=(0, 0, None, None), writers=(new,) * len(self.programs), late=frozenset(),
            expired=False)

    # -- What Go reads ------------------------------------------------------------------------

    def mark(self, lows):
        """The low mark item that counts for Go."""
        known = [m for m in lows if m]
        if not known:
            return Low(0, 0, 0, None)
        first = self.rules["go_mark_first"]
        return max(known, key=lambda m: (max(m.low, m.seq), (m.cut != "?") == first))

    def low(self, lows):
        m = self.mark(lows)
        return max(m.seq, m.low)

    def whole(self, items, m, first, last, item):
        """Whether all members of an atomic write from first to last are there, or were cut."""
        low = max(m.seq, m.low)
        if item[2] < low and m.cut not in ("?", item):
            return False
        return all(items.get(k) == item for k in range(max(first, low), last + 1))

    def seen_by_go(self, s):
        """The items that Go finds: it follows the high mark, then blocks full to the end."""
        return self.remembered(self.find, s)

    def visible(self, s):
        """The numbers of the events that Go shows."""
        return self.remembered(self.show, s)

    def remembered(self, question, s):
        key = question, s.items, s.lows, s.highs
        if key not in self.answers:
            self.answers[key] = question(s)
        return self.answers[key]

    def find(self, s):
        high, low = max(s.highs), self.low(s.lows)
        last = max(high, begin(max(low - 1, 0)))
        found = {n: it for n, it in s.items if begin(n) <= last}
        while True:
            top = max(found, default=low - 1)
            looks = 2 if begin(top) > high else 1 if top % BLOCK >= BLOCK - 2 else 0
            more = {n: it for n, it in s.items
                    if n not in found and begin(n) <= begin(top) + looks * BLOCK}
            if not more:
                return found
            found.update(more)

    def show(self, s):
        items, m = self.seen_by_go(s), self.mark(s.lows)
        low = max(m.seq, m.low)
        return [n for n, it in items.items()
                if n >= low and event(it) and self.whole(items, m, it[2], it[3], it)]

    # -- The claims ---------------------------------------------------------------------------

    def check(self, s):
        items = dict(s.items)
        m = self.mark(s.lows)
        low = max(m.seq, m.low)
        jlow = jvm_low(s)
        visible = self.visible(s)
        shown = set(visible)
        for n, it in s.acked:
            if items.get(n) != it or n not in shown:
                raise Broken("1: acknowledged event %s is lost to Go" % n)
        if any(n < s.hidden for n in visible):
            raise Broken("4: event %s is visible again, hidden is all below %s"
                         % (min(visible), s.hidden))
        if not self.jvm_may_start(s):
            return
        found = max(jvm_highest(s), s.snapshot)
        replayed = [n for n, it in items.items()
                    if event(it) and jlow <= it[2] and n <= found
                    and all(items.get(k) == it for k in range(it[2], it[3] + 1))]
        for n, it in s.acked:
            uncut = all((k, it) in s.acked for k in range(it[2], it[3] + 1))
            if uncut and n not in replayed:
                raise Broken("1: acknowledged event %s is lost to a JVM" % n)
        if found < max(s.top, low - 1):
            raise Broken("2: a JVM goes on behind %s, right is %s" % (found, max(s.top, low - 1)))
        for n in visible:
            if n > found and items[n][1][0] != "JVM":
                raise Broken("2: a JVM goes on behind %s, Go shows its own %s" % (found, n))
        for n, it in items.items():
            if it in (TOMB, OLD) and replayed and min(replayed) < n <= found:
                raise Broken("5: a JVM replays %s, and %s is removed" % (min(replayed), n))

    def check_step(self, s, after):
        """Claim 6: what was decided without an event stays so."""
        m = self.mark(after.lows)
        items = dict(after.items)
        before = self.visible(s)
        last = max((n for n, _ in s.acked), default=0)
        for n in self.visible(after):
            it = items[n]
            unsaid = it[2] < m.low and not any(
                k and k.cut != "?" and k.low == m.low for k in after.lows)
            if n < last and n not in before and not unsaid:
                raise Broken("6: event %s appears below %s, which was acknowledged" % (n, last))

    # -- The JVM ------------------------------------------------------------------------------

    def idle(self, w):
        """Whether a writer has nothing under way."""
        return w.phase[0] in ("new", "ready", "dead")

    def between(self, w):
        """Whether something of a writer has landed that it has not looked at yet."""
        kind = w.phase[0]
        if kind == "writing":
            _, first, last, left, retried = w.phase[:5]
            return retried or len(left) < last - first + 1
        return kind in ("landed", "looking", "takes back", "sealed") or \
            kind == "sealing" and bool(w.phase[2])

    def jvm_may_start(self, s):
        session, _, nxt, _ = s.jvm
        if nxt is not None or s.snapshot and begin(s.snapshot) != max(s.highs):
            return False  # a JVM does not look for what follows a snapshot of another block
        if s.writers[0].pc < self.after:
            return False
        if self.world["stopped"]:
            return all(self.idle(w) for w in s.writers)
        return not (self.world["quick"] and any(self.between(w) for w in s.writers))

    def with_high(self, s, n):
        """The high marks with that of a number's block."""
        return tuple(max(h, begin(n)) if k == begin(n) // BLOCK % self.shards else h
                     for k, h in enumerate(s.highs))

    def jvm_steps(self, s):
        session, pc, nxt, removal = s.jvm
        if session == len(self.sessions):
            return
        program, me = self.sessions[session], ("JVM", session)
        if nxt is None:
            if self.jvm_may_start(s):
                found = max(jvm_highest(s), s.snapshot)
                writers, late = s.writers, s.late
                if self.world["stopped"]:
                    writers = tuple(w._replace(know=0, began=0, phase=("new",))
                                    if w.phase[0] == "ready" else w for w in writers)
                    late = frozenset(f for f in late if f[2])
                yield "JVM starts behind %s" % found, s._replace(
                    jvm=(session, 0, found + 1, None), writers=writers, late=late)
            return
        if removal:
            first, last = removal
            writers = s.writers
            if self.world["slow"]:
                writers = tuple(w._replace(know=0, began=0) for w in writers)
            yield "JVM removes %s to %s" % removal, s._replace(
                items=frozenset(x for x in s.items if not first <= x[0] <= last),
                writers=writers, jvm=(session, pc + 1, nxt, None))
            return
        over = (session + 1, 0, None, None)
        if pc > 0:
            yield "JVM stops", s._replace(jvm=over)
        if pc == len(program):
            return
        op, arg = program[pc][0], int(program[pc][1:] or 1)
        if op == "D":
            up = min(arg, jvm_highest(s))
            old = jvm_low(s)
            if up + 1 <= old:
                yield "JVM has nothing to delete", s._replace(jvm=(session, pc + 1, nxt, None))
                return
            lows = list(s.lows)
            lows[(up + 1) // BLOCK % self.shards] = Low(up + 1, up + 1, up + 1, "?")
            yield "JVM puts low mark %s" % (up + 1), self.hide(
                s._replace(lows=tuple(lows), jvm=(session, pc, nxt, (old, up))), up)
            return
        # Write a single event or an atomic write; one rejected before leaves its number unused;
        # in small letters the requests are cut, and the session ends.
        first = nxt + (op == "R" and nxt % BLOCK > 0)
        last = first + arg - 1
        it = ("event", me, first, last)
        marked = first % BLOCK == 0 if arg == 1 else (first - 1) // BLOCK != last // BLOCK
        members = list(range(first, last + 1))
        if op.isupper():
            items = {**dict(s.items), **{n: it for n in members}}
            yield "JVM writes %s to %s" % (first, last), s._replace(
                items=frozenset(items.items()), jvm=(session, pc + 1, last + 1, None),
                highs=self.with_high(s, last) if marked else s.highs,
                acked=s.acked | {(n, it) for n in members}, top=max(s.top, last))
            return
        for part in range(2 ** arg):
            done = [n for k, n in enumerate(members) if part >> k & 1]
            items = {**dict(s.items), **{n: it for n in done}}
            for high in {s.highs, self.with_high(s, last) if marked else s.highs}:
                yield "JVM is cut: %s of %s to %s" % (done, first, last), s._replace(
                    items=frozenset(items.items()), highs=high, jvm=over)

    # -- The world ----------------------------------------------------------------------------

    def world_steps(self, s):
        if not (self.world["quick"] and any(self.between(w) for w in s.writers)):
            for f in s.late:
                n, it, deletes = f
                rest = s._replace(late=s.late - {f})
                there = dict(s.items).get(n)
                if deletes and (there or not self.rules["exists"]) or not deletes and not there:
                    rest = rest._replace(items=frozenset({**dict(s.items), n: it}.items()))
                yield "%s lands late at %s" % (it[0], n), rest
        ranks = [r for w in s.writers for r in (w.know, w.began) if r]
        if ranks and self.rules["look"]:
            oldest = min(ranks)
            yield "time passes", s._replace(writers=tuple(
                w._replace(know=0 if w.know == oldest else w.know,
                           began=0 if w.began == oldest else w.began) for w in s.writers))
        if not s.expired and not s.late and all(self.idle(w) for w in s.writers) and \
                any(it == TOMB for _, it in s.items):
            yield "the fence window passes", s._replace(
                expired=True, items=frozenset((n, OLD if it == TOMB else it) for n, it in s.items),
                writers=tuple(w._replace(know=0, began=0, phase=w.phase[:4] + (True,))
                              if w.phase[0] == "ready" else w for w in s.writers))
        for n, it in s.items:
            if it == OLD:
                yield "tombstone %s vanishes" % n, s._replace(items=s.items - {(n, it)})

    # -- Writers in Go ------------------------------------------------------------------------

    def hide(self, s, to):
        """The state after a deletion up to a number has begun."""
        covered = {(n, it) for n, it in s.items
                   if n <= to and event(it) and it[1][0] != "JVM" and (n, it) not in s.acked}
        return s._replace(acked=frozenset(a for a in s.acked if a[0] > to),
                          covered=s.covered | covered, hidden=max(s.hidden, to + 1))

    def go(self, s, i, phase, **changes):
        """The state after writer i has taken a step."""
        fields = {k: changes.pop(k) for k in ("pc", "life", "know", "began") if k in changes}
        if "began" not in fields:
            fields["began"] = 0
        w = s.writers[i]._replace(phase=phase, **fields)
        return s._replace(writers=s.writers[:i] + (w,) + s.writers[i + 1:], **changes)

    def again(self, s, i, **changes):
        """The writer has ended, and recovers anew; a bounded number of times."""
        w = s.writers[i]
        if w.life < 1:
            return self.go(s, i, ("new",), life=w.life + 1, know=0, **changes)
        return self.dead(s, i, **changes)

    def dead(self, s, i, **changes):
        """The writer has ended for good."""
        return self.go(s, i, ("dead",), know=0, **changes)

    def put(self, s, n, it):
        return frozenset({**dict(s.items), n: it}.items())

    def shard_of_low(self, seq):
        return (seq // BLOCK - self.rules["shard_before"]) % self.shards

    def low_item(self, s, low, highest, cut, done):
        """The low mark item by which Go raises its low mark."""
        seq = min(low, begin(highest)) if self.rules["seq_kept"] else low
        return Low(max(jvm_low(s), seq), low, done, cut)

    def raises(self, s, item):
        """The low marks after an item was put, None if its condition fails."""
        k = self.shard_of_low(item.seq)
        old = s.lows[k]
        if old and (old.seq > item.seq or max(old.seq, old.low) >= item.low):
            return None
        return s.lows[:k] + (item,) + s.lows[k + 1:]

    def cut_by(self, s, target):
        """The atomic write that goes on behind target, if all its members up to there are there."""
        items, m = dict(s.items), self.mark(s.lows)
        it = items.get(target)
        if not self.rules["cut"] or not event(it) or it[3] <= target:
            return None
        return it if self.whole(items, m, it[2], target, it) else None

    def writer_steps(self, s, i):
        w = s.writers[i]
        if self.over(s, i) or self.alone and not all(self.over(s, k) for k in range(i)):
            return
        yield from getattr(self, "go_" + w.phase[0].replace(" ", "_"))(s, i, w, *w.phase[1:])

    def over(self, s, i):
        """Whether a writer has come to the end of its program, or to an end."""
        w = s.writers[i]
        return w.phase[0] == "dead" or self.idle(w) and w.pc == len(self.programs[i])

    def go_new(self, s, i, w):
        if self.programs[i][w.pc][0] == "C":
            yield from self.go_copying(s, i, w)
        else:
            yield "%s recovers" % i, self.go(s, i, ("reading", None, None), know=NOW)

    def go_reading(self, s, i, w, marks, got):
        """The marks and the items are read in either order, then it is decided."""
        if marks is None:
            yield "%s reads marks" % i, self.go(s, i, ("reading", s.lows, got))
        if got is None:
            found = frozenset(self.seen_by_go(s).items())
            yield "%s reads items" % i, self.go(s, i, ("reading", marks, found))
        if marks is None or got is None:
            return
        low, got = self.low(marks), dict(got)
        first = max(low, 1)
        near = [n for n in got if n >= first]
        last = max([low - 1, 0, *near])
        gaps = frozenset(n for n in range(first, last) if n not in got)
        closed = [(it[1] if it[0] == "fence" else n + 1, n, it)
                  for n, it in got.items() if n >= first and removed(it)]
        op = self.programs[i][w.pc][0]
        if (gaps or closed or not near) and self.low(s.lows) != low:
            yield "%s: the low mark moved" % i, self.go(s, i, ("new",), know=0)
        elif closed:
            yield from self.go_over_removed(s, i, max(closed), last)
        elif gaps:
            yield "%s will seal %s" % (i, sorted(gaps)), self.go(
                s, i, ("sealing", gaps, frozenset(), last + 1, low))
        elif begin(last) > max(s.highs) and self.rules["mark_mended"]:
            yield "%s puts the high mark" % i, self.go(s, i, w.phase, highs=self.with_high(s, last))
        elif s.snapshot > last and op == "G":
            yield "%s has a newer snapshot" % i, self.go(s, i, ("fencing", last + 1))
        else:
            pc = w.pc + (op == "G")
            yield "%s goes on at %s" % (i, last + 1), self.go(
                s, i, ("ready", last + 1, low, got.get(last), False), pc=pc)

    def go_over_removed(self, s, i, last_closed, last):
        """A recovery that meets a tombstone or a fence above the low mark raises the mark."""
        up, n, it = last_closed
        if it[0] != "fence" and dict(s.items).get(n) == it:
            yield "%s holds %s" % (i, n), self.go(
                s, i, ("new",), know=0, items=self.put(s, n, ("fence", up)))
            return
        missing = up - 1 not in dict(s.items)
        if self.rules["snapshot_sealed"] and missing:
            yield "%s seals %s" % (i, up - 1), self.go(
                s, i, ("new",), know=0, items=self.put(s, up - 1, SEAL))
        elif self.rules["snapshot_sealed"] and begin(up - 1) > max(s.highs):
            yield "%s puts the high mark" % i, self.go(
                s, i, ("new",), know=0, highs=self.with_high(s, up - 1))
        else:
            done = max(self.mark(s.lows).removed, 1)
            lows = self.raises(s, self.low_item(s, up, max(last, up - 1), None, done))
            after = self.go(s, i, ("new",), know=0, lows=lows or s.lows)
            yield "%s raises the low mark to %s" % (i, up), \
                after._replace(hidden=max(s.hidden, up) if lows else s.hidden)

    def go_sealing(self, s, i, w, gaps, done, nxt, low):
        items = dict(s.items)
        for n in gaps:
            if items.get(n, SEAL) != SEAL:
                yield "%s: its seal meets something at %s" % (i, n), self.again(s, i)
                continue
            rest = gaps - {n}
            phase = ("sealing", rest, done | {n}, nxt, low) if rest else \
                ("sealed", done | {n}, nxt, low)
            yield "%s seals %s" % (i, n), self.go(s, i, phase, items=self.put(s, n, SEAL))
        if self.world["late"] and not self.world["quick"]:
            late = frozenset((n, SEAL, False) for n in gaps)
            yield "%s crashes" % i, self.dead(s, i, late=s.late | late)

    def go_sealed(self, s, i, w, done, nxt, low):
        if self.rules["look_after_seals"] and w.know == 0 and jvm_low(s) > min(done):
            items = frozenset(x for x in s.items
                              if not (x[0] in done and x[0] < jvm_low(s) and x[1] == SEAL))
            yield "%s takes its seals back" % i, self.again(s, i, items=items)
        else:  # read again, for what follows now
            yield "%s has sealed" % i, self.go(s, i, ("new",), know=w.know)

    def go_ready(self, s, i, w, nxt, low, before, idle):
        op, arg = self.programs[i][w.pc][0], int(self.programs[i][w.pc][1:] or 1)
        if idle and self.rules["idle_look"]:
            highest = max([self.low(s.lows) - 1, 0, *self.seen_by_go(s)])
            same = highest == nxt - 1 and self.low(s.lows) == low and \
                dict(s.items).get(nxt - 1) == before
            yield "%s looks again" % i, \
                self.go(s, i, w.phase[:4] + (False,), know=NOW) if same else self.again(s, i)
        elif op == "G":
            yield "%s goes on" % i, self.go(s, i, w.phase, pc=w.pc + 1)
        elif op == "W":
            if self.rules["look"] and w.know == 0:
                same = self.still_mine(s, nxt, low, before)
                yield "%s looks before %s" % (i, nxt), \
                    self.go(s, i, w.phase, know=NOW) if same else self.again(s, i)
                return
            last = nxt + arg - 1
            left = frozenset(range(nxt, last + 1))
            if begin(last) > begin(nxt - 1):
                left |= {"mark"}
            yield "%s writes %s to %s" % (i, nxt, last), self.go(
                s, i, ("writing", nxt, last, left, False, low), began=NOW)
        elif op == "P":
            yield from self.go_purge(s, i, w, nxt)
        elif op == "R":
            yield from self.go_repair(s, i, w, nxt)
        else:
            yield from self.go_delete(s, i, w, min(arg, nxt - 1), nxt, low, before)

    def still_mine(self, s, nxt, low, before):
        """The look before a put: whether no deletion went beyond the number to write. Where the
        event before it is still there, that shows in the shards of two blocks."""
        if self.rules["look"] == "near" and event(before) and \
                dict(s.items).get(nxt - 1) == before:
            shards = {(nxt // BLOCK + k) % self.shards for k in range(2)}
            return all(not s.lows[k] or s.lows[k].seq <= nxt for k in shards)
        return self.low(s.lows) == low

    # -- Append -------------------------------------------------------------------------------

    def go_writing(self, s, i, w, first, last, left, retried, low):
        items, me = dict(s.items), ("event", (i, w.life), first, last)
        mark = "mark" in left
        if mark:
            rest = left - {"mark"}
            yield "%s puts the high mark of %s" % (i, last), self.go(
                s, i, self.wrote(first, last, rest, retried, low), began=w.began,
                highs=self.with_high(s, last))
        if not (mark and self.rules["mark_first"]):
            for n in left - {"mark"}:
                rest = left - {n}
                phase = self.wrote(first, last, rest, retried, low)
                if n not in items:
                    yield "%s puts %s" % (i, n), self.go(
                        s, i, phase, began=w.began, items=self.put(s, n, me))
                elif items[n] == me:
                    yield "%s meets its own %s" % (i, n), self.go(s, i, phase, began=w.began)
                else:
                    yield "%s meets another's %s" % (i, n), self.conflicted(
                        s, i, w, first, last, low, left)
        if self.world["crash"] and self.world["stopped"] or not self.world["quick"]:
            members = frozenset((n, me, False) for n in left if n != "mark")
            if mark and self.rules["mark_first"]:
                members = frozenset()
            yield "%s crashes" % i, self.dead(
                s, i, late=s.late | members if self.world["late"] else s.late)

    def conflicted(self, s, i, w, first, last, low, left):
        """What has landed of the write stays, unless a JVM has deleted there meanwhile."""
        landed = len(left - {"mark"}) < last - first + 1
        if not (self.rules["look_after_conflict"] and w.know == 0 and landed):
            return self.again(s, i)
        shards = frozenset(range(self.shards))
        return self.go(s, i, ("looking", first, last, low, shards, 0, True), know=NOW)

    def wrote(self, first, last, left, retried, low):
        return ("writing", first, last, left, retried, low) if left else \
            ("landed", first, last, low, retried)

    def go_landed(self, s, i, w, first, last, low, retried):
        """The answers come."""
        if w.know == 0 and self.rules["look"]:
            count = self.shards
            before = dict(s.items).get(first - 1)
            if self.rules["look"] == "near" and event(before):
                count = min((last - first) // BLOCK + 2, self.shards)
            left = frozenset((first // BLOCK + k) % self.shards for k in range(count))
            yield "%s looks after its put" % i, self.go(
                s, i, ("looking", first, last, low, left, 0, False), know=NOW)
        else:
            yield self.acknowledge(s, i, w, first, last, low, w.began)
        if self.world["lost"] and not retried:
            left = frozenset(range(first, last + 1))
            yield "%s: the answer is lost" % i, self.go(
                s, i, ("writing", first, last, left, True, low),
                began=w.began)
        if not self.world["quick"]:
            yield "%s crashes" % i, self.dead(s, i)

    def acknowledge(self, s, i, w, first, last, low, know):
        me = ("event", (i, w.life), first, last)
        new = [(n, me) for n in range(first, last + 1) if (n, me) not in s.covered]
        numbers = {n for n, _ in new}
        if any(n in numbers and it != me for n, it in s.acked):
            raise Broken("3: of %s to %s a number is acknowledged to two" % (first, last))
        after = self.go(s, i, ("ready", last + 1, low, me, False), pc=w.pc + 1, know=know)
        return "%s acknowledges %s to %s" % (i, first, last), after._replace(
            acked=s.acked | set(new), top=max(s.top, last if new else 0))

    def go_looking(self, s, i, w, first, last, low, left, seen, failed):
        for k in left:
            seq = s.lows[k].seq if s.lows[k] else 0
            yield "%s reads the low mark of shard %s" % (i, k), self.go(
                s, i, ("looking", first, last, low, left - {k}, max(seen, seq), failed))
        if not left and seen > first:
            yield "%s is below the low mark" % i, self.go(s, i, ("takes back", first, last))
        elif not left and failed:
            yield "%s has not written" % i, self.again(s, i)
        elif not left:
            yield self.acknowledge(s, i, w, first, last, low, w.know)
        if not self.world["quick"]:
            yield "%s crashes" % i, self.dead(s, i)

    def go_takes_back(self, s, i, w, first, last):
        me = ("event", (i, w.life), first, last)
        mine = frozenset(x for x in s.items if x[1] == me)
        yield "%s takes back %s to %s" % (i, first, last), self.again(s, i, items=s.items - mine)

    # -- Deletion -----------------------------------------------------------------------------

    def go_delete(self, s, i, w, target, nxt, low, before):
        now = self.low(s.lows)
        if self.rules["look"] and w.know == 0 and now != low:
            yield "%s looks before it deletes" % i, self.again(s, i)
        elif target + 1 <= now:
            yield "%s has nothing to delete" % i, self.go(
                s, i, ("ready", nxt, now, before, False), pc=w.pc + 1)
        else:
            done = max(self.mark(s.lows).removed, 1)
            item = self.low_item(s, target + 1, nxt - 1, self.cut_by(s, target), done)
            yield "%s will put low mark %s" % (i, target + 1), self.go(
                s, i, ("lowering", item, nxt, now))

    def go_lowering(self, s, i, w, item, nxt, low):
        """The put of the low mark, which may land much later than it was decided."""
        lows = self.raises(s, item)
        if lows is None:
            yield "%s: the low mark moved" % i, self.again(s, i)
        else:
            # The number before may be the seal of the last deletion: it becomes a tombstone.
            first = max(1, item.removed - (self.rules["seq_kept"] and low == item.removed))
            left = tuple(range(first, item.low))
            yield "%s puts low mark %s" % (i, item.low), self.hide(
                self.go(s, i, ("removing", left, nxt, item), lows=lows), item.low - 1)
        if self.world["crash"]:
            yield "%s crashes" % i, self.dead(s, i)

    def go_removing(self, s, i, w, left, nxt, item):
        if not left:
            lows = tuple(m._replace(removed=m.low) if m == item else m for m in s.lows)
            yield "%s has deleted" % i, self.go(
                s, i, ("ready", nxt, item.low, dict(s.items).get(nxt - 1), False), pc=w.pc + 1,
                lows=lows, snapshot=0 if item.low > s.snapshot else s.snapshot)
            return
        if self.rules["look"] and w.know == 0:
            same = jvm_low(s) <= item.low
            yield "%s looks before it removes" % i, \
                self.go(s, i, w.phase, know=NOW) if same else self.again(s, i)
            return
        for n in left[:1] if self.rules["rising"] else left:
            rest = tuple(k for k in left if k != n)
            phase = ("removing", rest, nxt, item)
            last_block = n >= begin(nxt - 1)
            tomb = SEAL if n == nxt - 1 and self.rules["top_sealed"] else TOMB
            there = n in dict(s.items) or not (last_block and self.rules["exists"])
            yield "%s removes %s" % (i, n), self.go(
                s, i, phase, items=self.put(s, n, tomb) if there else s.items)
            if self.world["crash"] and self.world["late"] and last_block:
                yield "%s crashes, tombstone %s under way" % (i, n), self.dead(
                    s, i, late=s.late | {(n, tomb, True)})
        if self.world["crash"]:
            yield "%s crashes" % i, self.dead(s, i)

    # -- Snapshots that are newer than the journal --------------------------------------------

    def go_fencing(self, s, i, w, n):
        """The snapshot stands for the events up to its number, so these are given up."""
        fence = ("fence", s.snapshot + 1)
        if self.rules["look"] and w.know == 0:
            yield "%s looks again" % i, self.go(s, i, ("new",), know=0)
        elif not self.rules["fence"]:
            yield "%s does not fence" % i, self.go(s, i, ("marking", n))
        elif dict(s.items).get(n, fence) == fence:
            yield "%s fences %s" % (i, n), self.hide(
                self.go(s, i, ("marking", n), items=self.put(s, n, fence)), s.snapshot
            )._replace(hidden=s.hidden)
        else:
            yield "%s: its fence meets something" % i, self.again(s, i)

    def go_marking(self, s, i, w, n):
        last = s.snapshot
        if self.rules["look"] and w.know == 0 or last + 1 <= self.low(s.lows):
            yield "%s looks again" % i, self.go(s, i, ("new",), know=0)
        elif self.rules["snapshot_sealed"] and n < last and last not in dict(s.items):
            yield "%s seals %s" % (i, last), self.go(s, i, w.phase, items=self.put(s, last, SEAL))
        elif begin(last) > max(s.highs):
            yield "%s puts the high mark" % i, self.go(s, i, w.phase, highs=self.with_high(s, last))
        else:
            lows = self.raises(s, self.low_item(s, last + 1, last, None, last + 1))
            if lows is None:
                yield "%s: the low mark moved" % i, self.again(s, i)
            else:
                after = self.go(s, i, ("ready", last + 1, last + 1, None, False), pc=w.pc + 1,
                                lows=lows, snapshot=0)
                yield "%s goes on after the snapshot" % i, self.hide(after, last)
        if self.world["crash"]:
            yield "%s crashes" % i, self.dead(s, i)

    # -- Purge: no other writer lives, and all traces go --------------------------------------

    def go_purge(self, s, i, w, nxt):
        """The marks go behind the last block first. It is empty there, so both sides go on at the
        same number, whatever is left of the blocks before, until the low marks are gone."""
        if nxt == 1:
            yield "%s has nothing to purge" % i, self.go(s, i, ("new",), pc=w.pc + 1)
            return
        if s.late or max([self.low(s.lows) - 1, *self.seen_by_go(s)]) != nxt - 1:
            yield "%s looks before it purges" % i, self.again(s, i, late=frozenset())
            return
        end = begin(nxt - 1) + BLOCK  # the block behind the last one
        if max(s.highs) == nxt - 1 and self.low(s.lows) == jvm_low(s) == nxt:
            end = nxt - 1  # a purge before has moved the marks
        if self.rules["purge_moves_on"] and max(s.highs) < end:
            after = self.go(s, i, w.phase, highs=self.with_high(s, end))
            yield "%s puts high mark %s" % (i, end), after
            return
        low = end + 1 if self.rules["purge_moves_on"] else nxt
        if self.low(s.lows) < low:
            seq = low if self.rules["purge_moves_on"] else \
                max(jvm_low(s), min(low, begin(nxt - 1)) if self.rules["seq_kept"] else low)
            lows = self.raises(s, Low(seq, low, 1, None))
            if lows is None:
                yield "%s: the low mark moved" % i, self.again(s, i)
                return
            s = self.hide(s, low - 1)
        else:
            lows = s.lows
        yield "%s raises the low mark to %s, to purge" % (i, low), self.go(
            s, i, ("purging",), lows=lows)._replace(top=0)

    def go_purging(self, s, i, w):
        """Items are erased in any order, then the low marks, then the high marks."""
        if self.world["crash"]:
            yield "%s crashes" % i, self.dead(s, i)
        for n, it in s.items:
            yield "%s erases %s" % (i, n), self.go(s, i, w.phase, items=s.items - {(n, it)})
        if s.items:
            return
        for k, m in enumerate(s.lows):
            if m:
                lows = s.lows[:k] + (None,) + s.lows[k + 1:]
                yield "%s removes the low mark of shard %s" % (i, k), self.go(
                    s, i, w.phase, lows=lows)._replace(hidden=self.low(lows))
        if any(s.lows) and self.rules["low_marks_first"]:
            return
        for k, h in enumerate(s.highs):
            if h:
                yield "%s removes the high mark of shard %s" % (i, k), self.go(
                    s, i, w.phase, highs=s.highs[:k] + (0,) + s.highs[k + 1:])
        if not any(s.lows) and not any(s.highs):
            yield "%s has purged" % i, self.go(s, i, ("new",), pc=w.pc + 1)

    # -- Repair: what the protocol before has left below a JVM's low mark, in the last block ---

    def go_repair(self, s, i, w, nxt):
        """The last of them is the highest number for a JVM until it goes, then its low mark is."""
        left = sorted(n for n, _ in s.items if begin(nxt - 1) <= n < jvm_low(s))
        for n in left[:1] if self.rules["repair_rising"] else left:
            yield "%s removes %s" % (i, n), self.go(
                s, i, w.phase, items=frozenset(x for x in s.items if x[0] != n))
        if self.world["crash"]:
            yield "%s crashes" % i, self.again(s, i)
        if not left:
            yield "%s has repaired" % i, self.go(s, i, ("new",), pc=w.pc + 1)

    # -- Copy: a history whose events up to a number are deleted, into an empty id -------------

    def go_copying(self, s, i, w):
        """C5: low mark 5, then single events 5, 6 and 7; called again, it goes on."""
        low = int(self.programs[i][w.pc][1:])
        items = dict(s.items)
        copied = {n: ("event", ("copy", 0), n, n) for n in range(low, low + 3)}
        mine = {low - 1: SEAL, **copied}
        if any(items[n] != mine.get(n) for n in items) or self.low(s.lows) not in (0, low):
            yield "%s: the target is used" % i, self.dead(s, i)
            return
        if self.world["crash"]:
            yield "%s crashes" % i, self.again(s, i)
        sealed = self.rules["copy_sealed"]
        if sealed and low - 1 not in items:
            yield "%s seals %s" % (i, low - 1), self.go(
                s, i, ("copying",), items=self.put(s, low - 1, SEAL))
        elif sealed and max(s.highs) < begin(low - 1):
            yield "%s puts the high mark" % i, self.go(
                s, i, ("copying",), highs=self.with_high(s, low - 1))
        elif self.low(s.lows) < low:
            lows = self.raises(s, self.low_item(s, low, low - 1, None, low))
            yield "%s puts low mark %s" % (i, low), self.go(
                s, i, ("copying",), lows=lows)._replace(hidden=low)
        else:
            for n in copied:
                if begin(n) > max(s.highs) and n % BLOCK == 0 and self.rules["mark_first"]:
                    yield "%s puts the high mark" % i, self.go(
                        s, i, ("copying",), highs=self.with_high(s, n))
                    return
                if n not in items:
                    yield "%s copies %s" % (i, n), self.go(
                        s, i, ("copying",), items=self.put(s, n, copied[n]))
                    return
                if begin(n) > max(s.highs):
                    yield "%s puts the high mark" % i, self.go(
                        s, i, ("copying",), highs=self.with_high(s, n))
                    return
            after = self.go(s, i, ("new",), pc=w.pc + 1)
            yield "%s has copied" % i, after._replace(
                acked=s.acked | set(copied.items()), top=max(s.top, max(copied)))

    # -- Exploration ---------------------------------------------------------------------------

    def steps(self, s):
        yield from self.world_steps(s)
        yield from self.jvm_steps(s)
        if s.jvm[2] is None:
            for i in range(len(s.writers)):
                yield from self.writer_steps(s, i)

    def ranked(self, s):
        """The state with its moments numbered anew, so that equal ones are found."""
        ranks = sorted({r for w in s.writers for r in (w.know, w.began) if r})
        if ranks == list(range(1, len(ranks) + 1)):
            return s
        to = {r: k + 1 for k, r in enumerate(ranks)}
        to[0] = 0
        return s._replace(writers=tuple(
            w._replace(know=to[w.know], began=to[w.began]) for w in s.writers))

    def explore(self, limit):
        """Looks at every reachable state, up to limit; raises Broken with the way there."""
        start = self.start
        seen, todo = {start}, deque([(start, None)])
        try:
            while todo:
                s, way = todo.popleft()
                self.check(s)
                for name, after in self.steps(s):
                    after = self.ranked(after)
                    if self.world["stopped"]:
                        self.check_step(s, after)
                    if after not in seen:
                        seen.add(after)
                        todo.append((after, (way, name)))
                if len(seen) > limit:
                    return "no violation in the first %d states" % limit
        except Broken as broken:
            broken.way = ["(the next step)"] if broken.args[0][0] == "6" else []
            while way:
                way, name = way
                broken.way.insert(0, name)
            raise
        return "holds in all %d states" % len(seen)


# ---------------------------------------------------------------------------------------------
# Scenarios: the programs of the writers in Go and the sessions of the JVM.
#
#   W write an event, W3 an atomic write of three, D4 delete to 4, P purge, G go on after the
#   snapshot, C5 copy a history that is deleted up to 4; R2 write two behind a rejected event;
#   w, w3 the same cut, which ends the session.

SCENARIOS = {
    "Go deletes all": dict(go=[["W", "D9"]], jvm=[["W", "D9"], ["W"]]),
    "Go deletes a part": dict(go=[["W", "W", "W", "W", "D3"]], jvm=[["W", "D9"], ["W"]]),
    "an operator deletes for a JVM":
        dict(go=[["D3"]], jvm=[["W", "W", "W", "W"], ["W", "D9"], ["W"]]),
    "a JVM deletes less than Go":
        dict(go=[["W", "W", "W", "D9", "W"]], jvm=[["W", "D1"], ["W", "D9"]]),
    "stale writer, Go alone": dict(go=[["W", "W"], ["W", "D9"]], jvm=[]),
    "stale writer, Go deletes": dict(go=[["W", "W"], ["W", "D9", "W"]], jvm=[["W"]]),
    "stale writer, Go deletes over blocks":
        dict(go=[["W", "W"], ["W", "W", "W", "D9", "W"]], jvm=[["W", "D9"]]),
    "stale writer, only Go deletes":
        dict(go=[["W", "W"], ["W", "D9", "W"]], jvm=[["W"], ["W"]]),
    "stale writer, JVM deletes": dict(go=[["W", "W"]], jvm=[["W", "W", "D9", "W"], ["W"]]),
    "stale writer, JVM deletes over blocks":
        dict(go=[["W", "W"]], jvm=[["W", "W", "W", "W", "W", "W", "D9", "W"], ["W"]]),
    "two deleters": dict(go=[["W", "W", "D9"], ["W", "D1", "D9"]], jvm=[["W", "D9"]]),
    "stale deleter": dict(go=[["W", "W", "D9", "W"]], jvm=[["W", "D9"], ["W", "D9"]]),
    "holes": dict(go=[["W"], ["D9", "W"]], jvm=[["W", "R"], ["W", "D9"]]),
    "holes, a JVM deletes": dict(go=[["W"]], jvm=[["W", "W", "W", "R"], ["D9"], ["W"]]),
    "fence window": dict(go=[["W"], ["W", "W", "D9"]], jvm=[]),
    "snapshot newer": dict(go=[["G", "W"], ["W"]], jvm=[["W"], ["W", "D9"]], snapshot=2),
    "snapshot newer, another block":
        dict(go=[["G", "W", "D9"]], jvm=[["W"], ["W", "D9"]], snapshot=4),
    "Go cuts its batch, a JVM deletes less":
        dict(go=[["W", "W2", "D2", "W"]], jvm=[["D1", "W"], ["D9", "W"]]),
    "Go cuts its batch over a border":
        dict(go=[["W", "W3", "D3", "W"]], jvm=[["W", "D2"], ["W", "D9"], ["W"]]),
    "Go cuts a JVM's batch":
        dict(go=[["D3", "W"]], jvm=[["W2", "W3"], ["W", "D2"], ["W2", "D9"], ["W"]]),
    "a JVM cuts Go's batch":
        dict(go=[["W3", "W", "D3"]], jvm=[["D1", "W"], ["D2"], ["D9"], ["W"]]),
    "a Go batch is cut": dict(go=[["W2", "W3", "D3"], ["W", "D9"]], jvm=[["W", "D9"], ["W"]]),
    "a JVM's batch is cut":
        dict(go=[["W", "D3", "W"]], jvm=[["W", "w3"], ["W", "D9"], ["W"]]),
    "Go cuts its batch, a JVM less of it":
        dict(go=[["W2", "W3", "D4", "W"]], jvm=[["D3", "W"], ["D9", "W"]]),
    "a dead batch is cut by both":
        dict(go=[["W2", "W2"], ["W", "D3", "W"]], jvm=[["D3", "W"], ["D9"]], alone=True),
    "batches of two writers": dict(go=[["W2", "D1"], ["W2", "D9"]], jvm=[["W2", "D9"]]),
    "event and mark cut, in Go": dict(go=[["W2", "W", "D9"], ["W"]], jvm=[["W", "D9"], ["W"]]),
    "event and mark cut, in a JVM":
        dict(go=[["W", "D2", "W"]], jvm=[["W", "w"], ["W", "D9"], ["W"]]),
    "purge": dict(go=[["W", "P", "W"], ["W"]], jvm=[["W"], ["W", "D9"], ["W"]], alone=True),
    "purge over blocks":
        dict(go=[["W2", "W2", "D1", "P"], ["W"]], jvm=[["W", "W", "D9"], ["W", "W"]], alone=True),
    "purge, and again":
        dict(go=[["W3", "P"], ["W", "P", "W"]], jvm=[["W", "D9"], ["W"]], alone=True),
    "purge for a JVM":
        dict(go=[["P"], ["W"]], jvm=[["W2", "W2"], ["W", "W"], ["D9"], ["W"]], alone=True),
    "copy": dict(go=[["C5", "D6"], ["W"]], jvm=[["W"], ["W", "D9"], ["W"]], alone=True),
    "copy, the low mark begins a block":
        dict(go=[["C3", "W"], ["W"]], jvm=[["W"], ["W", "D9"], ["W"]], alone=True),
}

# What the protocol before has left: a tombstone and a seal below the low mark that a JVM reads.
LEFT = (((BLOCK, TOMB), (BLOCK + 1, SEAL)), {1: Low(BLOCK + 2, 0, BLOCK + 2, None)}, {1: BLOCK})
TOP = BLOCK + 1
SCENARIOS.update({
    "repair, a JVM between":
        dict(go=[["R", "W"]], jvm=[["W"], ["W"], ["W"]], stored=LEFT, top=TOP, alone=True),
    "repair, then a JVM deletes":
        dict(go=[["R", "W"]], jvm=[["W", "D9"], ["W"]], stored=LEFT, top=TOP, alone=True, after=1),
})

NO_LOOK = dict(RULES, look=None, look_after_seals=False, look_after_conflict=False)
NEAR = dict(RULES, look="near")
BEFORE = dict(
    NO_LOOK, seq_kept=False, shard_before=False, exists=False, snapshot_sealed=False,
    purge_moves_on=False, low_marks_first=False, copy_sealed=False, rising=False)

# Title, rules, world, scenarios (None: all that the world allows), whether it holds.
CLAIMS = [
    ("the protocol before", BEFORE, CALM,
     ["Go deletes all", "Go deletes a part", "an operator deletes for a JVM", "snapshot newer"],
     False),
    ("handover: Go writers end or crash before a JVM starts", NO_LOOK, HANDOVER, None, True),
    ("paused: Go writers wake at any time, and look", RULES, PAUSED, None, True),
    ("near: the same with the cheaper look", NEAR, PAUSED, None, True),
    ("harsh: anything lands late, only Go deletes, no look", NO_LOOK, HARSH,
     ["stale writer, only Go deletes"], True),
    ("limit: paused without a look, a JVM deletes", NO_LOOK, PAUSED,
     ["stale writer, JVM deletes"], False),
    ("limit: a JVM takes over and deletes within T", RULES, dict(PAUSED, slow=False),
     ["stale writer, JVM deletes"], False),
    ("limit: a put lands where a JVM has deleted, and its writer crashes before it looks", RULES,
     HARSH, ["stale writer, JVM deletes"], False),
    ("limit: one shard, where a JVM's low mark always replaces that of Go", NO_LOOK,
     dict(CALM, shards=1), ["Go cuts its batch, a JVM less of it"], False),
]

# The scenario that breaks without a rule.
KILLED_BY = dict(
    seq_kept="Go deletes all",
    shard_before="Go cuts its batch, a JVM less of it",
    cut="Go cuts its batch, a JVM deletes less",
    go_mark_first="a dead batch is cut by both",
    exists="Go deletes all",
    top_sealed="Go deletes all",
    rising="a JVM deletes less than Go",
    idle_look="two deleters",
    fence="snapshot newer",
    snapshot_sealed="snapshot newer",
    mark_first="event and mark cut, in Go",
    mark_mended="a JVM's batch is cut",
    purge_moves_on="purge over blocks",
    low_marks_first="purge over blocks",
    copy_sealed="copy",
    repair_rising="repair, a JVM between",
    look="stale writer, JVM deletes",
    look_after_seals="holes, a JVM deletes",
    look_after_conflict="Go cuts its batch, a JVM less of it",
)


def run(name, rules, world, limit):
    try:
        return Model(SCENARIOS[name], rules, world).explore(limit), None
    except Broken as broken:
        return "BROKEN " + broken.args[0], broken.way


def scenarios(world):
    """The scenarios of a world; who must be alone can't have a paused writer beside it."""
    return [name for name in SCENARIOS if world["stopped"] or not SCENARIOS[name].get("alone")]


def try_claim(title, rules, world, names, holds, limit):
    """Reports whether a claim came out as it must."""
    print(title, flush=True)
    right = True
    for name in names or scenarios(world):
        result, way = run(name, rules, world, limit)
        print("    %-40s %s" % (name, result), flush=True)
        right = right and (way is None) == holds
        if way and (holds or name == names[0]):
            print(*way, sep="\n          ")
    return right


def try_without(rule, limit):
    """Reports whether the scenario that is to show the need of a rule breaks without it."""
    looks = rule.startswith("look")
    rules, world = (RULES, PAUSED) if looks else (NO_LOOK, HANDOVER)
    name = KILLED_BY[rule]
    result, way = run(name, {**rules, rule: None if rule == "look" else False}, world, limit)
    print("without %-16s %-40s %s" % (rule, name, result), flush=True)
    return way is not None


def main():
    gc.disable()  # nothing here is circular, and looking for it takes half the time
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    right = [try_claim(*claim, limit) for claim in CLAIMS if word in claim[0]]
    right += [try_without(rule, limit) for rule in KILLED_BY if word in "without " + rule]
    sys.exit(not all(right))


if __name__ == "__main__":
    main()
