require "socket"
require "timeout"
require "digest"

sum = 0
lock = Mutex.new
8.times.map { |i| Thread.new { 500.times { lock.synchronize { sum += i } } } }.each(&:join)
puts sum
q, out = SizedQueue.new(4), Queue.new
workers = 4.times.map { Thread.new { while (n = q.pop) != :end do out << n * n end } }
200.times { |i| q << i }
4.times { q << :end }
workers.each(&:join)
puts out.size.times.sum { out.pop }
server = TCPServer.new("127.0.0.1", 0)
serving = Thread.new { loop { Thread.new(server.accept) { |c| while (l = c.gets) do c.puts Digest::SHA256.hexdigest(l) end; c.close } } }
good = 20.times.map { |i| Thread.new { s = TCPSocket.new("127.0.0.1", server.addr[1]); 20.times.count { |j| s.puts "#{i} #{j}"; s.gets.chomp == Digest::SHA256.hexdigest("#{i} #{j}\n") } } }.sum(&:value)
puts good
serving.kill
begin
  Timeout.timeout(0.05) { sleep 100 }
rescue Timeout::Error
  puts "timeout"
end
puts 4.times.map { |i| Ractor.new(i) { |n| (1..20000).sum { |k| k * n } } }.sum(&:take)
pid = fork { Thread.new { exit! 5 }.join }
Process.wait pid
puts $?.exitstatus
spin = Thread.new { loop {} }
sleep 0.15
spin.kill.join
puts `echo a child`, Thread.new { Thread.stop; :woken }.tap { |t| sleep 0.01 until t.stop?; t.run }.value
trap("USR1") { puts "signal" }
Process.kill "USR1", $$
sleep 0.05
GC.start
