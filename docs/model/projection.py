"""The consumer of a projection for one persistence id, explored breadth first.

    python3 projection.py                  # all scenarios, then without each rule
    python3 projection.py 20000 purge      # a limit of states, and a word of the names
    python3 projection.py 150000 without   # only the rules taken out

explores the states of each scenario up to a limit, with all rules. Then it removes each rule, one
at a time, and runs the scenario that must break without it. It ends with status 1 if a scenario
breaks, or if a rule can be removed and nothing breaks. One scenario alone prints the way to what
breaks.

What is stored

    A journal of one persistence id. Numbers up to BORDER have their records in stream shard 0,
    the others in shard 1. An item is (writer, start, last), a member of the batch
    start..start+last, or "T" (deleted) or "S" (sealed). Each recovery has a new writer number. A
    record exists for each event and each seal, in order within a shard only. Beside the journal
    there are the leases of the shards with their checkpoints, and the row of the projection: the
    offset, the writer of the event there, the claim, and the mark of a stuck id. With a JVM it
    also has the holes that are waited for, each with the writer of the first event behind it,
    whether their bound has passed, and the numbers that were passed.

Who takes part

    Writers in Go recover, seal, put singles and batches whose members land in any order, meet
    conflicts, delete and purge. A JVM has two puts under way and seals nothing. A writer crashes
    anywhere; what it had under way lands later, or never. After a purge the traces vanish, at once
    or one by one, and the next life begins at 1. The index of ids can list the id late.

    Two or three workers take, steal and lose leases, and receive records at any time. A run claims
    the row, reads two pages and then the low mark, calls the handler for each event, and writes the
    offset and releases the claim. Only then is done what was received before the run began, and the
    checkpoint may pass it. A transactional worker ("tx") has no claim: effect and offset are one
    conditional step. Workers crash anywhere. A step is one request, or one call of the handler.

What must hold in every reachable state

    A  If the checkpoints are at the end, the workers idle, no sweep is owed and the id is not
       stuck, every committed event was handled, or told as a gap.
    B  When an event is handled, all committed ones of its life before it were handled or told:
       nothing is skipped, and the order is ascending.
    C  What is handled was committed.
    D  Transactional: each effect happens once.
    E  No number is committed below one that was handled: nothing undecided was passed. Where
       puts may be later than the bound, such an event is told, and never handled.
    F  Two workers are never both in the handler, unless a claim was taken from a live worker.
    G  No event is handled twice, unless a worker crashed or a claim was misjudged.
    H  From every state the workers can come to the end: nothing waits for ever. This is checked
       for the scenarios that are explored to their end.

The model does not have: several ids in a run, the retries of AWS Lambda, splits of shards, the
records of marks, a handler that lasts longer than a life, JVM writers that overwrite each other, a
JVM and a writer in Go at one id, offsets in SQL. A run reads all pages; LiveWindow is left out.
"""

import gc
import sys
import time
from collections import deque

# ---------------------------------------------------------------------------------------------
# Rules: what a consumer does, and what it relies on. Each can be taken out, and then a scenario
# must break.

RULES = dict(
    # A record is done when a run that began after it was received has written its offset.
    done_after_read=True,
    # If something is visible behind an undecided number, the record is not done.
    pages_hold=True,
    # Nothing behind an undecided number is handled before it is decided, or the bound has passed.
    stop_at_hole=True,
    # The bound is longer than a put can be under way.
    bound_honest=True,
    # The bound of a hole counts only while the event behind it has the same writer.
    hole_life=True,
    # A number is passed if its bound had passed when the reading began that found it missing.
    age_before=True,
    # The numbers that are passed are stored with the offset, and read again by each run.
    late_told=True,
    # Members count only if their batch is whole.
    whole_batch=True,
    # The low mark is read after the items.
    low_last=True,
    # At least once: the handler runs under a claim in the row.
    claim=True,
    # That is so also if no other worker has a lease.
    claim_always=True,
    # A record of an id that another worker has claimed waits.
    claim_wait=True,
    # The claim of a dead worker is taken over.
    take_dead=True,
    # The offset is written if the claim (tx: the old offset and writer) is unchanged.
    offset_cond=True,
    # A run whose offset was refused is not done.
    lost_not_done=True,
    # The checkpoint waits for the offset.
    after_deed=True,
    # The checkpoint is written if the lease is unchanged.
    ckpt_owner=True,
    # If another event is at the offset, and no low mark above it, the row is reset.
    life=True,
    # Without a read, a record counts only if its writer is the one that the row names.
    same_writer=True,
    # After a trimmed part the owed sweep is durable before the checkpoint moves on.
    owed=True,
    # A sweep settles only what was owed when it began.
    owed_cond=True,
    # The sweep waits for claims and undecided numbers, as a record does.
    sweep_waits=True,
    # A record that meets a stuck row raises its counter. Whoever resumes the id clears the mark
    # only if the counter is unchanged.
    again=True,
    # From now: positions first, then rows for all listed ids, then work. No row: from 1.
    now_listed=True,
    # Such a row is at the decided end, not at the highest number.
    now_decided=True,
    # Numbers below the low mark that were not handled are told, as a step of the handler.
    gap_told=True,
    # Nothing that was read below the low mark is handled.
    gap_all=True,
    # A projection that joins takes all leases back before it sweeps.
    bump=True,
    # A lease is taken under the group's version, by a worker that runs all its projections.
    members=True,
    # Records are used without a read in native journals only.
    image_native=True,
    # A reading is shorter than the time between a purge and the end of its traces.
    reading_short=True,
    # The marks of a purge vanish after everything else.
    marks_last=True,
    # The index lists an id before the records of its first events are trimmed.
    index_bound=True,
)
BORDER = 2


