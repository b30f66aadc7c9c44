// SPDX-License-Identifier: Apache-2.0

// go_depth N: N calls deep in eight functions, as depth.c; then busy for ever.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
)

var sink int

//go:noinline
func leaf(n int) int {
	fmt.Println("ready")
	for {
		sink++
	}
}

//go:noinline
func call0(n int) int {
	var frame [8]byte
	frame[n&7] = byte(n)
	if n > 1 {
		return call1(n-1) + int(frame[sink&7])
	}
	return leaf(n) + int(frame[sink&7])
}

//go:noinline
func call1(n int) int {
	var frame [40]byte
	frame[n&7] = byte(n)
	if n > 1 {
		return call2(n-1) + int(frame[sink&7])
	}
	return leaf(n) + int(frame[sink&7])
}

//go:noinline
func call2(n int) int {
	var frame [24]byte
	frame[n&7] = byte(n)
	if n > 1 {
		return call3(n-1) + int(frame[sink&7])
	}
	return leaf(n) + int(frame[sink&7])
}

//go:noinline
func call3(n int) int {
	var frame [72]byte
	frame[n&7] = byte(n)
	if n > 1 {
		return call4(n-1) + int(frame[sink&7])
	}
	return leaf(n) + int(frame[sink&7])
}

//go:noinline
func call4(n int) int {
	var frame [8]byte
	frame[n&7] = byte(n)
	if n > 1 {
		return call5(n-1) + int(frame[sink&7])
	}
	return leaf(n) + int(frame[sink&7])
}

//go:noinline
func call5(n int) int {
	var frame [104]byte
	frame[n&7] = byte(n)
	if n > 1 {
		return call6(n-1) + int(frame[sink&7])
	}
	return leaf(n) + int(frame[sink&7])
}

//go:noinline
func call6(n int) int {
	var frame [56]byte
	frame[n&7] = byte(n)
	if n > 1 {
		return call7(n-1) + int(frame[sink&7])
	}
	return leaf(n) + int(frame[sink&7])
}

//go:noinline
func call7(n int) int {
	var frame [136]byte
	frame[n&7] = byte(n)
	if n > 1 {
		return call0(n-1) + int(frame[sink&7])
	}
	return leaf(n) + int(frame[sink&7])
}

// The bench gives the first thread a CPU to itself.
func init() {
	runtime.LockOSThread()
}

func main() {
	depth, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	call0(depth)
}
