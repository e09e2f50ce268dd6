"""glibc's own tests of its threads: nptl/tst-*.c and sysdeps/pthread/tst-*.c, built against the installed libc.

They need support/ of glibc's source and nothing else of its build.  What a Makefile says about single tests
(flags, arguments, modules to load) is in the tables below.  Statically linked variants are left out: a preload
cannot reach them.  Tests of glibc's insides do not link, and are reported as not built.
"""

import glob
import os
import re
import shutil
import subprocess

import suite
from sources import glibc

FLAGS = ["-g", "-O2", "-w", "-D_GNU_SOURCE"]
LIBRARIES = ["-ldl", "-lrt", "-lpthread", "-lm"]
FOLDERS = ("nptl", "sysdeps/pthread")
PRIVATE_HEADERS = ("array_length.h", "dso_handle.h", "intprops.h", "libc-diag.h", "scratch_buffer.h",
                   "set-hooks.h", "support.h", "verify.h")
INTERNAL_FOLDERS = ("support", "", "sysdeps/x86_64", "sysdeps/pthread", "nptl", "sysdeps/x86_64/nptl",
                    "sysdeps/unix/sysv/linux", "sysdeps/generic")

# Flags by name, all that match.
EXTRA = (
    (r"tst-(cancel|cleanup|once)x.*", ["-fexceptions"]),
    (r"tst-oncey.*", ["-fno-exceptions", "-fno-asynchronous-unwind-tables"]),
    (r"tst-cleanup2", ["-fno-builtin"]),
    (r"tst-initializers1-(.*)", ["-std=\\1"]),
    (r"tst-(atfork[234]|tls3.*|create1|join7|pt-tls4|stack4)", ["-rdynamic"]),
    (r"tst-tls5", ["-Wl,--no-as-needed", "{bin}/tst-tls5mod.so"]),
    (r"tst-fini1", ["-Wl,--no-as-needed", "{bin}/tst-fini1mod.so"]),
    (r"tst-_res1", ["-Wl,--no-as-needed", "{bin}/tst-_res1mod1.so", "{bin}/tst-_res1mod2.so"]),
    (r"tst-compat-forwarder", ["-Wl,--no-as-needed", "{bin}/tst-compat-forwarder-mod.so"]),
    (r"tst-audit-threads", ["-Wl,-z,lazy", "{bin}/tst-audit-threads-mod2.so"]),
    (r"tst-cleanup4", ["{src}/nptl/tst-cleanup4aux.c"]),
    (r"tst-cleanupx4", ["{src}/nptl/tst-cleanup4aux.c"]),
    (r"tst-cancel24|tst-once5|tst-minstack-throw|tst-thread.*", []),
)
MODULE_EXTRA = (
    (r"tst-audit-threads-mod.*", ["-Wl,-z,lazy"]),
    (r"tst-_res1mod2", ["{bin}/tst-_res1mod1.so"]),
)
ARGS = {
    "tst-cancel7": ["--command", "exec {self}"],
    "tst-cancelx7": ["--command", "exec {self}"],
    "tst-exec4": ["{self}"],
    "tst-umask1": ["umask1.temp"],
    "tst-oddstacklimit": ["--command", "{bin}/tst-basic1"],
}
ENV = {
    "tst-mutex10": {"GLIBC_TUNABLES": "glibc.elision.enable=1"},
    "tst-audit-threads": {"LD_AUDIT": "{bin}/tst-audit-threads-mod1.so"},
}
# Files that a test expects where it runs.
SCRATCH = {name: {"Makefile": "{bin}/../src/Makefile"}
           for name in ("tst-cancel4", "tst-cancel5", "tst-cancelx4", "tst-cancelx5")}
MODULE = re.compile(r"(tst-.*mod\d*[a-z]?(-[a-z])?|tst-audit-threads-mod\d|tst-compat-forwarder-mod"
                    r"|tst-execstack-mod)$")
NOT_TESTS = {"tst-cleanup4aux", "tst-cleanupx4aux", "tst-cancel4-common", "tst-cancel-self-cleanup"}


def _matching(table, name, where, src):
    flags = []
    for pattern, extra in table:
        match = re.fullmatch(pattern, name)
        if match:
            flags += [match.expand(flag.replace("{bin}", where).replace("{src}", src))
                      for flag in extra]
    return flags


def _family(name):
    """tst-cancelx21 belongs to cancel, tst-rwlock-pwn to rwlock, tst-pthread-… to what follows."""
    name = re.sub(r"^tst-_?(pt-|pthread[-_]|thread[-_])?", "", name)
    word = re.match(r"[a-z_]*[a-z]|", name).group(0)
    return {"cancelx": "cancel", "cleanupx": "cleanup", "oncex": "once", "oncey": "once"}.get(word, word)


