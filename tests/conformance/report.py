"""From results to tables, a list of differences, and a verdict.

A test counts under weft by all its runs at one processor count:

    lost      native passes, weft passed no run
    unsteady  native passes always, weft passed some runs only
    gained    native never passes, weft does
    differs   neither passes, and they fail differently

Lost and unsteady make the run a failure; unsteady does not where known.tsv or the native runs themselves call
the test flaky.  Before that both are looked at again with nothing beside them, natively and under weft in turn:

    busy      then every run passes, natively and under weft; no crash is excused by this
    by choice lost, and differences.tsv says why weft means it
"""

import json
import platform
import re
import sys
import time

from baseline import libc_version

GROUPS = (
    ("create, join, exit", r"pthread_(create|join|exit|detach|equal|self)|create.*|join|exit|detach|basic"
                           r"|thrd.*|fini|unload|.*oddstacklimit.*"),
    ("attributes, stacks", r"pthread_attr_.*|pthread_getattr.*|attr|default.*|stack.*|minstack|getattr"
                           r"|bad.*|initializers|align|abstime|sysconf|pthread_[gs]etconcurrency"),
    ("mutex", r"pthread_mutex.*|mutex.*|mtx|timedlock|errorcheck"),
    ("robust, priorities", r"robust.*|mutexp[ip]|.*prioceiling.*"),
    ("condition variables", r"pthread_cond.*|cond.*|cnd"),
    ("rwlock, barrier, spin", r"pthread_(rwlock|barrier|spin).*|rwlock|barrier|spin"),
    ("semaphores", r"sem_.*|sem"),
    ("once, keys, TLS", r"pthread_(once|key.*|getspecific|setspecific)|once[xy]?|call|key|tsd|tss|tls"
                        r"|thread_local|setspecific|local.*|_res|context"),
    ("cancellation", r"pthread_(cancel|cleanup.*|setcancel.*|testcancel)|cancel[x]?.*|cleanup[x]?"
                     r"|unwind|backtrace|clobber"),
    ("signals", r"pthread_(kill|sigmask)|sig.*|kill|killpg|raise|eintr|execstack"),
    ("fork, exec, process", r"fork|pthread_atfork|atfork|exec|vfork|popen|flock|getpid|setuid.*|setgroups"
                            r"|umask|wait.*|audit|dlsym|compat|gdb"),
    ("clocks, timers, sleep", r"clock.*|timer.*|nanosleep|time|difftime|ctime|gmtime|localtime|mktime|strftime"
                              r"|asctime|pthread_getcpuclockid|sleep|alarm"),
    ("scheduling", r"sched.*|pthread_(get|set)sched.*|affinity"),
    ("message queues", r"mq_.*"),
    ("memory, aio", r"m(un)?lock.*|mmap|munmap|shm_.*|aio_.*|lio_.*|fsync|msync|memstream|stdio"),
    ("headers, other", r".*"),
)


def group_of(family):
    for name, pattern in GROUPS:
        if re.fullmatch(pattern, family):
            return name
    return "headers, other"


class Row:
    """One test at one processor count."""

    def __init__(self, suite, test, procs, native, weft, flaky, notes, alone=(), choice=None,
                 beside=()):
        """alone: looks at what was lost, under weft; beside: natively, in turn with those."""
        self.suite, self.test, self.procs = suite, test, procs
        self.native, self.weft, self.notes = native, list(weft) + list(alone), notes
        weft = self.weft
        passed = sum(1 for result in weft if result.cls == "PASS")
        self.verdict = "same"
        if native == "PASS":
            if passed == 0:
                lucky = flaky and any(result.cls != "PASS" for result in beside)
                self.verdict = "flaky" if lucky else "lost"
            elif passed < len(weft):
                self.verdict = "flaky" if flaky else "unsteady"
                if alone and all(result.cls == "PASS" for result in alone) and not any(
                        result.cls == "CRASH" for result in weft):
                    self.verdict = "busy"
            if choice and self.verdict in ("lost", "unsteady"):
                self.verdict = "by choice"
                self.notes = self.notes + [("by choice", choice)]
        elif passed:
            self.verdict = "gained"
        elif any(result.cls != native for result in weft):
            self.verdict = "differs"

    def best(self):
        """As compat/MATRIX.md counts it: once is enough."""
        return "PASS" if any(result.cls == "PASS" for result in self.weft) else self.weft_class()

    def weft_class(self):
        classes = [result.cls for result in self.weft]
        return ",".join("%s×%d" % (cls, classes.count(cls)) if len(classes) > 1 else cls
                        for cls in sorted(set(classes)))


