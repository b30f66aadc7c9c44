// SPDX-License-Identifier: Apache-2.0
#include "agent/option_selection.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "agent/option_values.h"
#include "ebpf/abi/config.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	/* Linux's PID_MAX_LIMIT on 64-bit machines. */
	PID_MAX = 1 << 22,
};

/* The process with the thread @pid; 0 if there is none. */
static uint32_t process_of(uint32_t pid)
{
	_cleanup_(close_file) FILE *file = NULL;
	char path[32];
	char line[256];
	uint32_t process;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Tgid: %u", &process) == 1)
			return process;
	}
	return 0;
}

int option_set_pids(struct options *options, const struct setting *setting)
{
	_cleanup_(free_pointer) uint32_t *pids = NULL;
	uint32_t count;
	int error;

	error = option_parse_list(setting->text, false, 1, PID_MAX, SELECTED_PIDS_MAX, &pids,
				  &count);
	if (error == -ENOMEM)
		return option_out_of_memory();
	if (error == -E2BIG)
		return option_refuse(setting, "give at most %d pids", SELECTED_PIDS_MAX);
	if (error)
		return option_refuse(setting, "give pids with commas between, such as 12,345");
	for (uint32_t i = 0; i < count; i++) {
		uint32_t process = process_of(pids[i]);

		if (!process)
			return option_refuse(setting,
					     "there is no process %u; give pids of running ones",
					     pids[i]);
		if (process != pids[i])
			return option_refuse(setting, "%u is a thread of process %u; give that pid",
					     pids[i], process);
	}
	free(options->pids);
	options->pids = take_pointer(pids);
	options->pid_count = count;
	return 0;
}

int option_set_comm(struct options *options, const struct setting *setting)
{
	char(*comms)[COMM_BYTES] = calloc(SELECTED_COMMS_MAX, sizeof(*comms));
	const char *name = setting->text, *end;
	uint32_t count = 0;

	if (!comms)
		return option_out_of_memory();
	free(options->comms);
	options->comms = comms;
	do {
		size_t length = strcspn(name, ",");

		if (length == 0 || length >= COMM_BYTES)
			return option_refuse(
				setting,
				"give names of 1 to %d bytes, as /proc/PID/comm shows them, with commas between",
				COMM_BYTES - 1);
		if (count == SELECTED_COMMS_MAX)
			return option_refuse(setting, "give at most %d names", SELECTED_COMMS_MAX);
		memcpy(comms[count++], name, length);
		end = name + length;
		name = end + 1;
	} while (*end);
	options->comm_count = count;
	return 0;
}

int option_set_cgroup(struct options *options, const struct setting *setting)
{
	struct statfs file_system;
	struct stat file;

	if (stat(setting->text, &file) || statfs(setting->text, &file_system))
		return option_refuse(setting,
				     "%s; give a directory such as /sys/fs/cgroup/system.slice",
				     strerror(errno));
	if (!S_ISDIR(file.st_mode) || file_system.f_type != CGROUP2_SUPER_MAGIC)
		return option_refuse(setting,
				     "not a cgroup; give a directory of a cgroup v2 file system");
	return option_set_path(options, setting);
}

int option_set_cpus(struct options *options, const struct setting *setting)
{
	long possible_count = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t highest = possible_count > 0 ? possible_count - 1 : 0;
	uint32_t *cpus;
	uint32_t count;
	int error;

	error = option_parse_list(setting->text, true, 0, highest, highest + 1, &cpus, &count);
	if (error == -ENOMEM)
		return option_out_of_memory();
	if (error)
		return option_refuse(setting, "give CPUs such as 0-3,5; this machine has 0 to %u",
				     highest);
	free(options->cpus);
	options->cpus = cpus;
	options->cpu_count = count;
	return 0;
}
