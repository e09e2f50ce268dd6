"""compat/MATRIX.md: every function that weft interposes, and which tests call it.

A row is a function of shim/symbols.def.  The columns are counts: tests of each suite that call it (from the
undefined symbols of the executables) with how many pass natively and how many under weft, from the newest
results in the cache; and weft's own programs that name it.  Other names of one function (`__read`,
`read_chk` forms, 64-bit and `_unlocked` forms) are called by the same code and stand in the row of the first.

Functions of the thread and signal families that are left to libc are a second table.  The last list is of the
tests that pass natively and did not under weft, with the reason where it is weft's choice (differences.tsv).
"""

import glob
import json
import os
import re

import known

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OWN = ("tests/programs", "tests/torture", "tests/stress", "tests/compare", "tests/unit", "tests/compat")
LEFT = re.compile(r"(pthread|sem|thrd|mtx|cnd|tss|sig|timer|mq|sched)_?\w*|fork|vfork|raise|alarm")


def path_of(name):
    """Where in shim/ the file is."""
    found = glob.glob(TOP + "/shim/*/" + name)
    return os.path.relpath(found[0], TOP) if found else "shim/" + name


def defined():
    """{name: the file that exports it}."""
    found = {}
    for path in sorted(glob.glob(TOP + "/shim/*/*.c") + glob.glob(TOP + "/runtime/arch/*/shim_*.S")):
        with open(path) as f:
            text = f.read()
        for name in (re.findall(r"^EXPORT\b[^;{=]*?\b(\w+)\s*\(", text, re.M) + re.findall(r"^ALIAS\w*\((\w+)", text, re.M)
                     + re.findall(r"^\s*\.globl\s+(\w+)", text, re.M)):
            found.setdefault(name, os.path.relpath(path, TOP))
    return found


def interposed():
    """[(section, name)] in the order of symbols.def: a section is the file, or where symbols.def has the name."""
    section, found, files = "", [], defined()
    with open(TOP + "/shim/symbols.def") as f:
        for line in f:
            match = re.match(r"/\* (\w+\.c)", line)
            if match:
                section = path_of(match.group(1))
            match = re.match(r"SYM\([^,]*,\s*(\w+),", line)
            if match:
                found.append((files.get(match.group(1), section), match.group(1)))
    order = list(dict.fromkeys(where for where, _ in found))
    return sorted(found, key=lambda entry: order.index(entry[0]))


def base_of(name, names):
    """The function that NAME is a form of, or itself."""
    tries = [name]
    for pattern, by in ((r"^__(.*?)(_chk|_2)?$", r"\1"), (r"^_IO_(.*)$", r"\1"), (r"^(__isoc\d\d_)(.*)$", r"\2"),
                        (r"^(.*)64(v2)?$", r"\1\2"), (r"^(.*)_unlocked$", r"\1"), (r"^_(.*)$", r"\1"),
                        (r"^(get.*)_r$", r"\1")):
        for one in list(tries):
            tries.append(re.sub(pattern, by, one))
    for one in reversed(tries):
        if one != name and one in names:
            return one
    return name


def own_programs():
    """{name: number of our programs with this word}."""
    counts = {}
    for folder in OWN:
        for path in glob.glob("%s/%s/**/*" % (TOP, folder), recursive=True):
            if os.path.isfile(path) and not path.endswith((".pyc", ".o")):
                with open(path, errors="replace") as f:
                    for word in set(re.findall(r"\w+", f.read())):
                        counts[word] = counts.get(word, 0) + 1
    return counts


def results(cache):
    """[(suite, test, native class, weft class)] of the newest runs, and what they were."""
    found = []
    for path in sorted(glob.glob(cache + "/results/*.json")):
        with open(path) as f:
            found.append(json.load(f))
    return found


def remember(cache, rows):
    """Keeps the classes of a run for the next matrix: by suite and processor count, test by test."""
    os.makedirs(cache + "/results", exist_ok=True)
    kept = {}
    for row in rows:
        key = (row.suite["name"], row.suite["version"], row.procs)
        kept.setdefault(key, {})[row.test["id"]] = {
            "native": row.native, "uses": row.test["uses"],
            "weft": row.best()}
    for (name, version, procs), tests in kept.items():
        path = "%s/results/%s-procs%d.json" % (cache, name, procs)
        old = {}
        if os.path.exists(path):
            with open(path) as f:
                old = json.load(f).get("tests", {})
        old.update(tests)
        with open(path + ".new", "w") as f:
            json.dump({"suite": name, "version": version, "procs": procs, "tests": old}, f)
        os.rename(path + ".new", path)


def _counts(suite, names):
    used = [test for test in suite["tests"].values() if names.intersection(test["uses"])]
    if not used:
        return "–"
    return "%d: %d, %d" % (len(used), sum(1 for t in used if t["native"] == "PASS"),
                           sum(1 for t in used if t["weft"] == "PASS"))


