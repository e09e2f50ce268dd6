"""known.tsv: what is known about single tests on plain libc, with reasons.

Nothing is skipped because of it.  `hang` shortens the native time-out, `flaky` says that one pass in several
runs is a pass, the rest is for the reader of a report.  Nothing in it may be about weft: a test that weft
fails is a finding, wherever it stands.
"""

import fnmatch
import os

KINDS = ("hang", "fail", "flaky", "slow", "needs")


def load():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known.tsv")
    rows = []
    with open(path) as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            fields = line.split("\t")
            if len(fields) != 4 or fields[2] not in KINDS or not fields[3]:
                raise SystemExit("conformance: known.tsv:%d: want suite, test, one of %s, reason"
                                 % (number, " ".join(KINDS)))
            rows.append(tuple(fields))
    return rows


def choices():
    """{suite/test: reason} of differences.tsv: what weft does otherwise and means to."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "differences.tsv")
    found = {}
    with open(path) as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            fields = line.split("\t")
            if len(fields) != 3 or not fields[2]:
                raise SystemExit("conformance: differences.tsv:%d: want suite, test, reason" % number)
            found[fields[0] + "/" + fields[1]] = fields[2]
    return found


class Known:
    def __init__(self):
        self.rows = load()

    def of(self, suite, test):
        """[(kind, reason)] of a test."""
        return [(kind, reason) for s, pattern, kind, reason in self.rows
                if s == suite and fnmatch.fnmatchcase(test, pattern)]

    def has(self, suite, test, kind):
        return any(k == kind for k, _ in self.of(suite, test))
