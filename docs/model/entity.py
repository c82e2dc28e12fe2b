"""The entity host: commands of one entity, decided ahead of their writes, explored breadth first.

    python3 entity.py                  # all scenarios, then without each rule
    python3 entity.py 5000 deletion    # a limit of states, and a word of the names
    python3 entity.py 800000 without   # only the rules taken out

explores every reachable state of each scenario. Then it removes each rule, one at a time, and runs
the scenario that must break without it. It ends with status 1 if a scenario breaks, if its limit
was reached, or if a rule can be removed and nothing breaks.

What is stored

    A journal of one persistence id. At each number there is nothing, or one of:

    (writer, start, commands)  a member of an atomic write, with the command of each member
    "S"  a seal, "T"  a tombstone, or the fence of a purge

    Every put has the condition that its number is free. The members of a write land in any order,
    and the last one commits it. A write ends acknowledged, in conflict, refused (what has not
    landed never will), or unknown (what has not landed may land at any later time, or never). A
    recovery returns what is committed, and seals the missing numbers below the highest, in one
    step: protocol.py explores its requests. Above the highest number it seals nothing.

Who takes part

    Hosts, one in each process, with a list of commands each. A command is a function of the state:
    it records 1 or 2 events, or none where it is a query or where an event that it needs is not
    there. Its result contains the state that it was decided on. A host decides the commands one
    after the other on the state that the write under way and the events gathered since will make.
    A view is one step: it asks for a number, and reads if that is taken.

    Beside them, as often as the scenario allows: writes are refused, responses are lost, callers
    leave, a host crashes and starts again, snapshots are saved, events up to a snapshot or one
    less are deleted, and the entity is purged.

What must hold in every reachable state

    A  The result of a command is given when its events are durable.
    B  It is the result of deciding on the durable events before the command's own. A command that
       recorded nothing is decided on a beginning of the durable events.
    C  A command is applied at most once, and an id at most once until a purge.
    D  A command that failed, or recorded nothing, has no events.
    E  Events are committed in the order of their numbers, those of a host in the order in which
       its commands came.
    F  A view shows a beginning of the durable events, with everything that was shown or
       acknowledged anywhere before it began. A command is decided on a state with everything that
       its own host had shown or acknowledged before.
    G  A repeat of a command whose events were durable before it began is a duplicate. A duplicate
       is durable when it is reported, or was purged meanwhile.
    H  A command is not decided after its caller has got an answer.
    I  Every command ends: from every state the end can be reached.
"""

import gc
import sys
from collections import deque
from types import SimpleNamespace
from typing import NamedTuple, Optional

# ---------------------------------------------------------------------------------------------
# Rules: what a host does. Each can be taken out, and then a scenario must break.

RULES = dict(
    # The result of a command that recorded events is given when they are durable.
    ResultWhenDurable=True,
    # A command that recorded nothing gets its result when all that it was decided on is durable.
    ReadersWait=True,
    # A write is sent when the one before has ended.
    OneWriteUnderWay=True,
    # The events of the commands that leave together are one atomic write.
    OneAtomicWrite=True,
    # The events of a command are in one write.
    CommandsWhole=True,
    # After a conflict all commands of the write, and all decided on them, are decided again.
    DecidedAgainAfterConflict=True,
    # After a failure the commands that were decided on those of the write are decided again.
    SpeculatedAgainAfterFailure=True,
    # An unknown outcome is not reported as a failure.
    UnknownIsNoFailure=True,
    # After an unknown outcome the host looks whether the write is stored.
    OutcomeLookedUp=True,
    # The write is stored if its writer's UUID stands at the numbers that were tried.
    LookedByWriter=True,
    # The look reads the numbers that were tried, also where a snapshot covers them.
    LookedBehindSnapshot=True,
    # A number of the write is sealed if the write is not there, before anything is decided again.
    TriedNumberSealed=True,
    # That is so also where a part of the write is there.
    PartSealed=True,
    # The recovery begins when the look has ended.
    LookedBeforeRecovery=True,
    # Where the numbers that were tried are deleted the outcome stays unknown.
    DeletedStaysUnknown=True,
    # There a command with an id is a duplicate if the id is kept; if not, it stays unknown, too.
    AbsentIDTellsNothing=True,
    # The duplicate is reported as such: what the host had decided may not be what is stored.
    IDTellsNoResult=True,
    # Commands that were decided on a write that is found keep their results only if nothing
    # follows the write.
    KeptIfNothingFollows=True,
    # What is decided again is decided on the state that a recovery returns.
    RecoverBeforeGoingOn=True,
    # A recovery loads the snapshot if events behind the state that the host has are deleted.
    SnapshotWhereDeleted=True,
    # A snapshot contains durable state only.
    SnapshotDurable=True,
    # A snapshot of a lower number than the last deleted one is not loaded.
    PurgedSnapshotIgnored=True,
    # Commands that are decided again come before new ones, in their order.
    AgainInOrder=True,
    # A command whose caller has left is not decided again.
    LeftNotDecidedAgain=True,
    # A command whose caller leaves before it is sent is taken out, and what was decided on it is
    # decided again.
    UnsentTakenOut=True,
    # A recovery returns the ids that are stored with the events.
    IDKept=True,
    # A snapshot contains the ids.
    IDInSnapshot=True,
    # The ids of commands that are not yet durable count.
    IDUnderWay=True,
    # A duplicate of such a command is reported when that is durable.
    IDWaits=True,
    # A command with an id that recorded nothing asks whether the next number is free.
    IDAsked=True,
    # A view shows durable state.
    ViewDurable=True,
    # A view asks whether another process has written.
    ViewAsks=True,
    # It asks for the first number that was free, not for the one after the highest.
    FirstFreeAsked=True,
    # An event is applied to the durable state once, by its number.
    AppliedByNumber=True,
    # Nothing new is decided while a view has shown events that the write under way was decided
    # without.
    NewWaitForWhatIsShown=True,
)

