// SPDX-License-Identifier: Apache-2.0

// System calls: through package syscall, which tells the scheduler, past it, and by a file.
//
// kernel: 20
// chain: GO main.reads > SYSCALL*
// chain: GO main.raw > SYSCALL*
// chain: GO main.files > OS*
// chain: MAIN >
// seen: main.reads SYSCALL* RUNTIME* syscall.read
// seen: main.raw SYSCALL*
// seen: main.files OS* os.(*File).ReadAt
package main

import (
	"os"
	"syscall"
)

var sink int

//go:noinline
func reads(fd int) {
	buffer := make([]byte, 1<<14)
	for {
		n, _ := syscall.Read(fd, buffer)
		sink += n
	}
}

//go:noinline
func raw() {
	for {
		pid, _, _ := syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
		sink += int(pid)
	}
}

//go:noinline
func files(file *os.File) {
	buffer := make([]byte, 512)
	for {
		n, _ := file.ReadAt(buffer, 0)
		sink += n
	}
}

func main() {
	fd, _ := syscall.Open("/dev/zero", syscall.O_RDONLY, 0)
	file, _ := os.Open("/proc/self/exe")
	go reads(fd)
	go raw()
	go files(file)
	os.Stdout.WriteString("ready\n")
	select {}
}
