"""conformance: runs POSIX test suites natively and under weft, and compares test by test.

scripts/conformance is the way in; --help says what can be chosen.
"""

import argparse
import concurrent.futures
import os
import re
import sys
import threading

import baseline
import execute
import glibc
import known
import matrix
import openposix
import report
import sources
import suite as suites

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NATIVE_LIMIT = 120
HANG_LIMIT = 20
LEAST_LIMIT = 20
MANY_LIMIT = 200
AGAIN = 3
FAST_SECONDS = 3.3
FAST_USES = re.compile(r"pthread_|thrd_|mtx_|cnd_|tss_|sem_|fork$|sigwait")
BUILDERS = {"open-posix": openposix.build, "glibc": glibc.build}


def arguments():
    parser = argparse.ArgumentParser(
        prog="conformance", description="Run the Open POSIX Test Suite and glibc's thread tests "
        "natively and under weft, and compare.  Exit status 1: a test that passes natively was lost.")
    which = parser.add_argument_group("which tests")
    which.add_argument("--fast", action="store_true",
                       help="tests that use threads, semaphores, fork or sigwait, are stable and take "
                       "at most %.1f s natively" % FAST_SECONDS)
    which.add_argument("--full", action="store_true", help="every test (the default)")
    which.add_argument("--suite", action="append", metavar="NAME",
                       help="open-posix, glibc, or a folder of executables with Open POSIX's exit "
                       "codes; repeatable; the default is both suites")
    which.add_argument("--only", metavar="REGEX", help="tests whose suite/name matches")
    which.add_argument("--threads", action="store_true", help="tests that create threads")
    how = parser.add_argument_group("how")
    how.add_argument("--native", action="store_const", dest="mode", const="native",
                     help="natively only; adds to the native baseline")
    how.add_argument("--weft", action="store_const", dest="mode", const="weft",
                     help="under weft, compared with the baseline (the default); what it lacks is run")
    how.add_argument("--both", action="store_const", dest="mode", const="both",
                     help="each test natively and under weft, one after the other")
    how.add_argument("--procs", default="2", metavar="N[,N]", help="processors for weft: 2")
    how.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each test: 1")
    how.add_argument("--retries", type=int, default=2, metavar="N",
                     help="more runs of a test that did worse than natively, to tell lost from "
                     "unsteady: 2")
    how.add_argument("--preload", metavar="LIB", help="the library: build/libweft.so")
    how.add_argument("--option", action="append", default=[], metavar="KEY=VALUE",
                     help="an option of weft; repeatable")
    jobs = 2 * len(os.sched_getaffinity(0))
    how.add_argument("--jobs", type=int, default=jobs, metavar="N",
                     help="tests at a time, most of which sleep: twice the processors, %(default)s here")
    out = parser.add_argument_group("results")
    out.add_argument("--report", metavar="FILE", help="a readable report; FILE.jsonl has every run")
    out.add_argument("--matrix", action="store_true",
                     help="write compat/MATRIX.md from the newest results and end")
    out.add_argument("--add-rows", action="store_true",
                     help="run the tests of the functions that compat/MATRIX.md has no row for, and add their rows")
    out.add_argument("--check-matrix", action="store_true",
                     help="does compat/MATRIX.md name every interposed function?")
    out.add_argument("--list", action="store_true", help="print the selected tests and end")
    parser.set_defaults(mode="weft")
    return parser.parse_args()


