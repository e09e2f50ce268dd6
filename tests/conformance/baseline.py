"""What the suites do on plain libc here: one file for each suite, kernel and libc.

Native runs are collected over time (the newest KEPT of each test), so that a test can be called stable or not by
what it did, and a run under weft alone has something to be compared with.
"""

import json
import os
import platform

KEPT = 10


def libc_version():
    return os.confstr("CS_GNU_LIBC_VERSION") or "libc"


class Baseline:
    def __init__(self, cache, suite):
        name = "-".join((suite["name"], suite["version"], platform.release(),
                         libc_version().replace(" ", "-")))
        os.makedirs(os.path.join(cache, "baseline"), exist_ok=True)
        self.path = os.path.join(cache, "baseline", name + ".json")
        self.runs = {}
        if os.path.exists(self.path):
            with open(self.path) as f:
                self.runs = json.load(f)

    def add(self, result):
        runs = self.runs.setdefault(result.test["id"], [])
        runs.append([result.cls, round(result.seconds, 2)])
        del runs[:-KEPT]

    def save(self):
        new = "%s.%d" % (self.path, os.getpid())  # another run may be writing its own
        with open(new, "w") as f:
            json.dump(self.runs, f, indent=0, sort_keys=True)
        os.rename(new, self.path)

    def classes(self, test):
        return [cls for cls, _ in self.runs.get(test, [])]

    def cls(self, test):
        """The class of a test: PASS when it ever passed, else what it did last."""
        classes = self.classes(test)
        return "PASS" if "PASS" in classes else classes[-1] if classes else None

    def stable(self, test):
        classes = self.classes(test)
        return bool(classes) and all(cls == "PASS" for cls in classes)

    def seconds(self, test):
        return max((seconds for _, seconds in self.runs.get(test, [])), default=0.0)
