"""Debts of a projection, explored breadth first.

    python3 debts.py                 # all scenarios, then without each rule
    python3 debts.py 200000 purge    # a limit of states, and a word of the names
    python3 debts.py 60000 without   # only the rules taken out

explores the states of each scenario up to a limit, with all rules. Then it removes each rule, one
at a time, and runs the scenario that must break without it. It ends with status 1 if a scenario
breaks, or if a rule can be removed and nothing breaks. If the word selects one scenario or one rule
("without NAME"), the script prints the steps to what breaks.

A debt is a run that a projection owes to a persistence id. A trigger stores it in the row when its
run can't be made now: the target of the projection is down, another run has the claim, the handler
fails. Then the trigger is done, and the checkpoint of the stream passes its record. A payment makes
the run later.

What is stored

    The events of each id: (life, number of the last event). A purge starts another life.
    A stream of one or two shards. A shard has records (id, life, number) in order, a lease, a
    checkpoint.
    A row for each projection and id:
        seq, life   the offset. In the code `seq` and `writer`: a writer belongs to one life.
        claim       the run that calls the handler, or that pays the debt
        debt        exists if and only if a run is owed. It is due or never due. An id whose debt is
                    never due is stuck: it waits for an operator. In the code `debt` (journal NUL
                    group/projection) and `due` (milliseconds) are the key of the sparse index
                    `debts`, and `since`, `reason`, `failed_at`, `attempts` belong to the debt. The
                    model has no time, so each debt of an id that is not stuck is due.
        again       a trigger has come since the last claim of a payment
        seen        a payment has met the present claim. In the code `claim_seen` names this claim, and
                    `claim_seen_at` is the time.
    The index of debts follows each row late.
    With SQL the offset is in the database, and the row has no offset.

Who takes part

    Processes take, steal and lose leases, receive records, read and write rows. A step is one
    request or one call of the handler. A process makes one run at a time: for a trigger, for a debt
    (a payment), or for a sweep. Processes crash anywhere. A claim can be misjudged, and taken from a
    process that lives. A request without a response lands later or never, and its process continues
    as another run.

    The target goes down and up. Operators pause, retry, skip and reset. Ids are purged. A second
    projection ("healthy") has a target that is never down; a record is done when it is done for both
    projections. The start of a projection from now stores the end of each id as its offset.

The writes (c is the claim of the run, a new one for each run)

    W1  store_debt    by a trigger: SET debt = if_not_exists(debt, due), again. It has no condition,
                      and an id that is stuck stays stuck.
    W2  claim_row     by the run of a trigger: SET claim = c. Condition: no debt, no claim, the offset
                      as read. A transactional or SQL run has no claim: it stores effect and offset
                      in one step, under the condition of the offset before.
    W3  claim_debt    by a payment: SET claim = c REMOVE again, due later. Condition: a debt that is
                      due, and no claim, or a dead claim that a payment has met
        meet_claim    instead, if there is a claim: SET seen, due later. Condition: a debt that is
                      due, the same claim
        store_offset  by a payment that has handled events: SET seq, writer. Condition: claim = c
    W4  remove_debt   then: REMOVE claim, debt. Condition: claim = c, no again
        return_debt   instead, if there is again: due now, REMOVE claim. Condition: claim = c
    W5  fail_debt     by a payment whose handler has failed: due later, REMOVE claim. Condition:
                      claim = c
        release       by the run of a trigger: SET seq, writer REMOVE claim. Condition: claim = c. If
                      the handler has failed, W1 follows.
    W6  stick         if the handler has failed for good: SET debt = never. It leaves `again`. A
                      payment does it instead of W5, and the run of a trigger in its release, both
                      under the condition of the claim. A run without a claim sends it alone.
                      Condition: no debt, no claim, the offset as read
    W7  retry         by an operator: SET debt = due. Condition: a debt. Then any process pays it.
    W8  skip          by an operator: SET seq + 1, debt = due. Condition: the debt is never due, no
                      claim, the offset as read

What must hold in every reachable state

    I  If the checkpoint is after a record, its event is at or before the stored offset, or the row
       has a debt.
    B  Events of an id are handled in order, and none is left out.
    C  A payment takes a claim over only if its process is dead, unless the claim is misjudged.
    D  Transactional and SQL: each event has its effect once.
    N  From now: no event from before the start is handled.
    H  From every state the end can be reached, without a new event, a crash or a misjudged claim:
       all events are handled, no row has a debt, the checkpoints are at the end. If operators no
       longer retry and skip, an id may stay stuck.
       If the target stays down, or a handler never returns, the end is: the checkpoints are at the
       end, all debts are in the index, and (P) the healthy projection has handled all events.
       H is checked for the scenarios that are explored to their end. The script prints the most
       steps from a state to the end.

The model does not have: time, several runs at once in a process, missing numbers, JVMs, filters,
several pages of events, groups without the index. H says that a way to the end exists. It does not
say that each way leads there.
"""

import gc
import sys
import time
from collections import deque, namedtuple

from breadth import Broken, history

# ---------------------------------------------------------------------------------------------
# Rules. Each can be taken out, and then a scenario must break.