class Broken(Exception):
    pass


def rep(t, i, v):
    return t[:i] + (v,) + t[i + 1 :]


def closed(it):
    return it in ("T", "S")


def whole(items, it, low, cut):
    """As in protocol.py: members below the low mark may be missing if the mark names the batch."""
    _, start, last = it
    return all(
        0 < n < len(items) and items[n] == it or n < low and it == cut
        for n in range(start, start + last + 1)
    )


def visible(items, low, cut):
    return [
        (n, it[0])
        for n, it in enumerate(items)
        if n >= low and it and not closed(it) and whole(items, it, low, cut)
    ]


def behind(vis, n):
    """The writer of the first visible event behind a number, which a hole is remembered with."""
    return next((vis[m] for m in sorted(vis) if m > n), 0)


def decide(items, low, cut, o, jvm, aged, rule):
    """The numbers below the low mark to tell, the events to handle, and the holes that end it."""
    out, gap = [], []
    vis = dict(visible(items, low, cut))
    if not rule["whole_batch"]:
        vis = {n: it[0] for n, it in enumerate(items) if n >= low and it and not closed(it)}
    for n in range(o + 1, len(items)):
        it = items[n]
        if n in vis:
            out.append((n, vis[n]))
        elif n < low:
            if it and not closed(it) and not rule["gap_all"]:
                out.append((n, it[0]))
            gap.append(n)
        elif (
            it is None
            or not closed(it)
            and any(
                items[m] is None and m >= low
                for m in range(it[1], min(it[1] + it[2] + 1, len(items)))
            )
        ):
            holes = (
                [n]
                if it is None
                else [m for m in range(it[1], it[1] + it[2] + 1) if items[m] is None]
            )
            if not any(m > n for m in vis):
                break
            if (
                not (
                    set(holes) <= {m for m, _ in aged}
                    and (not rule["hole_life"] or all((m, behind(vis, m)) in aged for m in holes))
                )
                and rule["stop_at_hole"]
            ):
                return (
                    gap,
                    out,
                    frozenset(
                        (m, behind(vis, m))
                        for m in {*holes, *(m for m in range(n, max(vis)) if items[m] is None)}
                    ),
                )
    return gap, out, frozenset()


def history(trace):
    return (*history(trace[0]), trace[1]) if trace else ()


IDLE = ("idle",)
W0 = ((-1, -1), (0, 0), IDLE)  # worker: received, done, phase
NO_HOLES = (frozenset(), False, frozenset())  # row: holes, whether the bound passed, passed numbers


