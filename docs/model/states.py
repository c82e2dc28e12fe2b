#!/usr/bin/env python3
"""Durable states of one persistence id, explored breadth first: a value that is replaced as a whole.

    python3 states.py                  # every scenario, then each rule switched off
    python3 states.py --off RULE       # the scenarios of that rule, without it, with the history
    python3 states.py --scenarios      # only the scenarios
    python3 states.py --limit N        # at most N states a scenario (default 300,000)

It ends with status 1 if a scenario breaks, or if a rule can be switched off and nothing breaks.

Stored: the head, and the parts of large values. A step is one request. Every put and every deletion
can be lost, or land at any later time, after its process has crashed or continued.

  head   (version, writers, value, purged, token). The writers are the last puts of the last writers,
         the newest first: (writer, put, version). The value is the list of the commands that it has.
         The token tells the parts of this put from those of another put of the version, 0: no parts.
  parts  (version, token, value): the parts of a put, as one item

Claims, in every reachable state:
  S  the value has every acknowledged command that no purge has taken;
  U  it has no command whose caller was told that nothing was stored, and none twice;
  V  its version only rises, and two puts never store the same version;
  P  the parts that the head names are stored, and have its value;
  E  once all has ended, no other parts are left, unless a process has crashed since the last large
     put or purge;
  X  no read fails.
"""
import sys
import time

from breadth import Broken, Explorer, Report, scenario as w

# rule: (what it says, the scenarios in which it is needed)
RULES = {
    "conditional": ("a head is put only in the place of the one that was read", ("two writers",)),
    "looked": ("a put without a response is looked for before its caller is told anything", ("a lost response",)),
    "fenced": ("one that is not found is made impossible first: the head is put again by another writer", ("a lost response",)),
    "known": ("it counts as not stored only if the writers in the head would show it", ("many writers",)),
    "purge_counts": ("a purge leaves the head, with the next version", ("purge", "purge of a large state")),
    "drawn": ("the id of a put has a number that is drawn for it", ("copies of a process",)),
    "parts_first": ("the parts of a value are stored before the head that names them", ("large states",)),
    "own_parts": ("each put has parts of its own", ("two large writers",)),
    "swept_up_to": ("a sweep spares the parts of later versions", ("two large writers",)),
    "reread": ("a reader that misses a part reads the head again", ("a reader of large states",)),
    "swept": ("a put of a large value, and a purge, delete what crashes have left", ("large states and a crash",)),
}
ALL = frozenset(RULES)
MOST = 2  # how many writers a head names


def writers_of(head):
    return head[1] if head else ()


def version_of(head):
    return head[0] if head else 0


def added(writers, put):
    """The writers after a put."""
    return ((put,) + tuple(w for w in writers if w[0] != put[0]))[:MOST]


def wrote(head, put):
    """Whether a put is part of a head, and whether the head would show it."""
    writers = writers_of(head)
    for w in writers:
        if w[0] == put[0]:
            return w == put, w == put or w[2] <= put[2]
    return False, len(writers) < MOST or writers[-1][2] < put[2]


