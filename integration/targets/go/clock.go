// SPDX-License-Identifier: Apache-2.0

// The clock, which is asked in the vDSO on the thread's own stack; and timers that end.
//
// chain: GO main.asks > TIME*
// chain: GO main.sleeps > TIME*
// chain: MAIN >
// seen: main.asks TIME* RUNTIME* VDSO
// seen: main.asks time.Now
package main

import (
	"os"
	"time"
)

var sink int64

//go:noinline
func asks() {
	for {
		sink += time.Now().UnixNano() + int64(time.Since(time.Time{}))
	}
}

//go:noinline
func sleeps() {
	for {
		time.Sleep(50 * time.Microsecond)
	}
}

func main() {
	go asks()
	for i := 0; i < 10; i++ {
		go sleeps()
	}
	os.Stdout.WriteString("ready\n")
	select {}
}