def explore(sc, rule, limit, seconds=1e9, want_live=False):
    programs, N, jvm, tx = sc["programs"], sc.get("n", 4), sc.get("jvm", False), sc.get("tx", False)
    budget0 = tuple(
        sc.get(k, 0) for k in ("wcrash", "crash", "steal", "wrong", "hook", "trim", "poison")
    )
    now, nworkers, use_image = (
        sc.get("now", False),
        sc.get("workers", 2),
        sc.get("image", False) and not (jvm and rule["image_native"]),
    )
    start = (
        (None,) * (N + 1),
        0,
        None,
        frozenset(),
        tuple((0, ("new",)) for _ in programs),
        1,
        0,
        False,
        ((), ()),
        (0, 0),
        0,
        ((-1, 0), (-1, 0)),
        None,
        (W0,) * nworkers,
        frozenset(),
        frozenset(),
        budget0,
        0 if now else 3,
        False,
        frozenset(),
        not sc.get("late_index"),
        NO_HOLES,
    )
    seen, todo, t0 = {hash(start)}, deque([(start, None)]), time.time()
    edges, goals = {}, set()
    while todo:
        s, trace = todo.popleft()
        (
            items,
            low,
            cut,
            flying,
            writers,
            wn,
            life,
            removing,
            recs,
            trim,
            owed,
            leases,
            row,
            workers,
            committed,
            handled,
            bud,
            started,
            excuse,
            exempt,
            listed,
            kept,
        ) = s
        wcrash, crash, steal, wrong, hook, trims, poison = bud
        steps = []

        def add(what, **k):
            g = k.get
            new_items, new_low, new_cut = g("items", items), g("low", low), g("cut", cut)
            com, exe = g("committed", committed), g("exempt", exempt)
            if new_items is not items:
                fresh = frozenset(v for v in visible(new_items, new_low, new_cut)) - com
                if fresh:
                    com = com | fresh
                    if g("started", started) < 3:
                        exe = exe | fresh  # before "now"
                    tops = [n for n, w in handled if w >= life and w > 0]
                    late = [e for e in fresh if tops and e[0] < max(tops) and e[1] >= life]
                    if late and sc.get("late"):
                        exe = exe | {("late", *e) for e in late}
                    elif late:
                        raise Broken(
                            "E: %s committed, below a number that was handled" % (sorted(fresh),),
                            (trace, what),
                        )
            steps.append(
                (
                    what,
                    (
                        new_items,
                        new_low,
                        new_cut,
                        g("flying", flying),
                        g("writers", writers),
                        g("wn", wn),
                        g("life", life),
                        g("removing", removing),
                        g("recs", recs),
                        g("trim", trim),
                        g("owed", owed),
                        g("leases", leases),
                        g("row", row),
                        g("workers", workers),
                        com,
                        g("handled", handled),
                        g("bud", bud),
                        g("started", started),
                        g("excuse", excuse),
                        exe,
                        g("listed", listed),
                        g("kept", kept),
                    ),
                )
            )

        idle = all(w[2] == IDLE for w in workers)
        if (
            idle
            and owed <= 0
            and started == 3
            and all(leases[h][1] == len(recs[h]) for h in (0, 1))
            and not (row and row[3])
        ):
            missing = [
                e for e in committed if e[1] >= life and e not in handled and e not in exempt
            ]
            if missing:
                raise Broken("A: all consumed, but %s never handled" % (sorted(missing),), trace)
            goals.add(hash(s))

        # ---- the journal ----
        def put(n, it):
            h = 0 if n <= BORDER else 1
            return dict(items=rep(items, n, it), recs=rep(recs, h, recs[h] + ((n, it),)))

        for f in flying:
            if items[f[0]] is None:
                add(("lands late", f), flying=flying - {f}, **put(*f))
            if jvm or sc.get("vanish"):
                add(("is lost", f), flying=flying - {f})
        if removing:  # the second half of a deletion
            gone = None if jvm else "T"
            add(
                ("removes below", low),
                items=tuple(gone if 0 < n < low and it else it for n, it in enumerate(items)),
                removing=False,
            )
        reading = any(w[2][0] in ("A", "B", "L") for w in workers)
        idle_writers = all(w[1][0] in ("new", "purged") for w in writers)
        if (
            sc.get("vanish")
            and low > 1
            and not removing
            and not flying
            and life == 0
            and not visible(items, low, cut)
            and idle_writers
        ):
            traces = [n for n, it in enumerate(items) if it] if sc["vanish"] == "one by one" else []
            for n in traces:
                add(("a trace vanishes", n), items=rep(items, n, None))
            rest = (
                items
                if sc["vanish"] == "one by one" and not rule["marks_last"]
                else (None,) * (N + 1)
            )
            if (not traces or not rule["marks_last"]) and (
                not reading or not rule["reading_short"]
            ):
                add(
                    ("the last traces vanish",),
                    items=rest,
                    low=0,
                    cut=None,
                    life=life if any(rest) else wn,
                    writers=tuple((pc, ("new",)) for pc, _ in writers),
                )
        for i, (pc, ph) in enumerate(writers):
            prog = programs[i]

            def to(phase, pc=pc):
                return rep(writers, i, (pc, phase))

            if ph[0] == "new" and pc < len(prog):
                top = max([low - 1, 0, *(n for n, it in enumerate(items) if it)])
                gaps = () if jvm else tuple(n for n in range(max(low, 1), top) if items[n] is None)
                if not (jvm and (flying and any(n > top for n, _ in flying))):
                    add(
                        ("recovers", i, top + 1, gaps),
                        writers=to(("ready", top + 1, gaps, wn)),
                        wn=wn + 1,
                    )
            elif ph[0] == "ready":
                _, nxt, gaps, w = ph
                if gaps:
                    n = gaps[0]
                    if items[n] is None:
                        add(("seals", i, n), writers=to(("ready", nxt, gaps[1:], w)), **put(n, "S"))
                    else:
                        add(("seal meets", i, n), writers=to(("new",)))
                elif pc < len(prog):
                    op, k = prog[pc][0], int(prog[pc][1:] or 1)
                    if op in "WJ" and nxt + k - 1 <= N:
                        left = frozenset(
                            (n, (w, nxt, k - 1) if op == "W" else (w, n, 0))
                            for n in range(nxt, nxt + k)
                        )
                        add(("writes", i, prog[pc], nxt), writers=to(("put", left, nxt + k, w)))
                    elif op == "D" and not removing:
                        upto = min(k, nxt - 1)
                        if upto + 1 > low:
                            it = items[upto]
                            c = (
                                it
                                if it
                                and not closed(it)
                                and it[1] + it[2] > upto
                                and whole(items, it, low, cut)
                                else None
                            )
                            add(
                                ("low mark", i, upto + 1),
                                low=upto + 1,
                                cut=c,
                                removing=True,
                                writers=to(("ready", nxt, (), w), pc + 1),
                            )
                    elif op == "P" and not removing:
                        add(
                            ("purges", i),
                            low=nxt,
                            cut=None,
                            removing=True,
                            writers=to(("purged",), pc + 1),
                        )
            elif ph[0] == "purged":
                add(("goes on after the purge", i), writers=to(("new",)))
            elif ph[0] == "put":
                _, left, nxt, w = ph
                for f in left:
                    if items[f[0]] is None:
                        rest = left - {f}
                        add(
                            ("puts", i, f),
                            writers=(
                                to(("put", rest, nxt, w))
                                if rest
                                else to(("ready", nxt, (), w), pc + 1)
                            ),
                            **put(*f),
                        )
                    else:
                        add(
                            ("conflicts", i, f[0]),
                            writers=to(("new",)),
                            flying=flying | (left - {f}),
                        )
                if wcrash:
                    add(
                        ("writer crashes", i),
                        writers=to(("new",), pc + 1),
                        flying=flying | left,
                        bud=rep(bud, 0, wcrash - 1),
                    )

        if not listed and any(items):
            add(("the index lists the id",), listed=True)

        # ---- streams, start ----
        for h in (0, 1):
            if (
                trims
                and trim[h] < len(recs[h])
                and leases[h][1] < len(recs[h])
                and (listed or not rule["index_bound"])
            ):
                add(("trims", h), trim=rep(trim, h, len(recs[h])), bud=rep(bud, 5, trims - 1))
        if started < 2:  # from now: note the ends of the shards, one after the other
            add(
                ("notes the end of", started),
                leases=rep(leases, started, (-1, len(recs[started]))),
                started=started + 1,
            )
        elif started == 2:
            if not rule["now_listed"]:
                add(("starts from now",), started=3)
            else:
                _, out, _ = decide(items, low, cut, 0, jvm, frozenset(), rule)
                at = out[-1] if out else None
                if not rule["now_decided"]:
                    at = max(
                        ((n, it[0]) for n, it in enumerate(items) if it and not closed(it)),
                        default=None,
                    )
                add(("row for now at", at), row=(*at, -1, 0) if at else None, started=3)

        # ---- workers ----
        under_way = flying or any(w[1][0] == "put" for w in writers)
        honest = rule["bound_honest"] and not sc.get("late")
        if kept[0] and not kept[1] and not (honest and under_way):
            add(("the bound passes", tuple(kept[0])), kept=(kept[0], True, kept[2]))

        for i, (pos, done, ph) in enumerate(workers if started == 3 else ()):

            def me(phase=ph, pos=pos, done=done):
                return rep(workers, i, (pos, done, phase))

            for h in (0, 1):
                owner, ckpt = leases[h]
                if pos[h] < 0 and owner != i and (owner < 0 or steal):
                    add(
                        ("takes shard", i, h),
                        leases=rep(leases, h, (i, ckpt)),
                        workers=me(pos=rep(pos, h, ckpt), done=rep(done, h, ckpt)),
                        bud=bud if owner < 0 else rep(bud, 2, steal - 1),
                    )
                if pos[h] >= 0 and owner != i and ph == IDLE:
                    add(
                        ("finds shard lost", i, h),
                        workers=me(pos=rep(pos, h, -1), done=rep(done, h, 0)),
                    )
                if pos[h] >= 0:
                    if pos[h] < trim[h]:
                        if ph == IDLE:  # trimmed: go on behind it, and a sweep is owed
                            behind = dict(pos=rep(pos, h, trim[h]), done=rep(done, h, trim[h]))
                            if not rule["owed"]:
                                add(
                                    ("meets the trimmed part, sweeps", i, h),
                                    workers=me(("claim", done, "sweep", 0), **behind),
                                )
                            elif owner == i:
                                add(
                                    ("meets the trimmed part", i, h),
                                    owed=abs(owed) + 1,
                                    workers=me(**behind),
                                )
                    elif pos[h] < len(recs[h]):
                        add(
                            ("receives", i, recs[h][pos[h]]),
                            workers=me(pos=rep(pos, h, pos[h] + 1)),
                        )
                    upto = done[h] if rule["after_deed"] else pos[h]
                    if (owner == i or not rule["ckpt_owner"]) and upto != ckpt:
                        add(("checkpoint", i, h, upto), leases=rep(leases, h, (owner, upto)))

            pending = tuple(max(pos[h], done[h]) for h in (0, 1))
            o, a, claim, st = row or (0, 0, -1, 0)

            if crash:
                add(
                    ("worker crashes", i),
                    workers=rep(workers, i, W0),
                    leases=tuple((-1, c) if ow == i else (ow, c) for ow, c in leases),
                    row=(o, a, 9, st) if claim == i else row,
                    bud=rep(bud, 1, crash - 1),
                    excuse=True,
                )
            if ph == IDLE:
                if pending != done:
                    add(("begins a run", i), workers=me(("claim", pending, "run", 0)))
                if owed > 0 and listed:
                    add(("begins the sweep", i), workers=me(("claim", done, "sweep", owed)))
                elif owed > 0:
                    add(("the sweep does not find the id", i), owed=-owed)
                if hook and i == 0:
                    add(
                        ("is triggered in process", i),
                        workers=me(("claim", done, "hook", 0)),
                        bud=rep(bud, 4, hook - 1),
                    )
                if st and claim in (-1, 9) and poison <= 1:
                    add(
                        ("resumes", i),
                        workers=me(("A", done, "resume", st, (o, a), (o, a), done)),
                        row=(o, a, -1 if tx else i, st),
                    )
            elif ph[0] == "claim":
                _, cover, kind, mark = ph

                def finished(
                    k=kind, cover=cover, mark=mark
                ):  # the run is over: what it covered is done
                    return dict(
                        workers=rep(
                            workers,
                            i,
                            (
                                pos,
                                tuple(
                                    max(d, c) if p >= 0 else d for d, c, p in zip(done, cover, pos)
                                ),
                                IDLE,
                            ),
                        ),
                        owed=(
                            -abs(owed)
                            if k == "sweep" and (owed == mark or not rule["owed_cond"])
                            else owed
                        ),
                    )

                nxt = ("A", cover, kind, mark, (o, a), (o, a), done)
                alone = all(ow in (-1, i) for ow, _ in leases)
                if st:  # stuck: leave it to who resumes
                    add(
                        ("leaves it stuck", i),
                        **{
                            **finished(),
                            "row": (o, a, claim, st % 6 + 1) if rule["again"] else row,
                        },
                    )
                elif tx or not rule["claim"] or not rule["claim_always"] and alone and claim < 0:
                    add(("reads the row", i, o), workers=me(nxt))
                elif claim < 0:
                    add(("claims", i, o), workers=me(nxt), row=(o, a, i, st))
                elif claim == 9:
                    if rule["take_dead"]:
                        add(("takes the claim of the dead", i), workers=me(nxt), row=(o, a, i, st))
                elif claim != i:
                    if wrong:
                        add(
                            ("takes the claim of the living", i),
                            workers=me(nxt),
                            row=(o, a, i, st),
                            bud=rep(bud, 3, wrong - 1),
                            excuse=True,
                        )
                    if (
                        kind == "run"
                        and not rule["claim_wait"]
                        or kind == "sweep"
                        and not rule["sweep_waits"]
                    ):
                        add(("leaves it to the other", i), **finished())
            elif ph[0] in ("A", "B", "L"):

                def enter():
                    if (
                        not tx
                        and not excuse
                        and any(w[2][0] == "H" for j, w in enumerate(workers) if j != i)
                    ):
                        raise Broken(
                            "F: two in the handler at once", (trace, ("enters the handler", i))
                        )

                kind, cover, mark, exp, cur = ph[2], ph[1], ph[3], ph[4], ph[5]
                img = ph[6]
                if ph[0] == "A":
                    if use_image and kind == "run":
                        for h in (0, 1):
                            if img[h] < cover[h]:
                                n, it = recs[h][img[h]]
                                if closed(it):
                                    continue
                                same = it[0] == cur[1] or not rule["same_writer"]
                                img2 = rep(img, h, img[h] + 1)
                                if n <= cur[0] and same:
                                    add(("has it already", i, n), workers=me(ph[:6] + (img2,)))
                                elif n == cur[0] + 1 and it[2] == 0 and same:
                                    enter()
                                    add(
                                        ("takes the image", i, n),
                                        workers=me(
                                            (
                                                "H",
                                                cover,
                                                kind,
                                                mark,
                                                exp,
                                                cur,
                                                img2,
                                                ((n, it[0]),),
                                                None,
                                            )
                                        ),
                                    )
                    if use_image and kind == "run" and img == cover:
                        add(
                            ("needs no read", i),
                            workers=me(("W", cover, kind, mark, exp, cur, (frozenset(), kept[2]))),
                        )
                    else:
                        lo = (low, cut) if not rule["low_last"] else None
                        aged = kept[0] if kept[1] else frozenset()
                        add(
                            ("reads page 0", i),
                            workers=me(("B",) + ph[1:6] + (items[: BORDER + 1], lo, aged)),
                        )
                elif ph[0] == "B":
                    add(
                        ("reads page 1", i),
                        workers=me(("L",) + ph[1:6] + (ph[6] + items[BORDER + 1 :], *ph[7:])),
                    )
                else:
                    got, lo, aged = ph[6:]
                    if not rule["age_before"]:
                        aged = kept[0] if kept[1] else frozenset()
                    low1, cut1 = lo or (low, cut)
                    on, an = cur
                    if rule["life"]:
                        anchored = (
                            on == 0
                            or low1 > on
                            or got[on]
                            and not closed(got[on])
                            and got[on][0] == an
                        )
                    else:
                        anchored = max([low1 - 1, 0, *(n for n, it in enumerate(got) if it)]) >= on
                    if not anchored:
                        add(
                            ("another life: from the beginning", i),
                            workers=me(
                                (
                                    "A",
                                    cover,
                                    "reset" if kind == "run" else kind,
                                    mark,
                                    exp,
                                    (0, 0),
                                    done,
                                )
                            ),
                        )
                    else:
                        if (
                            on == 0 and exp == (0, 0) and now and not rule["now_listed"]
                        ):  # no row: from what was received
                            ns = [
                                recs[h][x][0]
                                for h in (0, 1)
                                if pos[h] >= 0
                                for x in range(done[h], cover[h])
                            ]
                            on = min(ns) - 1 if ns else 0
                        gap, out, hole = decide(
                            got, low1, cut1, on, jvm, aged, rule
                        )
                        # What was passed before, unless the row is reset, and what is passed now.
                        past = kept[2] if on or not exp[0] else frozenset()
                        late = frozenset(e for e in visible(got, low1, cut1) if e[0] in past)
                        same = claim == i or tx and (o, a) == exp
                        if not rule["late_told"]:
                            past = late = frozenset()
                        past -= {n for n, _ in late}
                        before = kept[:2] + (past,) if late and same else kept
                        top = max((e[0] for e in out), default=0)
                        past |= {
                            n for n in range(max(on + 1, low1), top) if n < len(got) and got[n] is None
                        }
                        if gap and rule["gap_told"]:
                            out.insert(
                                0,
                                (
                                    low1 - 1,
                                    0,
                                    frozenset(e for e in committed if e[0] in gap and e[1] >= life),
                                ),
                            )
                        nxt = (
                            ("H", cover, kind, mark, exp, cur, None, tuple(out), (hole, past))
                            if out
                            else ("W", cover, kind, mark, exp, cur, (hole, past))
                        )
                        if out:
                            enter()
                        add(
                            (
                                "reads the low mark",
                                i,
                                "to handle",
                                tuple(out),
                                "holes",
                                tuple(hole),
                                *(("late", tuple(late)) if late else ()),
                            ),
                            workers=me(nxt),
                            kept=before,
                            exempt=exempt | late,
                        )
            elif ph[0] == "H":
                _, cover, kind, mark, exp, cur, img, evs, hole = ph
                n, w, *told = evs[0]
                if (
                    poison == 2
                    and n == sc["bad"]
                    and kind != "resume"
                    and (claim == i or tx and (o, a) == exp)
                ):  # its handler fails N times
                    fin = tuple(max(d, c) if p >= 0 else d for d, c, p in zip(done, cover, pos))
                    add(
                        ("gives up, stuck at", i, n),
                        workers=rep(workers, i, (pos, fin, IDLE)),
                        row=(*cur, -1, 1),
                        bud=rep(bud, 6, 1),
                        owed=-abs(owed) if kind == "sweep" and owed == mark else owed,
                    )
                elif tx and rule["offset_cond"] and (o, a) != exp:
                    add(
                        ("transaction fails", i, n),
                        workers=(
                            me(IDLE)
                            if rule["lost_not_done"]
                            else rep(
                                workers,
                                i,
                                (
                                    pos,
                                    tuple(
                                        max(d, c) if p >= 0 else d
                                        for d, c, p in zip(done, cover, pos)
                                    ),
                                    IDLE,
                                ),
                            )
                        ),
                    )
                else:
                    if (
                        told
                        and [e for e in told[0] if e in handled and e[1] >= life]
                        and (tx or not excuse)
                    ):
                        raise Broken(
                            "D: gap told of what was handled", (trace, ("tells the gap", i, n))
                        )
                    if not told and (n, w) not in committed:
                        raise Broken(
                            "C: %s handled, not committed" % ((n, w),),
                            (trace, ("handles", i, n, w)),
                        )
                    if not told and (n, w) in handled:
                        if tx:
                            raise Broken(
                                "D: effect of %s twice" % ((n, w),), (trace, ("handles", i, n, w))
                            )
                        if not excuse:
                            raise Broken(
                                "G: %s handled twice without cause" % ((n, w),),
                                (trace, ("handles", i, n, w)),
                            )
                    before = [
                        e
                        for e in committed
                        if life <= e[1]
                        and w >= life
                        and e[0] < n
                        and e not in handled
                        and e not in exempt
                        and ("late", *e) not in exempt
                        and not (sc.get("late") and e[0] in hole[1])
                    ]
                    if before and not told:
                        raise Broken(
                            "B: %s handled, %s skipped" % ((n, w), sorted(before)),
                            (trace, ("handles", i, n, w)),
                        )
                    rest = evs[1:]
                    e2 = (n, w) if tx else exp
                    nxt = (
                        ("H", cover, kind, mark, e2, (n, w), img, rest, hole)
                        if rest
                        else (
                            ("A", cover, kind, mark, e2, (n, w), img)
                            if hole is None
                            else ("W", cover, kind, mark, e2, (n, w), hole)
                        )
                    )
                    add(
                        ("tells the gap to" if told else "handles", i, n, w),
                        workers=me(nxt),
                        handled=handled | (told[0] if told else {(n, w)}),
                        row=(n, w, claim, st) if tx else row,
                        kept=(
                            (frozenset(), False, frozenset(m for m in hole[1] if m < n))
                            if tx and hole is not None
                            else kept
                        ),
                    )
            elif ph[0] == "W":
                _, cover, kind, mark, exp, cur, (hole, past) = ph
                mine = (
                    claim == i
                    or (o, a) == exp
                    and (tx or not rule["claim"] or not rule["claim_always"] and claim < 0)
                    or tx
                    and cur == exp
                )
                held = (
                    bool(hole) and rule["pages_hold"] and (kind != "sweep" or rule["sweep_waits"])
                )
                fin = (
                    done
                    if held
                    else tuple(max(d, c) if p >= 0 else d for d, c, p in zip(done, cover, pos))
                )
                ow = (
                    -abs(owed)
                    if not held and kind == "sweep" and (owed == mark or not rule["owed_cond"])
                    else owed
                )
                after = rep(workers, i, (pos, fin, IDLE))
                newrow = (*cur, claim if tx else -1, st) if not (tx and cur == exp) else row
                waits = hole if held and jvm else frozenset()
                stored = kept
                if jvm and (waits or newrow != row):  # the time goes on of those that were stored
                    stored = (waits, kept[1] and waits <= kept[0], past)
                if not rule["offset_cond"] or mine:
                    if kind == "resume":
                        if st != mark and rule["again"]:
                            add(
                                ("reads again, it was marked", i),
                                workers=me(("A", cover, kind, st, exp, cur, done)),
                            )
                        elif not held:
                            add(
                                ("resumed", i),
                                workers=after,
                                row=(o, a, -1, 0) if tx else (*cur, -1, 0),
                                kept=stored,
                            )  # a transaction clears the mark alone
                        else:
                            add(
                                ("stays stuck", i),
                                workers=after,
                                row=(o, a, -1, st) if tx else (*cur, -1, st),
                                kept=stored,
                            )
                    else:
                        add(
                            (
                                "writes the offset" if newrow != row else "ends the run",
                                i,
                                cur[0],
                                "held" if held else "",
                            ),
                            workers=after,
                            row=newrow,
                            owed=ow,
                            kept=stored,
                        )
                elif rule["lost_not_done"]:
                    add(("offset refused", i), workers=me(IDLE))
                else:
                    add(("offset refused", i), workers=after, owed=ow)

        me_hash = hash(s)
        if want_live:
            edges[me_hash] = ([], trace)
        for what, state in steps:
            if not rule["done_after_read"]:  # what is received during a run counts as covered by it
                ws = tuple(
                    (
                        p,
                        d,
                        (
                            (f[0], tuple(max(a, b) for a, b in zip(f[1], p)), *f[2:])
                            if len(f) > 1
                            else f
                        ),
                    )
                    for p, d, f in state[13]
                )
                state = state[:13] + (ws,) + state[14:]
            k = hash(state)
            if want_live:
                edges[me_hash][0].append(k)
            if k not in seen:
                seen.add(k)
                todo.append((state, (trace, what)))
        if len(seen) > limit or (len(seen) & 1023) == 0 and time.time() - t0 > seconds:
            return len(seen), False, ""
    note = ""
    if want_live:
        back = {}
        for f, (ts, _) in edges.items():
            for t in ts:
                back.setdefault(t, []).append(f)
        ok, stack = set(goals), list(goals)
        while stack:
            for f in back.get(stack.pop(), ()):
                if f not in ok:
                    ok.add(f)
                    stack.append(f)
        for f, (_, trace) in edges.items():
            if f not in ok:
                raise Broken(
                    "H: from %d states the end can't be reached" % (len(seen) - len(ok)), trace
                )
        note = "; the end can be reached from every state"
    return len(seen), True, note