RULES = dict(
    # A trigger is done after the response to its W1.
    stored_first=True,
    # Instead of W1 a debt in the row is enough, if the row was read after the trigger came, ...
    fresh_read=True,
    # ... and if it had no claim, or `again`.
    claim_absorbs_not=True,
    # W1 sets `again`.
    sets_again=True,
    # W3 removes `again`.
    claim_clears=True,
    # W4 asks for the run's own claim, ...
    end_claimed=True,
    # ... and for no `again`.
    end_again=True,
    # The offset is stored under the run's own claim.
    offset_claimed=True,
    # A payment reads the events after W3.
    read_after=True,
    # W4 comes after the offset is stored: with SQL, after the commit.
    offset_first=True,
    # Payments of transactional and SQL projections claim the row, too.
    tx_claims=True,
    # Transactional and SQL: effect and offset are stored if the offset is the one before.
    tx_offset=True,
    # If they are refused, the run reads the offset again, and nothing is done yet.
    refused_not_done=True,
    # W2 asks for the offset that was read.
    claim_offset=True,
    # The run of a trigger does not pay a debt. It may use the records of the stream, and these may
    # be older than the debt.
    run_unowed=True,
    # The run of a trigger does not replace the claim of a dead process: its trigger stores a debt.
    # The event may be the cause of the crash.
    dead_owes=True,
    # A debt can be stored under the claim of a process that lives.
    owes_claimed=True,
    # A trigger whose run fails is done by W1.
    owes=True,
    # It is not done before W1.
    fail_owes=True,
    # If a payment fails, the debt stays.
    fail_keeps=True,
    # If a handler does not return, W1 is sent for the triggers of its run.
    leaves=True,
    # A payment that meets a claim stores it in `claim_seen`.
    seen_stored=True,
    # A payment replaces a dead claim.
    take_dead=True,
    # It does so only if `claim_seen` names this claim.
    seen_names=True,
    # W3 makes the debt due later: if it kills its process, the next payment takes another one.
    claim_moves=True,
    # A payment that meets a claim makes the debt due later.
    seen_moves=True,
    # W5 makes the debt due later.
    fail_moves=True,
    # The triggers of a paused projection store debts.
    pause_owes=True,
    # A row whose id gets stuck has a debt after it.
    stick_owes=True,
    # A retry keeps the debt.
    resume_due=True,
    # A skip keeps the debt.
    skip_owes=True,
    # The sweep of a reset is stored before the rows are deleted.
    reset_owed=True,
    # From now: the start asks for a row without seq, not for a missing row.
    start_no_seq=True,
    # From now: nothing is handled before the start is done.
    start_first=True,
)

DEAD = "dead"  # replaces the claim of a process that has crashed
DUE, NEVER = "due", "never"  # the debts that a row can have: one that is never due makes its id stuck
LATER = "later"  # the handler has failed, and is called again later

Row = namedtuple("Row", "seq life claim debt again seen")
NEW = Row(None, 0, None, None, False, False)

# A run of a process. at: its next step. covers: the triggers that are done after it, as counts of
# records of each shard. cur: the offset that it has reached. stored: the offset that it has read. upto:
# the events that it has read. failed: LATER if the handler has failed, NEVER if it has failed for good.
Run = namedtuple("Run", "at unit kind covers cur stored upto failed", defaults=(None,) * 5)
# A process. gen: the number in its claims. got: how many records of each id it has received from each
# shard, None without the lease. done: how many of them are done for each unit. known: the units that
# have had a debt, for fresh_read.
Work = namedtuple("Work", "gen got done run known")

State = namedtuple(
    "State",
    "events records owners checkpoints rows listed offsets handled works up flying paused sweep"
    " resetting start left",
)
# records: of each shard, as owners (-1: nobody has the lease) and checkpoints. rows, listed (the debts
# in the index), offsets (in SQL) and handled: of each unit. flying: writes without a response. sweep: a
# sweep is owed. start: the next step of the start from now. left: how often something can still happen.
BUDGETS = ("crash", "wrong", "steal", "late", "down", "hang", "stick", "retry", "skip")
BUDGETS += ("reset", "purge", "pause")
Left = namedtuple("Left", BUDGETS)


def rep(t, i, v):
    return t[:i] + (v,) + t[i + 1 :]


def stored_in(row):
    return row.life, row.seq or 0


def spend(s, what):
    """Returns the state in which something can happen once less."""
    return s._replace(left=s.left._replace(**{what: getattr(s.left, what) - 1}))


