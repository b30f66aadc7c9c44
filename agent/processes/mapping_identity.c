/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/mapping_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/processes/copied_text.h"
#include "ebpf/abi/frame.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/host/judged_path.h"
#include "lib/host/proc_info.h"

enum {
	/* Limit of comparisons of anonymous memory with the file text that it replaced. */
	COPY_MAX_LOOKS = 4,
	/*
	 * Limit of the files next to a process's anonymous memory that are opened in vain: runtimes that generate code map
	 * such memory again and again.
	 */
	BESIDE_MAX_OPENS = 16,
};

/*
 * All 64-bit programs have the same vDSO as ours, so the memory of the process need not be read. If a process
 * has changed its own, only its own stacks are wrong.
 */
static int identify_vdso(struct process_sync *sync, struct process_mapping *mapping)
{
	if (mapping->end - mapping->start != sync->vdso_bytes)
		return fail(-EOPNOTSUPP, "a vDSO of %llu bytes",
			    (unsigned long long)(mapping->end - mapping->start));
	return executable_cache_open_image(sync->executables, sync->vdso, sync->vdso_bytes,
					   "[vdso]", &mapping->executable);
}

static bool is_local(void *context, pid_t pid, uint32_t major_number, uint32_t minor_number)
{
	struct process_sync *sync = context;

	return local_devices_contain(&sync->devices, sync->proc_root, pid, major_number,
				     minor_number, clock_monotonic_ns());
}

/* Opens the root of a thread; that of a leader that has exited leads nowhere. */
static int open_root(void *fd, pid_t tid, const char *path)
{
	int opened = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)tid;
	if (opened < 0)
		return -ESRCH;
	*(int *)fd = opened;
	return 0;
}

/* Opens the file at @path if it is the file of @row. */
static bool open_if_same(const struct judged_root *root, const char *path,
			 const struct proc_mapping *row, int *fd, struct file_key *key)
{
	_cleanup_(close_fd) int opened = -1;
	struct file_key found;

	if (judged_path_open(root, path, &opened, &found) || found.inode != row->inode ||
	    found.device != makedev(row->device_major, row->device_minor))
		return false;
	*fd = take_fd(opened);
	*key = found;
	return true;
}

int mapping_open_by_path(struct process_sync *sync, pid_t pid, const struct proc_mapping *row,
			 int *fd, struct file_key *key)
{
	const struct path_judge judge = { .may_read = is_local, .context = sync };
	struct judged_root root = { .pid = pid, .judge = &judge };
	_cleanup_(close_fd) int root_fd = -1;
	char path[PATH_MAX];

	if (!proc_try_threads(sync->proc_root, pid, "root", open_root, &root_fd) &&
	    judged_path_may_read(&judge, pid, root_fd)) {
		root.fd = root_fd;
		if (open_if_same(&root, row->path, row, fd, key))
			return 0;
		/* The mark " (deleted)" may be part of the real name. */
		if (row->is_deleted &&
		    snprintf(path, sizeof(path), "%s (deleted)", row->path) < (int)sizeof(path) &&
		    open_if_same(&root, path, row, fd, key))
			return 0;
	}
	return fail(-ENOENT, "it is not at its path");
}

static int open_file(struct process_sync *sync, const struct process *process,
		     const struct proc_mapping *row, const struct mapped_key *known,
		     struct executable **executable)
{
	struct file_key key;
	int fd, err;

	if (!known->err) {
		*executable = executable_cache_find(sync->executables, &known->key);
		if (*executable && !executable_lacks_file(*executable))
			return 0;
		executable_unref(sync->executables, *executable);
		/* It may be that the file cannot be opened. */
		*executable = NULL;
	}
	err = sync->reads->ops->open_file(sync->reads, (pid_t)process->pid, row, &fd, &key);
	if (err == -EMFILE || err == -ENFILE) {
		/* Frees descriptors of files that nobody maps any more. */
		executable_cache_trim(sync->executables, 0);
		err = sync->reads->ops->open_file(sync->reads, (pid_t)process->pid, row, &fd, &key);
	}
	/* There is no right to read map_files, or the mapping has just gone. */
	if (err == -EPERM || err == -EACCES || err == -ENOENT || err == -ESRCH)
		err = mapping_open_by_path(sync, (pid_t)process->pid, row, &fd, &key);
	if (err)
		return err;
	err = executable_cache_open(sync->executables, fd, &key, process->pid, row->path, NULL,
				    executable);
	if (err)
		close(fd);
	return err;
}

bool mapping_is_local(struct process_sync *sync, const struct process *process,
		      const struct proc_mapping *row)
{
	return local_devices_contain(&sync->devices, sync->proc_root, (pid_t)process->pid,
				     row->device_major, row->device_minor, process->read_ns);
}

static int identify_file(struct process_sync *sync, const struct process *process,
			 const struct proc_mapping *row, const struct mapped_key *key,
			 struct process_mapping *mapping)
{
	int err;

