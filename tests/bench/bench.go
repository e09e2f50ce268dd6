// bench.go: the rows of weft-bench as a Go program would write them, for the same table.
//
// Same names, same lines `NAME VALUE UNIT`, same checks, goroutines in place of threads. Go's own
// idiom is used where it differs: a buffered channel for a semaphore and for a queue. Rows
// that mean nothing in Go (startup, kernel threads of a pool) are not here; asked for one of those,
// the program says so and exits with 3, which scripts/bench shows as an empty cell.
//
// The echo client is weft-bench's, named by the environment variable ECHO_CLIENT, so that both
// servers see the same load and their processor time is measured alike.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

var target = 200 * time.Millisecond

func die(what string, err error) {
	fmt.Fprintf(os.Stderr, "weft-bench-go: %s: %v\n", what, err)
	os.Exit(1)
}

func must(err error) {
	if err != nil {
		die("call", err)
	}
}

func check(ok bool, what string) {
	if !ok {
		die(what, fmt.Errorf("wrong result"))
	}
}

func report(name string, value float64, unit string) {
	digits := 0
	if value < 100 {
		digits = 1
	}
	fmt.Printf("%s %.*f %s\n", name, digits, value, unit)
}

// measure grows n until one call takes the target time, as weft-bench does.
func measure(name string, n int, op func(n int) time.Duration) {
	for {
		took := op(n)
		if took >= target {
			report(name, float64(took)/float64(n), "ns")
			return
		}
		want := 100 * n
		if w := int(1.2 * float64(n) * float64(target) / float64(took+1)); w < want {
			want = w
		}
		if want <= n {
			want = n + 1
		}
		n = want
	}
}

func share(n, parts, i int) int {
	if i < n%parts {
		return n/parts + 1
	}
	return n / parts
}

// team lets all bodies go at one moment and times them to the end of the last.
func team(count int, body func(i int)) time.Duration {
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	ready.Add(count)
	done.Add(count)
	for i := 0; i < count; i++ {
		go func(i int) {
			ready.Done()
			<-gate
			body(i)
			done.Done()
		}(i)
	}
	ready.Wait()
	start := time.Now()
	close(gate)
	done.Wait()
	return time.Since(start)
}

func create(n int) time.Duration {
	start := time.Now()
	for i := 0; i < n; i++ {
		c := make(chan int)
		go func(i int) { c <- i }(i)
		check(<-c == i, "a goroutine's value")
	}
	return time.Since(start)
}

func createMany(count int) {
	values := make([]int, count)
	var done sync.WaitGroup
	start := time.Now()
	done.Add(count)
	for i := 0; i < count; i++ {
		go func(i int) { values[i] = i; done.Done() }(i)
	}
	done.Wait()
	took := time.Since(start)
	for i, v := range values {
		check(v == i, "a goroutine's value")
	}
	report("createmany", float64(took)/float64(count), "ns")
}

func fib(n int, out chan<- int) {
	if n < 2 {
		out <- n
		return
	}
	left, right := make(chan int, 1), make(chan int, 1)
	go fib(n-1, left)
	fib(n-2, right)
	b := <-right
	out <- <-left + b
}

func forkJoin() {
	out := make(chan int, 1)
	start := time.Now()
	fib(22, out)
	check(<-out == 17711, "fib")
	report("forkjoin", float64(time.Since(start))/28656, "ns")
}

func condTrips(n int) time.Duration {
	var mu sync.Mutex
	cond := [2]*sync.Cond{sync.NewCond(&mu), sync.NewCond(&mu)}
	turn := 0
	side := func(me int) {
		mu.Lock()
		for i := 0; i < n; i++ {
			for turn != me {
				cond[me].Wait()
			}
			turn = 1 - me
			cond[1-me].Signal()
		}
		mu.Unlock()
	}
	done := make(chan struct{})
	go func() { side(1); close(done) }()
	start := time.Now()
	side(0)
	<-done
	return time.Since(start)
}

