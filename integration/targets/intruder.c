/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile code in a process: `intruder PID` makes each thread of PID, one after the other, call the kernel as an attacker
 * would who has taken the thread over, and prints `TID NAME RESULT` for each call; a negative result is an error number. Then
 * the thread goes on as if nothing had been. Threads that are in no system call are left out.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__
enum {
	TRIES = 20,
	TRY_US = 5000,
	/* Below the stack, where no function of ours has anything. */
	TEXT_OFFSET = 512,
	TEXT_BYTES = 64,
	ARGUMENTS = 6,
	NO_FILE = 99,
	/* Stand for what is known when the call is made: the pid of the intruder, which is another process for the thread... */
	OUR_PID = 0x7ffffff0,
	/* ... its memory, as a file that the thread has opened, and an address in it ... */
	MEMORY_FILE,
	OUR_ADDRESS,
	/* ... a pipe that the thread's process writes to, and an address of the thread's own for a result. */
	OWN_PIPE,
	OWN_ADDRESS,
	READ_BYTES = 8,
};

/* The memory of the intruder, as a file. */
static char our_memory[TEXT_BYTES];

/* The bytes at OUR_ADDRESS. */
static const char our_secret[READ_BYTES] = "a secret";

/* The file MEMORY_FILE in the thread, and the pipe OWN_PIPE. */
static long memory_file = NO_FILE;
static long own_pipe = NO_FILE;

/* A text is handed over by its address. */
struct call {
	const char *name;
	long number;
	const char *text;
	int text_argument;
	unsigned long arguments[ARGUMENTS];
};

static const struct call calls[] = {
	{ "socket", SYS_socket, NULL, 0, { AF_INET, SOCK_STREAM } },
	{ "fork", SYS_clone, NULL, 0, { SIGCHLD } },
	{ "write_file",
	  SYS_openat,
	  "/tmp/allframes-intruder",
	  1,
	  { (unsigned)AT_FDCWD, 0, O_WRONLY | O_CREAT, 0600 } },
	{ "write_memory", SYS_openat, our_memory, 1, { (unsigned)AT_FDCWD, 0, O_RDWR } },
	{ "rename", SYS_rename, "/tmp/allframes-intruder", 0, { 0, 0 } },
	{ "read_process", SYS_process_vm_readv, NULL, 0, { OUR_PID } },
	{ "open_memory", SYS_openat, our_memory, 1, { (unsigned)AT_FDCWD, 0, O_RDONLY } },
	/* From its start, where nothing is, and then elsewhere. */
	{ "read_memory", SYS_read, NULL, 0, { MEMORY_FILE, OWN_ADDRESS, READ_BYTES } },
	{ "read_memory",
	  SYS_pread64,
	  NULL,
	  0,
	  { MEMORY_FILE, OWN_ADDRESS, READ_BYTES, OUR_ADDRESS } },
	{ "read_memory", SYS_preadv, NULL, 0, { MEMORY_FILE, 0, 0, OUR_ADDRESS } },
	{ "read_memory", SYS_mmap, NULL, 0, { 0, 4096, PROT_READ, MAP_PRIVATE, MEMORY_FILE } },
	{ "read_memory", SYS_sendfile, NULL, 0, { OWN_PIPE, MEMORY_FILE, 0, READ_BYTES } },
	{ "read_memory", SYS_splice, NULL, 0, { MEMORY_FILE, 0, OWN_PIPE, 0, READ_BYTES } },
	{ "seek_memory", SYS_lseek, NULL, 0, { MEMORY_FILE, OUR_ADDRESS, SEEK_SET } },
	{ "read_memory", SYS_read, NULL, 0, { MEMORY_FILE, OWN_ADDRESS, READ_BYTES } },
	{ "close_memory", SYS_close, NULL, 0, { MEMORY_FILE } },
	{ "write_process", SYS_process_vm_writev, NULL, 0, { OUR_PID } },
	{ "trace", SYS_ptrace, NULL, 0, { PTRACE_TRACEME } },
	{ "signal", SYS_kill, NULL, 0, { 1, 0 } },
	{ "unshare", SYS_unshare, NULL, 0, { CLONE_NEWUTS } },
	{ "namespace", SYS_setns, NULL, 0, { NO_FILE } },
	{ "mount", SYS_umount2, "/nowhere", 0, { 0 } },
	{ "user", SYS_setuid, NULL, 0, { 0 } },
	{ "key", SYS_keyctl, NULL, 0, { 0 } },
	{ "module", SYS_delete_module, "no_module", 0, { 0 } },
	{ "rings", SYS_io_uring_setup, NULL, 0, { 0 } },
	{ "bpf", SYS_bpf, NULL, 0, { NO_FILE } },
	{ "perf", SYS_perf_event_open, NULL, 0, { 0 } },
	{ "code",
	  SYS_mmap,
	  NULL,
	  0,
	  { 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1UL } },
	{ "run", SYS_execve, "/bin/true", 0, { 0 } },
};

