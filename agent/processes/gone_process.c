/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/gone_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/processes/mapping_identity.h"
#include "agent/processes/process_attributes.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/host/binary_file.h"
#include "lib/model/metrics.h"

/* Times of files may be late by this much, since they are those of the last tick. */
#define FILE_TIME_STEP_NS (10 * NS_PER_MS)

/* Finds the program of @process, or of the process that it is a fork of, if its exec is known. */
static bool find_program(struct process_sync *sync, const struct process *process,
			 struct logged_program *program)
{
	const struct process *parent;

	*program = (struct logged_program){
		.pid = process->pid,
		.start_ns = process->identity.start_time_ns,
		.exec_ns = process->exec_ns,
		.code_address = process->code_address,
	};
	if (process->exec_ns)
		return true;
	parent = process->is_fork ? process_table_current(sync->table, process->parent_pid) : NULL;
	if (!parent || !parent->exec_ns || parent->identity.exec_id != process->identity.exec_id ||
	    parent->exec_ns > process->identity.start_time_ns)
		return false;
	*program = (struct logged_program){
		.pid = parent->pid,
		.start_ns = parent->identity.start_time_ns,
		.exec_ns = parent->exec_ns,
		.code_address = parent->code_address,
		.fork_pid = process->pid,
		.fork_ns = process->identity.start_time_ns,
		.fork_until_ns = process->first_sample_ns ? process->first_sample_ns : UINT64_MAX,
	};
	return true;
}

static bool has_changed_since(const struct file_key *key, const struct process *process)
{
	int64_t start_ns = (int64_t)process->identity.start_time_ns + clock_realtime_offset_ns();

	return key->ctime_ns > start_ns - (int64_t)FILE_TIME_STEP_NS;
}

/*
 * Opens the file of @row below our root or the parent's, never through /proc/PID, which may be another process
 * by now. Device and inode are those that were mapped. The time of the file's last change shows that the inode
 * was not reused and the content has not changed since.
 */
static int open_file(struct process_sync *sync, const struct process *process,
		     const struct proc_mapping *row, int *fd, struct file_key *key)
{
	int err = mapping_open_by_path(sync, sync->own_pid, row, fd, key);

	if (err && process->parent_pid)
		err = mapping_open_by_path(sync, (pid_t)process->parent_pid, row, fd, key);
	if (err)
		return err;
	if (has_changed_since(key, process)) {
		close(*fd);
		return fail(-ESTALE, "it was changed after the process had begun");
	}
	return 0;
}

/* Whether the file has not changed since the executable was made. */
static bool is_unchanged(const struct executable *executable)
{
	struct borrowed_file file;
	struct file_key now;
	bool is_equal;

	if (!executable->binary || executable->is_remote || executable_lacks_file(executable))
		return false;
	file = binary_file_borrow(executable->binary);
	is_equal = file.fd >= 0 && !file_key_of_fd(file.fd, &now) &&
		   !memcmp(&now, &executable->key, sizeof(now));
	binary_file_return(&file);
	return is_equal;
}

/*
 * The executable of @row, if its file was found lately and is still open. As long as it is open, no other file
 * has its inode. NULL: the file must be searched.
 */
static struct executable *find_open(struct process_sync *sync, const struct process *process,
				    const struct proc_mapping *row)
{
	const struct gone_files *files = &sync->gone_files;
	uint64_t device = makedev(row->device_major, row->device_minor);
	struct executable *executable;

	for (uint32_t i = 0; i < GONE_FILES_MAX; i++) {
		const struct file_key *key = &files->keys[i];

		if (key->inode != row->inode || key->device != device ||
		    has_changed_since(key, process))
			continue;
		executable = executable_cache_find(sync->executables, key);
		if (executable && is_unchanged(executable))
			return executable;
		executable_unref(sync->executables, executable);
	}
	return NULL;
}

static void note_found(struct gone_files *files, const struct file_key *key)
{
	files->keys[files->next] = *key;
	files->next = (files->next + 1) % GONE_FILES_MAX;
}

static int identify_file(struct process_sync *sync, const struct process *process,
			 const struct proc_mapping *row, struct process_mapping *mapping)
{
	struct file_key key;
	int fd, err;

	/* load_remote would need the process for that. */
	if (!local_devices_contain(&sync->devices, sync->proc_root, sync->own_pid,
				   row->device_major, row->device_minor, process->read_ns))
		return fail(-EREMOTE, "it is on no local file system");
	mapping->executable = find_open(sync, process, row);
	if (mapping->executable)
		return mapping_set_bias(mapping);
	err = open_file(sync, process, row, &fd, &key);
	if (err)
		return err;
	err = executable_cache_open(sync->executables, fd, &key, process->pid, row->path, NULL,
				    &mapping->executable);
	if (err)
		close(fd);
	else
		note_found(&sync->gone_files, &key);
	return err ? err : mapping_set_bias(mapping);
}

bool gone_process_list(struct process_sync *sync, struct process *process,
		       struct process_mapping **mappings, uint32_t *count)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	struct process_mapping *listed;
	const struct attribute_sources sources = process_sync_sources(sync);
	struct logged_program program;

	if (!find_program(sync, process, &program) ||
	    mapping_log_list(sync->mapping_log, &program, &maps))
		return false;
	listed = calloc(maps.count + 1, sizeof(*listed));
	if (!listed)
		return false;
	for (uint32_t i = 0; i < maps.count; i++) {
		const struct proc_mapping *row = &maps.rows[i];

		listed[i] = (struct process_mapping){
			.start = row->start,
			.end = row->end,
			.offset = row->offset,
			.inode = row->inode,
			.device_major = row->device_major,
			.device_minor = row->device_minor,
		};
		if (!row->inode && row->path[0] != '[')
			listed[i].executable_id = EXECUTABLE_ID_ANONYMOUS;
		else if (row->inode && identify_file(sync, process, row, &listed[i]))
			log_debug("process %u, which is gone: %s: %s", process->pid, row->path,
				  error_text());
	}
	process_attributes_replay(sync->table, process, &sources, &maps, listed,
				  program.code_address);
	metrics_add(METRIC_PROCESSES_REPLAYED, 1);
	*mappings = listed;
	*count = maps.count;
	return true;
}
