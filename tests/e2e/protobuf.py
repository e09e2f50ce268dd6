# protobuf: numbers and fields of the wire format, each to its last byte.

def varint(b, at):
    v = shift = 0
    while True:
        c = b[at]
        at += 1
        v |= (c & 0x7f) << shift
        shift += 7
        if c < 0x80:
            return v, at
        if shift > 63:
            raise ValueError("a varint of more than ten bytes")

def fields(b):
    at = 0
    while at < len(b):
        key, at = varint(b, at)
        kind = key & 7
        if kind == 0:
            v, at = varint(b, at)
        elif kind == 1:
            v, at = b[at:at + 8], at + 8
        elif kind == 2:
            n, at = varint(b, at)
            v, at = b[at:at + n], at + n
        elif kind == 5:
            v, at = b[at:at + 4], at + 4
        else:
            raise ValueError("wire type %d" % kind)
        if at > len(b):
            raise ValueError("cut off")
        yield key >> 3, v