func semTrips(n int) time.Duration {
	ping, pong := make(chan struct{}, 1), make(chan struct{}, 1)
	go func() {
		for i := 0; i < n; i++ {
			<-ping
			pong <- struct{}{}
		}
	}()
	start := time.Now()
	for i := 0; i < n; i++ {
		ping <- struct{}{}
		<-pong
	}
	return time.Since(start)
}

func fdTrips(n int, clientIn, clientOut, serverIn, serverOut *os.File) time.Duration {
	go func() {
		b := make([]byte, 1)
		for {
			if _, err := serverIn.Read(b); err != nil {
				return
			}
			b[0]++
			_, err := serverOut.Write(b)
			must(err)
		}
	}()
	b := make([]byte, 1)
	start := time.Now()
	for i := 0; i < n; i++ {
		b[0] = byte(i)
		_, err := clientOut.Write(b)
		must(err)
		_, err = io.ReadFull(clientIn, b)
		must(err)
		check(b[0] == byte(i+1), "the byte that came back")
	}
	took := time.Since(start)
	for _, f := range []*os.File{clientIn, clientOut, serverIn, serverOut} {
		f.Close()
	}
	return took
}

func pipeTrips(n int) time.Duration {
	toR, toW, err := os.Pipe()
	must(err)
	fromR, fromW, err := os.Pipe()
	must(err)
	return fdTrips(n, fromR, toW, toR, fromW)
}

func socketpairTrips(n int) time.Duration {
	// Non-blocking, so that the files are given to the runtime's poller.
	s, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
	must(err)
	a, b := os.NewFile(uintptr(s[0]), "a"), os.NewFile(uintptr(s[1]), "b")
	return fdTrips(n, a, a, b, b)
}

func newEventfd() *os.File {
	const nonblock = 0x800 // EFD_NONBLOCK
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, nonblock, 0)
	if errno != 0 {
		must(errno)
	}
	return os.NewFile(fd, "eventfd")
}

func addCount(f *os.File, n uint64) error {
	var b [8]byte
	*(*uint64)(unsafe.Pointer(&b)) = n
	_, err := f.Write(b[:])
	return err
}

func takeCount(f *os.File) (uint64, error) {
	var b [8]byte
	_, err := io.ReadFull(f, b[:])
	return *(*uint64)(unsafe.Pointer(&b)), err
}

func eventfdTrips(n int) time.Duration {
	const last = 1000
	to, from := newEventfd(), newEventfd()
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer done.Done()
		for {
			n, err := takeCount(to)
			must(err)
			if n == last {
				return
			}
			must(addCount(from, n+1))
		}
	}()
	start := time.Now()
	for i := 0; i < n; i++ {
		sent := uint64(i%100 + 1)
		must(addCount(to, sent))
		got, err := takeCount(from)
		must(err)
		check(got == sent+1, "the count that came back")
	}
	took := time.Since(start)
	must(addCount(to, last))
	done.Wait()
	to.Close()
	from.Close()
	return took
}

func lockUnlock(n int) time.Duration {
	var mu sync.Mutex
	start := time.Now()
	for i := 0; i < n; i++ {
		mu.Lock()
		mu.Unlock()
	}
	return time.Since(start)
}

var sink uint64

// spin does what weft-bench's empty loop does: about a nanosecond a turn, not to be folded.
func spin(loops int) {
	x := uint64(0)
	for i := 0; i < loops; i++ {
		x += uint64(i)
	}
	if x == 1 {
		atomic.AddUint64(&sink, x)
	}
}

func contest(threads, inside, outside int) func(n int) time.Duration {
	return func(n int) time.Duration {
		var mu sync.Mutex
		counter := 0
		took := team(threads, func(i int) {
			for k := share(n, threads, i); k > 0; k-- {
				mu.Lock()
				counter++
				spin(inside)
				mu.Unlock()
				spin(outside)
			}
		})
		check(counter == n, "the counter under the mutex")
		return took
	}
}

