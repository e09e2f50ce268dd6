// A Go library for programs in C: goroutines, a collection, sleeps and locks in each call.
package main

import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

//export Work
func Work(n C.int) C.int {
	var wg sync.WaitGroup
	var mu sync.Mutex
	sum := 0
	for i := 0; i < int(n); i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			if i%10 == 0 {
				time.Sleep(time.Millisecond)
			}
			s := fmt.Sprint(make([]byte, 1000))
			mu.Lock()
			sum += i + len(s) - 2001
			mu.Unlock()
			runtime.Gosched()
		}(i)
	}
	wg.Wait()
	runtime.GC()
	return C.int(sum)
}

func main() {}
