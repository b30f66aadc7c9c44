// SPDX-License-Identifier: Apache-2.0
#include "agent/start_warnings.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ebpf/abi/config.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/near_text.h"
#include "lib/host/proc_info.h"

enum {
	PATH_BYTES = 512,
	/* State of a listening socket in /proc/net/tcp (include/net/tcp_states.h). */
	TCP_LISTENING = 10,
	LISTENERS_MAX = 16,
};

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

/* A name of -comm, and the name that it may mean. */
struct wanted_comm {
	bool is_found;
	struct near_text near;
	char nearest[COMM_BYTES];
};

static void compare_comm(const char *wanted, const char *comm, struct wanted_comm *result)
{
	result->is_found |= !strcmp(wanted, comm);
	if (near_text_improves(&result->near, comm))
		snprintf(result->nearest, sizeof(result->nearest), "%.*s", COMM_BYTES - 1, comm);
}

static void warn_of_missing_comm(const char *wanted, const struct wanted_comm *result)
{
	if (result->is_found)
		return;
	if (*result->nearest)
		log_warn("-comm %s: no process has this name now; did you mean %s?", wanted,
			 result->nearest);
	else
		log_warn(
			"-comm %s: no process has this name now (/proc/PID/comm); those that get it are "
			"profiled",
			wanted);
}

void warn_of_missing_comms(const struct options *options, const char *proc_root)
{
	struct wanted_comm results[SELECTED_COMMS_MAX] = { 0 };
	_cleanup_(pid_list_deinit) struct pid_list pids = { 0 };
	char comm[PROC_COMM_MAX_BYTES];

	if (!options->comm_count || proc_list_processes(proc_root, &pids))
		return;
	for (uint32_t i = 0; i < options->comm_count; i++)
		near_text_init(&results[i].near, options->comms[i], strlen(options->comms[i]));
	for (uint32_t i = 0; i < pids.count; i++) {
		/* Names of kernel threads that are longer cannot be selected. */
		if (proc_comm(proc_root, pids.pids[i], comm) || strlen(comm) >= COMM_BYTES)
			continue;
		for (uint32_t j = 0; j < options->comm_count; j++)
			compare_comm(options->comms[j], comm, &results[j]);
	}
	for (uint32_t i = 0; i < options->comm_count; i++)
		warn_of_missing_comm(options->comms[i], &results[i]);
}

/* Adds the inode numbers of sockets that listen at @port, of the table @name; returns their number. */
static uint32_t add_listeners(const char *proc_root, const char *name, uint16_t port,
			      unsigned long *inodes, uint32_t count)
{
	_cleanup_(close_file) FILE *file = NULL;
	char path[PATH_BYTES], line[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/net/%s", proc_root, name);
	file = fopen(path, "re");
	while (file && count < LISTENERS_MAX && fgets(line, sizeof(line), file)) {
		unsigned int local_port, state;
		unsigned long inode;

		/* Number, local and remote address, state, queues, timer, retransmits, user, time-out, inode. */
		if (sscanf(line, "%*u: %*32[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*u %*u %lu",
			   &local_port, &state, &inode) == 3 &&
		    local_port == port && state == TCP_LISTENING && inode)
			inodes[count++] = inode;
	}
	return count;
}

/* Whether process @pid has a descriptor of one of the sockets. */
static bool has_socket(const char *proc_root, pid_t pid, const unsigned long *inodes,
		       uint32_t count)
{
	_cleanup_(close_directory) DIR *directory = NULL;
	char path[PATH_BYTES], target[64];
	struct dirent *entry;

	snprintf(path, sizeof(path), "%s/%d/fd", proc_root, pid);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		ssize_t length =
			readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);
		unsigned long inode;

		if (length <= 0)
			continue;
		target[length] = '\0';
		if (sscanf(target, "socket:[%lu]", &inode) != 1)
			continue;
		for (uint32_t i = 0; i < count; i++) {
			if (inodes[i] == inode)
				return true;
		}
	}
	return false;
}

uint32_t find_listener(const char *proc_root, uint16_t port)
{
	_cleanup_(pid_list_deinit) struct pid_list pids = { 0 };
	unsigned long inodes[LISTENERS_MAX];
	uint32_t count = add_listeners(proc_root, "tcp", port, inodes, 0);

	count = add_listeners(proc_root, "tcp6", port, inodes, count);
	if (!count || proc_list_processes(proc_root, &pids))
		return 0;
	for (uint32_t i = 0; i < pids.count; i++) {
		if (has_socket(proc_root, pids.pids[i], inodes, count))
			return (uint32_t)pids.pids[i];
	}
	return 0;
}

void log_taken_port(const char *proc_root, uint16_t wanted, uint16_t port)
{
	uint32_t pid = find_listener(proc_root, wanted);
	char comm[PROC_COMM_MAX_BYTES];

	if (pid && !proc_comm(proc_root, (pid_t)pid, comm))
		log_info("port %u is taken (by %s, %u); using %u", wanted, comm, pid, port);
	else
		log_info("port %u is taken; using %u", wanted, port);
}
