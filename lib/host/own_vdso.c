/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/own_vdso.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/host/proc_maps.h"

int own_vdso_find(const void **image, size_t *size)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	int err = proc_maps_read(&maps, "/proc", getpid(), PROC_MAPS_EXECUTABLE);

	for (uint32_t i = 0; !err && i < maps.count; i++) {
		if (strcmp(maps.rows[i].path, "[vdso]") != 0)
			continue;
		*image = (const void *)(uintptr_t)maps.rows[i].start;
		*size = maps.rows[i].end - maps.rows[i].start;
		return 0;
	}
	return err ? err : fail(-ENOENT, "no [vdso]");
}
