// SPDX-License-Identifier: Apache-2.0

// What the runtime itself says of stacks: goroutines write down the frames that runtime.Callers() and
// CallersFrames() give them, and stay in main.stay(), called on that line, for a while. What the agent
// shows below main.stay is one of these, line by line. The file is the first argument.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
)

var (
	sink  int
	lock  sync.Mutex
	known = map[string]bool{}
	file  *os.File
)

//go:noinline
func stay(n int) int {
	for i := 0; i < 200000; i++ {
		n = n*31 + i
	}
	return n
}

// The line where this one is in a stack is that of its call of stay().
//
//go:noinline
func observe(n int) int {
	var pcs [200]uintptr
	count := runtime.Callers(2, pcs[:])
	frames := runtime.CallersFrames(pcs[:count])
	text := ""
	for {
		frame, more := frames.Next()
		inlined := ""
		if frame.Func == nil {
			inlined = "_[i]"
		}
		text += fmt.Sprintf("%s\t%s\t%d\t%s\t", frame.Function, frame.File, frame.Line, inlined)
		if !more {
			break
		}
	}
	lock.Lock()
	if !known[text] {
		known[text] = true
		file.WriteString(strings.TrimSuffix(text, "\t") + "\n")
	}
	lock.Unlock()
	return stay(n)
}

type turner interface{ turn(n int) int }

type inner struct{ a, b, c int }

type outer struct {
	before int
	inner
}

func (i inner) turn(n int) int { return observe(n+i.a) + 1 }

func small(n int) int {
	return observe(n) + 1
}

func twice(n int) int {
	return small(n) +
		small(n+1)
}

//go:noinline
func inlined(n int) int {
	if n%2 == 0 {
		return twice(n)
	}
	return twice(n+1) + 1
}

//go:noinline
func deferred(n int) int {
	defer func() { sink += observe(n) }()
	defer observe(n)
	return n + 1
}

//go:noinline
func thrower(n int) int {
	if n >= 0 {
		panic(n)
	}
	return n
}

//go:noinline
func panics(n int) int {
	defer func() {
		sink += observe(n)
		recover()
	}()
	return thrower(n&0xff) + 1
}

//go:noinline
func address(text *string) int { return len(*text) }

//go:noinline
func faults() (n int) {
	defer func() {
		sink += twice(1)
		recover()
	}()
	return address(nil)
}

//go:noinline
func recursive(depth, n int) int {
	if depth == 0 {
		return inlined(n) + 1
	}
	return recursive(depth-1, n) + 1
}

//go:noinline
func all(n int) int {
	var t turner = outer{1, inner{1, 2, 3}}
	n += t.turn(n) + inlined(n) + inlined(n+1) + deferred(n) + panics(n) + faults()
	n += func() int { return twice(n) }()
	method := t.turn
	n += method(n) + recursive(60, n)
	strings.Map(func(r rune) rune {
		sink += small(int(r))
		return r
	}, "ab")
	return n
}

func main() {
	var err error
	file, err = os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	done := make(chan int)
	os.Stdout.WriteString("ready\n")
	for {
		sink += all(2)
		go func() { done <- all(1) + generic(1) }()
		sink += <-done
	}
}
