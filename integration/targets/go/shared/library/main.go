// SPDX-License-Identifier: Apache-2.0

// A library for C programs: the stacks of its functions go on to the program's threads.
//
// mode: c-shared
// chain: C_MAIN main > thread_main call_go CALLBACK(Work) main.work main.spin
// chain: C_MAIN main > thread_main call_go CALLBACK(Work) main.work CGO(c_count)
// chain: THREAD thread_main > call_go CALLBACK(Work) main.work main.spin
// chain: THREAD thread_main > call_go CALLBACK(Work) main.work CGO(c_count)
// seen: main thread_main call_go CALLBACK(Work) main.work main.spin
// seen: THREAD thread_main call_go CALLBACK(Work) main.work main.spin
// seen: THREAD thread_main call_go CALLBACK(Work) main.work CGO(c_count)
package main

/*
static int c_count(int n)
{
	for (volatile int i = 0; i < 20000; i++)
		n += i;
	return n & 0xff;
}
*/
import "C"

//go:noinline
func spin(n int) int {
	for i := 0; i < 20000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func work(n int) int { return spin(n) + int(C.c_count(C.int(n))) }

//export Work
func Work(n C.int) C.int { return C.int(work(int(n)) & 0xff) }

func main() {}