FAULTS = ("refuse", "lose", "leave", "crash", "save", "delete", "purge")


class Command(NamedTuple):
    name: str
    size: int = 1                 # how many events it records
    id: Optional[str] = None
    needs: Optional[str] = None   # it records nothing unless this command's events are there
    after: Optional[str] = None   # it comes when this command's caller has got an answer


class Known(NamedTuple):
    """A state: the number of the last event, the commands of the events, their ids."""
    last: int
    state: tuple
    ids: frozenset


class Entry(NamedTuple):
    """A command that was decided, and waits."""
    r: int
    events: int
    on: tuple      # the state that it was decided on
    answer: str    # "done", "nothing" or "duplicate"


class Host(NamedTuple):
    phase: str            # new: has no writer; ready; unknown: looks for its last write
    durable: object       # Known, or None
    base: object          # what the entries were decided on: Known
    free: int             # the first number that was free
    life: int             # how often it has recovered
    next: int             # the next number of its writer
    entries: tuple        # commands that were decided, in order
    sent: int             # how many of them are in the write under way
    puts: frozenset       # its members that have not landed: (number, item)
    taken: bool           # one of their numbers was taken by something else
    wrote: tuple          # its items, one for each atomic write
    keeps: object         # entries that are kept if the recovery returns this state
    again: tuple          # commands to be decided again: (command, only its id counts)
    pc: int               # the next new command


class State(NamedTuple):
    items: tuple          # what is stored at each number from 1 on
    log: tuple            # committed events in order: (number, command), -1 for a purge
    low: int              # everything below is deleted
    snapshot: object      # Known, or None
    flying: frozenset     # puts of ended writers: (number, item)
    hosts: tuple
    answers: tuple        # of each command
    begun: tuple          # of each command: what its host had shown, and whether its id was there
    seen: tuple           # of each host: how much of the log it has shown or acknowledged
    views: tuple          # which views have ended
    left: tuple           # how often each of FAULTS can still happen


class Broken(Exception):
    pass


NEW = Host("new", None, None, 1, 0, 0, (), 0, frozenset(), False, (), None, (), 0)


def commands_of(log):
    """The state after some committed events: the commands of those since the last purge."""
    out = []
    for _, r in log:
        if r < 0:
            out = []
        else:
            out.append(r)
    return tuple(out)