func mutexFair() {
	const threads = 8
	var mu sync.Mutex
	var stop int32
	var counts [threads]int
	time.AfterFunc(500*time.Millisecond, func() { atomic.StoreInt32(&stop, 1) })
	team(threads, func(i int) {
		for atomic.LoadInt32(&stop) == 0 {
			mu.Lock()
			counts[i]++
			mu.Unlock()
		}
	})
	sort.Ints(counts[:])
	report("mutexfair", 100*float64(counts[0])/float64(counts[threads-1]), "%")
}

func rwlock(n int) time.Duration {
	const threads = 8
	var mu sync.RWMutex
	counter, writes := 0, 0
	for i := 0; i < threads; i++ {
		writes += share(n, threads, i) / 100
	}
	took := team(threads, func(i int) {
		seen := 0
		for k := share(n, threads, i); k > 0; k-- {
			if k%100 == 0 {
				mu.Lock()
				counter++
				mu.Unlock()
			} else {
				mu.RLock()
				check(counter >= seen, "a counter read under the read lock")
				seen = counter
				mu.RUnlock()
			}
		}
	})
	check(counter == writes, "the counter under the write lock")
	return took
}

func yields(threads int) func(n int) time.Duration {
	return func(n int) time.Duration {
		return team(threads, func(i int) {
			for k := share(n, threads, i); k > 0; k-- {
				runtime.Gosched()
			}
		})
	}
}

func queue(n int) time.Duration {
	const producers, consumers = 100, 100
	q := make(chan int, 64)
	var sum, want int64
	for i := 0; i < producers; i++ {
		k := int64(share(n, producers, i))
		want += k * (k + 1) / 2
	}
	took := team(producers+consumers, func(i int) {
		if i < producers {
			for k := share(n, producers, i); k > 0; k-- {
				q <- k
			}
			return
		}
		mine := int64(0)
		for k := share(n, consumers, i-producers); k > 0; k-- {
			mine += int64(<-q)
		}
		atomic.AddInt64(&sum, mine)
	})
	check(sum == want, "the sum of the items taken")
	return took
}

// Go has no barrier; this is the usual one, a mutex and a condition with a generation.
func barrier(n int) time.Duration {
	const threads = 1000
	var mu sync.Mutex
	cond := sync.NewCond(&mu)
	arrived, generation, rounds := 0, 0, (n+threads-1)/threads
	took := team(threads, func(i int) {
		for k := 0; k < rounds; k++ {
			mu.Lock()
			if arrived++; arrived == threads {
				arrived = 0
				generation++
				cond.Broadcast()
			} else {
				for g := generation; g == generation; {
					cond.Wait()
				}
			}
			mu.Unlock()
		}
	})
	check(generation == rounds, "the number of rounds")
	return time.Duration(float64(took) * float64(n) / float64(rounds*threads))
}

func cpu() time.Duration {
	var ru syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &ru))
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

func sleeps() {
	const threads, each = 100, 100
	run := func() time.Duration {
		return team(threads, func(i int) {
			for k := 0; k < each; k++ {
				time.Sleep(time.Millisecond)
			}
		})
	}
	run()
	before := cpu()
	wall := run()
	report("sleeps", float64(cpu()-before)/(threads*each), "ns")
	report("sleeps-wall", float64(wall)/each, "ns")
}

func quantiles(name string, ns []float64) {
	sort.Float64s(ns)
	report(name+"-p50", ns[len(ns)/2], "ns")
	report(name+"-p99", ns[len(ns)-1-len(ns)/100], "ns")
}

func signalled(rounds int, rest time.Duration) {
	late := make([]float64, rounds)
	wake := make(chan struct{}, 1)
	var ran atomic.Int64

	go func() {
		for range wake {
			ran.Store(time.Now().UnixNano())
		}
	}()
	for i := range late {
		time.Sleep(rest)
		ran.Store(0)
		start := time.Now().UnixNano()
		wake <- struct{}{}
		for ran.Load() == 0 {
		}
		late[i] = float64(ran.Load() - start)
	}
	close(wake)
	quantiles("signalled", late)
}