def _headers(src, where):
    """The few headers of glibc's own that support/ and the tests include; all others are the installed ones."""
    include = os.path.join(where, "include")
    os.makedirs(include, exist_ok=True)
    for name in PRIVATE_HEADERS:
        if os.path.exists(os.path.join(src, "include", name)):
            shutil.copy(os.path.join(src, "include", name), include)
    shutil.copy(os.path.join(os.path.dirname(__file__), "prefix.h"), include)
    for name in ("config.h", "shlib-compat.h", "atomic.h"):
        open(os.path.join(include, name), "w").close()
    flags = ["-include", include + "/prefix.h", "-I" + include]
    for folder in INTERNAL_FOLDERS:
        flags += ["-idirafter", os.path.join(src, folder)]
    return flags


def _support(src, where, headers, jobs):
    """support/ as one archive.  A member that needs glibc's insides is left out."""
    with open(src + "/support/Makefile") as f:
        text = f.read()
    names = re.search(r"^libsupport-routines = (.*?)\n\n", text, re.M | re.S).group(1)
    names = names.replace("\\", " ").split()
    out = os.path.join(where, "support")
    os.makedirs(out, exist_ok=True)
    paths = ["-D%s_PATH=\"%s\"" % item for item in (
        ("SRCDIR", src), ("OBJDIR", where), ("OBJDIR_ELF_LDSO", where), ("INSTDIR", "/usr"),
        ("LIBDIR", "/usr/lib"), ("BINDIR", "/usr/bin"), ("SBINDIR", "/usr/sbin"), ("SLIBDIR", "/lib"),
        ("ROOTSBINDIR", "/sbin"), ("COMPLOCALEDIR", "/usr/lib/locale"), ("SYSCONFDIR", "/etc"))]

    def one(name):
        return suite.compile_one(["cc", "-std=gnu11", *FLAGS, *headers, *paths, "-c", name + ".c"],
                                 os.path.join(out, name + ".o"), src + "/support")

    errors = suite.in_parallel("building glibc's support", jobs, names, one)
    archive = os.path.join(where, "libsupport.a")
    good = [os.path.join(out, name + ".o") for name, error in zip(names, errors) if not error]
    subprocess.run(["ar", "rcs", archive, *good], check=True)
    return archive


def build(cache, jobs):
    src, version = glibc(cache)
    where = os.path.join(os.path.dirname(src), "bin")
    if os.path.exists(where + "/tests.json"):
        return suite.load(where)
    os.makedirs(where, exist_ok=True)
    headers = _headers(src, where)
    archive = _support(src, where, headers, jobs)
    sources = {}
    for folder in FOLDERS:
        for path in sorted(glob.glob("%s/%s/tst-*.c" % (src, folder))
                           + glob.glob("%s/%s/tst-*.cc" % (src, folder))):
            name = os.path.splitext(os.path.basename(path))[0]
            if not name.endswith("-static") and name not in NOT_TESTS:
                sources[name] = path
    modules = sorted(name for name in sources if MODULE.match(name))

    def compiler(name):
        cc = sources[name].endswith(".cc")
        return ["c++", "-std=gnu++17"] if cc else ["cc", "-std=gnu11"]

    def module(name):
        return suite.compile_one([*compiler(name), *FLAGS, *headers, "-fPIC", "-shared",
                                  sources[name], "-Wl,-soname,%s.so" % name,
                                  *_matching(MODULE_EXTRA, name, where, src)],
                                 "%s/%s.so" % (where, name), os.path.dirname(sources[name]))

    def program(name):
        return suite.compile_one([*compiler(name), *FLAGS, *headers, sources[name],
                                  *_matching(EXTRA, name, where, src), archive, *LIBRARIES],
                                 os.path.join(where, name), os.path.dirname(sources[name]))

    unbuilt = {}
    for name, error in zip(modules, suite.in_parallel("building glibc's modules", 1, modules, module)):
        if error:
            unbuilt[name] = error
    if os.path.exists(where + "/tst-stack4mod.so"):
        for i in range(20):
            for j in range(20):
                shutil.copy(where + "/tst-stack4mod.so", "%s/tst-stack4mod-%d-%d.so" % (where, i, j))
    programs = sorted(set(sources) - set(modules))
    tests = []
    errors = suite.in_parallel("building glibc's tests", jobs, programs, program)
    for name, error in zip(programs, errors):
        if error:
            unbuilt[name] = error
            continue
        tests.append({"id": name, "family": _family(name), "program": name,
                      "scratch": SCRATCH.get(name, {}),
                      "args": [arg.replace("{self}", "{bin}/" + name) for arg in ARGS.get(name, [])],
                      "env": dict(ENV.get(name, {}), LD_LIBRARY_PATH="{bin}")})
    suite.finish(where, "glibc", version, tests, unbuilt)
    return suite.load(where)
