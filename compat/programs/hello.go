// Goroutines over pipes and a lock; what `go build` makes of it.
package main

import (
	"fmt"
	"net"
	"sync"
)

func main() {
	var wg sync.WaitGroup
	sum, mu := 0, sync.Mutex{}
	for i := 0; i < 100; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			mu.Lock()
			sum += i
			mu.Unlock()
		}(i)
	}
	wg.Wait()
	a, err := net.LookupHost("localhost")
	fmt.Println(sum, len(a) > 0, err)
}