// What the ones with least and with most got, in percent of an even share; and what all got together.
func reportShares(name string, loops []int64, wall time.Duration) {
	least, most, total := loops[0], loops[0], int64(0)
	for _, n := range loops {
		total += n
		if n < least {
			least = n
		}
		if n > most {
			most = n
		}
	}
	even := float64(total) / float64(len(loops))
	report(name+"-least", 100*float64(least)/even, "%")
	report(name+"-most", 100*float64(most)/even, "%max")
	report(name+"-spin", float64(total)*1e3/float64(wall), "loops/us")
}

func spinners(name string, threads, sleepers, samples int, nap time.Duration) {
	asleep := int32(sleepers)
	loops := make([]int64, threads)
	late := make([]float64, sleepers*samples)
	took := team(threads+sleepers, func(i int) {
		if i < threads {
			n := int64(0)
			for atomic.LoadInt32(&asleep) != 0 {
				n++
			}
			loops[i] = n
			return
		}
		mine := late[(i-threads)*samples:][:samples]
		for k := range mine {
			from := time.Now()
			time.Sleep(nap)
			mine[k] = float64(time.Since(from) - nap)
		}
		atomic.AddInt32(&asleep, -1)
	})
	if samples > 1 {
		quantiles(name, late)
	}
	reportShares(name, loops, took)
}

func residentBytes() float64 {
	text, err := os.ReadFile("/proc/self/status")
	must(err)
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			kb, _ := strconv.Atoi(f[1])
			return float64(kb) * 1024
		}
	}
	return 0
}

func park(count int) {
	var mu sync.Mutex
	full, leave := sync.NewCond(&mu), sync.NewCond(&mu)
	parked, woken, open := 0, 0, false
	var done sync.WaitGroup
	rss := residentBytes()
	start := time.Now()
	done.Add(count)
	for i := 0; i < count; i++ {
		go func() {
			mu.Lock()
			if parked++; parked == count {
				full.Signal()
			}
			for !open {
				leave.Wait()
			}
			woken++
			mu.Unlock()
			done.Done()
		}()
	}
	mu.Lock()
	for parked < count {
		full.Wait()
	}
	mu.Unlock()
	made := time.Since(start)
	tasks, err := os.ReadDir("/proc/self/task")
	must(err)
	report("park-live", float64(count), "threads")
	report("park-kernel", float64(len(tasks)), "kthreads")
	report("park-rss", (residentBytes()-rss)/float64(count), "bytes")
	start = time.Now()
	mu.Lock()
	open = true
	leave.Broadcast()
	mu.Unlock()
	done.Wait()
	woke := time.Since(start)
	check(woken == count, "the number of threads woken")
	report("park-create", float64(made)/float64(count), "ns")
	report("park-wake", float64(woke)/float64(count), "ns")
	report("park-total", float64(made+woke)/1e6, "ms")
}

func compute(n int) time.Duration {
	const threads = 4
	var sum uint64
	took := team(threads, func(i int) {
		x := uint64(88172645463325252) + uint64(i)
		for k := share(n, threads, i) * 1000; k > 0; k-- {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		atomic.AddUint64(&sum, x)
	})
	check(sum != 0, "the generators' sum")
	return took
}

func echo(name string, connections, outstanding int) {
	client := os.Getenv("ECHO_CLIENT")
	if client == "" {
		die(name, fmt.Errorf("ECHO_CLIENT does not name weft-bench"))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	port := listener.Addr().(*net.TCPAddr).Port
	cmd := exec.Command(client, "--echo-client", name, strconv.Itoa(port),
		strconv.Itoa(connections), strconv.Itoa(outstanding))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	must(cmd.Start())
	var done sync.WaitGroup
	var requests int64
	var before, after syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &before))
	done.Add(connections)
	for i := 0; i < connections; i++ {
		conn, err := listener.Accept()
		must(err)
		go func() {
			buf := make([]byte, 4096)
			served := int64(0)
			for {
				n, err := conn.Read(buf)
				if err == io.EOF {
					break
				}
				must(err)
				_, err = conn.Write(buf[:n])
				must(err)
				served += int64(n / 64)
			}
			conn.Close()
			atomic.AddInt64(&requests, served)
			done.Done()
		}()
	}
	done.Wait()
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &after))
	if err := cmd.Wait(); err != nil {
		die("the client's verdict", err)
	}
	switches := after.Nvcsw + after.Nivcsw - before.Nvcsw - before.Nivcsw
	report(name+"-switches", float64(switches)/float64(requests), "/req")
}

