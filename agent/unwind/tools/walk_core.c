/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build/walk_core [-without-names] [-inlined] [-interpreted] [-maps FILE] [-root DIR] CORE
 *
 * Prints the stack of each thread of a core file as the kernel side's unwinder unwinds it
 * (agent/unwind/unwind_printer.h has the format).
 *	-inlined	with functions that are inlined
 *	-interpreted	with the frames of interpreted functions, and through what their runtimes do
 *	-maps	a copy of the process's /proc/PID/maps, for core files that do not name its files
 *	-root	where the paths of the process begin here
 * build/walk_core_arm64 is the same for core files of arm64, on whatever machine.
 *
 * Exit status: 0, 1 if the core file cannot be read, 2 wrong usage.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "agent/unwind/core_space.h"
#include "agent/unwind/space_runtimes.h"
#include "agent/unwind/unwind_printer.h"
#include "interpreters/registry.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/read_exactly.h"

enum {
	MAPS_MAX_BYTES = 16 << 20,
};

struct arguments {
	const char *core;
	const char *maps;
	const char *root;
	bool with_names;
	bool with_inlined;
	bool with_interpreted;
};

static int read_maps(const char *path, struct proc_maps *maps)
{
	_cleanup_(close_file) FILE *file = fopen(path, "re");
	_cleanup_(free_pointer) char *text = malloc(MAPS_MAX_BYTES);
	size_t size;

	if (!text)
		return fail(-ENOMEM, "no memory for %s", path);
	if (!file)
		return fail_errno(-errno, "%s", path);
	size = fread(text, 1, MAPS_MAX_BYTES, file);
	if (ferror(file) || !feof(file))
		return fail(-EIO, "%s cannot be read to its end", path);
	return proc_maps_parse(maps, text, size, PROC_MAPS_ALL);
}

static int print_threads(struct core_file *core, struct core_space *space,
			 const struct space_runtimes *runtimes, const struct arguments *arguments)
{
	/* Large, and there is one of it. */
	static struct unwind_printer printer;
	int err;

	err = unwind_printer_init(&printer, stdout, arguments->with_names);
	if (err)
		return err;
	printer.runtimes = runtimes;
	printer.with_inlined = arguments->with_inlined;
	for (size_t i = 0; i < core->threads.count && !err; i++) {
		const struct core_thread *thread = &core->threads.items[i];

		err = unwind_printer_print(&printer, thread->tid, &thread->set, &space->space,
					   core_space_read, space);
	}
	unwind_printer_deinit(&printer);
	return err;
}

static int walk_core(const struct arguments *arguments)
{
	_cleanup_(close_fd) int fd = open(arguments->core, O_RDONLY | O_CLOEXEC);
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	_cleanup_(core_file_deinit) struct core_file core = { 0 };
	_cleanup_(core_space_deinit) struct core_space space = { 0 };
	_cleanup_(space_runtimes_deinit) struct space_runtimes runtimes = { 0 };
	uint32_t languages = arguments->with_interpreted ? LANGUAGES_ALL : 0;
	int err = 0;

	if (fd < 0)
		return fail_errno(-errno, "%s", arguments->core);
	if (arguments->maps)
		err = read_maps(arguments->maps, &maps);
	if (!err)
		err = core_file_init(&core, fd);
	if (!err && core.machine != emulated_machine())
		err = fail(-EOPNOTSUPP, "%s: not of this program's machine", arguments->core);
	if (!err)
		err = core_space_init(&space, &core, arguments->maps ? &maps : NULL,
				      arguments->root, languages);
	if (!err && languages)
		err = space_runtimes_init(&runtimes, &space.space, &space.memory);
	return err ? err : print_threads(&core, &space, &runtimes, arguments);
}

static bool parse_arguments(char **argv, struct arguments *arguments)
{
	for (argv++; *argv; argv++) {
		if (!strcmp(*argv, "-without-names"))
			arguments->with_names = false;
		else if (!strcmp(*argv, "-inlined"))
			arguments->with_inlined = true;
		else if (!strcmp(*argv, "-interpreted"))
			arguments->with_interpreted = true;
		else if (!strcmp(*argv, "-maps") && argv[1])
			arguments->maps = *++argv;
		else if (!strcmp(*argv, "-root") && argv[1])
			arguments->root = *++argv;
		else if (**argv == '-' || arguments->core)
			return false;
		else
			arguments->core = *argv;
	}
	return arguments->core;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .root = "", .with_names = true };

	(void)argc;
	if (!parse_arguments(argv, &arguments)) {
		fprintf(stderr,
			"usage: walk_core [-without-names] [-inlined] [-interpreted] [-maps FILE] "
			"[-root DIR] CORE\n");
		return 2;
	}
	if (walk_core(&arguments)) {
		fprintf(stderr, "walk_core: %s\n", error_text());
		return 1;
	}
	return 0;
}
