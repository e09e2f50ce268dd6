"""weft in gdb: the threads of a program under weft, of a live process or a core file.

    info weft threads [-all] [WORD]   all threads with state, reason and name; of more than 1,000 those with WORD in
                                      their line, or with -all each
    weft thread ID                    looks at one: its stack is below frame 0, which stays the kernel thread's
    weft thread off                   as before
    weft apply all|ID... COMMAND      COMMAND in each; with -max N in no more than N (1,000)

gdb loads this file beside the library where `add-auto-load-safe-path` allows it, or by `source`.  All is read by the
table that the library publishes (runtime/debug/layout.h), so the library may be stripped; nothing is called in the
process, and no register is written.

A parked thread's registers lie on its stack.  An unwinder says that the selected kernel thread's innermost frame was
called from there; gdb unwinds on by itself.  A thread that runs, or is in a system call, is on a kernel thread: that one
is selected.
"""
import re
import struct

import gdb
import gdb.unwinder

MAGIC = b"\xb7weft layout 001"
IDLE, RUNNABLE, RUNNING, SYSCALL, WAITING, DEAD = 0, 1, 2, 3, 4, 6
STATES = {RUNNABLE: "runnable", RUNNING: "running", SYSCALL: "in a system call", WAITING: "waiting"}
MOST = 1000
# Of the words that the switch saves, from low to high (arch/x86_64).
SAVED = ((1, "r15"), (2, "r14"), (3, "r13"), (4, "r12"), (5, "rbx"), (6, "rbp"))


def memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def string(address):
    text = b""
    while b"\0" not in text:
        text += memory(address + len(text), 256 - (address + len(text)) % 256)
    return text.partition(b"\0")[0].decode()


class Layout:
    """Where things lie in the library of this process."""

    def __init__(self):
        at = self.find()
        size, naddrs = struct.unpack("<II", memory(at + 16, 8))
        raw = memory(at, size)
        names, reasons = struct.unpack_from("<QQ", raw, 56)
        names = string(names).split()
        self.reasons = string(reasons).split("\n")
        self.addr = dict(zip(names, struct.unpack_from("<%dQ" % naddrs, raw, 72)))
        places = struct.iter_unpack("<II", raw[72 + 8 * naddrs:])
        self.field = dict(zip(names[naddrs:], places))

    @staticmethod
    def find():
        for line in gdb.execute("info files", to_string=True).splitlines():
            m = re.match(r"\s*(0x\w+) - (0x\w+) is \.data\.rel\.ro in .*libweft\.so", line)
            if m:
                start, end = int(m[1], 16), int(m[2], 16)
                at = gdb.selected_inferior().search_memory(start, end - start, MAGIC)
                if at is not None:
                    return at
        raise gdb.GdbError("weft: this process does not run under weft, or the core file has not its memory")

    def number(self, name):
        return self.field[name][0]

    def member(self, raw, name, base=0):
        at, size = self.field[name]
        return int.from_bytes(raw[base + at:base + at + size], "little")

    def word(self, struct_at, name):
        at, size = self.field[name]
        return int.from_bytes(memory(struct_at + at, size), "little")


class G:
    """One thread."""

    def __init__(self, layout, raw, base):
        self.layout = layout
        for name in ("goid", "tid", "status", "waitreason", "waitaddr", "sp", "m"):
            setattr(self, name, layout.member(raw, "g_" + name, base))
        at, size = layout.field["g_name"]
        self.name = raw[base + at:base + at + size].partition(b"\0")[0].decode(errors="replace")

    def state(self):
        if self.status == WAITING:
            reasons = self.layout.reasons
            why = reasons[self.waitreason] if self.waitreason < len(reasons) else "?"
            return "waiting, %s, 0x%x" % (why, self.waitaddr) if self.waitaddr else "waiting, " + why
        return STATES.get(self.status, "?")

    def kernel_thread(self):
        """gdb's thread that it is on, or None."""
        if self.status not in (RUNNING, SYSCALL) or not self.m:
            return None
        tid = self.layout.word(self.m, "m_ostid")
        for t in gdb.selected_inferior().threads():
            if tid in t.ptid[1:]:
                return t
        return None

    def registers(self):
        """Of one that is parked or queued: {name: value}."""
        if not self.sp:
            raise gdb.GdbError("weft: G%d has not begun to run" % self.goid)
        n = self.layout.number("context_words")
        words = struct.unpack("<%dQ" % n, memory(self.sp, 8 * n))
        found = {name: words[i] for i, name in SAVED}
        found["rip"] = words[self.layout.number("context_pc")]
        found["rsp"] = self.sp + 8 * n
        return found

    def line(self):
        t = self.kernel_thread()
        on = " (gdb's thread %d)" % t.num if t else ""
        return "G%-7d %-16s %s%s" % (self.goid, self.name, self.state(), on)


def each_g(layout):
    """All threads that live; a chunk of the table is read at once."""
    sched, size, each = layout.addr["sched"], layout.number("g_size"), layout.number("gchunk_gs")
    left = layout.word(sched, "sched_nallgs")
    chunk = sched + layout.number("sched_gchunks")
    at, n = layout.field["g_status"]
    while left > 0:
        here = min(left, each)
        start = layout.word(chunk, "gchunk_at")
        if start:
            raw = memory(start, here * size)
            for base in range(0, here * size, size):
                status = int.from_bytes(raw[base + at:base + at + n], "little")
                if IDLE < status < DEAD:
                    yield G(layout, raw, base)
        left -= here
        chunk += layout.number("gchunk_size")


