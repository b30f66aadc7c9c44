/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A home for runtimes of the fake language in the test's own process, which can be made to lose them or not to
 * answer. Counters are atomic where threads run.
 */
#ifndef AGENT_RUNTIMES_TESTS_LOCAL_HOME_H
#define AGENT_RUNTIMES_TESTS_LOCAL_HOME_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "agent/runtimes/runtime_home.h"
#include "agent/runtimes/runtime_room.h"
#include "agent/runtimes/tests/fake_language.h"
#include "agent/runtimes/tests/file_memory.h"

struct local_home {
	struct runtime_home home;
	struct runtime_file file;
	struct runtime_room *room;
	uint64_t last_id;
	/** Runtimes and memories with ids up to this one are lost. */
	uint64_t lost_id;
	/** Not 0: requests about this process get no answer. */
	uint32_t hanging_pid;
	/** Questions for names. */
	uint32_t round_count;
	uint32_t query_count;
	/** Called before names are given; may be NULL. */
	void (*asked)(void *context);
	void *asked_context;
	/** Memories and runtimes that live in it. */
	uint32_t memory_count;
	uint32_t runtime_count;
	uid_t uid;
	bool is_stopped;
};

static inline bool local_home_is_lost(struct runtime_home *home, const struct hosted *hosted)
{
	return hosted->id <= ((struct local_home *)home)->lost_id;
}

/** All that lives there is lost. */
static inline void local_home_lose(struct local_home *home)
{
	home->lost_id = home->last_id;
}

static inline uint64_t local_home_new_id(struct local_home *home)
{
	return __atomic_add_fetch(&home->last_id, 1, __ATOMIC_RELAXED);
}

static inline int local_home_add(struct local_home *home, int fd, struct hosted *memory)
{
	memory->id = local_home_new_id(home);
	__atomic_add_fetch(&home->memory_count, 1, __ATOMIC_RELAXED);
	return runtime_room_add_memory(home->room, memory->id, file_memory_create(fd));
}

static inline void local_home_release_memory(struct runtime_home *home, struct hosted *memory)
{
	struct local_home *local = (struct local_home *)home;

	__atomic_sub_fetch(&local->memory_count, 1, __ATOMIC_RELAXED);
	runtime_room_remove_memory(local->room, memory->id);
}

static inline void local_home_release_runtime(struct runtime_home *home, struct hosted *runtime)
{
	struct local_home *local = (struct local_home *)home;

	__atomic_sub_fetch(&local->runtime_count, 1, __ATOMIC_RELAXED);
	runtime_room_remove_runtime(local->room, runtime->id);
}

static inline int local_home_attach(struct runtime_home *home, const struct host_target *target,
				    struct host_runtime *runtime)
{
	struct local_home *local = (struct local_home *)home;
	struct room_target room_target = {
		.pid = target->pid,
		.bias = target->bias,
		.modules = target->modules,
		.module_count = target->module_count,
	};
	struct host_runtime made = { 0 };
	const struct runtime *process;
	int err;

	local->uid = target->uid;
	if (target->pid == local->hanging_pid) {
		local_home_lose(local);
		return -EHOSTDOWN;
	}
	assert_int_equal(local_home_add(local, target->memory, &made.memory), 0);
	room_target.memory_id = made.memory.id;
	made.runtime.id = local_home_new_id(local);
	err = runtime_room_attach(local->room, made.runtime.id, &local->file, &room_target,
				  &process);
	if (err) {
		local_home_release_memory(home, &made.memory);
		return err;
	}
	__atomic_add_fetch(&local->runtime_count, 1, __ATOMIC_RELAXED);
	made.data_bytes = process->data_bytes;
	made.data = malloc(process->data_bytes);
	memcpy(made.data, process->data, process->data_bytes);
	made.may_grow = process->may_grow;
	*runtime = made;
	return 0;
}

static inline int local_home_add_memory(struct runtime_home *home, const struct hosted *runtime,
					int fd, struct hosted *memory)
{
	return local_home_is_lost(home, runtime) ?
		       -ENOTCONN :
		       local_home_add((struct local_home *)home, fd, memory);
}

static inline int local_home_name(struct runtime_home *home, const struct hosted *runtime,
				  const struct hosted *memories, uint32_t memory_count,
				  uint32_t pid, const struct name_query *queries,
				  uint32_t query_count, struct name_answers *answers)
{
	struct local_home *local = (struct local_home *)home;
	struct room_names names = {
		.runtime_id = runtime->id,
		.memory_count = memory_count,
		.queries = queries,
		.query_count = query_count,
	};

	local->round_count++;
	local->query_count += query_count;
	if (local->asked)
		local->asked(local->asked_context);
	name_answers_clear(answers);
	if (local_home_is_lost(home, runtime))
		return -ENOTCONN;
	if (pid == local->hanging_pid) {
		local_home_lose(local);
		return -EHOSTDOWN;
	}
	for (uint32_t i = 0; i < memory_count; i++)
		names.memory_ids[i] = memories[i].id;
	return runtime_room_name(local->room, &names, 1, answers);
}

static inline int local_home_read(struct runtime_home *home, uid_t uid, uint32_t pid, int fd,
				  const struct memory_part *parts, uint32_t count, void *bytes)
{
	struct remote_memory *memory;
	char *to = bytes;
	int err = 0;

	(void)uid;
	if (pid == ((struct local_home *)home)->hanging_pid)
		return -EHOSTDOWN;
	memory = file_memory_create(fd);
	for (uint32_t i = 0; i < count && !err; i++) {
		err = remote_memory_read(memory, parts[i].address, to, parts[i].bytes);
		to += parts[i].bytes;
	}
	remote_memory_destroy(memory);
	return err;
}

static inline void local_home_stop_attaching(struct runtime_home *home)
{
	((struct local_home *)home)->is_stopped = true;
}

static inline void local_home_init(struct local_home *home)
{
	static const struct runtime_home_ops ops = {
		.attach = local_home_attach,
		.add_memory = local_home_add_memory,
		.name = local_home_name,
		.read = local_home_read,
		.release_runtime = local_home_release_runtime,
		.release_memory = local_home_release_memory,
		.is_lost = local_home_is_lost,
		.stop_attaching = local_home_stop_attaching,
	};

	*home = (struct local_home){
		.home = { .ops = &ops },
		.file.language = &language_of_fakes,
		.room = runtime_room_create(),
	};
	assert_non_null(home->room);
}

static inline void local_home_deinit(struct local_home *home)
{
	assert_int_equal(home->runtime_count, 0);
	assert_int_equal(home->memory_count, 0);
	runtime_room_destroy(home->room);
}

#endif
