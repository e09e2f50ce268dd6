# tracereader.py FILE: reads a trace as its format says, to its last byte; prints what it counted.
import sys

from protobuf import fields, varint

def perfetto(b):
    packets = events = tracks = 0
    for field, packet in fields(b):
        if field != 1:
            raise ValueError("field %d of a trace" % field)
        packets += 1
        for f, v in fields(packet):
            events += f == 11    # track_event
            tracks += f == 60    # track_descriptor
    print("packets", packets > 0, "events", events > 0, "tracks", tracks > 0)

def go(b):
    at, batches, strings = 16, 0, b""
    while at < len(b):
        if b[at] != 1:
            raise ValueError("no batch at %d" % at)
        at += 1
        for _ in range(3):      # generation, M, time
            v, at = varint(b, at)
        n, at = varint(b, at)
        if n > 65536 or at + n > len(b):
            raise ValueError("a batch of %d bytes" % n)
        if n and b[at] == 4:
            strings += b[at:at + n]
        at += n
        batches += 1
    print("batches", batches > 0, "names", b"waits_for_its_turn" in strings)

data = open(sys.argv[1], "rb").read()
go(data) if data.startswith(b"go 1.22 trace\0\0\0"[:16]) else perfetto(data)