class Model(Explorer):
    # state: head, parts, procs, flying, acked, denied, used, budget (crashes, timeouts), dirty
    #   proc (pc, writer, phase); acked {(command, version)}; used {(version, put)}
    def start(self):
        procs = tuple((0, self.writer(i), ("new",)) for i in range(len(self.s["programs"])))
        return (None, frozenset(), procs, frozenset(), frozenset(), frozenset(), frozenset(),
                (self.s.get("crashes", 0), self.s.get("timeouts", 0)), False)

    def writer(self, i, life=0):
        return (0 if self.s.get("copies") else i, life)

    def check(self, st, trace):
        head, parts, procs, flying, acked, denied, used, budget, dirty = st
        value = head[2] if head else ()
        if len(set(value)) < len(value) or any(c in denied for c in value):
            raise Broken("U: the value is %s, and denied were %s" % (value, sorted(denied)), trace)
        for command, since in acked:
            if command not in value and since > self.purged(st):
                raise Broken("S: the acknowledged command %s is not in %s" % (command, value), trace)
        if head and head[4] and (head[0], head[4], value) not in parts:
            raise Broken("P: the parts of the head %s are %s" % (head, sorted(parts)), trace)
        ended = not flying and all(p[2] == ("dead",) or p[2][0] == "ready" and p[0] == len(prog) for p, prog in zip(procs, self.s["programs"]))
        if ended and not dirty and any(head is None or p[:2] != (head[0], head[4]) for p in parts):
            raise Broken("E: left are the parts %s, the head is %s" % (sorted(parts), head), trace)

    def purged(self, st):
        """The highest version that a purge has stored."""
        return max([v for v, what in st[6] if what[1] == "purge"], default=0)

    def steps(self, st, trace):
        head, parts, procs, flying, acked, denied, used, budget, dirty = st
        R, crashes, timeouts = self.R, *budget
        out = []

        def state(head=head, parts=parts, procs=procs, flying=flying, acked=acked, denied=denied, used=used, budget=budget, dirty=dirty):
            return (head, parts, procs, flying, acked, denied, used, budget, dirty)

        def put_head(known, new):
            """What is stored after a put of a head in the place of a known one, None if it is refused."""
            if "conditional" in R and writers_of(head) != known:
                return None
            if new is None:  # only without purge_counts
                return {"head": None, "used": used | {(version_of(head), ("", "purge", 0))}}
            mine = new[1][0]
            fence = mine[0][1:] == ("fence",)
            if fence:
                return {"head": new}
            if (version_of(head) >= new[0] or any(v == new[0] and w != mine for v, w in used if w[1] != "purge")):
                raise Broken("V: version %d is stored again, by %s after %s" % (new[0], new, head), trace)
            return {"head": new, "used": used | {(new[0], mine)}}

        # What is in flight lands.
        for f in flying:
            rest = flying - {f}
            if f[0] == "head":
                out.append((("lands:", f), state(flying=rest, **(put_head(f[1], f[2]) or {}))))
            elif f[0] == "parts":
                out.append((("lands:", f), state(flying=rest, parts=self.store(parts, f[1]))))
            else:
                out.append((("lands:", f), state(flying=rest, parts=parts - self.deleted(parts, f[1]))))

        for i, (pc, me, phase) in enumerate(procs):
            prog, kind = self.s["programs"][i], phase[0]

            def to(phase, pc=pc, me=me, **kw):
                p = list(procs)
                p[i] = (pc, me, phase)
                return state(procs=tuple(p), **kw)

            def step(*what):
                out.append(((what[0], i, *what[1:-1]), what[-1]))

            def crash(*sent):
                if crashes:
                    step("crashes", *sent, to(("dead",), flying=flying | set(sent), budget=(crashes - 1, timeouts), dirty=True))

            op = prog[pc] if pc < len(prog) else "end"
            if kind == "dead" or op == "end" and kind == "ready":
                continue
            if kind == "new":
                step("reads the head", head, to(("reading", head) if head and head[4] else ("ready", head)))
            elif kind == "reading":
                _, of = phase
                if (of[0], of[4], of[2]) in parts:
                    step("reads the parts", to(("ready", of)))
                elif "reread" in R and head != of:
                    step("misses a part, and reads again", to(("new",)))
                else:
                    raise Broken("X: process %d misses the parts of %s" % (i, of), trace)
            elif kind == "ready" and op == "R":
                step("reads", to(("new",), pc=pc + 1))
            elif kind == "ready" and op == "X":
                base = phase[1]
                put = (me, "purge", version_of(base) + 1)
                new = (version_of(base) + 1, added(writers_of(base), put), (), True, 0) if "purge_counts" in R else None
                if base is None:
                    step("has nothing to purge", to(phase, pc=pc + 1))
                    continue
                crash(("head", writers_of(base), new))
                after = put_head(writers_of(base), new)
                if after:
                    step("purges", new, to(("clean", ("upto", version_of(base) + 1, 0), new), pc=pc + 1, **after))
                else:
                    step("can't purge", to(("new",)))
            elif kind == "ready":  # W a small value, L a large one
                base = phase[1]
                command = "%d.%d" % (i, pc)
                put = (me, command if "drawn" in R else op, version_of(base) + 1)
                token = 0 if op == "W" else (me, command) if "own_parts" in R else 1
                new = (version_of(base) + 1, added(writers_of(base), put), (base[2] if base else ()) + (command,), False, token)
                step("decides", command, to(("head" if op == "W" or "parts_first" not in R else "parts", base, new)))
            elif kind == "parts":
                _, base, new = phase
                crash(("parts", (new[0], new[4], new[2])))
                step("stores parts", new[0], to(("head", base, new), parts=self.store(parts, (new[0], new[4], new[2]))))
            elif kind == "head":
                _, base, new = phase
                known, command = writers_of(base), new[2][-1]
                if timeouts:
                    step("gets no response", to(("lost", base, new), flying=flying | {("head", known, new)}, budget=(crashes, timeouts - 1)))
                crash(("head", known, new))
                after = put_head(known, new)
                if after:
                    step("puts", new[0], self.acknowledge(to, pc, base, new, acked, after))
                elif wrote(head, new[1][0])[0]:
                    step("finds its put", self.acknowledge(to, pc, base, new, acked, {}))
                else:
                    step("conflicts", command, to(("abandon", new), denied=denied | {command}))
            elif kind == "lost":
                _, base, new = phase
                stored, known = wrote(head, new[1][0])
                command = new[2][-1]
                if "looked" not in R:
                    step("gives up", command, to(("new",), pc=pc + 1, me=self.writer(i, me[1] + 1), denied=denied | {command}))
                elif stored:
                    step("finds its put", self.acknowledge(to, pc, base, new, acked, {}))
                elif not known and "known" in R:
                    step("can't know", command, to(("new",), pc=pc + 1, me=self.writer(i, me[1] + 1), dirty=True))
                elif "fenced" not in R:
                    step("takes it for lost", command, to(("abandon", new), denied=denied | {command}))
                else:
                    fence = ((i, "fence"), command, version_of(head))
                    step("reads the head", head, to(("fence", base, new, head, fence)))
            elif kind == "fence":
                _, base, new, seen, fence = phase
                again = (version_of(seen), added(writers_of(seen), fence), *(seen[2:] if seen else ((), True, 0)))
                after = put_head(writers_of(seen), again)
                if after:
                    step("fences", to(("abandon", new), denied=denied | {new[2][-1]}, **after))
                else:
                    step("meets another head", to(("lost", base, new)))
            elif kind == "abandon":  # the parts of a put that is not stored and never will be
                _, new = phase
                done = ("new",), pc + 1, self.writer(i, me[1] + 1)
                gone = ("these", frozenset([new[:1] + new[4:]]))
                if new[4]:
                    crash(("delete", gone))
                    step("deletes its parts", to(done[0], pc=done[1], me=done[2], parts=parts - self.deleted(parts, gone)))
                else:
                    step("continues", to(done[0], pc=done[1], me=done[2]))
            elif kind == "clean":
                _, what, now = phase
                crash(("delete", what))
                left = flying or now and (head != now or any(p[0] > now[0] for p in parts))
                step("deletes parts", what, to(("new",) if now is None else ("ready", now), parts=parts - self.deleted(parts, what), dirty=bool(dirty and left)))
        return out

    def acknowledge(self, to, pc, base, new, acked, after):
        """The command is acknowledged. Then what it has replaced is deleted."""
        kw = {**after, "acked": acked | {(new[2][-1], new[0])}}
        if not new[4] and not (base and base[4]):
            return to(("ready", new), pc=pc + 1, **kw)
        what = ("upto", new[0], new[4]) if "swept" in self.R else ("these", frozenset([(base[0], base[4])] if base else []))
        return to(("clean", what, new), pc=pc + 1, **kw)

    def store(self, parts, item):
        return frozenset(p for p in parts if p[:2] != item[:2]) | {item}

    def deleted(self, parts, what):
        if what[0] == "these":
            return frozenset(p for p in parts if p[:2] in what[1])
        _, version, token = what
        return frozenset(p for p in parts if (p[0] <= version or "swept_up_to" not in self.R) and p[:2] != (version, token))