def group(rule, limit=100_000):
    """A projection joins a running group: worker 0 runs the old program (projection 0), worker 1
    the new one (0 and 1). There is one shard.

    State: events; the lease (owner, version, checkpoint); the version of the group; how far
    projection 1 has begun (0 not, 1 registered, 2 leases taken back, 3 swept); offsets; workers
    (the version that they have read, whether they have the lease, received, done)."""
    start = (0, (-1, 0, 0), 0, 0, (0, 0), ((-1, False, 0, 0),) * 2)
    seen, todo = {start}, deque([(start, None)])
    while todo:
        s, trace = todo.popleft()
        n, (owner, ver, ckpt), gver, begun, offs, ws = s
        if begun == 3 and ckpt == n and offs[1] < n:
            raise Broken("A: all consumed, but projection 1 is at %d of %d" % (offs[1], n), trace)
        steps = []
        if n < 3:
            steps.append(("commit", (n + 1, (owner, ver, ckpt), gver, begun, offs, ws)))
        if begun == 0:
            steps.append(("registers", (n, (owner, ver, ckpt), 1, 1, offs, ws)))
        elif begun == 1:
            steps.append(
                (
                    "takes the leases back",
                    (n, (-1, 1, ckpt) if rule["bump"] else (owner, ver, ckpt), gver, 2, offs, ws),
                )
            )
        elif begun == 2:
            steps.append(("sweeps", (n, (owner, ver, ckpt), gver, 3, (offs[0], n), ws)))
        for i, (known, holds, got, done) in enumerate(ws):

            def me(*w):
                return rep(ws, i, w)

            steps.append(
                (
                    ("reads the group", i),
                    (n, (owner, ver, ckpt), gver, begun, offs, me(gver, holds, got, done)),
                )
            )
            if (
                not holds
                and known >= 0
                and (i >= known or not rule["members"])
                and (known == ver or not rule["members"] or not rule["bump"])
            ):
                steps.append(
                    (
                        ("takes", i),
                        (n, (i, ver, ckpt), gver, begun, offs, me(known, True, ckpt, ckpt)),
                    )
                )
            if holds:
                if got < n:
                    steps.append(
                        (
                            ("receives", i),
                            (
                                n,
                                (owner, ver, ckpt),
                                gver,
                                begun,
                                offs,
                                me(known, True, got + 1, done),
                            ),
                        )
                    )
                if done < got:
                    o2 = (max(offs[0], n), max(offs[1], n) if i and known else offs[1])
                    steps.append(
                        (
                            ("handles", i),
                            (n, (owner, ver, ckpt), gver, begun, o2, me(known, True, got, got)),
                        )
                    )
                if (owner == i or not rule["ckpt_owner"]) and ckpt < done:
                    steps.append(
                        (("checkpoint", i), (n, (owner, ver, done), gver, begun, offs, ws))
                    )
                if owner != i:
                    steps.append(
                        (
                            ("lost", i),
                            (n, (owner, ver, ckpt), gver, begun, offs, me(known, False, 0, 0)),
                        )
                    )
                steps.append(
                    (
                        ("crashes", i),
                        (
                            n,
                            (-1 if owner == i else owner, ver, ckpt),
                            gver,
                            begun,
                            offs,
                            me(-1, False, 0, 0),
                        ),
                    )
                )
        for what, state in steps:
            if state not in seen:
                seen.add(state)
                todo.append((state, (trace, what)))
    return len(seen)