def load():
    """How much longer than on an idle machine something may take here and now."""
    return max(1.0, min(5.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


def library(args):
    path = args.preload or os.path.join(os.environ.get("BUILD", TOP + "/build"), "libweft.so")
    path = os.path.abspath(path)
    if args.mode != "native" and not os.path.exists(path):
        raise SystemExit("conformance: %s: not there (make it, or say --preload)" % path)
    return path


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = os.path.join(base, "weft", "conformance")
    os.makedirs(path, exist_ok=True)
    return path


class Runner:
    """Runs the selected tests of all suites and keeps what they did."""

    def __init__(self, args, cache):
        self.args, self.cache = args, cache
        self.known = known.Known()
        self.choices = known.choices()
        self.box = execute.Box(cache)
        self.preload = library(args)
        self.procs = [int(word) for word in args.procs.split(",")]
        self.lock = threading.Lock()
        self.lines = report.Lines(args.report + ".jsonl" if args.report else None)
        self.baselines = {}
        self.rows = []
        self.lacking = matrix.lacking() if args.add_rows else []
        if not self.box.isolated:
            sources.say("namespaces are not allowed here: tests share /dev/shm and IPC objects")

    def suites(self):
        for name in self.args.suite or list(BUILDERS):
            if name in BUILDERS:
                yield BUILDERS[name](self.cache, self.args.jobs)
            elif os.path.isdir(name):
                yield suites.of_folder(name)
            else:
                raise SystemExit("conformance: %s: no such suite (open-posix, glibc, or a folder)"
                                 % name)

    def selected(self, suite):
        base = self.baselines[suite["name"]] = baseline.Baseline(self.cache, suite)
        for test in suite["tests"]:
            name = test["id"]
            if self.args.only and not re.search(self.args.only, suite["name"] + "/" + name):
                continue
            if self.args.threads and not test["threads"]:
                continue
            if self.args.add_rows and not self.calls_one_without_a_row(test):
                continue
            if self.args.fast and not self.fast(suite, test, base):
                continue
            yield test

    def calls_one_without_a_row(self, test):
        return any(set(group).intersection(test["uses"]) for _, _, group in self.lacking)

    def fast(self, suite, test, base):
        name = test["id"]
        if test["stress"] or suite["name"] + "/" + name in self.choices or any(self.known.has(suite["name"], name, kind)
                                 for kind in ("hang", "fail", "flaky", "slow")):
            return False
        if not any(FAST_USES.match(use) for use in test["uses"]):
            return False
        return not base.classes(name) or (base.stable(name) and base.seconds(name) <= FAST_SECONDS)

    def native_once(self, suite, test):
        base = self.baselines[suite["name"]]
        hang = self.known.has(suite["name"], test["id"], "hang")
        limit = (HANG_LIMIT if hang or self.args.fast else NATIVE_LIMIT) * load()
        result = execute.run(self.box, suite, test, "native", 0, limit, self.preload, [])
        with self.lock:
            base.add(result)
            self.lines.add(suite, result)
        return result

    def weft_once(self, suite, test, procs, native_seconds):
        limit = max(LEAST_LIMIT, 3 * native_seconds + 10)
        natively = self.baselines[suite["name"]].cls(test["id"])
        if natively == "TIMEOUT":
            limit = HANG_LIMIT
        elif self.known.has(suite["name"], test["id"], "many"):
            limit = MANY_LIMIT
        if (natively == "PASS"
                and suite["name"] + "/" + test["id"] not in self.choices):
            limit *= load()
        result = execute.run(self.box, suite, test, "weft", procs, limit, self.preload,
                             self.args.option)
        with self.lock:
            self.lines.add(suite, result)
        return result

    def flaky(self, suite, test):
        """Natively, as known or as seen."""
        classes = set(self.baselines[suite["name"]].classes(test["id"]))
        return (self.known.has(suite["name"], test["id"], "flaky")
                or ("PASS" in classes and len(classes) > 1))

    def one(self, suite, test, progress):
        base = self.baselines[suite["name"]]
        name = test["id"]
        if self.args.mode != "weft" or not base.classes(name):
            for _ in range(self.args.repeat if self.args.mode != "weft" else 1):
                self.native_once(suite, test)
        native = base.cls(name)
        if self.args.mode == "native":
            with self.lock:
                progress.step("%s/%s: %s" % (suite["name"], name, native), False)
            return
        for procs in self.procs:
            runs, extra = [], 0
            while len(runs) < self.args.repeat + extra:
                result = self.weft_once(suite, test, procs, base.seconds(name))
                runs.append(result)
                if (native == "PASS" and result.cls != "PASS" and extra == 0
                        and suite["name"] + "/" + name not in self.choices):
                    extra = self.args.retries
            row = self.row(suite, test, procs, runs)
            with self.lock:
                self.rows.append(row)
                progress.step("%s %s/%s procs=%d: %s -> %s" % (
                    row.verdict, suite["name"], name, procs, native, row.weft_class()),
                    row.verdict in ("lost", "unsteady"))

    def row(self, suite, test, procs, runs, alone=(), beside=()):
        name = test["id"]
        return report.Row(suite, test, procs, self.baselines[suite["name"]].cls(name), runs,
                          self.flaky(suite, test), self.known.of(suite["name"], name), alone,
                          self.choices.get(suite["name"] + "/" + name), beside)

    def look_again(self):
        """What was lost or unsteady, with nothing beside it and natively in turn: whose fault is it?"""
        for i, row in enumerate(self.rows):
            if row.verdict not in ("lost", "unsteady"):
                continue
            alone, beside = [], []
            for _ in range(AGAIN):
                beside.append(self.native_once(row.suite, row.test))
                alone.append(self.weft_once(row.suite, row.test, row.procs,
                                            self.baselines[row.suite["name"]].seconds(row.test["id"])))
            self.rows[i] = self.row(row.suite, row.test, row.procs, row.weft, alone, beside)
            print("again, alone: %s/%s procs=%d: %s" % (
                row.suite["name"], row.test["id"], row.procs, self.rows[i].verdict), file=sys.stderr)

    def run(self, work):
        progress = report.Progress(len(work) * (1 if self.args.mode == "native" else len(self.procs)))
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            futures = [pool.submit(self.one, suite, test, progress) for suite, test in work]
            try:
                for future in futures:
                    future.result()
                if self.args.retries:
                    self.look_again()
            except KeyboardInterrupt:
                for future in futures:
                    future.cancel()
                raise
            finally:
                for base in self.baselines.values():
                    base.save()


def native_summary(runner, work):
    counts = {}
    for suite, test in work:
        cls = runner.baselines[suite["name"]].cls(test["id"])
        counts.setdefault(suite["name"], {}).setdefault(cls, []).append(test["id"])
    text = ""
    for name, classes in sorted(counts.items()):
        text += "%s, natively: %s\n" % (name, ", ".join(
            "%d %s" % (len(tests), cls) for cls, tests in sorted(classes.items(), key=str)))
        for cls in ("FAIL", "TIMEOUT", "CRASH", "UNRESOLVED"):
            for test in classes.get(cls, []):
                note = "; ".join("%s: %s" % row for row in runner.known.of(name, test))
                text += "  %s %s%s\n" % (cls, test, "   (%s)" % note if note else "")
    return text


def main():
    args = arguments()
    cache = cache_folder()
    if args.check_matrix:
        missing = matrix.check()
        for name in missing:
            print("compat/MATRIX.md: no row for %s (run scripts/conformance --add-rows)" % name)
        return 1 if missing else 0
    if args.matrix:
        bare = matrix.write(cache)
        print("compat/MATRIX.md is written; %d functions are called by no test" % len(bare))
        return 0
    runner = Runner(args, cache)
    try:
        chosen = list(runner.suites())
    except sources.Unavailable as error:
        print("conformance: %s" % error, file=sys.stderr)
        return 77
    work = [(suite, test) for suite in chosen for test in runner.selected(suite)]
    if not work and not args.add_rows:
        raise SystemExit("conformance: no test is selected")
    if args.list:
        for suite, test in work:
            print("%s/%s%s" % (suite["name"], test["id"], " threads" if test["threads"] else ""))
        return 0
    runner.run(work)
    text = report.heading(runner.preload, args.option)
    if args.mode == "native":
        text += native_summary(runner, work)
    else:
        text += report.tables(runner.rows) + "\n" + report.differences(runner.rows)
    sys.stdout.write(text)
    if not args.option:
        matrix.remember(cache, runner.rows)
    if args.add_rows:
        matrix.add(runner.lacking, cache)
    bad = sum(1 for row in runner.rows if row.verdict in ("lost", "unsteady"))
    good = len(runner.rows) - bad if args.mode != "native" else len(work)
    if args.report:
        with open(args.report, "w") as f:
            f.write(text + report.unbuilt(chosen) + report.details(runner.rows))
    print("%d passed, %d failed" % (good, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
