// SPDX-License-Identifier: Apache-2.0
/*
 * `base_unwind OBJECT PROGRAM PID RATE`: runs one program of base_unwind.bpf.c at each clock event of
 * a process until standard input ends, then prints how many frames its unwinds had in the mean. `base_unwind OBJECT PROGRAM` runs one at
 * its tracepoint instead.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int die(const char *what)
{
	perror(what);
	exit(1);
}

static int open_event(pid_t pid, unsigned long long rate)
{
	struct perf_event_attr attributes = {
		.size = sizeof(attributes),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000ULL / rate,
	};
	int fd = syscall(SYS_perf_event_open, &attributes, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? die("perf_event_open") : fd;
}

static struct bpf_object *load(const char *path, const char *wanted)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;

	if (libbpf_get_error(object))
		die(path);
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, !strcmp(bpf_program__name(program), wanted));
	if (bpf_object__load(object))
		die("load");
	return object;
}

/* Runs @program until the process ends or is detached. */
static void attach(struct bpf_program *program, char **target)
{
	if (!target) {
		if (libbpf_get_error(bpf_program__attach(program)))
			die("attach");
	} else if (ioctl(open_event(atoi(target[0]), strtoull(target[1], NULL, 10)),
			 PERF_EVENT_IOC_SET_BPF, bpf_program__fd(program))) {
		die("PERF_EVENT_IOC_SET_BPF");
	}
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	struct bpf_program *program;
	struct {
		unsigned long long unwinds, frames;
	} count = { 1, 0 };
	unsigned int zero = 0;
	char byte;

	if (argc != 3 && argc != 5) {
		fprintf(stderr, "usage: base_unwind OBJECT PROGRAM [PID RATE]\n");
		return 2;
	}
	object = load(argv[1], argv[2]);
	program = bpf_object__find_program_by_name(object, argv[2]);
	if (!program)
		die(argv[2]);
	attach(program, argc == 5 ? argv + 3 : NULL);
	printf("ready\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(object, "counts"), &zero, &count);
	printf("%.1f\n", (double)count.frames / (double)count.unwinds);
	bpf_object__close(object);
	return 0;
}
