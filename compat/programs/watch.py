# watch FILE [--child] -- COMMAND...: runs a command and appends `SECONDS CPU-SECONDS RSS-MB KERNEL-THREADS` to FILE.
#
# The command keeps this process's number, so that signals and /proc find it where its starter looks: a second
# process, that belongs to nobody, counts from outside.  CPU time is then as last seen, up to 20 ms short.  With
# --child the command is a child, and its CPU time is what the kernel says at its end.
#
# With it, too, a command that does not end two seconds after SIGTERM is killed with its descendants.
#
# Memory and threads are the largest sums seen over the command and all its descendants.

import os
import signal
import sys
import time

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def stat(pid):
    """Fields of /proc/PID/stat from the state on; None when there is no such process, or a dead one."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as f:
            fields = f.read().rpartition(b") ")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else fields


def children(pid):
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as f:
                found += [int(n) for n in f.read().split()]
    except OSError:
        pass
    return found


class Watch:
    def __init__(self, pid):
        self.pid = pid
        self.start = time.monotonic()
        self.born = None
        self.cpu = self.rss = self.threads = 0
        self.seen = {}

    def look(self):
        """One look at the tree; False when its root is gone."""
        root = stat(self.pid)
        if root is None or self.born not in (None, root[19]):
            return False
        self.born = root[19]
        cpu = rss = threads = 0
        todo, seen = [self.pid], set()
        while todo:
            pid = todo.pop()
            fields = stat(pid)
            if fields is None or pid in seen:
                continue
            seen.add(pid)
            self.seen[pid] = fields[19]  # when it began: numbers come again
            # utime, stime and those of the children it waited for.
            cpu += sum(int(n) for n in fields[11:15])
            threads += int(fields[17])
            rss += int(fields[21])
            todo += children(pid)
        self.cpu = max(self.cpu, cpu / TICK)
        self.rss = max(self.rss, rss * PAGE / 1e6)
        self.threads = max(self.threads, threads)
        return True

    def until_end(self, over):
        pause = 0.005
        while not over() and self.look():
            time.sleep(pause)
            pause = min(pause * 1.3, 0.02)

    def write(self, path):
        line = "%.2f %.2f %.1f %d\n" % (time.monotonic() - self.start, self.cpu, self.rss, self.threads)
        with open(path, "a") as f:
            f.write(line)


def outside(path, command):
    """The command replaces this process; its grandchild watches, which no wait() of the command's can meet."""
    pid = os.getpid()
    middle = os.fork()
    if middle:
        os.waitpid(middle, 0)
        os.execvp(command[0], command)
    if os.fork():
        os._exit(0)
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.closerange(3, 256)
    os.environ.clear()
    watch = Watch(pid)
    watch.until_end(lambda: False)
    watch.write(path)


def parent(path, command):
    pid = os.fork()
    if not pid:
        os.execvp(command[0], command)
    watch = Watch(pid)
    end, told = [], []

    def tell(n, frame):
        told.append(time.monotonic())
        os.kill(pid, n)

    for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(n, tell)

    def over():
        # What does not end when it is told to goes with all that it started.
        if told and time.monotonic() > told[0] + 2:
            for one, born in watch.seen.items():
                fields = stat(one)
                if fields and fields[19] == born:
                    os.kill(one, signal.SIGKILL)
        if not end and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            end.append(os.wait4(pid, 0))
        return end

    watch.until_end(over)
    if not end:
        end.append(os.wait4(pid, 0))
    _, status, used = end[0]
    watch.cpu = used.ru_utime + used.ru_stime
    watch.threads = max(watch.threads, 1)
    watch.write(path)
    sys.exit(os.waitstatus_to_exitcode(status) & 255 if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


def main():
    # What the interpreter has changed for itself is not the command's affair.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    split = sys.argv.index("--")
    options, command = sys.argv[1:split], sys.argv[split + 1:]
    try:
        (parent if "--child" in options else outside)(options[0], command)
    except FileNotFoundError as e:
        print("watch: %s" % e, file=sys.stderr)
        sys.exit(127)


main()
