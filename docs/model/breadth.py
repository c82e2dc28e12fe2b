"""Explores a model breadth first, and reports what it finds: lives.py and states.py have the models.

A model is a class of the kind Explorer. A scenario has the programs of some processes, and bounds. A rule
has what it says, and the scenarios in which it is needed.
"""
import time
from collections import deque


class Broken(Exception):
    """A claim that does not hold, and the steps that led there."""


def history(trace):
    lines = []
    while trace:
        trace, what = trace
        lines.append(" ".join(map(str, what)))
    return lines[::-1]


def scenario(programs, **kw):
    return dict(programs=[p.split() for p in programs], **kw)


class Explorer:
    """A model has start, which returns a state, steps, which returns what can happen next, and check,
    which raises Broken if a claim does not hold. It may have compare, which checks a step."""

    def __init__(self, scenario, R, limit):
        self.s, self.R, self.limit = scenario, R, limit

    def compare(self, st, what, nst, trace):
        pass

    def run(self):
        """Returns how many states there are, and whether these are all."""
        first = self.start()
        seen, todo = {first}, deque([(first, None)])
        self.check(first, None)
        while todo:
            st, trace = todo.popleft()
            for what, nst in self.steps(st, trace):
                self.compare(st, what, nst, trace)
                if nst not in seen:
                    seen.add(nst)
                    self.check(nst, (trace, what))
                    todo.append((nst, (trace, what)))
            if len(seen) >= self.limit:
                return len(seen), False
        return len(seen), True


class Report:
    """Explores the scenarios of a model, and prints what it finds."""

    def __init__(self, model, rules, scenarios):
        self.model, self.rules, self.all = model, rules, scenarios

    def explore(self, name, on, limit):
        return self.model(self.all[name], on, limit).run()

    def scenarios(self, names, on, limit):
        """Returns how many scenarios break."""
        wrong = total = ended = 0
        for name in names:
            t = time.time()
            try:
                n, end = self.explore(name, on, limit)
                total, ended = total + n, ended + end
                print("%-34s holds in %s%d states, %.0f s" % (name, "all " if end else "the first ", n, time.time() - t), flush=True)
            except Broken as b:
                wrong += 1
                print("%-34s BROKEN %s" % (name, b.args[0]), *history(b.args[1]), sep="\n    ", flush=True)
        print("%d states; %d of %d scenarios to the end" % (total, ended, len(names)), flush=True)
        return wrong

    def without(self, rule, on, limit):
        """Prints what breaks without a rule, with the history."""
        for name in self.rules[rule][1] or list(self.all):
            try:
                n, end = self.explore(name, on - {rule}, limit)
                print("%-34s without %s: nothing breaks in %s%d states" % (name, rule, "all " if end else "the first ", n), flush=True)
            except Broken as b:
                print("%-34s without %s: %s" % (name, rule, b.args[0]), *history(b.args[1]), sep="\n    ", flush=True)

    def switched_off(self, on, limit):
        """Returns how many rules can be switched off, and nothing breaks."""
        wrong = 0
        for rule, (_, names) in self.rules.items():
            if not names or rule not in on:
                continue
            found = ""
            for name in names:
                try:
                    self.explore(name, on - {rule}, limit)
                except Broken as b:
                    found = "%s: %s" % (name, b.args[0])
                    break
            wrong += not found
            print("without %-14s %s" % (rule, found or "NOT CAUGHT in %s" % (names,)), flush=True)
        return wrong
