"""Where the suites come from: Debian packages, fetched without touching the system's package state.

A private apt configuration inherits the mirrors and keys of the machine (/etc/apt) and turns source
packages on; lists and downloads stay in our cache.  Nothing is installed.  What is already in the cache is
used as it is, so a machine without a network works once somebody put the archives there:

    CACHE/archives/posixtestsuite_*.orig.tar.gz, posixtestsuite_*.debian.tar.xz
    CACHE/archives/glibc-*.tar.xz  (as in /usr/src/glibc of the package glibc-source)

Must never: write a mirror's name anywhere but into the cache; run anything of the downloaded archives.
"""

import glob
import os
import re
import shutil
import subprocess
import sys


class Unavailable(Exception):
    """A suite cannot be had; the text says why and what to do."""


def say(text):
    print("conformance: " + text, file=sys.stderr, flush=True)


def _run(command, **kwargs):
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **kwargs)


def _with_sources(text, deb822):
    """The same mirrors, with source packages as well."""
    if deb822:
        return re.sub(r"(?m)^Types:.*$", "Types: deb deb-src", text)
    lines = []
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(.*)", line)
        if match:
            lines += ["deb " + match.group(1), "deb-src " + match.group(1)]
    return "\n".join(lines) + "\n"


class Apt:
    """apt-get with lists, cache and mirrors of its own."""

    def __init__(self, cache):
        if not shutil.which("apt-get"):
            raise Unavailable("no apt-get here (put the archives into %s/archives)" % cache)
        self.archives = os.path.join(cache, "archives")
        self.base = os.path.join(cache, "apt")
        self.parts = os.path.join(self.base, "sources.list.d")
        self.updated = False
        for path in (self.archives, self.parts, self.base + "/lists/partial",
                     self.base + "/cache/archives/partial"):
            os.makedirs(path, exist_ok=True)
        self.config = os.path.join(self.base, "apt.conf")
        with open(self.config, "w") as f:
            f.write('Dir::State::lists "%s/lists";\nDir::Cache "%s/cache";\n'
                    'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "%s";\n'
                    'Acquire::Languages "none";\n' % (self.base, self.base, self.parts))
            if os.getuid() == 0:
                f.write('APT::Sandbox::User "root";\n')

    def _mirrors(self):
        found = False
        names = glob.glob("/etc/apt/sources.list") + glob.glob("/etc/apt/sources.list.d/*")
        for path in names:
            deb822 = path.endswith(".sources")
            if not deb822 and not path.endswith(".list"):
                continue
            with open(path) as f:
                text = _with_sources(f.read(), deb822)
            if text.strip():
                with open(os.path.join(self.parts, os.path.basename(path)), "w") as f:
                    f.write(text)
                found = True
        if not found:
            raise Unavailable("apt has no mirrors configured")

    def get(self, *arguments):
        environment = dict(os.environ, APT_CONFIG=self.config)
        try:
            if not self.updated:
                self._mirrors()
                say("fetching package lists")
                _run(["apt-get", "-q", "update"], env=environment, stdout=subprocess.DEVNULL,
                     timeout=600)
                self.updated = True
            _run(["apt-get", "-q", *arguments], env=environment, cwd=self.archives,
                 stdout=subprocess.DEVNULL, timeout=600)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise Unavailable("apt-get %s: %s" % (" ".join(arguments), error)) from error


def _newest(pattern):
    found = sorted(glob.glob(pattern))
    return found[-1] if found else None


def _unpack(archive, where):
    """Into WHERE, which exists afterwards only if all of it was unpacked."""
    partial = where + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(partial)
    _run(["tar", "-xf", archive, "-C", partial, "--strip-components=1"])
    return partial


def open_posix(cache):
    """The folder of the Open POSIX Test Suite, with Debian's patches applied, and its version."""
    pattern = os.path.join(cache, "archives", "posixtestsuite_*.orig.tar.gz")
    if not _newest(pattern):
        say("fetching the Open POSIX Test Suite")
        Apt(cache).get("--download-only", "source", "posixtestsuite")
    archive = _newest(pattern)
    changes = _newest(os.path.join(cache, "archives", "posixtestsuite_*.debian.tar.xz"))
    if not archive or not changes:
        raise Unavailable("posixtestsuite: the archives are not there")
    version = re.search(r"posixtestsuite_(.*)\.debian", os.path.basename(changes)).group(1)
    where = os.path.join(cache, "open-posix-" + version, "src")
    if not os.path.isdir(where):
        partial = _unpack(archive, where)
        _run(["tar", "-xf", changes, "-C", partial])
        with open(partial + "/debian/patches/series") as f:
            for name in f.read().split():
                _run(["patch", "-s", "-p1", "-i", "debian/patches/" + name], cwd=partial)
        os.rename(partial, where)
    return where, version


def glibc(cache):
    """The folder of glibc's source, and its version: the one that is installed, where there is a choice."""
    pattern = os.path.join(cache, "archives", "glibc-*.tar.xz")
    archive = _newest("/usr/src/glibc/glibc-*.tar.xz") or _newest(pattern)
    if not archive:
        say("fetching glibc's source (20 MB)")
        apt = Apt(cache)
        apt.get("download", "glibc-source")
        package = _newest(apt.archives + "/glibc-source_*.deb")
        unpacked = os.path.join(cache, "glibc-source")
        _run(["dpkg-deb", "-x", package, unpacked])
        inside = _newest(unpacked + "/usr/src/glibc/glibc-*.tar.xz")
        if not inside:
            raise Unavailable("glibc-source: no archive in the package")
        shutil.move(inside, apt.archives)
        shutil.rmtree(unpacked)
        archive = _newest(pattern)
    version = re.search(r"glibc-(.*)\.tar", os.path.basename(archive)).group(1)
    where = os.path.join(cache, "glibc-" + version, "src")
    if not os.path.isdir(where):
        say("unpacking glibc " + version)
        os.rename(_unpack(archive, where), where)
    return where, version