class Parked(gdb.unwinder.Unwinder):
    """Says that frame 0 of one kernel thread was called by a parked thread."""

    def __init__(self):
        super().__init__("weft")
        self.top = None    # frame 0's (rsp, rip)
        self.saved = None

    def __call__(self, pending):
        if self.saved is None:
            return None
        here = int(pending.read_register("rsp")), int(pending.read_register("rip"))
        if here != self.top:
            return None
        info = pending.create_unwind_info(FrameId(pending, self.saved["rsp"] - 8))
        u64 = gdb.lookup_type("unsigned long")
        for name, value in self.saved.items():
            info.add_saved_register(name, gdb.Value(value).cast(u64))
        return info

    def forget(self, *_):
        if self.saved is not None:
            self.saved = None
            gdb.invalidate_cached_frames()

    def look_at(self, g):
        self.forget()
        frame = gdb.newest_frame()
        self.top = int(frame.read_register("rsp")), int(frame.read_register("rip"))
        self.saved = g.registers()
        gdb.invalidate_cached_frames()


class FrameId:
    def __init__(self, pending, sp):
        self.sp = gdb.Value(sp)
        self.pc = pending.read_register("rip")


parked = Parked()
gdb.unwinder.register_unwinder(None, parked, replace=True)
gdb.events.cont.connect(parked.forget)
gdb.events.exited.connect(parked.forget)


def select(g):
    """True: frame 0 is its own; False: it is below frame 0."""
    if g.status in (WAITING, RUNNABLE):
        if gdb.selected_thread() is None:
            raise gdb.GdbError("weft: no kernel thread is selected")
        parked.look_at(g)
        gdb.execute("select-frame 1")
        return False
    parked.forget()
    t = g.kernel_thread()
    if t is None:
        raise gdb.GdbError("weft: G%d is on no kernel thread that gdb knows" % g.goid)
    t.switch()
    return True


def wanted(layout, ids):
    if ids == ["all"]:
        return each_g(layout)
    numbers = []
    for word in ids:
        if not re.fullmatch(r"[Gg]?\d+", word):
            raise gdb.GdbError("weft: %s: not the number of a thread (info weft threads lists them)" % word)
        numbers.append(int(word.lstrip("Gg")))
    found = {g.goid: g for g in each_g(layout) if g.goid in numbers}
    for n in numbers:
        if n not in found:
            raise gdb.GdbError("weft: no thread G%d (info weft threads lists them)" % n)
    return (found[n] for n in numbers)


class Prefix(gdb.Command):
    """Threads of a program under weft."""

    def __init__(self, name, kind):
        super().__init__(name, kind, prefix=True)


class Threads(gdb.Command):
    """info weft threads [-all] [WORD]: the threads of a program under weft, with state, reason and name."""

    def __init__(self):
        super().__init__("info weft threads", gdb.COMMAND_STATUS)

    def invoke(self, arg, from_tty):
        words = arg.split()
        every = "-all" in words
        words = [w for w in words if w != "-all"]
        layout, shown, states, total = Layout(), 0, {}, 0
        for g in each_g(layout):
            total += 1
            state = g.state().partition(", 0x")[0]
            states[state] = states.get(state, 0) + 1
            if every or shown < MOST:
                line = g.line()
                if all(w in line for w in words):
                    print(line)
                    shown += 1
        if shown < total and not words:
            print("and %d more (-all, or a WORD of their lines)" % (total - shown))
        print("%d threads: %s" % (total, "; ".join("%d %s" % (n, s) for s, n in sorted(states.items(), key=lambda x: -x[1]))))


class Thread(gdb.Command):
    """weft thread ID|off: looks at a thread of a program under weft; off: at kernel threads again."""

    def __init__(self):
        super().__init__("weft thread", gdb.COMMAND_STACK)

    def invoke(self, arg, from_tty):
        words = arg.split()
        if len(words) != 1:
            raise gdb.GdbError("usage: weft thread ID|off")
        if words == ["off"]:
            parked.forget()
            return
        for g in wanted(Layout(), words):
            select(g)
            print(g.line())
            gdb.execute("frame")


class Apply(gdb.Command):
    """weft apply [-max N] all|ID... COMMAND: the command in each of these threads."""

    def __init__(self):
        super().__init__("weft apply", gdb.COMMAND_STACK)

    def invoke(self, arg, from_tty):
        words, most = arg.split(), MOST
        if words[:1] == ["-max"] and len(words) > 1 and words[1].isdigit():
            most, words = int(words[1]), words[2:]
        ids = words[:1] if words[:1] == ["all"] else []
        while words and re.fullmatch(r"all|[Gg]?\d+", words[0]) and ids != ["all"] or words[:1] == ids:
            if words[0] != "all":
                ids.append(words[0])
            words = words[1:]
            if ids == ["all"]:
                break
        if not ids or not words:
            raise gdb.GdbError("usage: weft apply [-max N] all|ID... COMMAND")
        self.each(wanted(Layout(), ids), most, " ".join(words))

    @staticmethod
    def each(gs, most, command):
        before, done, left = gdb.selected_thread(), 0, 0
        try:
            for g in gs:
                if done == most:
                    left += 1
                    continue
                done += 1
                print("\n" + g.line())
                try:
                    select(g)
                    print(gdb.execute(command, to_string=True), end="")
                except (gdb.error, gdb.GdbError) as e:
                    print("    (%s)" % e)
        finally:
            parked.forget()
            if before is not None and before.is_valid():
                before.switch()
        if left:
            print("\nand %d more (-max)" % left)


Prefix("info weft", gdb.COMMAND_STATUS)
Prefix("weft", gdb.COMMAND_STACK)
Threads()
Thread()
Apply()
