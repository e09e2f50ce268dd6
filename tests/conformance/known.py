"""known.tsv: what is known about single tests on plain libc, with reasons.

Nothing is skipped because of it.  `hang` shortens the native time-out, `flaky` says that one pass in several
runs is a pass, `many` that the work grows with the number of threads a library allows, so that the native time
says nothing of how long another library needs; the rest is for the reader of a report.  Nothing in it may be about weft: a test that weft
fails is a finding, wherever it stands.
"""

import fnmatch
import os

KINDS = ("hang", "fail", "flaky", "slow", "many", "needs")


def rows_of(name, want, good):
    """The rows of a table beside this file, as tuples; `want` says what a row is."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    rows = []
    with open(path) as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            fields = line.split("\t")
            if not good(fields):
                raise SystemExit("conformance: %s:%d: want %s" % (name, number, want))
            rows.append(tuple(fields))
    return rows


def load():
    return rows_of("known.tsv", "suite, test, one of %s, reason" % " ".join(KINDS),
                   lambda row: len(row) == 4 and row[2] in KINDS and row[3])


def choices():
    """{suite/test: reason} of differences.tsv: what weft does otherwise and means to."""
    return {suite + "/" + test: reason
            for suite, test, reason in rows_of("differences.tsv", "suite, test, reason",
                                               lambda row: len(row) == 3 and row[2])}


class Known:
    def __init__(self):
        self.rows = load()

    def of(self, suite, test):
        """[(kind, reason)] of a test."""
        return [(kind, reason) for s, pattern, kind, reason in self.rows
                if s == suite and fnmatch.fnmatchcase(test, pattern)]

    def has(self, suite, test, kind):
        return any(k == kind for k, _ in self.of(suite, test))
