"""The Open POSIX Test Suite: which files are tests, and how they are compiled.

N-M.c is a test, N-M-buildonly.c compiles only and says nothing about us; a script N-M.sh that calls
`…-core-buildonly.test N` is a test of that program with an argument (the other scripts only print that
another test covers the assertion).  stress/threads/*/stress* run until SIGUSR1.
"""

import glob
import os
import re

import suite
from sources import open_posix

FLAGS = ["-g", "-O2", "-w", "-std=gnu99", "-D_POSIX_C_SOURCE=200112L", "-D_GNU_SOURCE"]
LIBRARIES = ["-lpthread", "-lrt", "-lm"]
STRESS_SECONDS = 10


def _sources(src):
    """(program, source, test or None) of everything to compile."""
    for path in sorted(glob.glob(src + "/conformance/**/*.c", recursive=True)):
        path = os.path.relpath(path, src)
        program = path[:-2] + ".test"
        name = os.path.basename(path)
        if re.fullmatch(r"\d+-\d+\.c", name):
            test = re.sub(r"^conformance/(interfaces/)?", "", path[:-2])
            yield program, path, {"id": test, "family": test.split("/")[0]}
        elif name.endswith("core-buildonly.c"):
            yield program, path, None
    for path in sorted(glob.glob(src + "/functional/**/*.c", recursive=True)):
        path = os.path.relpath(path, src)
        yield path[:-2] + ".test", path, {"id": path[:-2], "family": "functional"}
    for path in sorted(glob.glob(src + "/stress/**/*.c", recursive=True)):
        path = os.path.relpath(path, src)
        test = {"id": path[:-2], "family": "stress"}
        # The others there measure, and end by themselves.
        if os.path.basename(path).startswith("stress"):
            test["stress"] = STRESS_SECONDS
        elif path.startswith("stress/semaphores/"):
            test["args"] = ["100"]
        yield path[:-2] + ".test", path, test


def _has_main(path):
    with open(path, errors="replace") as f:
        return re.search(r"^\s*(int\s+|void\s+)?main\s*\(", f.read(), re.M) is not None


def _scripts(src):
    for path in sorted(glob.glob(src + "/conformance/**/*-*.sh", recursive=True)):
        with open(path, errors="replace") as f:
            call = re.search(r"^\s*(?:\./)?(conformance/\S+-core-buildonly\.test)\s*(.*)$", f.read(),
                             re.M)
        if call:
            name = re.sub(r"^conformance/(interfaces/)?", "", os.path.relpath(path, src)[:-3])
            yield {"id": name, "family": name.split("/")[0], "program": call.group(1),
                   "args": call.group(2).split()}


def build(cache, jobs):
    src, version = open_posix(cache)
    where = os.path.join(os.path.dirname(src), "bin")
    if os.path.exists(where + "/tests.json"):
        return suite.load(where)

    def one(item):
        program, path, _ = item
        out = os.path.join(where, program)
        os.makedirs(os.path.dirname(out), exist_ok=True)
        return suite.compile_one(["cc", *FLAGS, "-Iinclude", "-I" + os.path.dirname(path), path,
                                  *LIBRARIES], out, src)

    items = [item for item in _sources(src) if _has_main(os.path.join(src, item[1]))]
    errors = suite.in_parallel("building open-posix", jobs, items, one)
    tests, unbuilt = [], {}
    for (program, path, test), error in zip(items, errors):
        if error:
            unbuilt[test["id"] if test else path] = error
        elif test:
            test["program"] = program
            tests.append(test)
    # Some tests execute others by their name from the suite's top.
    for test in _scripts(src):
        if os.path.exists(os.path.join(where, test["program"])):
            tests.append(test)
    for test in tests:
        test["scratch"] = {"conformance": "{bin}/conformance"}
    suite.finish(where, "open-posix", version, tests, unbuilt)
    return suite.load(where)
