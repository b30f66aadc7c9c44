// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait for each other: channels, select, mutexes, groups; they park and are woken
// all the time, so the scheduler works on their behalf and on its own.
//
// own: 5
// chain: GO main.sends
// chain: GO main.selects
// chain: GO main.locks > SYNC*
// chain: GO main.splits > (main.splits.func1|SYNC)*
// chain: GO main.splits.func1 > SYNC*
// chain: MAIN >
// seen: main.selects RUNTIME* runtime.selectgo
// seen: main.sends RUNTIME* runtime.chansend
// seen: main.locks SYNC* sync.(*Mutex).Unlock
package main

import (
	"os"
	"sync"
)

var sink int

//go:noinline
func sends(to chan int) {
	for {
		to <- 1
	}
}

//go:noinline
func selects(one, other chan int, quit chan bool) {
	for {
		select {
		case n := <-one:
			sink += n
		case n := <-other:
			sink -= n
		case <-quit:
			return
		}
	}
}

//go:noinline
func locks(mutex *sync.Mutex) {
	for {
		mutex.Lock()
		sink++
		mutex.Unlock()
	}
}

//go:noinline
func splits() {
	for {
		var group sync.WaitGroup
		for i := 0; i < 8; i++ {
			group.Add(1)
			go func() { group.Done() }()
		}
		group.Wait()
	}
}

func main() {
	one, other, mutex := make(chan int), make(chan int, 10), &sync.Mutex{}
	go sends(one)
	go sends(other)
	go selects(one, other, make(chan bool))
	for i := 0; i < 3; i++ {
		go locks(mutex)
	}
	go splits()
	os.Stdout.WriteString("ready\n")
	select {}
}