class Model:
    """One scenario under one set of rules."""

    def __init__(self, scenario, rules):
        self.rules = rules
        self.commands = [c for program in scenario["hosts"] for c in program]
        self.programs, n = [], 0
        for program in scenario["hosts"]:
            self.programs.append(tuple(range(n, n + len(program))))
            n += len(program)
        self.owner = [i for i, program in enumerate(self.programs) for _ in program]
        self.index = {c.name: r for r, c in enumerate(self.commands)}
        self.views = scenario.get("views", ())
        self.join = scenario.get("join", 100)
        self.final = scenario.get("final", False)
        self.start = State(
            (), (), 1, None, frozenset(), (NEW,) * len(self.programs), (None,) * n, (None,) * n,
            (0,) * len(self.programs), (False,) * len(self.views),
            tuple(scenario.get(k, 0) for k in FAULTS))

    # -- The journal --------------------------------------------------------------------------

    @staticmethod
    def at(w, n):
        if n < w.low:
            return "T"
        return w.items[n - 1] if n <= len(w.items) else None

    @staticmethod
    def put(w, n, item):
        """Stores an item at a free number, and commits an atomic write whose last member it is."""
        items = list(w.items) + [None] * (n - len(w.items))
        items[n - 1] = item
        w.items = tuple(items)
        if item == "S":
            return
        _, start, commands = item
        if all(m <= len(items) and items[m - 1] == item
               for m in range(start, start + len(commands))):
            if w.log and w.log[-1][0] >= start:
                raise Broken("E: %s is committed behind %s" % (start, w.log[-1][0]))
            w.log += tuple((start + k, r) for k, r in enumerate(commands))

    def ids(self, state):
        return frozenset(self.commands[r].id for r in state if self.commands[r].id)

    def read(self, w, known, newest):
        """What a reader that has known (or None) makes of the journal."""
        known = known or Known(0, (), frozenset())
        gone = w.low - 1
        snapshot = w.snapshot
        if snapshot and snapshot.last < gone and self.rules["PurgedSnapshotIgnored"]:
            snapshot = None
        if gone > known.last and self.rules["SnapshotWhereDeleted"]:
            known = snapshot or Known(gone, (), frozenset())
        elif newest and snapshot and snapshot.last > known.last:
            known = snapshot
        new = tuple((n, r) for n, r in w.log if n > known.last and n >= w.low and r >= 0)
        events = tuple(r for _, r in new)
        ids = known.ids
        if self.rules["IDKept"]:
            ids |= self.ids(events)
        last = max(known.last, gone, new[-1][0] if new else 0)
        return Known(last, known.state + events, ids)

    # -- Answers, and what must hold when they are given --------------------------------------

    def answer(self, w, i, entry, kind=None):
        r, kind = entry.r, kind or entry.answer
        if w.answers[r] is not None:
            return  # its caller has left
        name = self.commands[r].name
        floor, there = w.begun[r]
        if kind == "done":
            at = [k for k, (_, x) in enumerate(w.log) if x == r]
            if len(at) < self.commands[r].size:
                raise Broken("A: %s has a result and is not durable" % name)
            if commands_of(w.log[:at[0]]) != entry.on:
                raise Broken("B: the result of %s was decided on %s, before it stands %s" % (
                    name, self.names(entry.on), self.names(commands_of(w.log[:at[0]]))))
            if at[0] < floor:
                raise Broken("F: %s was decided on less than its host had shown" % name)
            self.shown(w, i, at[-1] + 1)
        elif kind in ("nothing", "duplicate"):
            stored = self.ids(x for _, x in w.log if x >= 0)
            if kind == "duplicate" and self.commands[r].id not in stored:
                raise Broken("G: %s is a duplicate of nothing durable" % name)
            if kind == "nothing" and there:
                raise Broken("G: %s is a repeat, and is told that nothing was recorded" % name)
            self.shown(w, i, self.beginning(w, entry.on, floor, name))
        w.answers[r] = kind

    def beginning(self, w, state, floor, name):
        for p in range(floor, len(w.log) + 1):
            if commands_of(w.log[:p]) == state:
                return p
        if any(commands_of(w.log[:p]) == state for p in range(floor)):
            raise Broken("F: %s has %s, which is less than was shown before" % (
                name, self.names(state)))
        raise Broken("%s: %s has %s, durable is %s" % (
            "F" if name == "a view" else "B", name, self.names(state),
            self.names(commands_of(w.log))))

    def names(self, state):
        return "".join(self.commands[r].name for r in state) or "nothing"

    @staticmethod
    def shown(w, i, p):
        w.seen[i] = max(w.seen[i], p)

    def check(self, s):
        """What must hold in every state."""
        counts, ids, before, last = {}, set(), None, [-1] * len(self.programs)
        for _, r in s.log:
            c = self.commands[r]
            counts[r] = counts.get(r, 0) + 1
            if r < 0:
                ids = set()
            elif counts[r] > c.size:
                raise Broken("C: %s is applied twice" % c.name)
            elif r != before:
                if c.id in ids:
                    raise Broken("C: id %s is applied twice" % c.id)
                if c.id:
                    ids.add(c.id)
                if s.answers[r] in ("nothing", "failed"):
                    raise Broken("D: the answer of %s was %s, and it is applied" % (
                        c.name, s.answers[r]))
                if r < last[self.owner[r]]:
                    raise Broken("E: %s is before %s" % (
                        self.commands[last[self.owner[r]]].name, c.name))
                last[self.owner[r]] = r
            before = r
        if self.final:
            for r, c in enumerate(self.commands):
                if s.answers[r] == "nothing" and c.id in ids:
                    raise Broken("a repeat is told that nothing was recorded, and then its first "
                                 "attempt lands")

    # -- A host -------------------------------------------------------------------------------

    def decide(self, r, state, ids):
        c = self.commands[r]
        if c.id in ids:
            return Entry(r, 0, state, "duplicate")
        if c.size and (c.needs is None or self.index[c.needs] in state):
            return Entry(r, c.size, state, "done")
        return Entry(r, 0, state, "nothing")

    def asks(self, entry):
        return (entry.answer == "nothing" and self.commands[entry.r].id is not None
                and self.rules["IDAsked"])

    @staticmethod
    def applied(known, entries):
        return known.state + tuple(e.r for e in entries for _ in range(e.events))

    def ahead(self, h):
        """The state and the ids on which the next command is decided."""
        state, ids = self.applied(h.base, h.entries), h.base.ids
        if self.rules["IDUnderWay"]:
            ids |= self.ids(e.r for e in h.entries if e.events)
        return state, ids

    def settle(self, w, i):
        """Answers the commands that wait for nothing, and sends what has gathered."""
        h = w.hosts[i]
        if not h.sent:
            while h.entries and not h.entries[0].events and not self.asks(h.entries[0]):
                self.answer(w, i, h.entries[0])
                h = h._replace(entries=h.entries[1:])
        ready = h.phase == "ready" and not (h.sent and self.rules["OneWriteUnderWay"])
        rest = h.entries[h.sent:]
        if ready and not self.rules["CommandsWhole"]:
            rest = tuple(Entry(e.r, min(e.events, 1), e.on, e.answer)
                         for e in rest for _ in range(max(e.events, 1)))
            h = h._replace(entries=h.entries[:h.sent] + rest)
        if ready and any(e.events for e in rest) and not (not h.sent and self.asks(h.entries[0])):
            count, size = 0, 0
            for k, e in enumerate(rest):
                if size and size + e.events > self.join:
                    break
                if e.events:
                    count, size = k + 1, size + e.events
            commands = tuple(e.r for e in rest[:count] for _ in range(e.events))
            start = h.next + sum(len(item[2]) for item in h.wrote)
            me = (i, h.life)
            if self.rules["OneAtomicWrite"]:
                written = ((me, start, commands),)
            else:
                written = tuple((me, start + k, (r,)) for k, r in enumerate(commands))
            puts = frozenset((item[1] + k, item) for item in written for k in range(len(item[2])))
            if not self.rules["ResultWhenDurable"]:
                for e in rest[:count]:
                    self.answer(w, i, e)
            h = h._replace(sent=h.sent + count, puts=h.puts | puts, wrote=h.wrote + written)
        w.hosts[i] = h

    def begin_again(self, w, h, entries):
        """The commands of entries are decided again, those whose callers have left are not."""
        rs = tuple((e.r, False) for e in entries
                   if w.answers[e.r] is None or not self.rules["LeftNotDecidedAgain"])
        return h._replace(entries=(), sent=0, puts=frozenset(), taken=False, wrote=(),
                          keeps=None, again=rs + h.again)

    def host_steps(self, s, i):
        h = s.hosts[i]

        if h.phase == "new" and (h.again or h.keeps or self.next_new(s, h, i) is not None):
            snapshots = s.snapshot and s.snapshot.last > (h.durable.last if h.durable else 0)
            for newest in (False, True)[:1 + bool(snapshots)]:
                w = self.copy(s)
                self.recover(w, i, h, *self.recovery(w, h, newest))
                yield "%s recovers%s" % (i, " from the snapshot" * newest), w
        if h.phase == "unknown" and not self.rules["LookedBeforeRecovery"] and not h.keeps:
            w = self.copy(s)
            w.hosts[i] = h._replace(keeps=self.recovery(w, h, False))
            yield "%s recovers before it looks" % i, w
        elif h.phase == "unknown":
            w = self.copy(s)
            name = self.look(w, i, h)
            if h.keeps:
                self.recover(w, i, w.hosts[i], *h.keeps)
            yield "%s looks: %s" % (i, name), w
        if h.phase != "ready":
            return
        if not h.sent and h.entries:  # the first one is to ask
            w = self.copy(s)
            if self.at(s, h.free) is None and self.rules["IDAsked"] == "seals":
                self.put(w, h.free, "S")
                self.answer(w, i, h.entries[0])
                w.hosts[i] = self.begin_again(w, h, h.entries[1:])._replace(phase="new")
            elif self.at(s, h.free) is None:
                self.answer(w, i, h.entries[0])
                w.hosts[i] = h._replace(entries=h.entries[1:])
                self.settle(w, i)
            else:
                w.hosts[i] = self.begin_again(w, h, h.entries)._replace(phase="new")
            yield "%s asks for %s" % (i, h.free), w
        if h.sent:
            yield from self.write_steps(s, i, h)
        if self.rules["NewWaitForWhatIsShown"] and h.entries and h.durable != h.base and \
                h.durable.state != self.applied(h.base, h.entries[:h.sent]):
            return
        new = self.next_new(s, h, i)
        if h.again and (self.rules["AgainInOrder"] or new is None):
            w = self.copy(s)
            self.decide_again(w, i, h)
            yield "%s decides %s again" % (i, self.commands[h.again[0][0]].name), w
        elif new is not None:
            w = self.copy(s)
            there = self.commands[new].id in self.ids(commands_of(s.log))
            w.begun[new] = (s.seen[i], there)
            self.add(w, i, h._replace(pc=h.pc + 1), new)
            yield "%s decides %s" % (i, self.commands[new].name), w

    def next_new(self, s, h, i):
        if h.pc == len(self.programs[i]):
            return None
        r = self.programs[i][h.pc]
        after = self.commands[r].after
        return r if after is None or s.answers[self.index[after]] is not None else None

    def add(self, w, i, h, r):
        """Decides a command behind those that were decided before."""
        if not h.entries:
            h = h._replace(base=h.durable)
        if w.answers[r] is not None:
            raise Broken("H: %s is decided after its caller has got an answer" %
                         self.commands[r].name)
        e = self.decide(r, *self.ahead(h))
        early = not e.events and (
            not self.rules["IDWaits"] if e.answer == "duplicate" else not self.rules["ReadersWait"])
        if early:
            self.answer(w, i, e)
        else:
            h = h._replace(entries=h.entries + (e,))
        w.hosts[i] = h
        self.settle(w, i)

    def decide_again(self, w, i, h):
        (r, only_id), h = h.again[0], h._replace(again=h.again[1:])
        if only_id:
            state, ids = self.ahead(h) if h.entries else (h.durable.state, h.durable.ids)
            if self.commands[r].id in ids:
                only_id = False
            elif self.rules["AbsentIDTellsNothing"]:
                self.answer(w, i, Entry(r, 0, state, "unknown"))
                w.hosts[i] = h
                return
        self.add(w, i, h, r)

    def recovery(self, w, h, newest):
        """Seals what is missing; returns the state and the next number."""
        for n in range(max(1, w.low), len(w.items)):
            if self.at(w, n) is None:
                self.put(w, n, "S")
        known = self.read(w, h.durable, newest)
        if not self.rules["RecoverBeforeGoingOn"] and h.durable:
            known = h.durable
        return known, max(len(w.items), w.low - 1) + 1

    def recover(self, w, i, h, known, nxt):
        h = h._replace(phase="ready", durable=known, base=known, free=nxt, next=nxt,
                       life=h.life + 1)
        if h.keeps:
            on, entries = h.keeps
            h = h._replace(keeps=None)
            if known.state == on or on is None or not self.rules["KeptIfNothingFollows"]:
                h = h._replace(entries=entries)
            else:
                h = self.begin_again(w, h, entries)
        w.hosts[i] = h
        self.settle(w, i)

    def write_steps(self, s, i, h):
        """What happens to the write under way."""
        for n, item in h.puts:
            w = self.copy(s)
            free = self.at(s, n) is None
            w.hosts[i] = h._replace(puts=h.puts - {(n, item)}, taken=h.taken or not free)
            if free:
                self.put(w, n, item)
            yield "%s of %s %s" % (n, i, "lands" if free else "is taken"), w
        if not h.puts and h.taken:
            w = self.copy(s)
            self.conflict(w, i, h)
            yield "%s has a conflict" % i, w
        elif not h.puts:
            w = self.copy(s)
            self.acknowledge(w, i, h)
            yield "%s has written" % i, w

    def conflict(self, w, i, h):
        if self.rules["DecidedAgainAfterConflict"]:
            h = self.begin_again(w, h, h.entries)
        else:
            h = self.begin_again(w, h, ())._replace(keeps=(None, h.entries))
        w.hosts[i] = h._replace(phase="new")

    def acknowledge(self, w, i, h):
        written, rest = h.entries[:h.sent], h.entries[h.sent:]
        last = max(item[1] + len(item[2]) - 1 for item in h.wrote)
        base = Known(last, self.applied(h.base, written),
                     h.base.ids | self.ids(e.r for e in written if e.events))
        durable = h.durable
        if not self.rules["AppliedByNumber"]:
            durable = base = Known(last, self.applied(durable, written), base.ids | durable.ids)
        elif durable.last < last:
            durable = base
        waiting = ()
        for e in written:
            if e.events or not self.asks(e):
                self.answer(w, i, e)
            else:
                waiting += (e,)
        h = h._replace(durable=durable, base=base, next=last + 1, free=max(h.free, last + 1),
                       entries=waiting + rest, sent=0, wrote=())
        if durable.last > last:  # a view has read what follows the write
            while h.entries and not h.entries[0].events and not self.asks(h.entries[0]):
                self.answer(w, i, h.entries[0])
                h = h._replace(entries=h.entries[1:])
            h = self.begin_again(w, h, h.entries)._replace(phase="new")
        w.hosts[i] = h
        if h.phase == "ready":
            self.settle(w, i)

    def look(self, w, i, h):
        """Finds out whether the last write is stored."""
        written, rest = h.entries[:h.sent], h.entries[h.sent:]
        if not self.rules["UnknownIsNoFailure"]:
            for e in written:
                if e.events:
                    self.answer(w, i, e, "failed")
            w.hosts[i] = self.begin_again(
                w, h, tuple(e for e in written if not e.events) + rest)._replace(phase="new")
            return "reports a failure"
        first, last = h.wrote[0][1], h.wrote[-1][1] + len(h.wrote[-1][2])
        mine = {item[1] + k: item for item in h.wrote for k in range(len(item[2]))}
        there = {n: self.at(w, n) for n in range(first, last)}
        numbers = {n for n, _ in w.log}
        if not self.rules["OutcomeLookedUp"]:
            outcome = "does not"
        elif w.snapshot and w.snapshot.last >= first and not self.rules["LookedBehindSnapshot"]:
            outcome = "behind the snapshot is nothing"
        elif not self.rules["LookedByWriter"] and all(
                it not in (None, "S", "T") for it in there.values()):
            outcome = "found"
        elif any(it == mine[n] for n, it in there.items()) and numbers >= set(there):
            outcome = "found"
        elif any(it not in (None, "T", mine[n]) for n, it in there.items()):
            outcome = "another item"
        elif "T" in there.values():
            outcome = "deleted" if self.rules["DeletedStaysUnknown"] else "nothing"
        else:
            part = any(it == mine[n] for n, it in there.items())
            outcome = "a part" if part else "nothing"
            if self.rules["TriedNumberSealed"] and (self.rules["PartSealed"] or not part):
                self.put(w, min(n for n, it in there.items() if it is None), "S")
        if outcome == "found":
            for e in written:
                if e.events or not self.asks(e):
                    self.answer(w, i, e)
            waits = tuple(e for e in written if not e.events and self.asks(e))
            on = self.applied(h.base, written)
            h = h._replace(base=Known(last - 1, on, frozenset()))
            w.hosts[i] = self.begin_again(w, h, ())._replace(
                phase="new", keeps=(on, waits + rest))
        elif outcome == "deleted":
            again = ()
            for e in written:
                if w.answers[e.r] is None:
                    if not e.events:
                        again += ((e.r, False),)
                    elif not self.rules["IDTellsNoResult"] and \
                            self.commands[e.r].id in self.read(w, h.durable, False).ids:
                        self.answer(w, i, e)
                    elif self.commands[e.r].id:
                        again += ((e.r, True),)
                    else:
                        self.answer(w, i, e, "unknown")
            h = self.begin_again(w, h, rest)
            w.hosts[i] = h._replace(phase="new", again=again + h.again)
        else:
            w.hosts[i] = self.begin_again(w, h, h.entries)._replace(phase="new")
        return outcome

    # -- What goes wrong, and what others do --------------------------------------------------

    def other_steps(self, s):
        can = dict(zip(FAULTS, s.left))

        for f in s.flying:
            w = self.copy(s)
            w.flying = s.flying - {f}
            if self.at(s, f[0]) is None:
                self.put(w, *f)
            yield "%s of %s arrives late" % (f[0], f[1][0][0]), w
        for i, h in enumerate(s.hosts):
            if can["lose"] and h.phase == "ready" and h.sent:
                w = self.copy(s, "lose")
                w.flying = s.flying | h.puts
                if h.taken:
                    self.conflict(w, i, h)
                else:
                    w.hosts[i] = h._replace(phase="unknown", puts=frozenset())
                yield "%s gets no response" % i, w
            if can["refuse"] and h.phase == "ready" and h.puts and not h.taken:
                w = self.copy(s, "refuse")
                self.refuse(w, i, h)
                yield "the write of %s is refused" % i, w
            if can["leave"]:
                yield from self.leaves(s, i, h)
            if can["crash"] and h.phase != "new":
                w = self.copy(s, "crash")
                w.flying = s.flying | h.puts
                for r in [e.r for e in h.entries] + [r for r, _ in h.again]:
                    if w.answers[r] is None:
                        w.answers[r] = "unknown"
                w.hosts[i] = NEW._replace(life=h.life, pc=h.pc)
                yield "%s crashes" % i, w
        for k, i in enumerate(self.views):
            if not s.views[k]:
                w = self.copy(s)
                w.views = s.views[:k] + (True,) + s.views[k + 1:]
                yield "view of %s shows %s" % (i, self.names(self.view(w, i))), w
        if can["save"]:
            yield from self.saves(s)
        if can["delete"] and s.snapshot:
            for to in (s.snapshot.last, s.snapshot.last - 1):
                if s.low <= to:
                    w = self.copy(s, "delete")
                    w.low = to + 1
                    w.items = ("T",) * to + s.items[to:]
                    yield "%s and below are deleted" % to, w
        if can["purge"] and s.log:
            w = self.copy(s, "purge")
            top = len(s.items) + 1
            w.items, w.low, w.log = ("T",) * top, top + 1, s.log + ((top, -1),)
            yield "the entity is purged", w
        if s.snapshot and s.snapshot.last < s.low - 1:
            w = self.copy(s)
            w.snapshot = None
            yield "the purge removes the snapshot", w

    def leaves(self, s, i, h):
        """A caller leaves. Its command is not decided again; one not yet sent is taken out."""
        for r, only_id in h.again:
            if s.answers[r] is None:
                w = self.copy(s, "leave")
                w.answers[r] = "unknown" if only_id else "failed"
                w.hosts[i] = h._replace(again=tuple(a for a in h.again if a[0] != r))
                yield "the caller of %s leaves" % self.commands[r].name, w
        for k, e in enumerate(h.entries):
            if s.answers[e.r] is None:
                w = self.copy(s, "leave")
                w.answers[e.r] = "unknown" if e.events and k < h.sent else "failed"
                if e.events and k >= h.sent:
                    on_it = h.entries[k + 1:]
                    if self.rules["UnsentTakenOut"]:
                        again = tuple((x.r, False) for x in on_it if s.answers[x.r] is None)
                        w.hosts[i] = h._replace(entries=h.entries[:k], again=again + h.again)
                    else:
                        w.hosts[i] = h._replace(entries=h.entries[:k] + on_it)
                yield "the caller of %s leaves" % self.commands[e.r].name, w

    def saves(self, s):
        """Snapshots that can be saved: of what is durable now, or was when a host has read it."""
        known = {h.durable for h in s.hosts if h.durable and h.durable.last}
        if s.log and s.log[-1][1] >= 0:
            state = commands_of(s.log)
            known.add(Known(s.log[-1][0], state, self.ids(state)))
        if not self.rules["SnapshotDurable"]:
            for h in s.hosts:
                if h.sent:
                    last = h.base.last + sum(e.events for e in h.entries)
                    known.add(Known(last, *self.ahead(h)))
        for k in known:
            if not s.snapshot or s.snapshot.last < k.last:
                w = self.copy(s, "save")
                w.snapshot = k if self.rules["IDInSnapshot"] else k._replace(ids=frozenset())
                yield "a snapshot of %s is saved" % k.last, w

    def refuse(self, w, i, h):
        """The members that have not landed never will."""
        written, rest = h.entries[:h.sent], h.entries[h.sent:]
        members = sum(len(item[2]) for item in h.wrote)
        for e in written:
            if e.events:
                self.answer(w, i, e, "failed")
        others = tuple(e for e in written if not e.events) + rest
        after = self.begin_again(w, h, others)
        if not self.rules["SpeculatedAgainAfterFailure"]:
            after = after._replace(entries=others, again=h.again)
        w.hosts[i] = after
        if len(h.puts) < members:
            if after.entries:
                after = after._replace(keeps=(None, after.entries), entries=())
            w.hosts[i] = after._replace(phase="new")
        else:
            self.settle(w, i)

    def view(self, w, i):
        h = w.hosts[i]
        floor = max(w.seen)
        known = h.durable
        if known is None or self.rules["ViewAsks"] and self.at(w, h.free) is not None:
            known = self.read(w, known, False)
            free = max(known.last, w.low - 1) + 1
            if self.rules["FirstFreeAsked"]:
                while self.at(w, free) is not None:
                    free += 1
            else:
                free = max(free, len(w.items) + 1)
            h = h._replace(durable=known, free=free)
            if h.phase == "ready" and not h.entries:
                h = h._replace(phase="new")  # its writer would conflict
            w.hosts[i] = h
        state = known.state
        if not self.rules["ViewDurable"] and h.entries:
            state = self.applied(h.base, h.entries)
        self.shown(w, i, self.beginning(w, state, floor, "a view"))
        return state

    # -- Exploration --------------------------------------------------------------------------

    @staticmethod
    def copy(s, used=None):
        """A copy of a state that a step may change; used is one of FAULTS that it uses up."""
        w = SimpleNamespace(**s._asdict())
        w.hosts, w.answers = list(s.hosts), list(s.answers)
        w.begun, w.seen = list(s.begun), list(s.seen)
        if used:
            k = FAULTS.index(used)
            w.left = s.left[:k] + (s.left[k] - 1,) + s.left[k + 1:]
        return w

    @staticmethod
    def freeze(w):
        w.hosts, w.answers = tuple(w.hosts), tuple(w.answers)
        w.begun, w.seen = tuple(w.begun), tuple(w.seen)
        return State(**vars(w))

    def explore(self, limit):
        """Looks at every reachable state, up to limit; raises Broken with the way there."""
        start = self.start
        numbers, todo = {start: 0}, deque([(start, None)])
        before, ends = [[]], []
        try:
            while todo:
                s, way = todo.popleft()
                self.check(s)
                mine = numbers[s]
                if all(a is not None for a in s.answers) and all(s.views):
                    ends.append(mine)
                steps = [step for i in range(len(s.hosts)) for step in self.host_steps(s, i)]
                for k, (name, w) in enumerate([*steps, *self.other_steps(s)]):
                    after = self.freeze(w)
                    to = numbers.get(after)
                    if to is None:
                        to = numbers[after] = len(numbers)
                        before.append([])
                        todo.append((after, (way, name)))
                    if k < len(steps) or name.startswith("view"):
                        before[to].append(mine)
                if len(numbers) > limit:
                    return "no violation in the first %d states" % limit, False
        except Broken as broken:
            broken.way = []
            while way:
                way, name = way
                broken.way.insert(0, name)
            raise
        ended, todo = set(ends), list(ends)
        while todo:
            for k in before[todo.pop()]:
                if k not in ended:
                    ended.add(k)
                    todo.append(k)
        if len(ended) < len(numbers):
            broken = Broken("I: from %d of %d states a command never ends" % (
                len(numbers) - len(ended), len(numbers)))
            broken.way = [str(next(s for s, k in numbers.items() if k not in ended))]
            raise broken
        return "holds in all %d states" % len(numbers), True


