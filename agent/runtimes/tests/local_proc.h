/* SPDX-License-Identifier: Apache-2.0 */
/** Reads /proc, or a folder like it, in the test's own process. */
#ifndef AGENT_RUNTIMES_TESTS_LOCAL_PROC_H
#define AGENT_RUNTIMES_TESTS_LOCAL_PROC_H

#include <errno.h>

#include "agent/runtimes/proc_home.h"
#include "lib/host/mapped_file.h"
#include "lib/host/proc_info.h"

struct local_proc {
	struct proc_home home;
	const char *proc_root;
	/** Error of all reads of maps; 0: they succeed. */
	int err;
};

static inline const char *local_proc_root(const struct proc_home *home)
{
	return ((const struct local_proc *)home)->proc_root;
}

static inline int local_proc_read_maps(struct proc_home *home, pid_t pid, struct proc_maps *maps,
				       struct proc_first_read *first)
{
	int err = ((const struct local_proc *)home)->err;

	if (err)
		return err;
	err = proc_maps_read(maps, local_proc_root(home), pid, PROC_MAPS_CODE);
	if (!err && first) {
		pid_t parent;

		service_name_read(local_proc_root(home), pid, first->service_name);
		command_line_read(local_proc_root(home), pid, first->command_line);
		if (!first->parent_pid && !proc_parent(local_proc_root(home), pid, &parent))
			first->parent_pid = (uint32_t)parent;
	}
	return err;
}

static inline int local_proc_read_keys(struct proc_home *home, pid_t pid,
				       const struct proc_maps *maps, uint64_t end_ns,
				       struct mapped_key *keys)
{
	(void)end_ns;
	for (uint32_t i = 0; i < maps->count; i++)
		if (keys[i].err == -EAGAIN)
			keys[i].err = mapped_file_key(local_proc_root(home), pid, &maps->rows[i],
						      &keys[i].key);
	return 0;
}

static inline int local_proc_open_file(struct proc_home *home, pid_t pid,
				       const struct proc_mapping *row, int *fd,
				       struct file_key *key)
{
	return mapped_file_open_mapping(local_proc_root(home), pid, row, fd, key);
}

static inline uint64_t local_proc_cpu_ns(const struct proc_home *home)
{
	(void)home;
	return 0;
}

static inline void local_proc_stop(struct proc_home *home)
{
	(void)home;
}

static inline void local_proc_init(struct local_proc *proc, const char *proc_root)
{
	static const struct proc_home_ops ops = {
		.read_maps = local_proc_read_maps,
		.read_keys = local_proc_read_keys,
		.open_file = local_proc_open_file,
		.cpu_ns = local_proc_cpu_ns,
		.stop = local_proc_stop,
	};

	*proc = (struct local_proc){ .home = { .ops = &ops }, .proc_root = proc_root };
}

#endif
