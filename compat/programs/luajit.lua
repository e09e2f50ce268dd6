-- Traces that are compiled, and coroutines that yield out of them.
local function gen(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i * i % 97) end end) end
local sum = 0
for k = 1, 50 do for v in gen(2000) do sum = sum + v end end
print(sum)
local ffi = require "ffi"
ffi.cdef "int usleep(unsigned); int getpid(void); typedef struct { double x, y; } point;"
local a = ffi.new("point[?]", 1000)
for r = 1, 200 do for i = 0, 999 do a[i].x = a[i].x + i * 0.5; a[i].y = a[i].x - r end end
print(a[999].x, a[10].y)
for i = 1, 100 do ffi.C.usleep(10) end
print(ffi.C.getpid() > 0, jit.status())
local t = {}
for i = 1, 200000 do t[i % 1000] = tostring(i) end
collectgarbage()
print(#t, pcall(error, "caught", 0))
