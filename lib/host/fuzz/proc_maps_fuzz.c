/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of /proc/PID/maps: rows come out in order with paths that end, and executable rows alone are
 * those of all rows. Every text goes through a file as well, in a folder that pretends to be /proc.
 *
 * covers: proc_maps.c line_reader.c
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/host/proc_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/proc_maps_fuzz_XXXXXX";
static char process[sizeof(root) + 8], maps_path[sizeof(root) + 16];

static void remove_root(void)
{
	unlink(maps_path);
	rmdir(process);
	rmdir(root);
}

static int maps_file(void)
{
	static int fd = -1;

	if (fd >= 0)
		return fd;
	if (!mkdtemp(root))
		abort();
	snprintf(process, sizeof(process), "%s/1", root);
	snprintf(maps_path, sizeof(maps_path), "%s/1/maps", root);
	mkdir(process, 0700);
	fd = open(maps_path, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		abort();
	atexit(remove_root);
	return fd;
}

static uint32_t check_rows(const struct proc_maps *maps)
{
	uint32_t executable = 0;
	uint64_t end = 0;

	for (uint32_t i = 0; i < maps->count; i++) {
		const struct proc_mapping *row = &maps->rows[i];

		if (row->start < end || row->end <= row->start || strlen(row->path) > 65536)
			abort();
		end = row->end;
		executable += !!(row->protection & PROT_EXEC);
	}
	return executable;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_maps all, executable, read;
	int fd = maps_file();
	uint32_t count;

	if (proc_maps_parse(&all, (const char *)data, size, PROC_MAPS_ALL)) {
		if (!proc_maps_parse(&executable, (const char *)data, size, PROC_MAPS_EXECUTABLE))
			abort();
		return 0;
	}
	count = check_rows(&all);
	if (proc_maps_parse(&executable, (const char *)data, size, PROC_MAPS_EXECUTABLE) ||
	    executable.count != count)
		abort();
	proc_maps_deinit(&executable);
	if (proc_maps_parse(&executable, (const char *)data, size, PROC_MAPS_CODE) ||
	    executable.count < count || executable.count > all.count ||
	    check_rows(&executable) != count)
		abort();
	proc_maps_deinit(&executable);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (!proc_maps_read(&read, root, 1, PROC_MAPS_ALL)) {
		if (read.count != all.count || check_rows(&read) != count)
			abort();
		proc_maps_deinit(&read);
	}
	proc_maps_deinit(&all);
	return 0;
}
