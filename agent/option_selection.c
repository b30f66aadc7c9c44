// SPDX-License-Identifier: Apache-2.0
#include "agent/option_selection.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/option_values.h"
#include "ebpf/abi/config.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/host/container_names.h"

#define MOUNTINFO "/proc/self/mountinfo"

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

static int read_pids(const struct setting *setting, uint32_t **pids_out, uint32_t *count_out)
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
	free(*pids_out);
	*pids_out = take_pointer(pids);
	*count_out = count;
	return 0;
}

int option_set_pids(struct options *options, const struct setting *setting)
{
	return read_pids(setting, &options->pids, &options->pid_count);
}

int option_set_dump(struct options *options, const struct setting *setting)
{
	return read_pids(setting, &options->dumps, &options->dump_count);
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

/* The groups of the options are one selection, so only one of these options can be given. */
static int take_location(struct options *options, const struct setting *setting,
			 struct cgroup_location **location)
{
	if (options->cgroup && options->cgroup_option != setting->option)
		return option_refuse(setting, "does not go together with -%s; give one of them",
				     options->cgroup_option->name);
	free(options->cgroup);
	options->cgroup = take_pointer(*location);
	options->cgroup_option = setting->option;
	return 0;
}

int option_set_cgroup(struct options *options, const struct setting *setting)
{
	_cleanup_(free_pointer) struct cgroup_location *location = malloc(sizeof(*location));
	int error = location ? cgroup_locate(MOUNTINFO, setting->text, location) : -ENOMEM;

	if (error == -ENOMEM)
		return option_out_of_memory();
	if (error == -ENOENT && !access(setting->text, F_OK))
		return option_refuse(setting,
				     "not a cgroup; give a directory of a cgroup file system");
	if (error)
		return option_refuse(setting,
				     "%s; give a directory such as /sys/fs/cgroup/system.slice",
				     strerror(-error));
	return take_location(options, setting, &location);
}

/* By the id, which the name of the group has, or else by the name, which the files of the engines have. */
static int find_container(const char *text, struct cgroup_location *location)
{
	char id[CONTAINER_ID_MAX_BYTES];
	int error = cgroup_find_container(MOUNTINFO, text, location);

	if (error != -ENOENT)
		return error;
	error = container_names_find("", text, id);
	return error ? error : cgroup_find_container(MOUNTINFO, id, location);
}

int option_set_container(struct options *options, const struct setting *setting)
{
	_cleanup_(free_pointer) struct cgroup_location *location = malloc(sizeof(*location));
	int error = -ENOENT;

	if (!location)
		return option_out_of_memory();
	if (*setting->text)
		error = find_container(setting->text, location);
	if (error == -EEXIST)
		return option_refuse(setting,
				     "several containers have it; give more of the id of one");
	if (error)
		return option_refuse(setting, "no running container has this id or name");
	return take_location(options, setting, &location);
}

int option_set_unit(struct options *options, const struct setting *setting)
{
	_cleanup_(free_pointer) struct cgroup_location *location = malloc(sizeof(*location));
	char unit[256];
	int error = -ENOENT;

	if (!location)
		return option_out_of_memory();
	/* As systemctl does. */
	snprintf(unit, sizeof(unit), "%s%s", setting->text,
		 strchr(setting->text, '.') ? "" : ".service");
	if (*setting->text && !strchr(setting->text, '/'))
		error = cgroup_find_unit(MOUNTINFO, unit, location);
	if (error == -EEXIST)
		return option_refuse(setting,
				     "several cgroups have this name; give one by -cgroup");
	if (error)
		return option_refuse(setting, "no unit of this name runs; systemctl lists them");
	return take_location(options, setting, &location);
}

int option_set_user(struct options *options, const struct setting *setting)
{
	const struct passwd *user;
	uint64_t number;

	if (!option_parse_number(setting->text, &number) && number < UINT32_MAX) {
		options->user = (uint32_t)number;
	} else {
		user = getpwnam(setting->text);
		if (!user)
			return option_refuse(setting,
					     "there is no such user; give a name or a number");
		options->user = user->pw_uid;
	}
	options->has_user = true;
	return 0;
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