SCENARIOS = {
    # native journals
    "singles, image": dict(programs=[["W", "W", "W"]], n=3, crash=1, steal=1, image=True),
    "singles, tx": dict(programs=[["W", "W", "W"]], n=3, crash=1, steal=1, image=True, tx=True),
    "batch across the border": dict(programs=[["W", "W2", "W"]], n=4, crash=1, steal=1),
    "batch of three, tx": dict(programs=[["W3", "W"]], n=4, crash=1, steal=1, tx=True),
    "cut batch, recovery seals": dict(
        programs=[["W", "W2"], ["W2"]], n=5, wcrash=1, workers=1, crash=1, image=True
    ),
    "cut batch, two workers": dict(programs=[["W2"], ["W", "W"]], n=4, wcrash=1, steal=1),
    "two writers": dict(programs=[["W2", "W"], ["W2"]], n=4, wcrash=1, steal=1),
    "claim misjudged": dict(programs=[["W", "W2"]], n=3, crash=1, wrong=1, steal=1, hook=1),
    "in process": dict(programs=[["W", "W2"]], n=3, crash=1, hook=1, steal=1, image=True),
    "deletion before reading": dict(programs=[["W", "W2", "D2", "W"]], n=4, crash=1, image=True),
    "deletion, tx": dict(programs=[["W", "W2", "D3", "W"]], n=4, crash=1, tx=True),
    "purge, goes on": dict(programs=[["W", "W", "P", "W"]], n=3, crash=1, image=True),
    "purge, another life": dict(
        programs=[["W", "P", "W", "W"]], n=2, vanish=True, crash=1, image=True
    ),
    "purge, another life, longer": dict(
        programs=[["W", "W", "P", "W", "W", "W"]], n=3, vanish=True, workers=1, crash=1, image=True
    ),
    "purge, another life, tx": dict(
        programs=[["W", "W", "P", "W", "W", "W"]], n=3, vanish=True, tx=True, image=True
    ),
    "purge, traces vanish one by one": dict(
        programs=[["W", "W", "P", "W", "W", "W"]], n=3, vanish="one by one", workers=1, image=True
    ),
    "purge before reading, one by one": dict(
        programs=[["W", "W", "P"], ["W", "W"]], n=3, vanish="one by one", workers=1
    ),
    "three workers": dict(programs=[["W", "W2"]], n=3, workers=3, crash=1, steal=1),
    "three workers, tx": dict(programs=[["W", "W2"]], n=3, workers=3, crash=1, steal=1, tx=True),
    "trimmed, the index is late": dict(
        programs=[["W", "W"]], n=2, crash=1, trim=1, late_index=True
    ),
    "from now, the index is late": dict(
        programs=[["W", "W2", "W"]], n=4, now=True, workers=1, late_index=True
    ),
    "trimmed": dict(programs=[["W", "W2"]], n=3, crash=1, trim=1, steal=1),
    "trimmed twice": dict(programs=[["W", "W"]], n=2, crash=1, trim=2, steal=1),
    "trimmed, one worker": dict(
        programs=[["W", "W2", "W"]], n=4, workers=1, crash=2, trim=2, image=True
    ),
    "poison": dict(programs=[["W", "W2"]], n=3, poison=2, bad=1, crash=1),
    "poison, tx": dict(programs=[["W", "W", "W"]], n=3, poison=2, bad=2, crash=1, tx=True),
    "from now": dict(programs=[["W", "W2", "W"]], n=4, now=True, workers=1, crash=1),
    # a JVM: two puts under way, no seals
    "JVM": dict(programs=[["J2", "J2"]], n=4, jvm=True, wcrash=1, workers=1, crash=1, image=True),
    "JVM, two workers": dict(programs=[["J", "J2"]], n=3, jvm=True, wcrash=1, crash=1, steal=1),
    "JVM, tx": dict(programs=[["J3", "J"]], n=4, jvm=True, wcrash=1, crash=1, tx=True),
    "JVM, batch": dict(programs=[["W2", "W2", "J"]], n=5, jvm=True, wcrash=1, workers=1, crash=1),
    "JVM, deletion": dict(
        programs=[["J2", "D1", "J"]], n=3, jvm=True, wcrash=1, workers=1, crash=1, image=True
    ),
    "JVM, trimmed": dict(
        programs=[["J3"], ["J"]], n=4, jvm=True, wcrash=1, workers=1, crash=1, trim=1
    ),
    "JVM, a late put below the low mark": dict(
        programs=[["J3", "D3"]], n=3, jvm=True, wcrash=1, workers=1, image=True
    ),
    "JVM, from now": dict(programs=[["J3", "J"]], n=4, jvm=True, now=True, workers=1, wcrash=1),
    "JVM, a put after the bound": dict(
        programs=[["J2", "J"]], n=3, jvm=True, late=True, workers=1, crash=1
    ),
    "JVM, a put after the bound, tx": dict(
        programs=[["J2", "J2"]], n=4, jvm=True, late=True, wcrash=1, crash=1, steal=1, tx=True
    ),
    "JVM, purge and another life": dict(
        programs=[["J2", "P", "J2"]], n=3, jvm=True, vanish=True, crash=1, wcrash=1, image=True
    ),
}

