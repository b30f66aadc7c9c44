// SPDX-License-Identifier: Apache-2.0

// Signal handlers on their own stack, above whatever they interrupted: that of the runtime's profiler,
// whose signals come at a rate that no timer has, and that of signals which a goroutine waits for.
//
// chain: GO main.calls > main.middle main.spin
// chain: GO main.sends > SYSCALL*
// chain: GO main.waits
// chain: GO SIGNALS > (SIGNALS|SYNC)*
// chain: MAIN >
// seen: main.middle main.spin SIGRETURN runtime.sigtramp
// seen: main.sends SYSCALL* SIGRETURN runtime.sigtramp
// seen: runtime.sigtrampgo RUNTIME* runtime.sigprof
package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
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
func middle(n int) int { return spin(n) + 1 }

//go:noinline
func calls(threads chan int) {
	runtime.LockOSThread()
	threads <- syscall.Gettid()
	for {
		sink += middle(sink)
	}
}

//go:noinline
func sends(thread int) {
	pid := syscall.Getpid()
	for {
		syscall.Kill(pid, syscall.SIGUSR1)
		for i := 0; i < 8; i++ {
			syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(pid), uintptr(thread), uintptr(syscall.SIGPROF))
		}
	}
}

//go:noinline
func waits(signals chan os.Signal) {
	for range signals {
		sink++
	}
}

func main() {
	// Nobody reads the profile: it is full soon, and the handlers go on.
	runtime.SetCPUProfileRate(1000)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	threads := make(chan int)
	go calls(threads)
	go sends(<-threads)
	go waits(signals)
	os.Stdout.WriteString("ready\n")
	select {}
}
