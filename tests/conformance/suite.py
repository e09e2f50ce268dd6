"""What a suite is: a list of tests, each built once into the cache.

A test is a dictionary, and tests.json beside the executables is the list of them:

    id        family/name, unique in its suite
    family    the interface it tests
    program   the executable, relative to the build's folder
    args, env what it is started with; {bin} stands for the build's folder
    scratch   links to make in its scratch directory
    uses      the functions of libc that it calls: its undefined symbols
    threads   it makes threads
    stress    seconds after which SIGUSR1 ends it, 0: it ends by itself

A test that does not build is in `unbuilt` with the compiler's first complaint: part of every report.
"""

import concurrent.futures
import json
import os
import subprocess
import sys


def undefined(program):
    """The names that a program takes from shared libraries, without versions."""
    out = subprocess.run(["nm", "-D", "--undefined-only", program], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, universal_newlines=True).stdout
    return sorted({line.split()[-1].split("@")[0] for line in out.splitlines() if line.strip()})


def makes_threads(uses):
    return any(name in ("pthread_create", "thrd_create") for name in uses)


def compile_one(command, out, cwd):
    """OUT by COMMAND; None, or the first complaint.  What is there is complete: a build can be resumed."""
    if os.path.exists(out):
        return None
    done = subprocess.run([*command, "-o", out + ".new"], cwd=cwd, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                          errors="replace")
    if done.returncode == 0:
        os.rename(out + ".new", out)
        return None
    for line in done.stdout.splitlines():
        if "error" in line or "undefined reference" in line or "cannot find" in line:
            return line.strip()
    return (done.stdout.strip().splitlines() or ["status %d" % done.returncode])[-1]


def in_parallel(what, jobs, items, function):
    """function(item) for each, JOBS at a time, with progress; the results in the order of items."""
    results = [None] * len(items)
    tty = sys.stderr.isatty()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(function, item): i for i, item in enumerate(items)}
        for count, future in enumerate(concurrent.futures.as_completed(futures), 1):
            results[futures[future]] = future.result()
            if tty or count % 200 == 0 or count == len(items):
                print("%s%s: %d of %d" % ("\r" if tty else "conformance: ", what, count, len(items)),
                      end="" if tty and count < len(items) else "\n", file=sys.stderr, flush=True)
    return results


def finish(where, name, version, tests, unbuilt):
    """Completes what the executables tell by themselves, and writes the list."""
    for test in tests:
        program = os.path.join(where, test.get("symbols_of", test["program"]))
        test["uses"] = undefined(program)
        test["threads"] = makes_threads(test["uses"])
        for key, value in (("args", []), ("env", {}), ("scratch", {}), ("stress", 0)):
            test.setdefault(key, value)
    tests.sort(key=lambda test: test["id"])
    suite = {"name": name, "version": version, "tests": tests, "unbuilt": unbuilt}
    with open(os.path.join(where, "tests.json.new"), "w") as f:
        json.dump(suite, f, indent=1)
    os.rename(os.path.join(where, "tests.json.new"), os.path.join(where, "tests.json"))


def load(where):
    with open(os.path.join(where, "tests.json")) as f:
        suite = json.load(f)
    suite["where"] = where
    return suite


def of_folder(where):
    """Anybody's built tests: each executable in a folder, with the exit codes of Open POSIX."""
    where = os.path.abspath(where)
    tests = []
    for base, folders, names in os.walk(where):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(base, name)
            if os.path.isfile(path) and os.access(path, os.X_OK) and not name.endswith(".so"):
                program = os.path.relpath(path, where)
                uses = undefined(path)
                tests.append({"id": program, "family": os.path.dirname(program) or "tests",
                              "program": program, "args": [], "env": {}, "scratch": {}, "stress": 0,
                              "uses": uses, "threads": makes_threads(uses)})
    return {"name": os.path.basename(where), "version": "0", "where": where, "tests": tests,
            "unbuilt": {}}