# The scenario that breaks without a rule, and how many states that takes at most.
KILLED_BY = dict(
    done_after_read=("singles, image", 60_000),
    pages_hold=("JVM", 60_000),
    stop_at_hole=("singles, image", 60_000),
    bound_honest=("JVM", 60_000),
    age_before=("JVM, deletion", 60_000),
    late_told=("JVM, a put after the bound", 60_000),
    hole_life=("JVM, purge and another life", 1_500_000),
    whole_batch=("batch across the border", 60_000),
    low_last=("deletion, tx", 60_000),
    claim=("singles, image", 60_000),
    claim_always=("singles, image", 60_000),
    claim_wait=("singles, image", 60_000),
    take_dead=("purge, goes on", 60_000),
    offset_cond=("singles, tx", 60_000),
    lost_not_done=("purge, another life, tx", 60_000),
    after_deed=("singles, image", 60_000),
    ckpt_owner=("a projection joins", 60_000),
    life=("purge, another life, tx", 60_000),
    same_writer=("purge, another life, tx", 60_000),
    owed=("JVM, trimmed", 60_000),
    owed_cond=("trimmed twice", 1_500_000),
    sweep_waits=("trimmed twice", 60_000),
    again=("poison", 60_000),
    now_listed=("JVM, from now", 60_000),
    now_decided=("JVM, from now", 60_000),
    gap_told=("JVM, purge and another life", 60_000),
    gap_all=("JVM, purge and another life", 60_000),
    bump=("a projection joins", 60_000),
    members=("a projection joins", 60_000),
    image_native=("JVM, a late put below the low mark", 60_000),
    reading_short=("purge, traces vanish one by one", 60_000),
    marks_last=("purge, traces vanish one by one", 60_000),
    index_bound=("trimmed, the index is late", 60_000),
)


