/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build/walk_process [-without-names] PID
 *
 * Holds a process still by ptrace, prints the stack of each of its threads as the kernel side's
 * unwinder unwinds it (agent/unwind/unwind_printer.h has the format), and lets it go as it was.
 *
 * Exit status: 0, 1 if the process cannot be read, 2 wrong usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/unwind/stopped_process.h"
#include "agent/unwind/unwind_printer.h"
#include "lib/base/error.h"

static int print_threads(struct unwind_printer *printer, struct stopped_process *process)
{
	int err = 0;

	for (size_t i = 0; i < process->threads.count && !err; i++) {
		const struct stopped_thread *thread = &process->threads.items[i];

		err = unwind_printer_print(printer, thread->tid, &thread->set, &process->space,
					   stopped_process_read, process);
	}
	return err;
}

static int walk_process(pid_t pid, bool with_names)
{
	/* Large, and there is one of it. */
	static struct unwind_printer printer;
	struct stopped_process process;
	int err;

	err = unwind_printer_init(&printer, stdout, with_names);
	if (err)
		return err;
	err = stopped_process_init(&process, pid, 0);
	if (!err) {
		err = print_threads(&printer, &process);
		stopped_process_deinit(&process);
	}
	unwind_printer_deinit(&printer);
	return err;
}

int main(int argc, char **argv)
{
	bool with_names = !(argc == 3 && !strcmp(argv[1], "-without-names"));
	char *end;
	long pid;

	if (argc != (with_names ? 2 : 3)) {
		fprintf(stderr, "usage: walk_process [-without-names] PID\n");
		return 2;
	}
	pid = strtol(argv[argc - 1], &end, 10);
	if (*end || pid <= 0 || pid > INT32_MAX) {
		fprintf(stderr, "walk_process: %s is no pid\n", argv[argc - 1]);
		return 2;
	}
	if (walk_process(pid, with_names)) {
		fprintf(stderr, "walk_process: %s\n", error_text());
		return 1;
	}
	return 0;
}
