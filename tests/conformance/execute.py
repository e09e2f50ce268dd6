"""Running one test: alone in its own session, namespaces and scratch directory, with nothing left behind.

The environment carries a tag that is the test's own; whatever still has the tag when the test is over is
killed, daemons of daemons included.  A test that does not end is asked first: the state of each of its threads,
and under weft every G and what it waits for.
"""

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time

TAG = "WEFT_CONFORMANCE_TAG"
OPEN_POSIX = {0: "PASS", 1: "FAIL", 2: "UNRESOLVED", 4: "UNSUPPORTED", 5: "UNTESTED", 255: "FAIL"}
GLIBC = {0: "PASS", 1: "FAIL", 77: "UNSUPPORTED"}
OUTPUT_KEPT = 6000
HANG_KEPT = 60000
DUMP_SIGNAL = signal.SIGRTMAX - 7       # no test of the suites uses it

_numbers = itertools.count()


class Result:
    def __init__(self, test, mode, procs):
        self.test, self.mode, self.procs = test, mode, procs
        self.cls, self.status, self.seconds, self.output, self.hang = "", 0, 0.0, "", ""


class Box:
    """The sandbox program, compiled once, and what it can do here."""

    def __init__(self, cache):
        self.program = os.path.join(cache, "box")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "box.c")
        if (not os.path.exists(self.program)
                or os.path.getmtime(self.program) < os.path.getmtime(source)):
            # Another run may be at the same.
            new = "%s.%d" % (self.program, os.getpid())
            subprocess.run(["cc", "-O2", "-Wall", source, "-o", new], check=True)
            os.rename(new, self.program)
        self.isolated = subprocess.run([self.program, "--probe"], check=False).returncode == 0


def tagged(tag):
    """The processes that carry the tag.  One that is not readable is not ours."""
    wanted = ("%s=%s" % (TAG, tag)).encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open("/proc/%s/environ" % name, "rb") as f:
                if wanted in f.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass
    return found


def kill_all(tag):
    for _ in range(50):
        pids = tagged(tag)
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.02)


def _read(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def _field(status, name):
    for line in status.splitlines():
        if line.startswith(name + ":"):
            return line.split(":", 1)[1].strip()
    return ""


def threads_of(pid):
    """One line for each kernel thread: where it waits."""
    lines = ["process %d: %s" % (pid, _read("/proc/%d/cmdline" % pid).replace("\0", " ").strip())]
    try:
        tasks = sorted(os.listdir("/proc/%d/task" % pid), key=int)
    except OSError:
        return lines
    for tid in tasks:
        base = "/proc/%d/task/%s/" % (pid, tid)
        status = _read(base + "status")
        lines.append("  thread %s %s: %s, wchan %s, syscall %s" % (
            tid, _field(status, "Name"), _field(status, "State"), _read(base + "wchan") or "-",
            _read(base + "syscall").strip()[:60]))
    return lines


def interrogate(tag, weft):
    """What each process of a test that hangs is doing.  The Gs go to the test's own stderr."""
    lines = []
    for pid in tagged(tag):
        lines += threads_of(pid)
        caught = int(_field(_read("/proc/%d/status" % pid), "SigCgt") or "0", 16)
        if weft and caught >> (DUMP_SIGNAL - 1) & 1:
            try:
                os.kill(pid, DUMP_SIGNAL)
            except OSError:
                pass
    if weft:
        time.sleep(1)
    return "\n".join(lines)


def classify(suite, status, output, timed_out):
    if timed_out:
        return "TIMEOUT"
    if "running with plain pthreads" in output:
        return "UNWOVEN"                # whatever it answered, weft had no part in it
    if suite["name"] == "glibc":
        if "Timed out: killed the child process" in output:
            return "TIMEOUT"
        if "Didn't expect signal from child" in output or status < 0:
            return "CRASH"
        return GLIBC.get(status, "FAIL")
    if status < 0:
        return "CRASH"
    return OPEN_POSIX.get(status, "FAIL")


def environment(suite, test, scratch, tag):
    env = {key: os.environ[key] for key in ("PATH", "USER", "LOGNAME", "TERM") if key in os.environ}
    env.update({"LANG": "C", "HOME": scratch, "TMPDIR": scratch, "TIMEOUTFACTOR": "20", TAG: tag})
    for key, value in test["env"].items():
        env[key] = value.replace("{bin}", suite["where"])
    return env


def wait(process, test, limit):
    """True when it had to be ended.  Stress tests run until they are told to stop."""
    if test["stress"]:
        try:
            process.wait(test["stress"])
            return False
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGUSR1)
    try:
        process.wait(limit)
        return False
    except subprocess.TimeoutExpired:
        return True


def run(box, suite, test, mode, procs, limit, preload, options):
    """One run of one test.  mode is native or weft."""
    result = Result(test, mode, procs)
    tag = "%d-%d" % (os.getpid(), next(_numbers))
    top = tempfile.mkdtemp(prefix="weft-conformance-")
    os.chmod(top, 0o755)
    scratch = os.path.join(top, "scratch")
    os.mkdir(scratch)
    os.chmod(scratch, 0o1777)
    env = environment(suite, test, scratch, tag)
    if mode == "weft":
        env["BOX_PRELOAD"] = preload
        env["WEFT"] = ",".join(["procs=%d" % procs, "dumpsig=%d" % DUMP_SIGNAL, *options])
    for name, target in test["scratch"].items():
        os.symlink(target.replace("{bin}", suite["where"]), os.path.join(scratch, name))
    command = [box.program, scratch, os.path.join(suite["where"], test["program"])]
    command += [arg.replace("{bin}", suite["where"]) for arg in test["args"]]
    path = os.path.join(top, "output")
    began = time.monotonic()
    with open(path, "wb") as out:
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                   start_new_session=True)
        timed_out = wait(process, test, limit)
        result.seconds = time.monotonic() - began
        if timed_out:
            result.hang = interrogate(tag, mode == "weft")
        kill_all(tag)
        try:
            process.kill()
            process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            pass
    with open(path, "rb") as f:
        output = f.read(1 << 20).decode(errors="replace")
    result.status = process.returncode if process.returncode is not None else -9
    result.cls = classify(suite, result.status, output, timed_out)
    if timed_out:
        result.hang += "\n" + output[-HANG_KEPT:]
        output = ""
    result.output = output[:1000] + "\n[…]\n" + output[-OUTPUT_KEPT:] if (
        len(output) > OUTPUT_KEPT + 1000) else output
    shutil.rmtree(top, ignore_errors=True)
    return result
