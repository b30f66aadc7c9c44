// SPDX-License-Identifier: Apache-2.0
#include "agent/start_warnings.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ebpf/abi/config.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"

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

/* The name of process @pid; false if it is gone. */
static bool read_comm(const char *proc_root, const char *pid, char comm[COMM_BYTES])
{
	_cleanup_(close_file) FILE *file = NULL;
	char path[PATH_BYTES], text[COMM_BYTES + 1];

	snprintf(path, sizeof(path), "%s/%s/comm", proc_root, pid);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file))
		return false;
	text[strcspn(text, "\n")] = '\0';
	memset(comm, 0, COMM_BYTES);
	memcpy(comm, text, strnlen(text, COMM_BYTES - 1));
	return true;
}

/* The next entry that is a pid; NULL at the end. */
static const char *next_pid(DIR *directory)
{
	struct dirent *entry;

	while ((entry = readdir(directory))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			return entry->d_name;
	}
	return NULL;
}

void warn_of_missing_comms(const struct options *options, const char *proc_root)
{
	_cleanup_(close_directory) DIR *directory = options->comm_count ? opendir(proc_root) : NULL;
	bool found[SELECTED_COMMS_MAX] = { false };
	char comm[COMM_BYTES];
	const char *pid;

	while (directory && (pid = next_pid(directory))) {
		if (!read_comm(proc_root, pid, comm))
			continue;
		for (uint32_t i = 0; i < options->comm_count; i++)
			found[i] |= !memcmp(options->comms[i], comm, COMM_BYTES);
	}
	for (uint32_t i = 0; directory && i < options->comm_count; i++) {
		if (!found[i])
			log_warn(
				"-comm %s: no process has this name now (/proc/PID/comm); those that get it are "
				"profiled",
				options->comms[i]);
	}
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
static bool has_socket(const char *proc_root, const char *pid, const unsigned long *inodes,
		       uint32_t count)
{
	_cleanup_(close_directory) DIR *directory = NULL;
	char path[PATH_BYTES], target[64];
	struct dirent *entry;

	snprintf(path, sizeof(path), "%s/%s/fd", proc_root, pid);
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
	_cleanup_(close_directory) DIR *directory = opendir(proc_root);
	unsigned long inodes[LISTENERS_MAX];
	uint32_t count = add_listeners(proc_root, "tcp", port, inodes, 0);
	const char *pid;

	count = add_listeners(proc_root, "tcp6", port, inodes, count);
	while (directory && count && (pid = next_pid(directory))) {
		if (has_socket(proc_root, pid, inodes, count))
			return (uint32_t)strtoul(pid, NULL, 10);
	}
	return 0;
}

void log_taken_port(const char *proc_root, uint16_t wanted, uint16_t port)
{
	uint32_t pid = find_listener(proc_root, wanted);
	char comm[COMM_BYTES], number[16];

	snprintf(number, sizeof(number), "%u", pid);
	if (pid && read_comm(proc_root, number, comm))
		log_info("port %u is taken (by %s, %u); using %u", wanted, comm, pid, port);
	else
		log_info("port %u is taken; using %u", wanted, port);
}