def table(title, rows):
    """Counts for each family group; nothing for an empty selection."""
    if not rows:
        return ""
    lines = [title, "  %-26s %6s %8s %8s %6s %9s %7s %8s" % (
        "", "tests", "native", "weft", "lost", "unsteady", "gained", "differs")]
    names = [name for name, _ in GROUPS]
    by_group = {}
    for row in rows:
        by_group.setdefault(group_of(row.test["family"]), []).append(row)

    def line(name, some):
        count = {verdict: sum(1 for row in some if row.verdict == verdict)
                 for verdict in ("lost", "unsteady", "gained", "differs")}
        lines.append("  %-26s %6d %8d %8d %6d %9d %7d %8d" % (
            name, len(some), sum(1 for row in some if row.native == "PASS"),
            sum(1 for row in some if any(result.cls == "PASS" for result in row.weft)),
            count["lost"], count["unsteady"], count["gained"], count["differs"]))

    for name in names:
        if name in by_group:
            line(name, by_group[name])
    line("all", rows)
    return "\n".join(lines) + "\n"


def differences(rows):
    lines = []
    for verdict in ("lost", "unsteady", "by choice", "busy", "flaky", "differs", "gained"):
        some = [row for row in rows if row.verdict == verdict]
        if some:
            lines.append("%s (%d)" % (verdict, len(some)))
        for row in sorted(some, key=lambda row: (row.suite["name"], row.test["id"], row.procs)):
            note = "; ".join("%s: %s" % note for note in row.notes)
            lines.append("  %-10s %-46s procs=%d  %s -> %s%s" % (
                row.suite["name"], row.test["id"], row.procs, row.native, row.weft_class(),
                "   (%s)" % note if note else ""))
    return "\n".join(lines) + ("\n" if lines else "")


def heading(preload, options):
    return "weft conformance, %s\nkernel %s, %s, %s\nlibrary %s%s\n" % (
        time.strftime("%Y-%m-%d %H:%M"), platform.release(), libc_version(),
        "root" if __import__("os").getuid() == 0 else "not root", preload,
        ", options " + ",".join(options) if options else "")


def tables(rows):
    text = ""
    for procs in sorted({row.procs for row in rows}):
        for name in sorted({row.suite["name"] for row in rows}):
            some = [row for row in rows if row.procs == procs and row.suite["name"] == name]
            text += "\n" + table("%s, procs=%d, all tests" % (name, procs), some)
            text += "\n" + table("%s, procs=%d, tests that create threads" % (name, procs),
                                 [row for row in some if row.test["threads"]])
    return text


def details(rows):
    """Output of what was lost: the last run that did not pass."""
    text = ""
    for row in rows:
        if row.verdict not in ("lost", "unsteady"):
            continue
        bad = [result for result in row.weft if result.cls != "PASS"][-1]
        text += "\n==== %s %s procs=%d: %s, status %s, %.1f s\n%s\n%s" % (
            row.suite["name"], row.test["id"], row.procs, bad.cls, bad.status, bad.seconds,
            bad.output, bad.hang)
    return text


def unbuilt(suites):
    text = ""
    for suite in suites:
        if suite["unbuilt"]:
            text += "\n%s: not built (%d)\n" % (suite["name"], len(suite["unbuilt"]))
            for name, why in sorted(suite["unbuilt"].items()):
                text += "  %s: %s\n" % (name, why[-160:])
    return text


class Lines:
    """Results as JSON lines, one as each run ends: what is there survives an interrupted run."""

    def __init__(self, path):
        self.file = open(path, "w") if path else None

    def add(self, suite, result):
        if not self.file:
            return
        json.dump({"suite": suite["name"], "version": suite["version"], "test": result.test["id"],
                   "family": result.test["family"], "threads": result.test["threads"],
                   "mode": result.mode, "procs": result.procs, "class": result.cls,
                   "status": result.status, "seconds": round(result.seconds, 3),
                   "output": "" if result.cls == "PASS" else result.output,
                   "hang": result.hang}, self.file)
        self.file.write("\n")
        self.file.flush()


class Progress:
    def __init__(self, total):
        self.total, self.done, self.lost = total, 0, 0
        self.began = time.monotonic()
        self.tty = sys.stderr.isatty()

    def step(self, text, bad):
        self.done += 1
        self.lost += bool(bad)
        left = (time.monotonic() - self.began) / self.done * (self.total - self.done)
        line = "%d of %d, %d not as natively, about %d s left" % (
            self.done, self.total, self.lost, left)
        if bad:
            print("%s%s" % ("\r\033[K" if self.tty else "", text), file=sys.stderr)
        if self.tty:
            print("\r\033[K%s: %s" % (line, text[:60]), end="" if self.done < self.total else "\n",
                  file=sys.stderr, flush=True)
        elif self.done % 100 == 0 or self.done == self.total:
            print(line, file=sys.stderr, flush=True)
