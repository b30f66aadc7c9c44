/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts of any texts, as a container may have chosen them: nothing crashes, and a device that no line has is not local.
 *
 * covers: local_devices.c
 */
#include "agent/processes/local_devices.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/clock.h"

enum {
	LISTED_MAX = 16,
	/* No line of 64 bytes has it. */
	NO_DEVICE = 0xfffff,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char proc_root[] = "/tmp/allframes-fuzz-XXXXXX";

static void remove_folder(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", proc_root);
	(void)!system(command);
}

/* A /proc in which three processes have the mounts that are in a file in memory. Returns that. */
static int make_proc(void)
{
	static const char *const processes[] = { "self", "1", "7" };
	int fd = memfd_create("mountinfo", MFD_CLOEXEC);
	char folder[64], link[96], target[64];

	assert(fd >= 0 && mkdtemp(proc_root) && !atexit(remove_folder));
	snprintf(target, sizeof(target), "/proc/%d/fd/%d", (int)getpid(), fd);
	for (size_t i = 0; i < sizeof(processes) / sizeof(processes[0]); i++) {
		snprintf(folder, sizeof(folder), "%s/%s", proc_root, processes[i]);
		snprintf(link, sizeof(link), "%s/mountinfo", folder);
		assert(!mkdir(folder, 0700) && !symlink(target, link));
	}
	return fd;
}

static void parse_line(const uint8_t *data, size_t size)
{
	char *line = malloc(size + !size);
	bool is_local = true;
	uint64_t device;

	assert(line);
	memcpy(line, data, size);
	if (mountinfo_line_parse(line, size, &device, &is_local) && is_local)
		assert(memmem(line, size, " - ", 3));
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct local_devices devices;
	uint64_t listed[LISTED_MAX];
	uint32_t count;

	if (!size)
		return 0;
	parse_line(data, size);
	if (fd < 0)
		fd = make_proc();
	assert(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	local_devices_init(&devices);
	(void)local_devices_contain(&devices, proc_root, 7, 8, data[0] % 4, NS_PER_SECOND);
	assert(!local_devices_contain(&devices, proc_root, 9, NO_DEVICE, NO_DEVICE, NS_PER_SECOND));
	count = local_devices_list(&devices, listed, LISTED_MAX);
	assert(count <= LISTED_MAX);
	for (uint32_t i = 0; i < count; i++)
		assert(local_devices_contain(&devices, proc_root, 7, major(listed[i]),
					     minor(listed[i]), NS_PER_SECOND));
	local_devices_deinit(&devices);
	return 0;
}
