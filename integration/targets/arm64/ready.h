/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs of this folder begin with ready(): the core files that qemu-user writes do not name
 * the mapped files, so a copy of the maps is stored beside them.
 */
#ifndef INTEGRATION_TARGETS_ARM64_READY_H
#define INTEGRATION_TARGETS_ARM64_READY_H

#include <fcntl.h>
#include <unistd.h>

/* Copies the maps to the file @path and says that the work begins. */
static void ready(const char *path)
{
	int from = open("/proc/self/maps", O_RDONLY), to = open(path, O_WRONLY | O_CREAT, 0600);
	char bytes[4096];
	ssize_t count;

	while ((count = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, count) != count)
			_exit(1);
	close(from);
	close(to);
	if (write(1, "ready\n", 6) != 6)
		_exit(1);
}

#endif
