// A Go program with threads of C: callbacks from them, calls that block, sockets, a child, signals, preemption.
package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <unistd.h>

extern void called(int);

static void *caller(void *p)
{
	for (int i = 0; i < 50; i++)
		called((int)(long)p);
	return 0;
}

static void callers(int n)
{
	pthread_t t[n];

	for (long i = 0; i < n; i++)
		pthread_create(&t[i], 0, caller, (void *)i);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], 0);
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long count;

static long add(int n)
{
	usleep(5000);
	for (int i = 0; i < n; i++) {
		pthread_mutex_lock(&m);
		count++;
		pthread_mutex_unlock(&m);
	}
	return count;
}
*/
import "C"

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var calls int64

//export called
func called(C.int) {
	atomic.AddInt64(&calls, 1)
	runtime.Gosched()
}

// The number of goroutines that did their work, of n.
func each(n int, work func(i int) bool) int {
	var wg sync.WaitGroup
	var good int64
	for i := 0; i < n; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			if work(i) {
				atomic.AddInt64(&good, 1)
			}
		}(i)
	}
	wg.Wait()
	return int(good)
}

func echo(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			io.Copy(c, c)
			c.Close()
		}()
	}
}

func asks(addr string, i int) bool {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	defer c.Close()
	b := make([]byte, 4)
	for j := 0; j < 20; j++ {
		want := fmt.Sprintf("%02d%02d", i, j)
		io.WriteString(c, want)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != want {
			return false
		}
	}
	return true
}

func main() {
	C.callers(8)
	fmt.Println("callbacks", calls)
	fmt.Println("blocked in C", each(50, func(int) bool { C.add(1000); return true }), C.add(0))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go echo(l)
	fmt.Println("echo", each(50, func(i int) bool { return asks(l.Addr().String(), i) }))
	out, err := exec.Command("sh", "-c", "echo child").Output()
	fmt.Printf("%s%v\n", out, err)
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println(<-came)
	runtime.GOMAXPROCS(1)
	go func() {
		for {
		}
	}()
	time.Sleep(20 * time.Millisecond)
	fmt.Println("preempted")
	defer func() { fmt.Println(recover()) }()
	var p *int
	*p = 1
}