SCENARIOS = {
    "two writers": w(["W W", "W W"], crashes=1),
    "a lost response": w(["W W", "W W"], timeouts=2),
    "three writers": w(["W", "W W", "W"], timeouts=1, crashes=1),
    "many writers": w(["W", "W", "W", "W"], timeouts=1),
    "copies of a process": w(["W W", "W W"], copies=True, timeouts=1),
    "purge": w(["W X W", "W W"], timeouts=1, crashes=1),
    "two purges": w(["W X W X", "W X"], crashes=1),
    "large states": w(["L L", "R R"], crashes=1),
    "a reader of large states": w(["L L L", "R R R"]),
    "two large writers": w(["L L", "L W"], timeouts=1),
    "large states and a crash": w(["L", "L L"], crashes=1),
    "purge of a large state": w(["L X L", "L R"], timeouts=1, crashes=1),
}


def main():
    args = sys.argv[1:]
    limit = int(args[args.index("--limit") + 1]) if "--limit" in args else 300_000
    report = Report(Model, RULES, SCENARIOS)
    if "--off" in args:
        report.without(args[args.index("--off") + 1], ALL, limit)
        return 0
    began = time.time()
    wrong = report.scenarios(list(SCENARIOS), ALL, limit)
    if "--scenarios" not in args:
        wrong += report.switched_off(ALL, limit)
    print("done in %.0f s" % (time.time() - began))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
