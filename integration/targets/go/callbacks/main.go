// SPDX-License-Identifier: Apache-2.0

// Go that calls C, which calls Go, which calls C again, which calls Go: every frame stands where it was
// called, those of C between those of Go. And C alone, and threads that belong to goroutines.
//
// cgo: yes
// chain: MAIN > main.run CGO(c_alone) c_spin
// chain: MAIN > main.run main.inC CGO(c_outer) c_call CALLBACK(goMiddle) main.middle main.spin
// chain: MAIN > main.run main.inC CGO(c_outer) c_call CALLBACK(goMiddle) main.middle main.inC2 CGO(c_inner) c_spin
// chain: MAIN > main.run main.inC CGO(c_outer) c_call CALLBACK(goMiddle) main.middle main.inC2 CGO(c_inner) c_call CALLBACK(goInner) main.inner main.spin
// chain: GO main.locked > CGO(c_alone) c_spin
// chain: GO main.locked > CGO(c_outer) c_call CALLBACK(goInner) main.inner main.spin
// seen: main.run CGO(c_alone) c_spin
// seen: main.inC CGO(c_outer) c_call CALLBACK(goMiddle) main.middle main.spin
// seen: main.middle main.inC2 CGO(c_inner) c_spin
// seen: main.middle main.inC2 CGO(c_inner) c_call CALLBACK(goInner) main.inner main.spin
// seen: main.locked CGO(c_outer) c_call CALLBACK(goInner) main.inner main.spin
package main

// int c_alone(int n);
// int c_outer(int n, int is_nested);
// int c_inner(int n);
import "C"
import (
	"os"
	"runtime"
)

var sink int

//go:noinline
func spin(n int) int {
	for i := 0; i < 20000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func inner(n int) int { return spin(n) + 1 }

//go:noinline
func middle(n int) int { return spin(n) + inC2(n) }

//export goInner
func goInner(n C.int) C.int { return C.int(inner(int(n)) & 0xff) }

//export goMiddle
func goMiddle(n C.int) C.int { return C.int(middle(int(n)) & 0xff) }

//go:noinline
func inC(n int) int { return int(C.c_outer(C.int(n&0xff), 1)) + 1 }

//go:noinline
func inC2(n int) int { return int(C.c_inner(C.int(n&0xff))) + 1 }

//go:noinline
func run(n int) int { return int(C.c_alone(C.int(n&0xff))) + inC(n) }

//go:noinline
func locked() {
	runtime.LockOSThread()
	for {
		sink += int(C.c_alone(1)) + int(C.c_outer(2, 0))
	}
}

func main() {
	go locked()
	os.Stdout.WriteString("ready\n")
	for {
		sink += run(sink)
	}
}
