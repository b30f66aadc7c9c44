// SPDX-License-Identifier: Apache-2.0

// 10,000 goroutines, each of which waits for its turn.
//
// chain: GO main.wait > main.work main.spin
// chain: MAIN >
// seen: main.wait main.work main.spin
package main

import "os"

const count = 10000

//go:noinline
func spin(n int) int {
	for i := 0; i < 2000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func work(n int) int { return spin(n) + 1 }

//go:noinline
func wait(from, to chan int) {
	for n := range from {
		to <- work(n)
	}
}

func main() {
	var channels [count]chan int
	for i := range channels {
		channels[i] = make(chan int, 1)
	}
	for i := range channels {
		go wait(channels[i], channels[(i+1)%count])
	}
	for i := 0; i < count; i += count / 8 {
		channels[i] <- i
	}
	os.Stdout.WriteString("ready\n")
	select {}
}