def not_as_natively(suites):
    reasons, found = known.choices(), {}
    for s in suites:
        for name, test in s["tests"].items():
            if test["native"] == "PASS" and test["weft"] != "PASS":
                found.setdefault(s["suite"] + "/" + name, []).append("%s at procs=%d" % (
                    test["weft"], s["procs"]))
    return ["- `%s`: %s%s" % (name, ", ".join(how), "; by choice: " + reasons[name]
                              if name in reasons else "")
            for name, how in sorted(found.items())] or ["None."]


def write(cache):
    """Writes the file; the number of interposed functions that no test calls."""
    suites = results(cache)
    table = interposed()
    names = [name for _, name in table]
    forms = _forms(names)
    own = own_programs()
    text = ["# Which tests call what", "",
            "Written by `scripts/conformance --matrix`, single rows by `--add-rows`.  `N: n, w` are N tests of a suite that call the"
            " function, n of which pass natively and w under weft.", ""]
    text += ["- %s %s, procs=%d: %d tests, %d pass natively, %d under weft" % (
        s["suite"], s["version"], s["procs"], len(s["tests"]),
        sum(1 for t in s["tests"].values() if t["native"] == "PASS"),
        sum(1 for t in s["tests"].values() if t["weft"] == "PASS")) for s in suites]
    head = "| function | other names | %s | own programs |" % " | ".join(_column(s) for s in suites)
    rule = "|---|---|%s---|" % ("---|" * len(suites))
    section, bare = None, []
    for where, name in table:
        if name not in forms:
            continue
        if where != section:
            section = where
            text += ["", "## " + section, "", head, rule]
        line, called_by_none = _row(name, forms[name], suites, own)
        if called_by_none:
            bare.append(name)
        text.append(line)
    left = sorted({use for s in suites for t in s["tests"].values() for use in t["uses"]
                   if LEFT.fullmatch(use) and use not in names})
    text += ["", "## Left to libc", "", head, rule]
    for name in left:
        text.append("| %s | | %s | %s |" % (
            name, " | ".join(_counts(s, {name}) for s in suites), own.get(name, "–")))
    if bare:
        text += ["", "## Called by no test", "", ", ".join(bare)]
    text += ["", "## Not as natively", ""] + not_as_natively(suites)
    with open(TOP + "/compat/MATRIX.md", "w") as f:
        f.write("\n".join(text) + "\n")
    return bare


def _column(suite):
    return "%s, procs=%d" % (suite["suite"], suite["procs"])


def _row(name, group, suites, own):
    """(its line, whether no test calls it)."""
    mine = sum(own.get(one, 0) for one in group)
    cells = [_counts(s, set(group)) for s in suites]
    return ("| %s | %s | %s | %s |" % (name, " ".join(one for one in group if one != name), " | ".join(cells), mine or "–"),
            not mine and all(cell == "–" for cell in cells))


def _forms(names):
    """{name: all forms of it that are interposed}, in order."""
    forms = {}
    for name in names:
        base = base_of(name, set(names))
        while base != base_of(base, set(names)):
            base = base_of(base, set(names))
        forms.setdefault(base, []).append(name)
    return forms


def lacking():
    """[(section, name, forms)] of the rows that the file does not have."""
    missing, table = set(check()), interposed()
    forms = _forms([name for _, name in table])
    return [(where, name, forms[name]) for where, name in table if name in missing and name in forms]


def add(rows, cache):
    """Puts the rows of lacking() into the file, each below the one that it follows in symbols.def; the names that no test calls."""
    with open(TOP + "/compat/MATRIX.md") as f:
        text = f.read().split("\n")
    table, own, bare = interposed(), own_programs(), []
    head = next(at for at, line in enumerate(text) if line.startswith("| function |"))
    # A column without a new result has none of these functions.
    newest = {_column(suite): suite for suite in results(cache)}
    suites = [newest.get(column, {"tests": {}}) for column in text[head].split(" | ")[2:-1]]
    for where, name, group in rows:
        line, called_by_none = _row(name, group, suites, own)
        if called_by_none:
            bare.append(name)
        if "## " + where not in text:
            at = text.index("## Left to libc")
            text[at:at] = ["## " + where, "", *text[head:head + 2], ""]
        at = text.index("## " + where) + 4
        before = {one for section, one in table[:table.index((where, name))] if section == where}
        while text[at].startswith("| ") and text[at].split(" ")[1] in before:
            at += 1
        text.insert(at, line)
    if bare and "## Called by no test" in text:
        at = text.index("## Called by no test") + 2
        text[at] += ", " + ", ".join(bare)
    with open(TOP + "/compat/MATRIX.md", "w") as f:
        f.write("\n".join(text))


def check():
    """Every interposed function stands in the file, as a row or as another name in one."""
    with open(TOP + "/compat/MATRIX.md") as f:
        words = set(re.findall(r"\w+", f.read()))
    return [name for _, name in interposed() if name not in words]
