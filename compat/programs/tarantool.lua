-- Fibers over both engines, whose files threads write and merge; files, a name and digests by a pool of threads.
box.cfg{memtx_memory=64*1024*1024, wal_mode='write', vinyl_read_threads=2, vinyl_write_threads=4,
	vinyl_memory=4*1024*1024, log='t.log', checkpoint_count=2, net_msg_max=100}
local s=box.schema.space.create('m',{if_not_exists=true})
s:create_index('p',{if_not_exists=true,parts={1,'unsigned'}})
local v=box.schema.space.create('v',{engine='vinyl',if_not_exists=true})
v:create_index('p',{if_not_exists=true,parts={1,'unsigned'},
	run_count_per_level=2,page_size=4096})
local fiber=require('fiber')
local done=fiber.channel(20)
for k=1,10 do
	fiber.create(function()
		 for i=1,300 do s:replace{k*1000+i,i,string.rep('x',50)} if i%50==0 then fiber.yield() end end
		done:put(true)
	end)
end
for k=1,10 do
	fiber.create(function()
		 for i=1,200 do v:replace{k*1000+i,i,string.rep(tostring(i),500)} end
		done:put(true)
	end)
end
for i=1,20 do done:get() end
print(s:count(), v:count())
box.snapshot()
for i=1,500 do v:delete{1000+i} end
box.snapshot()
print(v:count())
local fio=require('fio')
for i=1,4 do
	fiber.create(function()
		 for j=1,20 do local f=fio.open('f'..i,{'O_CREAT','O_RDWR','O_APPEND'},tonumber('644',8))
		f:write(string.rep('a',1000)) f:close() end
		done:put(1)
	end)
end
for i=1,4 do done:get() end
print(fio.stat('f3').size)
local p=require('popen').shell('cat','rw')
p:write('hello') p:shutdown({stdin=true}) print(p:read()) p:close()
print(require('socket').getaddrinfo('localhost','80',1,{family='AF_INET'})[1].host)
local crypto=require('digest') print(crypto.sha1_hex('a')) print(crypto.pbkdf2_hex('a','b',1000,8))
os.exit(0)
