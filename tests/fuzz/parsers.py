#!/usr/bin/env python3
"""parsers.py SECONDS [SEED]: the parsers of tests/conformance on texts that are changed at random.

known.tsv and differences.tsv: a table is read or refused by SystemExit with its line.  tests.json, a baseline and
results: what the suite wrote is read again, and what is no JSON, or of other types, is refused by ValueError, KeyError,
TypeError or AttributeError.  The output of a test is put into one class.  symbols.def and /proc: whatever it is, a list comes.

Must never: write into the repository.
"""

import contextlib
import io
import json
import os
import random
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(TOP, "tests", "conformance")
sys.path.insert(0, FOLDER)
sys.dont_write_bytecode = True

import baseline  # noqa: E402
import execute  # noqa: E402
import known  # noqa: E402
import matrix  # noqa: E402
import report  # noqa: E402
import suite as suites  # noqa: E402

PIECES = ["", "\t", "\n", "\0", "#", "hang", "needs", "glibc", "*", "[", "{", "}", "\"", ":", "-1", "1e999", "\u00e9", "/* x.c",
          "SYM(", ",", "null", "[]", "{}", "State:", "running with plain pthreads", "weft[1]: fatal: "]


def change(rng, text):
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice((0, 1, 1, 2, 8, 64)))
        piece = rng.choice(PIECES) if rng.random() < 0.7 else text[at:at + rng.randrange(1, 80)]
        text = text[:at] + piece + text[end:]
    return text


def write(path, text):
    with open(path, "w", errors="surrogatepass") as f:
        f.write(text)


class Fuzz:
    def __init__(self, rng, where):
        self.rng, self.where = rng, where
        with open(os.path.join(FOLDER, "known.tsv")) as f:
            self.known = f.read()
        with open(os.path.join(FOLDER, "differences.tsv")) as f:
            self.differences = f.read()
        with open(os.path.join(TOP, "shim", "symbols.def")) as f:
            self.symbols = f.read()
        self.suite = json.dumps({"name": "x", "version": "1", "tests": [
            {"id": "a/1-1", "family": "a", "program": "a/1-1.test", "args": [], "env": {}, "scratch": {},
             "stress": 0, "uses": ["pthread_create"], "threads": True}], "unbuilt": {}})
        self.runs = json.dumps({"a/1-1": [["PASS", 0.1], ["FAIL", 2.5]], "b": []})

    def table(self):
        name = self.rng.choice(("known.tsv", "differences.tsv"))
        path = os.path.join(self.where, name)
        write(path, change(self.rng, self.known if name == "known.tsv" else self.differences))
        was, known.__file__ = known.__file__, os.path.join(self.where, "known.py")
        try:
            if name == "known.tsv":
                for s, pattern, kind, reason in known.load():
                    assert kind in known.KINDS and reason
                known.Known().of("glibc", "nptl/tst-" + str(self.rng.random()))
            else:
                known.choices()
        except SystemExit as e:
            assert str(e).startswith("conformance: " + name + ":"), e
        finally:
            known.__file__ = was

    def test_list(self):
        write(os.path.join(self.where, "tests.json"), change(self.rng, self.suite))
        try:
            suites.load(self.where)["tests"]
        except (ValueError, KeyError, TypeError):
            pass

    def runs_of(self):
        os.makedirs(os.path.join(self.where, "baseline"), exist_ok=True)
        empty = {"name": "x", "version": "1"}
        path = baseline.Baseline(self.where, empty).path
        write(path, change(self.rng, self.runs))
        try:
            b = baseline.Baseline(self.where, empty)
            for test in ("a/1-1", "b", "c"):
                b.cls(test), b.stable(test), b.seconds(test)
        except (ValueError, TypeError, AttributeError):
            pass
        finally:
            os.unlink(path)

    def output(self):
        text = change(self.rng, "Test PASSED\nweft[12]: ok\n")
        for name in ("open_posix", "glibc", "x"):
            cls = execute.classify({"name": name}, self.rng.randrange(-64, 256), text, self.rng.random() < 0.1)
            assert isinstance(cls, str) and cls, cls
        assert isinstance(execute._field(change(self.rng, "Name:\tx\nState:\tS (sleeping)\nSigCgt:\t0\n"), "State"), str)
        assert report.group_of(change(self.rng, "pthread_create"))

    def exported(self):
        at = self.rng.randrange(len(self.symbols))
        os.makedirs(os.path.join(self.where, "shim"), exist_ok=True)
        write(os.path.join(self.where, "shim", "symbols.def"), change(self.rng, self.symbols[at:at + 2000]))
        was, matrix.TOP = matrix.TOP, self.where
        try:
            for section, name in matrix.interposed():
                assert section.startswith("shim/") or section == "", section
                matrix.base_of(name, {"pthread_create", "read"})
        finally:
            matrix.TOP = was


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    runs, until = 0, time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as where:
        while time.monotonic() < until:
            fuzz = Fuzz(random.Random(seed + runs), where)
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    for one in (fuzz.table, fuzz.test_list, fuzz.runs_of, fuzz.output, fuzz.exported):
                        one()
            except BaseException:
                print("parsers: seed %d" % (seed + runs))
                raise
            runs += 1
    print("%d runs" % runs)


main()
