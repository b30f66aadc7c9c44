// SPDX-License-Identifier: Apache-2.0

// Prints what Go itself says of positions in its own code, for many addresses: see go_frames_test.py.
// usage: oracle STEP. First comes the address of the function anchor; then a line for every STEP-th
// address of the text, of fields with tabs in between: the address, the size of the frame there or -
// where the runtime may not be asked, and for each frame, innermost first, function, file and line.
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"unsafe"
)

type funcInfo struct {
	function, module unsafe.Pointer
}

//go:linkname findfunc runtime.findfunc
func findfunc(pc uintptr) funcInfo

// Up to Go 1.21 with a cache, later without one, which takes no harm from an argument in a register.
//
//go:linkname funcspdelta runtime.funcspdelta
func funcspdelta(f funcInfo, pc uintptr, cache unsafe.Pointer) int32

//go:linkname expandFinalInlineFrame runtime/pprof.runtime_expandFinalInlineFrame
func expandFinalInlineFrame(stk []uintptr) []uintptr

//go:noinline
func anchor() int { return 1 }

func minorVersion() int {
	version := runtime.Version()
	version = version[strings.Index(version, "go1.")+len("go1."):]
	end := 0
	for end < len(version) && version[end] >= '0' && version[end] <= '9' {
		end++
	}
	minor, _ := strconv.Atoi(version[:end])
	return minor
}

func appendFrames(all []runtime.Frame, pcs []uintptr) []runtime.Frame {
	if len(pcs) == 0 {
		return all
	}
	frames := runtime.CallersFrames(pcs)
	for {
		frame, more := frames.Next()
		if frame.PC != 0 {
			all = append(all, frame)
		}
		if !more {
			return all
		}
	}
}

// The frames at pc, which is taken for the position of a call. From 1.23 on CallersFrames expands inlined
// calls if something follows that is not their caller; before, only pprof has it done, and it leaves
// out a wrapper that is innermost.
func framesAt(pc uintptr, minor int) []runtime.Frame {
	if minor >= 23 {
		return appendFrames(nil, []uintptr{pc + 1, 1})
	}
	innermost := appendFrames(nil, []uintptr{pc + 1})
	all := appendFrames(nil, expandFinalInlineFrame([]uintptr{pc + 1}))
	if len(all) > 0 && len(innermost) > 0 && all[0].PC != innermost[0].PC {
		all = append(innermost, all...)
	}
	if len(all) == 0 {
		return innermost
	}
	return all
}

// The first and the last address around pc for which there is a function.
func textAround(pc uintptr) (uintptr, uintptr) {
	low, high := pc, pc
	for step := uintptr(1 << 20); step > 0; step /= 2 {
		for low > step && runtime.FuncForPC(low-step) != nil {
			low -= step
		}
		for runtime.FuncForPC(high+step) != nil {
			high += step
		}
	}
	return low, high
}

func printAll(step uintptr) {
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	start := reflect.ValueOf(anchor).Pointer()
	minor := minorVersion()
	low, high := textAround(start)
	fmt.Fprintf(out, "%x\n", start)
	for pc := low; pc < high; pc += step {
		// CallersFrames takes the entry of a function for no return address.
		if findfunc(pc) != findfunc(pc+1) {
			continue
		}
		frames := framesAt(pc, minor)
		// The runtime ends the program if it is asked for a frame where a table has nothing.
		frameBytes := "-"
		if n := len(frames); n > 0 && frames[n-1].File != "?" && frames[n-1].Line != 0 {
			frameBytes = strconv.Itoa(int(funcspdelta(findfunc(pc), pc, nil)))
		}
		fmt.Fprintf(out, "%x\t%s", pc, frameBytes)
		for _, frame := range frames {
			fmt.Fprintf(out, "\t%s\t%s\t%d", frame.Function, frame.File, frame.Line)
		}
		fmt.Fprintln(out)
	}
}

// PrintAll is for the program that loads this as a plugin.
func PrintAll(step uintptr) { printAll(step) }

// What the tables should have: methods behind interfaces and embedding, closures, calls in calls.
type shape interface{ area(int) int }
type square struct{ side int }
type named struct {
	*square
	name [3]string
}

func (s *square) area(n int) int { return twice(s.side) * n }
func twice(n int) int            { return once(n) + once(n) }
func once(n int) int             { return n + len(os.Args) }

func work(n int) (result int) {
	defer func() {
		if recover() != nil {
			result = -1
		}
	}()
	shapes := []shape{&square{n}, named{&square{n}, [3]string{"a"}}, &named{&square{n}, [3]string{}}}
	byName := map[[3]string]int{{"a"}: 1}
	for _, s := range shapes {
		add := func(more int) int { return twice(s.area(more)) + more }
		result += add(n) + byName[[3]string{"a"}]
	}
	return result + generic(n) + 1/(n-n/1)
}

func main() {
	step := 7
	if len(os.Args) > 1 {
		step, _ = strconv.Atoi(os.Args[1])
	}
	if work(step) == 1 {
		return
	}
	printAll(uintptr(step))
}