	if (!mapping_is_local(sync, process, row)) {
		mapping->is_requested = true;
		sync->request_file(sync->context, process, row);
		return 0;
	}
	err = open_file(sync, process, row, key, &mapping->executable);
	/* The mapping is a driver's memory, without unwind tables. */
	if (err == -EOPNOTSUPP) {
		mapping->executable_id = EXECUTABLE_ID_ANONYMOUS;
		return 0;
	}
	return err;
}

/* The nearest mapping of a file from @row on in steps of @step; NULL: there is none. */
static const struct proc_mapping *next_part(const struct proc_maps *maps, uint32_t row, int step)
{
	do
		row += step;
	while (row < maps->count && !maps->rows[row].inode);
	return row < maps->count ? &maps->rows[row] : NULL;
}

/*
 * Finds the file whose text may be in the anonymous memory @row, by a mapping of another part of the file next to it.
 * @executable gets a reference if one is found.
 */
static bool find_beside(struct process_sync *sync, struct process *process,
			const struct proc_maps *maps, uint32_t row, struct executable **executable,
			struct copied_text *text)
{
	const struct proc_mapping *memory = &maps->rows[row];
	const struct mapped_key no_key = { .err = -EAGAIN };
	struct executable *opened;

	for (int step = -1; step <= 1; step += 2) {
		const struct proc_mapping *part = next_part(maps, row, step);

		if (!part || process->beside_count >= BESIDE_MAX_OPENS ||
		    !mapping_is_local(sync, process, part))
			continue;
		if (!open_file(sync, process, part, &no_key, &opened)) {
			if (copied_text_find_beside(opened, part, memory->start, memory->end,
						    text)) {
				*executable = opened;
				return true;
			}
			executable_unref(sync->executables, opened);
		}
		process->beside_count++;
	}
	return false;
}

/*
 * Anonymous memory counts as a file's text if the file was mapped there before, or other parts of it are mapped where they
 * belong, and the bytes are still equal. A process may fill a copy only after mapping it, so the bytes are compared again
 * a few times.
 */
static void identify_anonymous(struct process_sync *sync, struct process *process,
			       const struct proc_maps *maps, uint32_t row,
			       const struct process_mapping *known, uint32_t known_count,
			       struct process_mapping *mapping)
{
	struct executable *beside = NULL;
	struct copied_text text;
	uint32_t look_count = 0;
	bool is_equal;
	int err;

	mapping->executable_id = EXECUTABLE_ID_ANONYMOUS;
	if (!copied_text_find(known, known_count, mapping->start, mapping->end, &text) &&
	    !find_beside(sync, process, maps, row, &beside, &text))
		return;
	for (uint32_t i = 0; i < known_count; i++)
		if (known[i].executable == text.executable && known[i].look_count > look_count &&
		    known[i].start < mapping->end && known[i].end > mapping->start)
			look_count = known[i].look_count;
	err = copied_text_is_equal(&text, sync->home, sync->proc_root, process->pid, &is_equal);
	/* This was no comparison. */
	if (err == -EAGAIN && look_count)
		look_count--;
	if (is_equal)
		mapping->executable_id = text.executable->id;
	else if (look_count < COPY_MAX_LOOKS)
		mapping->look_count = look_count + 1;
	if (is_equal || look_count < COPY_MAX_LOOKS) {
		mapping->executable = executable_ref(sync->executables, text.executable);
		mapping->bias = text.bias;
	}
	executable_unref(sync->executables, beside);
}

int mapping_set_bias(struct process_mapping *mapping)
{
	const struct executable *executable = mapping->executable;

	if (executable->id >= EXECUTABLE_ID_FIRST &&
	    executable_mapping_bias(executable, mapping->start, mapping->end, mapping->offset,
				    &mapping->bias))
		return -ENOENT;
	mapping->executable_id = executable->id;
	return 0;
}

void mapping_identify(struct process_sync *sync, struct process *process,
		      const struct proc_maps *maps, uint32_t index, const struct mapped_key *key,
		      const struct process_mapping *known, uint32_t known_count,
		      struct process_mapping *mapping)
{
	const struct proc_mapping *row = &maps->rows[index];
	int err = 0;

	if (row->inode)
		err = identify_file(sync, process, row, key, mapping);
	else if (!strcmp(row->path, "[vdso]"))
		err = identify_vdso(sync, mapping);
	else if (!strcmp(row->path, "[uprobes]"))
		mapping->executable_id = EXECUTABLE_ID_UPROBES;
	else if (strcmp(row->path, "[vsyscall]") != 0)
		identify_anonymous(sync, process, maps, index, known, known_count, mapping);
	if (!err && mapping->executable && !mapping->executable_id)
		err = mapping_set_bias(mapping);
	if (err)
		log_debug("process %u: %s: %s", process->pid, row->path, error_text());
}