# ---------------------------------------------------------------------------------------------
# Scenarios: the commands of each host, in order, and what else can happen, how often.


def command(name, size=1, **more):
    return Command(name, size, **more)


A, B, C = command("a"), command("b"), command("c")
A2, B2 = command("a", 2), command("b", 2)
P, Q = command("p", 0), command("q", 0)  # queries
N = command("n", needs="a")              # records an event only where a's is
R = command("r", id="1")                 # a request, and its repeat
S = command("s", id="1")
T = command("t", id="1", needs="c", after="r")

SCENARIOS = {
    "commands joined into a write":
        dict(hosts=[[A, B2, Q, C]], lose=1, crash=1),
    "more gathered than a write may hold":
        dict(hosts=[[A, B2, Q, C]], lose=1, refuse=1, join=2),
    "commands that are not joined":
        dict(hosts=[[A, N, Q, B2]], lose=1, refuse=1, crash=1, join=1),
    "a failed write below speculated commands":
        dict(hosts=[[A2, N, Q, B]], refuse=2, lose=1),
    "a conflict in the middle":
        dict(hosts=[[A2, N, Q], [B, C]]),
    "an unknown outcome with commands queued":
        dict(hosts=[[A, Q, B2, C]], lose=2),
    "a late landing after the recovery":
        dict(hosts=[[A2, N, Q]], lose=1, refuse=1, leave=1),
    "a late landing beside another process":
        dict(hosts=[[A2, N], [B]], lose=1),
    "two processes, both pipelining":
        dict(hosts=[[A, N, Q], [B2, C]], refuse=1),
    "a snapshot of another process":
        dict(hosts=[[A, N], [B]], lose=1, save=1),
    "deletion meanwhile":
        dict(hosts=[[A, N, Q], [B]], lose=1, save=1, delete=1),
    "deletion cuts the unknown write":
        dict(hosts=[[A2, N]], lose=1, save=1, delete=2),
    "deletion meanwhile, with ids":
        dict(hosts=[[R, B], [S]], lose=1, save=1, delete=1),
    "purge meanwhile":
        dict(hosts=[[A, Q], [B]], lose=1, save=1, purge=1, views=(0,)),
    "purge meanwhile, with ids":
        dict(hosts=[[R, B], [C]], lose=1, purge=1),
    "same id while the first is under way":
        dict(hosts=[[R, S, B]], lose=1, refuse=1, leave=1),
    "same id in two processes":
        dict(hosts=[[R, B], [C, S]], lose=1, refuse=1),
    "same id after a lost answer":
        dict(hosts=[[R, B], [command("s", id="1", after="r"), C]], crash=1, leave=1),
    "same id, and the repeat would record nothing":
        dict(hosts=[[A, R], [P, T, C]], lose=1),
    "a view while a write is under way":
        dict(hosts=[[A2, N, Q]], views=(0, 0), refuse=1, lose=1),
    "a view beside another process":
        dict(hosts=[[A, N, Q], [B]], views=(0, 0), lose=1),
    "a view of an entity that is not loaded":
        dict(hosts=[[A, B2], []], views=(1, 1), lose=1),
    "callers leave":
        dict(hosts=[[A, N, Q], [B]], leave=2, lose=1),
}

