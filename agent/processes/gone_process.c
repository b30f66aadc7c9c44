/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/gone_process.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "agent/base/log.h"
#include "agent/base/metrics.h"
#include "agent/processes/mapping_identity.h"
#include "agent/processes/process_attributes.h"

/* By so much the times of files may be behind: they are those of the last tick. */
#define FILE_TIME_STEP_NS (10 * NS_PER_MS)
/* A process that ran for longer may have mapped the file after it was seen, and as another file. */
#define SEEN_NS (200 * NS_PER_MS)

/* The program that @process runs, or of which it is a fork, if its exec was heard of. */
static bool find_program(struct process_sync *sync, const struct process *process,
			 struct logged_program *program)
{
	const struct process *parent;

	*program = (struct logged_program){
		.pid = process->pid,
		.start_ns = process->stamp.start_time_ns,
		.exec_ns = process->exec_ns,
		.code_address = process->code_address,
	};
	if (process->exec_ns)
		return true;
	parent = process->is_fork ? process_table_current(sync->table, process->parent_pid) : NULL;
	if (!parent || !parent->exec_ns || parent->stamp.exec_id != process->stamp.exec_id ||
	    parent->exec_ns > process->stamp.start_time_ns)
		return false;
	*program = (struct logged_program){
		.pid = parent->pid,
		.start_ns = parent->stamp.start_time_ns,
		.exec_ns = parent->exec_ns,
		.code_address = parent->code_address,
		.fork_pid = process->pid,
		.fork_ns = process->stamp.start_time_ns,
	};
	return true;
}

/*
 * The file of @row as it was seen when @process ran, or later: that is the file that it ran. NULL: it must be looked
 * for.
 */
static const struct gone_file *find_seen(const struct gone_files *files,
					 const struct process *process,
					 const struct proc_mapping *row)
{
	uint64_t since_ns = process->exec_ns ? process->exec_ns : process->stamp.start_time_ns;
	uint64_t device = makedev(row->device_major, row->device_minor);
	uint64_t now_ns = clock_monotonic_ns();

	/* The last one first. */
	for (uint32_t i = 1; i <= GONE_FILES_MAX; i++) {
		const struct gone_file *file =
			&files->items[(files->next + GONE_FILES_MAX - i) % GONE_FILES_MAX];

		if (file->looked_ns <= since_ns || now_ns > file->looked_ns + SEEN_NS)
			return NULL;
		if (file->key.inode == row->inode && file->key.device == device)
			return file;
	}
	return NULL;
}

static void note_seen(struct gone_files *files, uint64_t looked_ns, const struct file_key *key)
{
	files->items[files->next] = (struct gone_file){ looked_ns, *key };
	files->next = (files->next + 1) % GONE_FILES_MAX;
}

static bool has_changed_since(const struct file_key *key, const struct process *process)
{
	int64_t start_ns = (int64_t)process->stamp.start_time_ns + clock_realtime_offset_ns();

	return key->ctime_ns > start_ns - (int64_t)FILE_TIME_STEP_NS;
}

/*
 * By our root, or by the parent's. Never by what is in /proc/PID now, which may be another process.
 * The device and the inode are those that were mapped; that they have not become another file since, or
 * other bytes, is seen by the time of the file's last change.
 */
static int open_file(struct process_sync *sync, const struct process *process,
		     const struct proc_mapping *row, int *fd, struct file_key *key)
{
	uint64_t looked_ns = clock_monotonic_ns();
	int err = mapping_open_by_path(sync, sync->own_pid, row, fd, key);

	if (err && process->parent_pid)
		err = mapping_open_by_path(sync, (pid_t)process->parent_pid, row, fd, key);
	if (err)
		return err;
	note_seen(&sync->gone_files, looked_ns, key);
	if (has_changed_since(key, process)) {
		close(*fd);
		return fail(-ESTALE, "it was changed after the process had begun");
	}
	return 0;
}

/* Without opening it; false if it must be opened. */
static bool find_executable(struct process_sync *sync, const struct process *process,
			    const struct proc_mapping *row, struct executable **executable)
{
	const struct gone_file *seen = find_seen(&sync->gone_files, process, row);

	if (!seen || has_changed_since(&seen->key, process))
		return false;
	*executable = executable_cache_find(sync->executables, &seen->key);
	if (*executable && !executable_lacks_file(*executable))
		return true;
	executable_unref(sync->executables, *executable);
	*executable = NULL;
	return false;
}

static int identify_file(struct process_sync *sync, const struct process *process,
			 const struct proc_mapping *row, struct process_mapping *mapping)
{
	struct file_key key;
	int fd, err;

	/* Another thread would look for it in the process. */
	if (!local_devices_contain(&sync->devices, sync->proc_root, sync->own_pid,
				   row->device_major, row->device_minor, process->read_ns))
		return fail(-EREMOTE, "it is on no local file system");
	if (find_executable(sync, process, row, &mapping->executable))
		return mapping_place(mapping);
	err = open_file(sync, process, row, &fd, &key);
	if (err)
		return err;
	err = executable_cache_open(sync->executables, fd, &key, process->pid, row->path, NULL,
				    &mapping->executable);
	if (err)
		close(fd);
	return err ? err : mapping_place(mapping);
}

bool gone_process_list(struct process_sync *sync, struct process *process,
		       struct process_mapping **mappings, uint32_t *count)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	struct process_mapping *listed;
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
	process_attributes_replay(sync->table, process, &maps, listed, program.code_address);
	metrics_add(METRIC_PROCESSES_REPLAYED, 1);
	*mappings = listed;
	*count = maps.count;
	return true;
}