// echoN, or echoNxM: N connections, M requests outstanding.
func echoRow(name string) (func(), bool) {
	numbers, found := strings.TrimPrefix(name, "echo"), strings.HasPrefix(name, "echo")
	n, m, both := strings.Cut(numbers, "x")
	if !both {
		m = n
	}
	connections, err := strconv.Atoi(n)
	outstanding, err2 := strconv.Atoi(m)
	if !found || err != nil || err2 != nil {
		return nil, false
	}
	return func() { echo(name, connections, outstanding) }, true
}

var rows = map[string]func(){
	"create":       func() { measure("create", 100, create) },
	"createmany":   func() { createMany(10000) },
	"forkjoin":     forkJoin,
	"cond":         func() { measure("cond", 1000, condTrips) },
	"sem":          func() { measure("sem", 1000, semTrips) },
	"pipe":         func() { measure("pipe", 1000, pipeTrips) },
	"eventfd":      func() { measure("eventfd", 1000, eventfdTrips) },
	"socketpair":   func() { measure("socketpair", 1000, socketpairTrips) },
	"lock":         func() { measure("lock", 100000, lockUnlock) },
	"mutex2":       func() { measure("mutex2", 200, contest(2, 0, 0)) },
	"mutex8":       func() { measure("mutex8", 800, contest(8, 0, 0)) },
	"mutex64":      func() { measure("mutex64", 6400, contest(64, 0, 0)) },
	"mutex1000":    func() { measure("mutex1000", 100000, contest(1000, 0, 0)) },
	"mutexwork20":  func() { measure("mutexwork20", 8000, contest(8, 20, 2000)) },
	"mutexwork200": func() { measure("mutexwork200", 8000, contest(8, 200, 2000)) },
	"mutexfair":    mutexFair,
	"rwlock":       func() { measure("rwlock", 8000, rwlock) },
	"yield2":       func() { measure("yield2", 200, yields(2)) },
	"yield100":     func() { measure("yield100", 10000, yields(100)) },
	"queue":        func() { measure("queue", 1000, queue) },
	"barrier":      func() { measure("barrier", 1000, barrier) },
	"sleeps":       sleeps,
	"spinners":     func() { spinners("spinners", 4, 1, 500, time.Millisecond) },
	"spinners8":    func() { spinners("spinners8", 4, 8, 500, time.Millisecond/10) },
	"fair":         func() { spinners("fair", 2*runtime.NumCPU(), 1, 1, 3*time.Second) },
	"signalled":    func() { signalled(150, 2*time.Millisecond) },
	"park":         func() { park(20000) },
	"compute":      func() { measure("compute", 1000, compute) },
}

func main() {
	args := os.Args[1:]
	if len(args) > 1 && args[0] == "-t" {
		ms, err := strconv.ParseFloat(args[1], 64)
		must(err)
		target = time.Duration(ms * 1e6)
		args = args[2:]
	}
	for _, name := range args {
		row, ok := rows[name]
		if !ok {
			row, ok = echoRow(name)
		}
		if !ok {
			fmt.Fprintf(os.Stderr, "weft-bench-go: %s: has no equivalent in Go\n", name)
			os.Exit(3)
		}
		row()
	}
}
