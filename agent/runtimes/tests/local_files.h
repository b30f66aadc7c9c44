/* SPDX-License-Identifier: Apache-2.0 */
/** A home for files in the test's own process, which can be made to lose them. Any thread. */
#ifndef AGENT_RUNTIMES_TESTS_LOCAL_FILES_H
#define AGENT_RUNTIMES_TESTS_LOCAL_FILES_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "agent/runtimes/file_room.h"

struct local_files {
	struct file_home home;
	pthread_mutex_t lock;
	struct file_room room;
	uint64_t last_id;
	/** Files with a number up to this one are lost. */
	uint64_t lost_id;
	uint32_t held_count;
	uint32_t copy_count;
};

struct local_file {
	struct held_file held;
	struct local_files *files;
	uint64_t id;
};

static inline bool local_file_is_lost(const struct held_file *held)
{
	const struct local_file *file = (const struct local_file *)held;

	return file->id <= file->files->lost_id;
}

static inline int local_file_copy(struct held_file *held, int *fd)
{
	struct local_file *file = (struct local_file *)held;
	int err;

	if (local_file_is_lost(held))
		return -ESTALE;
	pthread_mutex_lock(&file->files->lock);
	file->files->copy_count++;
	err = file_room_copy(&file->files->room, file->id, fd);
	pthread_mutex_unlock(&file->files->lock);
	return err;
}

static inline void local_file_release(struct held_file *held)
{
	struct local_file *file = (struct local_file *)held;

	pthread_mutex_lock(&file->files->lock);
	file_room_close(&file->files->room, file->id);
	file->files->held_count--;
	pthread_mutex_unlock(&file->files->lock);
	free(file);
}

static inline int local_files_open(struct file_home *home, uid_t uid, uint32_t pid,
				   const struct proc_mapping *mapping, struct held_file **held,
				   struct file_key *key)
{
	static const struct held_file_ops ops = {
		.copy = local_file_copy,
		.is_lost = local_file_is_lost,
		.release = local_file_release,
	};
	struct local_files *files = (struct local_files *)home;
	struct local_file *file = calloc(1, sizeof(*file));
	int err;

	(void)uid;
	pthread_mutex_lock(&files->lock);
	*file = (struct local_file){
		.held = { .ops = &ops, .references = 1 },
		.files = files,
		.id = ++files->last_id,
	};
	err = file_room_open(&files->room, file->id, pid, mapping, key);
	files->held_count += !err;
	pthread_mutex_unlock(&files->lock);
	if (err) {
		free(file);
		return err;
	}
	*held = &file->held;
	return 0;
}

static inline int local_files_read(struct file_home *home, uid_t uid, const struct code_file *file,
				   uint64_t offset, void *bytes, uint32_t size,
				   struct file_key *key, uint32_t *count)
{
	(void)uid;
	return file_room_read(&((struct local_files *)home)->room, file, offset, bytes, size, key,
			      count);
}

static inline void local_files_expire(struct file_home *home, uint64_t now_ns)
{
	(void)home;
	(void)now_ns;
}

static inline void local_files_stop(struct file_home *home)
{
	(void)home;
}

static inline void local_files_init(struct local_files *files, const char *proc_root)
{
	static const struct file_home_ops ops = {
		.open = local_files_open,
		.read = local_files_read,
		.expire = local_files_expire,
		.stop = local_files_stop,
	};

	*files = (struct local_files){ .home.ops = &ops, .room.proc_root = proc_root };
	pthread_mutex_init(&files->lock, NULL);
}

static inline void local_files_deinit(struct local_files *files)
{
	file_room_deinit(&files->room);
	pthread_mutex_destroy(&files->lock);
}

#endif
