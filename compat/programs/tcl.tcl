# Threads that send scripts to each other; then the notifier: timers and a pipe.
package require Thread
set tids {}
for {set i 0} {$i < 4} {incr i} {
	lappend tids [thread::create -joinable {
		proc work {n} { set s 0; for {set i 0} {$i < $n} {incr i} { incr s $i }; return $s }
		thread::wait
	}]
}
set sum 0
foreach t $tids { incr sum [thread::send $t {work 20000}] }
puts $sum
set got 0
foreach t $tids { thread::send -async $t {work 30000} result; vwait result; incr got $result }
puts $got
foreach t $tids { thread::release $t; thread::join $t }
set m [thread::mutex create]
tsv::set shared n 0
set more {}
for {set i 0} {$i < 4} {incr i} {
	lappend more [thread::create -joinable [list apply {m {
		package require Thread
		for {set i 0} {$i < 500} {incr i} { thread::mutex lock $m; tsv::incr shared n; thread::mutex unlock $m }
	}} $m]]
}
foreach t $more { thread::join $t }
puts [tsv::get shared n]
set fired 0
for {set i 0} {$i < 20} {incr i} { after [expr {$i * 5}] {incr fired} }
after 300 {set done 1}
set f [open "|cat" r+]
fconfigure $f -buffering line -blocking 0
fileevent $f readable {gets $::f line; puts $line}
puts $f "through a pipe"
vwait done
puts $fired