static int wait_stop(pid_t tid)
{
	int status;

	return waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status) ? status : -1;
}

static int put_text(pid_t tid, unsigned long address, const char *text)
{
	char bytes[TEXT_BYTES] = "";
	unsigned long word;

	strncpy(bytes, text, sizeof(bytes) - 1);
	for (size_t i = 0; i < sizeof(bytes); i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		if (ptrace(PTRACE_POKEDATA, tid, address + i, word))
			return -1;
	}
	return 0;
}

/* The end of a pipe to which process @pid writes. */
static void find_pipe(int pid)
{
	char path[300], link[64];
	struct dirent *entry;
	DIR *files;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	files = opendir(path);
	while (files && (entry = readdir(files))) {
		int flags = 0;
		ssize_t size;
		FILE *info;

		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, entry->d_name);
		size = readlink(path, link, sizeof(link));
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, entry->d_name);
		info = size > 5 && !strncmp(link, "pipe:", 5) ? fopen(path, "re") : NULL;
		if (info && fscanf(info, "pos: %*d flags: %o", &flags) == 1 &&
		    (flags & O_ACCMODE) == O_WRONLY)
			own_pipe = atoi(entry->d_name);
		if (info)
			fclose(info);
	}
	if (files)
		closedir(files);
}

static unsigned long value_of(unsigned long argument, unsigned long own_address)
{
	switch (argument) {
	case OUR_PID:
		return (unsigned long)getpid();
	case MEMORY_FILE:
		return (unsigned long)memory_file;
	case OUR_ADDRESS:
		return (unsigned long)our_secret;
	case OWN_PIPE:
		return (unsigned long)own_pipe;
	case OWN_ADDRESS:
		return own_address;
	default:
		return argument;
	}
}

/* Executes one instruction; signals that come before it, as when the child of the call "fork" ends, are thrown away. */
static int step(pid_t tid)
{
	int status;

	do {
		if (ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL))
			return -1;
		status = wait_stop(tid);
	} while (status >= 0 && WSTOPSIG(status) != SIGTRAP);
	return status < 0 ? -1 : 0;
}

/* The thread has stopped behind an instruction syscall, and executes it again. */
static int inject(pid_t tid, const struct user_regs_struct *stopped, const struct call *call)
{
	unsigned long text = (stopped->rsp - TEXT_OFFSET) & ~(unsigned long)(TEXT_BYTES - 1);
	struct user_regs_struct registers = *stopped;
	unsigned long arguments[ARGUMENTS];

	for (int i = 0; i < ARGUMENTS; i++)
		arguments[i] = value_of(call->arguments[i], text);
	if (call->text) {
		arguments[call->text_argument] = text;
		if (put_text(tid, text, call->text))
			return -1;
	}
	registers.rip -= 2;
	/* Not in a system call: nothing is restarted. */
	registers.orig_rax = -1UL;
	registers.rax = (unsigned long)call->number;
	registers.rdi = arguments[0];
	registers.rsi = arguments[1];
	registers.rdx = arguments[2];
	registers.r10 = arguments[3];
	registers.r8 = arguments[4];
	registers.r9 = arguments[5];
	if (ptrace(PTRACE_SETREGS, tid, NULL, &registers) || step(tid) ||
	    ptrace(PTRACE_GETREGS, tid, NULL, &registers))
		return -1;
	printf("%d %s %ld\n", tid, call->name, (long)registers.rax);
	if (!strcmp(call->name, "open_memory"))
		memory_file = (long)registers.rax < 0 ? NO_FILE : (long)registers.rax;
	return 0;
}

static int intrude(pid_t tid)
{
	struct user_regs_struct stopped;
	int result = 0;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return -1;
	for (int i = 0;; i++) {
		if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || wait_stop(tid) < 0 ||
		    ptrace(PTRACE_GETREGS, tid, NULL, &stopped))
			return -1;
		/* syscall */
		if ((ptrace(PTRACE_PEEKTEXT, tid, stopped.rip - 2, NULL) & 0xffff) == 0x050f)
			break;
		if (i == TRIES)
			goto detach;
		if (ptrace(PTRACE_CONT, tid, NULL, NULL))
			return -1;
		usleep(TRY_US);
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !result; i++)
		result = inject(tid, &stopped, &calls[i]);
	if (!result)
		result = (int)ptrace(PTRACE_SETREGS, tid, NULL, &stopped);
detach:
	return ptrace(PTRACE_DETACH, tid, NULL, NULL) ? -1 : result;
}

int main(int argc, char **argv)
{
	char path[64];
	struct dirent *entry;
	int status = 0;
	DIR *tasks;

	if (argc != 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(our_memory, sizeof(our_memory), "/proc/%d/mem", (int)getpid());
	snprintf(path, sizeof(path), "/proc/%d/task", atoi(argv[1]));
	find_pipe(atoi(argv[1]));
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.' && intrude(atoi(entry->d_name)))
			status = 1;
	return tasks ? status : 1;
}
#else
int main(void)
{
	return 77;
}
#endif
