// SPDX-License-Identifier: Apache-2.0

// Two goroutines print their stacks as Go has them, and wait there, in system calls and so on threads of their own.
package main

import (
	"fmt"
	"runtime"
	"syscall"
)

var told = make(chan bool)

func tell() {
	var callers [100]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	text := ""
	for {
		frame, more := frames.Next()
		text += fmt.Sprintf("frame\t%s\t%d\n", frame.Function, frame.Line)
		if !more {
			break
		}
	}
	fmt.Print(text + "end\n")
}

func innermost(isLast bool) {
	var pipe [2]int
	var bytes [1]byte
	syscall.Pipe(pipe[:])
	// On one line, so that it is the line of both.
	tell(); next(isLast); syscall.Read(pipe[0], bytes[:])
}

func next(isLast bool) {
	if isLast {
		fmt.Println("ready")
	} else {
		told <- true
	}
}

type waiter struct{}

func (w *waiter) recurse(left int, isLast bool) int {
	if left > 0 {
		return w.recurse(left-1, isLast) + 1
	}
	func() { innermost(isLast) }()
	return 0
}

func main() {
	go new(waiter).recurse(5, false)
	<-told
	new(waiter).recurse(3, true)
}
