/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/runtime_room.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/runtimes/read_budget.h"
#include "agent/runtimes/runtime_code.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/host/remote_memory.h"

struct room_memory {
	struct remote_memory *memory;
	struct read_budget budget;
};

struct runtime_room {
	/* Lock of the maps; their values are used by one thread. */
	pthread_mutex_t lock;
	struct hash_map runtimes;
	struct hash_map memories;
};

struct runtime_room *runtime_room_create(void)
{
	struct runtime_room *room = calloc(1, sizeof(*room));

	if (room)
		pthread_mutex_init(&room->lock, NULL);
	return room;
}

static void memory_destroy(struct room_memory *memory)
{
	if (!memory)
		return;
	remote_memory_destroy(memory->memory);
	free(memory);
}

static void runtime_destroy(struct runtime *process)
{
	if (process)
		process->language->ops->detach(process);
}

void runtime_room_destroy(struct runtime_room *room)
{
	size_t cursor = 0;
	uint64_t value;

	if (!room)
		return;
	while (hash_map_next(&room->runtimes, &cursor, NULL, &value))
		runtime_destroy((void *)(uintptr_t)value);
	cursor = 0;
	while (hash_map_next(&room->memories, &cursor, NULL, &value))
		memory_destroy((void *)(uintptr_t)value);
	hash_map_deinit(&room->runtimes);
	hash_map_deinit(&room->memories);
	pthread_mutex_destroy(&room->lock);
	free(room);
}

/* NULL if there is none. */
static void *find(struct runtime_room *room, const struct hash_map *map, uint64_t id)
{
	void *found;

	pthread_mutex_lock(&room->lock);
	found = hash_map_get_pointer(map, id);
	pthread_mutex_unlock(&room->lock);
	return found;
}

static int put(struct runtime_room *room, struct hash_map *map, uint64_t id, const void *value)
{
	int err;

	pthread_mutex_lock(&room->lock);
	err = hash_map_set_pointer(map, id, value);
	pthread_mutex_unlock(&room->lock);
	return err;
}

static void *take(struct runtime_room *room, struct hash_map *map, uint64_t id)
{
	uint64_t value = 0;

	pthread_mutex_lock(&room->lock);
	hash_map_remove(map, id, &value);
	pthread_mutex_unlock(&room->lock);
	return (void *)(uintptr_t)value;
}

int runtime_room_add_memory(struct runtime_room *room, uint64_t memory_id,
			    struct remote_memory *memory)
{
	struct room_memory *added = memory ? calloc(1, sizeof(*added)) : NULL;

	if (!added) {
		remote_memory_destroy(memory);
		return -ENOMEM;
	}
	added->memory = memory;
	if (put(room, &room->memories, memory_id, added)) {
		memory_destroy(added);
		return -ENOMEM;
	}
	return 0;
}

void runtime_room_remove_memory(struct runtime_room *room, uint64_t memory_id)
{
	memory_destroy(take(room, &room->memories, memory_id));
}

int runtime_room_attach(struct runtime_room *room, uint64_t runtime_id,
			const struct runtime_file *file, const struct room_target *target,
			const struct runtime **process)
{
	struct room_memory *memory = find(room, &room->memories, target->memory_id);
	struct attach_target attached = {
		.pid = target->pid,
		.bias = target->bias,
		.modules = target->modules,
		.module_count = target->module_count,
		.analyse = runtime_code_analyse,
		.find_jump = runtime_code_find_jump,
	};
	struct runtime *made;
	int err;

	if (!memory)
		return fail(-ESRCH, "the process is gone");
	attached.memory = memory->memory;
	err = file->language->ops->attach(file, &attached, &made);
	if (err)
		return err;
	if (!remote_memory_is_same(memory->memory)) {
		runtime_destroy(made);
		return fail(-ESRCH, "the process is gone");
	}
	if (put(room, &room->runtimes, runtime_id, made)) {
		runtime_destroy(made);
		return fail(-ENOMEM, "no memory for a runtime");
	}
	*process = made;
	return 0;
}

void runtime_room_remove_runtime(struct runtime_room *room, uint64_t runtime_id)
{
	runtime_destroy(take(room, &room->runtimes, runtime_id));
}

/* Tries the memories in turn; fingerprints show which one has the objects. */
static int symbolize(struct runtime *process, struct room_memory *const *memories,
		     uint32_t memory_count, const struct name_query *query, uint32_t *object,
		     struct interpreted_frames *frames)
{
	int err = -ESRCH;

	for (uint32_t i = 0; i < memory_count && err == -ESRCH; i++) {
		struct budgeted_memory memory;

		if (!memories[i])
			continue;
		budgeted_memory_init(&memory, memories[i]->memory, &memories[0]->budget);
		err = process->language->ops->symbolize(process, &memory.memory, query->words,
							object, frames);
	}
	return err;
}

static int name_all(struct runtime *process, struct room_memory *const *memories,
		    const struct room_names *names, struct name_answers *answers)
{
	bool is_there = process && process->language->ops->symbolize && memories[0];
	struct interpreted_frames frames;
	int err = 0;

	name_answers_clear(answers);
	for (uint32_t i = 0; i < names->query_count && !err; i++) {
		uint32_t object = names->queries[i].object;
		int answer = is_there ? symbolize(process, memories, names->memory_count,
						  &names->queries[i], &object, &frames) :
					-ESRCH;

		err = name_answers_add(answers, answer, object, &frames);
	}
	return err;
}

static bool are_same(struct room_memory *const *memories, uint32_t count)
{
	bool are_same = true;

	for (uint32_t i = 0; i < count; i++)
		are_same &= !memories[i] || remote_memory_is_same(memories[i]->memory);
	return are_same;
}

int runtime_room_name(struct runtime_room *room, const struct room_names *names, uint64_t now_ns,
		      struct name_answers *answers)
{
	struct runtime *process = find(room, &room->runtimes, names->runtime_id);
	struct room_memory *memories[ROOM_MEMORIES_MAX] = { NULL };
	int err;

	for (uint32_t i = 0; i < names->memory_count; i++)
		memories[i] = find(room, &room->memories, names->memory_ids[i]);
	if (memories[0])
		read_budget_begin_stack(&memories[0]->budget, now_ns);
	do
		err = name_all(process, memories, names, answers);
	while (!err && !are_same(memories, names->memory_count));
	return err;
}