# What does not hold, and what would hold if a command with an id that records nothing sealed the
# next number, where it asks whether that is free.
FINAL = dict(hosts=[[A, R], [P, T, C]], crash=1, final=True)
LIMITS = {
    "a repeat that records nothing is final": (FINAL, RULES, False),
    "the same, with a seal": (FINAL, dict(RULES, IDAsked="seals"), True),
}

# The scenario that breaks without a rule.
KILLED_BY = dict(
    ResultWhenDurable="commands joined into a write",
    ReadersWait="a failed write below speculated commands",
    OneWriteUnderWay="a failed write below speculated commands",
    OneAtomicWrite="commands joined into a write",
    CommandsWhole="more gathered than a write may hold",
    DecidedAgainAfterConflict="a conflict in the middle",
    SpeculatedAgainAfterFailure="a failed write below speculated commands",
    UnknownIsNoFailure="an unknown outcome with commands queued",
    OutcomeLookedUp="an unknown outcome with commands queued",
    LookedByWriter="a late landing beside another process",
    LookedBehindSnapshot="a snapshot of another process",
    TriedNumberSealed="a late landing after the recovery",
    PartSealed="a late landing after the recovery",
    LookedBeforeRecovery="a late landing after the recovery",
    DeletedStaysUnknown="deletion meanwhile",
    AbsentIDTellsNothing="purge meanwhile, with ids",
    IDTellsNoResult="deletion meanwhile, with ids",
    KeptIfNothingFollows="a late landing beside another process",
    RecoverBeforeGoingOn="two processes, both pipelining",
    SnapshotWhereDeleted="deletion meanwhile",
    SnapshotDurable="a snapshot of another process",
    PurgedSnapshotIgnored="purge meanwhile",
    AgainInOrder="a conflict in the middle",
    LeftNotDecidedAgain="callers leave",
    UnsentTakenOut="callers leave",
    IDKept="same id in two processes",
    IDInSnapshot="deletion meanwhile, with ids",
    IDUnderWay="same id while the first is under way",
    IDWaits="same id while the first is under way",
    IDAsked="same id, and the repeat would record nothing",
    ViewDurable="a view while a write is under way",
    ViewAsks="a view beside another process",
    FirstFreeAsked="a view of an entity that is not loaded",
    AppliedByNumber="a view while a write is under way",
    NewWaitForWhatIsShown="a view beside another process",
)


def explore(scenario, rules, limit):
    try:
        return (*Model(scenario, rules).explore(limit), None)
    except Broken as broken:
        return "BROKEN " + broken.args[0], False, broken.way


def main():
    gc.disable()  # nothing here is circular, and looking for it takes half the time
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 800_000
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    wrong = 0
    for name, scenario in SCENARIOS.items():
        if word in name:
            result, right, way = explore(scenario, RULES, limit)
            print("%-45s %s" % (name, result), flush=True)
            if way:
                print(*way, sep="\n    ")
            wrong += not right
    for name, (scenario, rules, holds) in LIMITS.items():
        if word in "limit: " + name:
            result, right, _ = explore(scenario, rules, limit)
            print("limit: %-38s %s" % (name, result), flush=True)
            wrong += right != holds
    for rule, name in KILLED_BY.items():
        if word in "without " + rule:
            result, _, way = explore(SCENARIOS[name], {**RULES, rule: False}, limit)
            print("without %-28s %s: %s" % (rule, name, result), flush=True)
            wrong += way is None
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