def explored(scenario, rules, limit, live):
    """The number of states, whether these are all, a note, and what breaks."""
    if scenario == "a projection joins":
        try:
            return group(rules), True, "", None
        except Broken as broken:
            return 0, False, "", broken
    try:
        return (*explore(SCENARIOS[scenario], rules, limit, want_live=live), None)
    except Broken as broken:
        return 0, False, "", broken


def main():
    gc.disable()  # nothing here is circular, and looking for it takes time
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    wrong = 0
    names = [n for n in ("a projection joins", *SCENARIOS) if word in n]
    for name in names:
        t = time.time()
        states, ended, note, broken = explored(name, RULES, limit, True)
        took = "%3d s" % (time.time() - t)
        if broken:
            print("%-34s BROKEN %s" % (name, broken.args[0]), flush=True)
            if len(names) == 1:
                print(*history(broken.args[1]), sep="\n    ")
            wrong += 1
        else:
            holds = "holds in all" if ended else "no violation in the first"
            print("%-34s %s %d states%s, %s" % (name, holds, states, note, took), flush=True)
    for rule, (name, least) in KILLED_BY.items():
        if word in "without " + rule:
            t = time.time()
            most = max(limit, least)
            _, _, _, broken = explored(name, {**RULES, rule: False}, most, rule == "take_dead")
            result = broken.args[0] if broken else "NOT CAUGHT"
            took = "%3d s" % (time.time() - t)
            print("without %-16s %s: %s, %s" % (rule, name, result, took), flush=True)
            wrong += broken is None
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
