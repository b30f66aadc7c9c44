/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Advice about files whose functions have no names: the package with their debug data, and the server that has it
 * (lib/host/file_packages.h). Each file is looked up once. One thread.
 */
#ifndef VIEWER_DEBUG_PACKAGES_H
#define VIEWER_DEBUG_PACKAGES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/host/judged_path.h"
#include "lib/model/binary.h"

struct debug_packages {
	/** Where processes are found; NULL: nothing is looked up. */
	const char *proc_root;
	const struct path_judge *judge;
	/** Maps binary_identity() to the advice, which is owned. */
	struct hash_map advice;
};

/** A file without names, and a process that ran it: its root has the package database. */
struct nameless_file {
	const struct binary *binary;
	uint32_t pid;
	/** "" for the host. */
	const char *container;
};

/** Borrows both. */
void debug_packages_init(struct debug_packages *packages, const char *proc_root,
			 const struct path_judge *judge);
void debug_packages_deinit(struct debug_packages *packages);

/** Looks up those of @files that are not known yet. A container is left out while its process is gone. -ENOMEM. */
int debug_packages_look_up(struct debug_packages *packages, const struct nameless_file *files,
			   size_t count);

/** A sentence, borrowed; NULL if there is none. */
const char *debug_packages_advice(const struct debug_packages *packages,
				  const struct binary *binary);

#endif
