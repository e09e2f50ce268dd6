# pprof.py PROFILE: functions of the innermost calls, with the sum of the first value of each; first the one with the
# largest sum of the last value.
import gzip, sys

from protobuf import fields, varint

def numbers(b):
    at, found = 0, []
    while at < len(b):
        v, at = varint(b, at)
        found.append(v)
    return found

data = open(sys.argv[1], "rb").read()
data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
strings, functions, places, samples = [], {}, {}, []
for f, v in fields(data):
    if f == 6:
        strings.append(v.decode())
    elif f == 5:
        m = dict(fields(v))
        functions[m[1]] = m[2]
    elif f == 4:
        m = dict(fields(v))
        places[m[1]] = dict(fields(m[4]))[1]
    elif f == 2:
        m = dict(fields(v))
        samples.append((numbers(m.get(1, b"")), numbers(m[2])))
sums, counts = {}, {}
for place, value in samples:
    name = strings[functions[places[place[0]]]] if place else "none"
    sums[name] = sums.get(name, 0) + value[-1]
    counts[name] = counts.get(name, 0) + value[0]
for name in sorted(sums, key=sums.get, reverse=True):
    print(name, counts[name])