class Debts:
    """One scenario. A unit is a projection and an id: the number of a row."""

    def __init__(self, sc, rule):
        self.rule = rule
        self.n, self.ids, self.workers = sc["n"], sc.get("ids", 1), sc.get("workers", 2)
        # The last event with a record in shard 0.
        self.border = sc.get("border")
        self.shards = 2 if self.border else 1
        # The second half of the units is of the healthy projection.
        self.units = self.ids * (2 if sc.get("healthy") else 1)
        # The processes that take the lease of each shard, and those that pay.
        self.holders = sc.get("holders", [range(self.workers)] * self.shards)
        self.payers = sc.get("payers", range(self.workers))
        # "tx" and "SQL" store effect and offset in one step.
        self.kind = sc.get("kind")
        self.one_step = bool(self.kind)
        # The target is down for ever, or the handler kills its process. With these and with "hang" a
        # debt can stay for ever.
        self.down, self.kills = sc.get("down_for_ever", False), sc.get("kills", False)
        self.forever = self.down or self.kills or "hang" in sc
        # The run of a trigger may use records; a trigger always sends W1, also if there is a debt.
        self.images, self.always = sc.get("images", False), sc.get("always", False)
        # Operators retry stuck ids as often as it takes; from now: how many events each id had before.
        self.retries, self.old = "retry" not in sc, sc.get("old")
        self.left = Left(*(sc.get(b, 0) for b in BUDGETS))

    def start(self):
        return State(
            events=tuple((0, n) for n in self.old or (0,) * self.ids),
            records=((),) * self.shards,
            owners=(-1,) * self.shards,
            checkpoints=(0,) * self.shards,
            rows=(NEW,) * self.units,
            listed=(None,) * self.units,
            offsets=((0, 0),) * self.units,
            handled=((0, 0),) * self.units,
            works=(self.process(0),) * self.workers,
            up=not self.down,
            flying=(),
            paused=False,
            sweep=False,
            resetting=False,
            start=("reads", 0) if self.old else None,
            left=self.left,
        )

    # ---- what must hold ----

    def offset(self, s, u):
        """The offset of a unit, as (life, number)."""
        return s.offsets[u] if self.kind == "SQL" else stored_in(s.rows[u])

    def check(self, s, trace):
        if s.sweep:
            return
        for records, upto in zip(s.records, s.checkpoints):
            for k, life, n in records[:upto]:
                if life != s.events[k][0]:
                    continue
                for u in range(k, self.units, self.ids):
                    row, (of, seq) = s.rows[u], self.offset(s, u)
                    if not row.debt and not (of == life and seq >= n):
                        raise Broken("I: event %d is passed, neither handled nor owed" % n, trace)

    def complete(self, s, u):
        row, event = s.rows[u], s.events[u % self.ids]
        at_end = self.offset(s, u) == event and s.handled[u] == event
        return at_end and not row.debt or self.given_up(s, u)

    def given_up(self, s, u):
        """Returns whether an id stays stuck: it is in the index, but operators do nothing any more."""
        acts = self.retries or s.left.retry or s.left.skip
        return s.rows[u].debt == s.listed[u] == NEVER and not acts

    def goal(self, s):
        if s.flying or s.sweep or s.start or any(c < len(r) for c, r in zip(s.checkpoints, s.records)):
            return False
        if not self.forever:
            idle = all(w.run is None or w.run.at == "hung" for w in s.works)
            return idle and not s.paused and all(self.complete(s, u) for u in range(self.units))
        return all(
            self.complete(s, u) if u >= self.ids else s.rows[u].debt in (None, s.listed[u])
            for u in range(self.units)
        )

    # ---- the writes to a row: the row after it, and whether its condition held ----

    def unclaimed(self, row):
        """`claim_seen` names another claim from now on."""
        return row._replace(claim=None, seen=row.seen and not self.rule["seen_names"])

    def stuck(self, row):
        """The id is stuck: the debt is never due. It keeps `again`."""
        return row._replace(debt=NEVER if self.rule["stick_owes"] else None)

    def store_debt(self, row):
        """W1. It needs no condition: a payment that finds nothing does no harm."""
        return row._replace(debt=row.debt or DUE, again=row.again or self.rule["sets_again"]), True

    def claim_row(self, row, c, dead, offset):
        """W2. dead is a dead claim that the run may replace."""
        if row.claim not in (None, dead) or row.debt:
            return row, False
        if self.rule["claim_offset"] and stored_in(row) != offset:
            return row, False
        return row._replace(claim=c), True

    def claim_debt(self, row, c, met):
        """W3. met is the claim that the payment replaces, or None."""
        if row.debt != DUE or row.claim != met:
            return row, False
        row = self.unclaimed(row)
        return row._replace(claim=c, again=row.again and not self.rule["claim_clears"]), True

    def meet_claim(self, row, met):
        if row.debt != DUE or row.claim != met:
            return row, False
        return row._replace(seen=True), True

    def store_offset(self, row, c, offset):
        if row.claim != c and self.rule["offset_claimed"]:
            return row, False
        return row._replace(life=offset[0], seq=offset[1]), True

    def remove_debt(self, row, c):
        """W4."""
        if row.claim != c and self.rule["end_claimed"] or row.again and self.rule["end_again"]:
            return row, False
        return self.unclaimed(row)._replace(debt=None, again=False, seen=False), True

    def return_debt(self, row, c):
        """The debt stays, and is due now."""
        return (self.unclaimed(row), True) if row.claim == c else (row, False)

    def fail_debt(self, row, c, sticks):
        """W5, or W6."""
        if row.claim != c:
            return row, False
        row = self.unclaimed(row)
        if sticks:
            return self.stuck(row), True
        return row._replace(debt=row.debt if self.rule["fail_keeps"] else None), True

    def release(self, row, c, offset, sticks):
        """With W6, if the id gets stuck."""
        if row.claim != c and self.rule["offset_claimed"]:
            return row, False
        row = self.unclaimed(row)._replace(life=offset[0], seq=offset[1])
        return (self.stuck(row) if sticks else row), True

    def stick(self, row, offset):
        """W6 of a run without a claim."""
        same = self.kind == "SQL" or stored_in(row) == offset
        if row.debt or row.claim is not None or not same:
            return row, False
        return self.stuck(row), True

    def retry(self, row):
        """W7."""
        if not row.debt:
            return row, False
        return row._replace(debt=DUE if self.rule["resume_due"] else None), True

    def skip(self, row, offset):
        """W8."""
        if row.debt != NEVER or row.claim is not None or stored_in(row) != offset:
            return row, False
        return row._replace(seq=offset[1] + 1, debt=DUE if self.rule["skip_owes"] else None), True

    # ---- what can happen ----

    def step(self, what, s, luck=False):
        self.out.append((what, luck, s))

    def steps(self, s, trace):
        """Returns the possible steps, as (what, luck, state). H does not count on steps of luck."""
        self.out, self.trace = [], trace
        self.world(s)
        self.requests(s)
        self.operators(s)
        self.start_from_now(s)
        if not s.resetting:
            for i, w in enumerate(s.works):
                if s.left.crash:
                    self.step(("crashes", i), self.crashed(spend(s, "crash"), i), luck=True)
                self.leases(s, i, w)
                if w.run is None:
                    self.idle(s, i, w)
                else:
                    getattr(self, "at_" + w.run.at)(s, i, w, w.run)
        return self.out

    def world(self, s):
        for k, (life, top) in enumerate(s.events):
            if top < self.n:
                self.step(("event", k, top + 1), self.written(s, k, life, top + 1), luck=True)
            if top and s.left.purge:
                purged = self.written(spend(s, "purge"), k, life + 1, 1)
                self.step(("purge, and event", k, 1), purged, luck=True)
        for u, row in enumerate(s.rows):
            if s.listed[u] != row.debt:
                listed = rep(s.listed, u, row.debt)
                self.step(("the index follows", u, row.debt), s._replace(listed=listed))
        if s.up and s.left.down:
            self.step(("target goes down",), spend(s, "down")._replace(up=False))
        if not s.up and not self.down:
            self.step(("target comes up",), s._replace(up=True))

    def written(self, s, k, life, n):
        h = 1 if self.border and n > self.border else 0
        records = rep(s.records, h, (*s.records[h], (k, life, n)))
        return s._replace(events=rep(s.events, k, (life, n)), records=records)

    def requests(self, s):
        """Requests without a response land late, or never: (name, unit, arguments ...)."""
        for j, write in enumerate(s.flying):
            rest = s._replace(flying=s.flying[:j] + s.flying[j + 1 :])
            self.step(("is lost", *write), rest)
            if write[0] == "commit":
                _, u, before, after = write
                if self.offset(s, u) == before or not self.rule["tx_offset"]:
                    self.step(("lands late", *write), self.committed(rest, u, after))
                continue
            row, ok = getattr(self, write[0])(s.rows[write[1]], *write[2:])
            if ok:
                self.step(("lands late", *write), rest._replace(rows=rep(s.rows, write[1], row)))

    def operators(self, s):
        if s.left.pause and not s.paused:
            self.step(("paused",), spend(s, "pause")._replace(paused=True), luck=True)
        if s.paused:
            self.step(("continued",), s._replace(paused=False))
        for u, row in enumerate(s.rows):
            if row.debt != NEVER:
                continue
            if self.retries or s.left.retry:
                made, _ = self.retry(row)
                t = s if self.retries else spend(s, "retry")
                self.step(("is retried", u), t._replace(rows=rep(s.rows, u, made)))
            life, top = s.events[u % self.ids]
            if s.left.skip and row.life == life and (row.seq or 0) < top:
                self.skips(s, u, row)
        quiet = all(w.run is None for w in s.works)
        if s.left.reset and quiet and all(w.got == (None,) for w in s.works) and s.owners == (-1,):
            t = spend(s, "reset")._replace(resetting=True, sweep=self.rule["reset_owed"])
            self.step(("reset starts",), t, luck=True)
        if s.resetting and quiet:
            t = s._replace(rows=(NEW,) * self.units, handled=((0, 0),) * self.units)
            self.step(("rows deleted",), t._replace(resetting=False))

    def skips(self, s, u, row):
        after, ok = self.skip(row, stored_in(row))
        if not ok:
            return
        n, (life, last) = after.seq, s.handled[u]
        handled = (row.life, max(last, n) if life == row.life else n)
        t = s._replace(rows=rep(s.rows, u, after), handled=rep(s.handled, u, handled))
        self.step(("skips", u, n), spend(t, "skip"), luck=True)

    def start_from_now(self, s):
        """A process stores the end of each id that had events, one after the other."""
        if not s.start:
            return
        what, k = s.start[:2]
        if what == "stores":
            self.step(("the start stores", k, s.start[2]), self.started(s, k, *s.start[2]))
            self.step(("the start is repeated",), s._replace(start=("reads", k)), luck=True)
        elif k == self.ids:
            self.step(("the start is done",), s._replace(start=None))
        elif self.old[k]:
            self.step(("the start reads", k, s.events[k]), s._replace(start=("stores", k, s.events[k])))
        else:
            self.step(("the start does not list", k), s._replace(start=("reads", k + 1)))

    def started(self, s, k, life, n):
        """One transaction: SET seq = if_not_exists(seq), and how far the start has come."""
        row = s.rows[k]
        if row.seq is None and (row == NEW or self.rule["start_no_seq"]):
            s = s._replace(rows=rep(s.rows, k, row._replace(seq=n, life=life)))
            s = s._replace(handled=rep(s.handled, k, (life, n)))
        return s._replace(start=("reads", k + 1))

    # ---- processes ----

    def crashed(self, s, i):
        mine = (i, s.works[i].gen)
        return s._replace(
            works=rep(s.works, i, self.process(mine[1])),
            owners=tuple(-1 if o == i else o for o in s.owners),
            rows=tuple(r._replace(claim=DEAD) if r.claim == mine else r for r in s.rows),
        )

    def process(self, gen):
        """Returns a process that has just started."""
        done = ((0,) * self.units,) * self.shards
        return Work(gen, (None,) * self.shards, done, None, (False,) * self.units)

    def dead(self, s, claim):
        return claim == DEAD or s.works[claim[0]].gen != claim[1]

    def counts(self, records):
        """Returns the number of records of each id."""
        return tuple(sum(r[0] == k for r in records) for k in range(self.ids))

    def leases(self, s, i, w):
        for h in range(self.shards):
            if i not in self.holders[h]:
                continue
            got, mine, records = w.got[h], s.owners[h] == i, s.records[h]
            if got is None:
                if not mine and (s.owners[h] < 0 or s.left.steal):
                    self.takes(s, i, w, h)
                continue
            if not mine and w.run is None:
                lost = w._replace(got=rep(w.got, h, None), done=rep(w.done, h, (0,) * self.units))
                self.step(("has lost the lease", i, h), s._replace(works=rep(s.works, i, lost)))
            if sum(got) < len(records):
                record = records[sum(got)]
                more = rep(got, record[0], got[record[0]] + 1)
                works = rep(s.works, i, w._replace(got=rep(w.got, h, more)))
                self.step(("receives", i, *record), s._replace(works=works))
            upto = self.done_up_to(records, w.done[h])
            if mine and upto > s.checkpoints[h]:
                checkpoints = rep(s.checkpoints, h, upto)
                self.step(("checkpoint", i, h, upto), s._replace(checkpoints=checkpoints))

    def takes(self, s, i, w, h):
        steals = s.owners[h] >= 0
        c = self.counts(s.records[h][: s.checkpoints[h]])
        w = w._replace(got=rep(w.got, h, c), done=rep(w.done, h, c * (self.units // self.ids)))
        t = spend(s, "steal") if steals else s
        t = t._replace(owners=rep(s.owners, h, i), works=rep(s.works, i, w))
        self.step(("takes the lease", i, h), t, luck=steals)

    def done_up_to(self, records, done):
        """Returns the number of records before the first one that is not done for all projections."""
        c = [0] * self.ids
        for upto, (k, _, _) in enumerate(records):
            c[k] += 1
            if any(c[k] > done[u] for u in range(k, self.units, self.ids)):
                return upto
        return len(records)

    def idle(self, s, i, w):
        for u in range(self.units):
            k = u % self.ids
            if any(got and got[k] > done[u] for got, done in zip(w.got, w.done)):
                covers = tuple(got[k] if got else 0 for got in w.got)
                run = Run("row", u, "trigger", covers)
                if w.known[u] and not self.rule["fresh_read"]:
                    self.step(("knows of a debt", i, u), self.done(s, i, run))
                self.step(("starts", i, u), self.runs(s, i, run))
            if s.listed[u] == DUE and i in self.payers and self.handles_now(s):
                self.step(("finds a debt", i, u), self.runs(s, i, Run("pay", u, "payment")))
        if s.sweep and not s.paused:
            self.step(("starts the sweep", i), self.runs(s, i, Run("row", 0, "sweep")))

    def runs(self, s, i, run):
        """The state in which the process is at a step of a run, None for no run."""
        return s._replace(works=rep(s.works, i, s.works[i]._replace(run=run)))

    def again(self, s, i, run):
        """The state in which the run reads the row again."""
        return self.runs(s, i, run._replace(at="row", cur=None, stored=None, upto=None, failed=None))

    def done(self, s, i, run, known=False):
        """The state after a run whose triggers or sweep are done."""
        if run.kind == "sweep":
            s = s._replace(sweep=False)
        w = s.works[i]
        done = w.done
        if run.covers:
            done = tuple(
                d if got is None else rep(d, run.unit, max(d[run.unit], c))
                for d, got, c in zip(done, w.got, run.covers)
            )
        known = w.known if self.rule["fresh_read"] else rep(w.known, run.unit, known)
        return s._replace(works=rep(s.works, i, w._replace(done=done, run=None, known=known)))

    def send(self, s, i, write, then):
        """Sends a write. The function then returns the state after the response."""
        u = write[1]
        row, ok = getattr(self, write[0])(s.rows[u], *write[2:])
        self.step((i, *write, "ok" if ok else "refused"), then(s._replace(rows=rep(s.rows, u, row)), ok))
        if s.left.late:
            self.unanswered(s, i, write)

    def unanswered(self, s, i, write):
        w = s.works[i]
        t = spend(s, "late")._replace(flying=(*s.flying, write))
        t = t._replace(works=rep(s.works, i, w._replace(gen=w.gen + 1, run=None)))
        self.step((i, *write, "no response"), t, luck=True)

    # ---- the steps of a run ----

    def at_row(self, s, i, w, run):
        """Reads the row, consistently."""
        u, row = run.unit, s.rows[run.unit]
        if row.debt and not self.rule["run_unowed"]:
            self.step(("pays the debt", i, u), self.runs(s, i, run._replace(at="pay", kind="payment")))
        if row.debt and not self.always:
            if row.claim is None or row.again or not self.rule["claim_absorbs_not"]:
                self.step(("finds the debt", i, u), self.done(s, i, run, known=True))
                return
        if s.paused and not self.rule["pause_owes"]:
            self.step(("passes over, paused", i, u), self.done(s, i, run))
        dead = row.claim is not None and self.dead(s, row.claim)
        if self.may_store(row, dead):
            if self.rule["stored_first"]:
                self.step(("will store a debt", i, u), self.runs(s, i, run._replace(at="owe")))
            else:
                t = self.done(s, i, run)
                after = run._replace(at="owe", covers=None)
                self.step(("is done, will store a debt", i, u), self.runs(t, i, after))
        free = row.claim is None or dead and not self.rule["dead_owes"]
        if free and not row.debt and self.handles_now(s):
            self.step(("reads the row", i, u), self.reads(s, i, run))

    def handles_now(self, s):
        return not s.paused and (s.start is None or not self.rule["start_first"])

    def may_store(self, row, dead):
        """Returns whether a trigger may store a debt now. A debt does no harm in any state."""
        if row.claim is not None and not dead and not self.rule["owes_claimed"]:
            return False
        if self.kills and not row.debt:  # the target is not known to be down
            return dead and self.rule["dead_owes"]
        return row.debt or self.rule["owes"]

    def reads(self, s, i, run):
        if self.kind == "SQL":
            return self.runs(s, i, run._replace(at="offset"))
        offset = self.offset(s, run.unit)
        return self.runs(s, i, run._replace(at="events", cur=offset, stored=offset))

    def at_offset(self, s, i, w, run):
        """Reads the offset in the database."""
        offset = s.offsets[run.unit]
        t = self.runs(s, i, run._replace(at="events", cur=offset, stored=offset))
        self.step(("reads the offset", i, run.unit, offset), t)

    def at_owe(self, s, i, w, run):
        def then(t, ok):
            return self.done(t, i, run, known=True)

        self.send(s, i, ("store_debt", run.unit), then)
        self.step(("tries again first", i, run.unit), self.runs(s, i, None))

    def at_claim(self, s, i, w, run):
        """The run of a trigger claims the row."""

        def then(t, ok):
            if not ok:
                return self.again(t, i, run)
            return self.runs(t, i, run._replace(at="handle"))

        claim = s.rows[run.unit].claim
        dead = claim if claim and not self.rule["dead_owes"] and self.dead(s, claim) else None
        self.send(s, i, ("claim_row", run.unit, (i, w.gen), dead, run.cur), then)

    def at_pay(self, s, i, w, run):
        """A payment claims the row, or stores that it has met another claim."""
        u, row = run.unit, s.rows[run.unit]
        if row.debt != DUE:
            self.step(("finds no debt that is due", i, u), self.runs(s, i, None))
            return
        if not self.rule["read_after"] and run.upto is None:
            early = run._replace(upto=s.events[u % self.ids])
            self.step(("reads events before the claim", i, u), self.runs(s, i, early))
            return
        if self.one_step and not self.rule["tx_claims"]:
            self.step(("pays without a claim", i, u), self.reads(s, i, run))
            return
        mine = (i, w.gen)

        def claimed(t, ok):
            return self.reads(t, i, run) if ok else self.runs(t, i, None)

        if row.claim is None:
            self.send(s, i, ("claim_debt", u, mine, None), claimed)
            return
        lives = not self.dead(s, row.claim)
        if row.seen and not lives and self.rule["take_dead"]:
            self.send(s, i, ("claim_debt", u, mine, row.claim), claimed)
        elif row.seen and lives and not self.rule["seen_names"]:
            raise Broken("C: the claim of a process that lives is taken", (self.trace, ("takes over", i, u)))
        elif row.seen and lives and s.left.wrong:
            taken, _ = self.claim_debt(row, mine, row.claim)
            t = spend(s, "wrong")._replace(rows=rep(s.rows, u, taken))
            self.step(("takes the claim of one that lives", i, u), self.reads(t, i, run), luck=True)
        if not row.seen and self.rule["seen_stored"]:
            self.send(s, i, ("meet_claim", u, row.claim), lambda t, ok: self.runs(t, i, None))
        else:
            self.step(("leaves it for now", i, u), self.runs(s, i, None))

    def at_events(self, s, i, w, run):
        """Reads the journal after the offset, or takes the records that have come."""
        top = run.upto or s.events[run.unit % self.ids]
        self.step(("reads events", i, run.unit, top), self.planned(s, i, run, top))
        if self.images and run.covers:
            life, n = run.cur
            numbers = self.received(s, run, life)
            while n + 1 in numbers:
                n += 1
            if n > run.cur[1]:
                self.step(("takes records", i, run.unit, (life, n)), self.planned(s, i, run, (life, n)))

    def received(self, s, run, life):
        """The numbers of the records that the run covers."""
        of = [[r for r in records if r[0] == run.unit % self.ids] for records in s.records]
        return {n for records, c in zip(of, run.covers) for _, l, n in records[:c] if l == life}

    def planned(self, s, i, run, top):
        run = run._replace(upto=top)
        if top > run.cur:
            claims = not self.one_step and run.kind != "payment"
            return self.runs(s, i, run._replace(at="claim" if claims else "handle"))
        if run.kind == "payment":
            return self.runs(s, i, run._replace(at="end"))
        return self.done(s, i, run)

    def at_handle(self, s, i, w, run):
        """Calls the handler for the next event, or for a purge."""
        u, cur, top = run.unit, run.cur, run.upto
        if top <= cur:
            self.step(("is at the end", i, u), self.handled_all(s, i, run))
            return
        after = (top[0], 0) if cur[0] < top[0] else (cur[0], cur[1] + 1)
        if self.kills and u < self.ids:
            self.step(("is killed by", i, u, after), self.crashed(s, i))
            return
        if not self.rule["offset_first"] and run.kind == "payment" and s.rows[u].debt:
            self.removes_first(s, i, w, run)
            return
        if s.up or u >= self.ids:
            if self.one_step:
                self.commits(s, i, run, after)
            else:
                t = s._replace(handled=rep(s.handled, u, self.handles(s, u, after)))
                self.step(("handles", i, u, after), self.runs(t, i, run._replace(cur=after)))
        else:
            self.step(("fails at", i, u, after), self.failed(s, i, run, LATER))
            if s.left.stick:
                stuck = self.failed(spend(s, "stick"), i, run, NEVER)
                self.step(("fails for good at", i, u, after), stuck)
        if s.left.hang:
            self.hangs(spend(s, "hang"), i, w, run)

    def handles(self, s, u, after):
        """Returns the last event that is handled after a call of the handler."""
        life, n = after
        if self.old and life == 0 and n <= self.old[u % self.ids]:
            raise Broken("N: event %d is from before the start" % n, (self.trace, ("handles", u, after)))
        before, last = s.handled[u]
        if n == 0:
            return (life, last if before == life else 0)
        if before == life and n > last + 1:
            raise Broken("B: event %d before %d" % (n, last + 1), (self.trace, ("handles", u, after)))
        return (life, max(last, n)) if before == life else s.handled[u]

    def commits(self, s, i, run, after):
        """Stores effect and offset in one step."""
        u = run.unit
        if self.offset(s, u) == run.cur or not self.rule["tx_offset"]:
            t = self.committed(s, u, after)
            self.step(("commits", i, u, after), self.runs(t, i, run._replace(cur=after)))
        elif not self.rule["refused_not_done"]:
            self.step(("refused, is done", i, u), self.handled_all(s, i, run))
        elif run.kind == "payment":
            self.step(("refused, reads again", i, u), self.reads(s, i, run._replace(upto=None)))
        else:
            self.step(("refused", i, u), self.again(s, i, run))
        if s.left.late:
            self.unanswered(s, i, ("commit", u, run.cur, after))

    def committed(self, s, u, after):
        life, n = after
        if n and s.handled[u][0] == life and s.handled[u][1] >= n:
            raise Broken("D: event %d has its effect twice" % n, self.trace)
        s = s._replace(handled=rep(s.handled, u, self.handles(s, u, after)))
        if self.kind == "SQL":
            return s._replace(offsets=rep(s.offsets, u, after))
        return s._replace(rows=rep(s.rows, u, s.rows[u]._replace(seq=n, life=life)))

    def hangs(self, s, i, w, run):
        """The handler never returns. The process leaves the run of a trigger. A payment stops its
        process, so here it is only that of a process without a lease."""
        if run.kind == "payment" and w.got != (None,):
            return
        if run.kind == "payment" or not self.rule["leaves"]:
            self.step(("never returns", i, run.unit), self.runs(s, i, run._replace(at="hung")), luck=True)
        else:
            t = s._replace(works=rep(s.works, i, w._replace(gen=w.gen + 1)))
            self.step(("is left", i, run.unit), self.runs(t, i, run._replace(at="owe")), luck=True)

    def at_hung(self, s, i, w, run):
        pass

    def removes_first(self, s, i, w, run):
        """W4 before the first effect, without offset_first."""
        row = s.rows[run.unit]
        if row.again or not (row.claim == (i, w.gen)):
            self.step(("can't remove the debt", i, run.unit), self.runs(s, i, None))
        else:
            rows = rep(s.rows, run.unit, row._replace(debt=None))
            self.step(("removes the debt", i, run.unit), s._replace(rows=rows))

    def handled_all(self, s, i, run):
        if run.kind == "payment":
            stores = not self.one_step and run.cur != run.stored
            return self.runs(s, i, run._replace(at="store" if stores else "end"))
        if not self.one_step:
            return self.runs(s, i, run._replace(at="release"))
        return self.done(s, i, run)

    def failed(self, s, i, run, failed):
        run = run._replace(failed=failed)
        if run.kind == "payment":
            stores = not self.one_step and run.cur != run.stored
            return self.runs(s, i, run._replace(at="store" if stores else "fail"))
        if not self.one_step:
            return self.runs(s, i, run._replace(at="release"))
        if failed == NEVER:
            return self.runs(s, i, run._replace(at="stick"))
        return self.waits(s, i, run)

    def waits(self, s, i, run):
        """The handler has failed: a debt is stored for the triggers."""
        if not self.rule["owes"]:
            return self.runs(s, i, None)
        return self.runs(s, i, run._replace(at="owe")) if self.rule["fail_owes"] else self.done(s, i, run)

    def at_stick(self, s, i, w, run):
        def then(t, ok):
            return self.done(t, i, run) if ok else self.again(t, i, run)

        if self.kind == "SQL" and s.offsets[run.unit] != run.cur:  # reads it again
            self.step(("another run has committed", i, run.unit), then(s, False))
        else:
            self.send(s, i, ("stick", run.unit, run.cur), then)

    def at_store(self, s, i, w, run):
        """A payment stores the offset. The claim and the debt stay."""

        def then(t, ok):
            after = run._replace(at="fail" if run.failed else "end")
            return self.runs(t, i, after if ok else None)

        self.send(s, i, ("store_offset", run.unit, (i, w.gen), run.cur), then)

    def at_end(self, s, i, w, run):
        """A payment ends the debt."""
        mine, u = (i, w.gen), run.unit
        if self.one_step and not self.rule["tx_claims"]:
            ended = s.rows[u]._replace(debt=None, again=False)
            self.step(("removes the debt", i, u), self.runs(s._replace(rows=rep(s.rows, u, ended)), i, None))
            return

        def then(t, ok):
            if ok:
                return self.done(t, i, run)
            return self.runs(t, i, run._replace(at="return") if t.rows[u].claim == mine else None)

        self.send(s, i, ("remove_debt", u, mine), then)

    def at_return(self, s, i, w, run):
        self.send(s, i, ("return_debt", run.unit, (i, w.gen)), lambda t, ok: self.runs(t, i, None))

    def at_fail(self, s, i, w, run):
        """A payment has failed."""
        write = ("fail_debt", run.unit, (i, w.gen), run.failed == NEVER)
        self.send(s, i, write, lambda t, ok: self.runs(t, i, None))

    def at_release(self, s, i, w, run):
        """The run of a trigger stores the offset, and releases the claim."""

        def then(t, ok):
            if not ok:
                return self.runs(t, i, None)
            return self.waits(t, i, run) if run.failed == LATER else self.done(t, i, run)

        self.send(s, i, ("release", run.unit, (i, w.gen), run.cur, run.failed == NEVER), then)


class Page:
    """Three ids have debts, and a payment finds only the first one of the page. Id 0 is bad: it kills
    the process that pays it, or its handler fails, or never returns. With "before" the run of a
    trigger hangs at id 0 already. On Lambda a claim names its end, and is replaced without a wait.

    State: the ids in the order in which they are due; the claims of the ids: None, a process, DEAD
    or "met"; what each process pays."""

    def __init__(self, sc, rule):
        self.bad, self.free, self.rule = sc["page"], (None, "met"), rule
        self.processes = sc.get("processes", 1)
        if sc.get("names_end"):
            self.free += (DEAD,)

    def start(self):
        if self.bad == "hung before":
            return ((0, 1, 2), (0, None, None), (0, None))
        return ((0, 1, 2), (None,) * 3, (None,) * self.processes)

    def check(self, s, trace):
        pass

    def goal(self, s):
        return s[0] == (0,)

    def steps(self, s, trace):
        order, claims, pays = s
        for i, k in enumerate(pays):
            rest = tuple(o for o in order if o != k)
            if k is None and order:
                yield self.begins(s, i, order[0])
            elif k:
                yield ("pays", i, k), False, (rest, rep(claims, k, None), rep(pays, i, None))
            elif k == 0 and self.bad == "kills":
                yield ("is killed by", i, k), False, (order, rep(claims, k, DEAD), rep(pays, i, None))
            elif k == 0 and self.bad == "fails":
                due = (*rest, k) if self.rule["fail_moves"] else (k, *rest)
                yield ("fails at", i, k), False, (due, rep(claims, k, None), rep(pays, i, None))

    def begins(self, s, i, k):
        order, claims, pays = s
        later = (*order[1:], k)
        if claims[k] in self.free:
            due = later if self.rule["claim_moves"] else order
            return ("claims", i, k), False, (due, rep(claims, k, i), rep(pays, i, k))
        due = later if self.rule["seen_moves"] else order
        met = rep(claims, k, "met") if claims[k] == DEAD else claims
        return ("meets a claim", i, k), False, (due, met, pays)


# ---------------------------------------------------------------------------------------------


def explore(sc, rule, limit):
    """Returns how many states there are, whether these are all, and the most steps to the end."""
    model = Page(sc, rule) if "page" in sc else Debts(sc, rule)
    start = model.start()
    seen, todo, ended = {start: 0}, deque([(start, None)]), True
    before, traces, goals = [[]], [], []
    while todo:
        s, trace = todo.popleft()
        me = len(traces)
        traces.append(trace)
        model.check(s, trace)
        if model.goal(s):
            goals.append(me)
        for what, luck, t in model.steps(s, trace):
            found = seen.get(t)
            if found is None:
                if len(seen) >= limit:
                    ended = False
                    continue
                found = seen[t] = len(seen)
                before.append([])
                todo.append((t, (trace, what)))
            if not luck:
                before[found].append(me)
    return len(seen), ended, farthest(before, traces, goals) if ended else None


def farthest(before, traces, goals):
    """Goes backwards from the goals. Returns the most steps to one of them."""
    steps, todo = dict.fromkeys(goals, 0), deque(goals)
    while todo:
        at = todo.popleft()
        for s in before[at]:
            if s not in steps:
                steps[s] = steps[at] + 1
                todo.append(s)
    for s, trace in enumerate(traces):
        if s not in steps:
            lost = len(traces) - len(steps)
            raise Broken("H: from %d of %d states the end can't be reached" % (lost, len(traces)), trace)
    return max(steps.values())


SCENARIOS = {
    "outage": dict(n=2, down=1, crash=1),
    "outage, images": dict(n=3, workers=1, down=1, crash=1, images=True),
    "outage, tx": dict(n=2, down=1, crash=1, kind="tx"),
    "outage, SQL": dict(n=2, down=1, crash=1, kind="SQL"),
    "two": dict(n=2, steal=1),
    "two, outage": dict(n=2, down=1, steal=1, images=True),
    "two, tx": dict(n=2, down=1, steal=1, kind="tx"),
    "misjudged": dict(n=2, down=1, wrong=1),
    "misjudged, tx": dict(n=2, down=1, wrong=1, kind="tx"),
    "misjudged, SQL": dict(n=2, down=1, wrong=1, kind="SQL"),
    "late writes": dict(n=2, down=1, late=1),
    "late writes, tx": dict(n=2, down=1, late=1, kind="tx"),
    "late writes, SQL": dict(n=2, down=1, late=1, kind="SQL"),
    "two ids": dict(n=1, ids=2, down=1),
    "two ids, a crash": dict(n=1, ids=2, down=1, crash=1),
    "two shards": dict(n=2, border=1, down=1, holders=[[0], [1]], images=True),
    "two shards, a crash": dict(n=2, border=1, down=1, crash=1, holders=[[0], [1]]),
    "two shards, tx": dict(n=3, border=1, down=1, holders=[[0], [1]], kind="tx"),
    "stuck": dict(n=2, down=1, stick=1),
    "stuck twice": dict(n=2, down=1, stick=2, skip=1),
    "stuck twice, retried once": dict(n=2, down=1, stick=2, retry=1),
    "stuck, skipped": dict(n=2, workers=1, down=1, stick=1, skip=1, crash=1),
    "stuck, misjudged": dict(n=2, down=1, stick=1, wrong=1),
    "stuck, purged": dict(n=1, down=1, stick=1, skip=1, purge=1),
    "stuck, tx": dict(n=2, down=1, stick=1, kind="tx"),
    "stuck, skipped, tx": dict(n=2, down=1, stick=1, skip=1, kind="tx"),
    "stuck, two, tx": dict(n=2, down=1, stick=1, steal=1, payers=[0], kind="tx"),
    "stuck, late writes, tx": dict(n=2, down=1, stick=1, late=1, holders=[[1]], payers=[0], kind="tx"),
    "stuck, SQL": dict(n=2, down=2, stick=2, kind="SQL"),
    "paused": dict(n=2, down=1, pause=1),
    "purged": dict(n=1, down=1, purge=1, crash=1),
    "purged, tx": dict(n=1, down=1, purge=1, crash=1, kind="tx"),
    "purged, SQL": dict(n=1, down=1, purge=1, crash=1, kind="SQL"),
    "reset": dict(n=2, workers=1, down=1, reset=1, crash=1, late=1),
    "from now": dict(n=2, old=(1,), down=1, crash=1),
    "from now, a new id": dict(n=2, ids=2, old=(1, 0), workers=1),
    "Lambda": dict(n=2, down=1, crash=1, holders=[[0]], payers=[1]),
    "healthy": dict(n=1, healthy=True, down=1),
    "healthy, a crash": dict(n=1, healthy=True, down=1, crash=1),
    "always stored": dict(n=2, down=1, crash=1, always=True),
    "always stored, tx": dict(n=2, down=1, crash=1, always=True, kind="tx"),
    "all at once": dict(n=2, down=1, crash=1, wrong=1, late=1, images=True),
    "all at once, tx": dict(n=2, down=1, crash=1, wrong=1, late=1, steal=1, kind="tx"),
    "down for ever": dict(n=3, down_for_ever=True, holders=[[0]]),
    "down for ever, tx": dict(n=3, down_for_ever=True, holders=[[0]], kind="tx"),
    "down for ever, SQL": dict(n=3, down_for_ever=True, holders=[[0]], kind="SQL"),
    "down for ever, shards": dict(n=3, border=1, down_for_ever=True, holders=[[0], [1]]),
    "down for ever, healthy": dict(n=2, healthy=True, down_for_ever=True),
    "down for ever, healthy, a crash": dict(n=1, healthy=True, down_for_ever=True, crash=1),
    "down for ever, stuck": dict(n=2, workers=1, healthy=True, down_for_ever=True, stick=1, retry=0),
    "hang": dict(n=3, hang=1, holders=[[0]]),
    "hang, tx": dict(n=3, hang=1, holders=[[0]], kind="tx"),
    "kills its process": dict(n=2, kills=True, holders=[[0]], payers=[]),
    "a page, one kills": dict(page="kills"),
    "a page, one kills, Lambda": dict(page="kills", names_end=True),
    "a page, one fails": dict(page="fails"),
    "a page, one hangs": dict(page="hangs", processes=2),
    "a page, one hung before": dict(page="hung before", processes=2),
}

# Each of the scenarios must break without the rule.
KILLED_BY = dict(
    stored_first=["outage"],
    fresh_read=["outage"],
    claim_absorbs_not=["outage"],
    sets_again=["outage"],
    claim_clears=["outage"],
    end_claimed=["misjudged"],
    end_again=["outage"],
    offset_claimed=["misjudged"],
    read_after=["outage"],
    offset_first=["outage", "outage, SQL"],
    tx_claims=["outage, tx", "outage, SQL"],
    tx_offset=["two, tx"],
    refused_not_done=["two, tx"],
    claim_offset=["two"],
    run_unowed=["two shards"],
    dead_owes=["kills its process"],
    owes_claimed=["hang"],
    owes=["down for ever", "down for ever, healthy"],
    fail_owes=["outage"],
    fail_keeps=["outage"],
    leaves=["hang"],
    seen_stored=["outage"],
    take_dead=["outage"],
    seen_names=["outage"],
    claim_moves=["a page, one kills, Lambda"],
    seen_moves=["a page, one hung before"],
    fail_moves=["a page, one fails"],
    pause_owes=["paused"],
    stick_owes=["stuck", "stuck, tx"],
    resume_due=["stuck"],
    skip_owes=["stuck, skipped"],
    reset_owed=["reset"],
    start_no_seq=["from now"],
    start_first=["from now"],
)


def main():
    gc.disable()
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    began, wrong = time.time(), 0
    names = [name for name in SCENARIOS if word in name]
    for name in names:
        try:
            states, ended, steps = explore(SCENARIOS[name], RULES, limit)
            all_or_first = "all %d states, at most %d steps to the end" if ended else "the first %d states"
            print("%-31s holds in" % name, all_or_first % ((states, steps) if ended else states), flush=True)
        except Broken as broken:
            wrong += 1
            print("%-31s BROKEN %s" % (name, broken.args[0]), flush=True)
            if len(names) == 1:
                print(*history(broken.args[1]), sep="\n    ")
    exact = [rule for rule in KILLED_BY if word == "without " + rule]
    rules = exact or [rule for rule in KILLED_BY if word in "without " + rule]
    for rule in rules:
        for name in KILLED_BY[rule]:
            try:
                explore(SCENARIOS[name], {**RULES, rule: False}, max(limit, 250_000))
                wrong += 1
                print("without %-18s %s: NOT CAUGHT" % (rule, name), flush=True)
            except Broken as broken:
                print("without %-18s %s: %s" % (rule, name, broken.args[0]), flush=True)
                if len(rules) == 1:
                    print(*history(broken.args[1]), sep="\n    ")
    print("done in %.0f s" % (time.time() - began))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
