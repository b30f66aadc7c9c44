/* SPDX-License-Identifier: Apache-2.0 */
/* Reference counting for the languages' runtimes. Hostile memory is read elsewhere. */
#include "agent/processes/runtimes/process_runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/host/remote_memory.h"

/* Number of slots that an object may use, a cache line of them. */
enum { SET_SLOTS = 4 };

/* The runtime that a process and its forks share. */
struct shared_runtime {
	unsigned int references;
	/* NULL: it was attached to in this process. */
	struct runtime_home *home;
	struct hosted runtime;
	/* Its data is owned. */
	struct runtime process;
};

/* The memory of a process, which is also read for its forks. */
struct shared_memory {
	unsigned int references;
	struct runtime_home *home;
	struct hosted memory;
};

static void shared_unref(struct shared_runtime *shared)
{
	if (__atomic_sub_fetch(&shared->references, 1, __ATOMIC_ACQ_REL))
		return;
	if (shared->home)
		shared->home->ops->release_runtime(shared->home, &shared->runtime);
	free((void *)shared->process.data);
	free(shared);
}

static struct shared_memory *memory_ref(struct shared_memory *memory)
{
	__atomic_add_fetch(&memory->references, 1, __ATOMIC_RELAXED);
	return memory;
}

static void memory_unref(struct shared_memory *memory)
{
	if (__atomic_sub_fetch(&memory->references, 1, __ATOMIC_ACQ_REL))
		return;
	memory->home->ops->release_memory(memory->home, &memory->memory);
	free(memory);
}

static uint64_t next_id(void)
{
	static uint64_t last_id;

	return __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
}

struct process_runtime *process_runtime_create(uint64_t executable_id, uint32_t pid,
					       const struct language *language,
					       struct runtime_home *home, struct host_runtime *made)
{
	struct process_runtime *runtime = malloc(sizeof(*runtime));
	struct shared_runtime *shared = malloc(sizeof(*shared));
	struct shared_memory *own = malloc(sizeof(*own));

	if (!runtime || !shared || !own) {
		free(runtime);
		free(shared);
		free(own);
		home->ops->release_runtime(home, &made->runtime);
		home->ops->release_memory(home, &made->memory);
		free(made->data);
		return NULL;
	}
	*shared = (struct shared_runtime){
		.references = 1,
		.home = home,
		.runtime = made->runtime,
		.process = {
			.language = language,
			.data_bytes = made->data_bytes,
			.data = made->data,
			.may_grow = made->may_grow,
		},
	};
	*own = (struct shared_memory){ .references = 1, .home = home, .memory = made->memory };
	*runtime = (struct process_runtime){
		.references = 1,
		.pid = pid,
		.id = next_id(),
		.executable_id = executable_id,
		.shared = shared,
		.memory_count = 1,
		.memories = { own },
	};
	return runtime;
}

struct process_runtime *process_runtime_create_local(uint64_t executable_id, uint32_t pid,
						     const struct runtime *process)
{
	struct process_runtime *runtime = malloc(sizeof(*runtime));
	struct shared_runtime *shared = malloc(sizeof(*shared));
	void *data = malloc(process->data_bytes);

	if (!runtime || !shared || !data) {
		free(runtime);
		free(shared);
		free(data);
		return NULL;
	}
	memcpy(data, process->data, process->data_bytes);
	*shared = (struct shared_runtime){ .references = 1, .process = *process };
	shared->process.data = data;
	*runtime = (struct process_runtime){
		.references = 1,
		.pid = pid,
		.id = next_id(),
		.executable_id = executable_id,
		.shared = shared,
	};
	return runtime;
}

/* Adds the memory of @pid, a fork of the process of @runtime. */
static int add_memory(const struct process_runtime *runtime, const char *proc_root, uint32_t pid,
		      struct hosted *memory)
{
	struct shared_runtime *shared = runtime->shared;
	_cleanup_(close_fd) int opened = -1;
	int err = process_memory_open(proc_root, (pid_t)pid, &opened);

	return err ? err :
		     shared->home->ops->add_memory(shared->home, &shared->runtime, opened, memory);
}

int process_runtime_fork(const struct process_runtime *runtime, const char *proc_root, uint32_t pid,
			 struct process_runtime **fork)
{
	_cleanup_(free_pointer) struct process_runtime *created = malloc(sizeof(*created));
	_cleanup_(free_pointer) struct shared_memory *own = malloc(sizeof(*own));
	int err;

	if (!created || !own)
		return fail(-ENOMEM, "no memory for a runtime");
	*created = (struct process_runtime){
		.references = 1,
		.pid = pid,
		.id = next_id(),
		.executable_id = runtime->executable_id,
		.shared = runtime->shared,
	};
	if (runtime->shared->home) {
		*own = (struct shared_memory){ .references = 1, .home = runtime->shared->home };
		err = add_memory(runtime, proc_root, pid, &own->memory);
		if (err)
			return err;
		created->memories[created->memory_count++] = take_pointer(own);
		created->memories[created->memory_count++] = memory_ref(runtime->memories[0]);
		if (runtime->memory_count > 1)
			created->memories[created->memory_count++] =
				memory_ref(runtime->memories[runtime->memory_count - 1]);
	}
	__atomic_add_fetch(&created->shared->references, 1, __ATOMIC_RELAXED);
	*fork = take_pointer(created);
	return 0;
}

struct process_runtime *process_runtime_ref(struct process_runtime *runtime)
{
	__atomic_add_fetch(&runtime->references, 1, __ATOMIC_RELAXED);
	return runtime;
}

void process_runtime_unref(struct process_runtime *runtime)
{
	if (!runtime || __atomic_sub_fetch(&runtime->references, 1, __ATOMIC_ACQ_REL))
		return;
	shared_unref(runtime->shared);
	for (uint32_t i = 0; i < runtime->memory_count; i++)
		memory_unref(runtime->memories[i]);
	free(runtime);
}

const struct runtime *process_runtime_data(const struct process_runtime *runtime)
{
	return &runtime->shared->process;
}

bool process_runtime_is_lost(const struct process_runtime *runtime)
{
	const struct shared_runtime *shared = runtime->shared;

	return shared->home && shared->home->ops->is_lost(shared->home, &shared->runtime);
}

void process_runtime_note_hanging(struct process_runtime *runtime)
{
	__atomic_store_n(&runtime->is_hanging, true, __ATOMIC_RELAXED);
}

/*
 * Returns the slot of the object of @words. It is moved to the front of its set, and a new one replaces the
 * last of the set.
 */
static struct runtime_object *find_slot(struct process_runtime *runtime, const uint64_t words[2])
{
	struct runtime_object wanted = { .address = frame_address(words[0]),
					 .fingerprint = (uint32_t)words[1] };
	uint64_t mixed = (wanted.address ^ wanted.fingerprint) * 0x9e3779b97f4a7c15ULL;
	struct runtime_object *set =
		&runtime->objects[(mixed >> 32) % (RUNTIME_OBJECTS_MAX / SET_SLOTS) * SET_SLOTS];
	uint32_t i = 0;

	while (i < SET_SLOTS &&
	       (set[i].address != wanted.address || set[i].fingerprint != wanted.fingerprint))
		i++;
	if (i < SET_SLOTS)
		wanted = set[i];
	else
		i--;
	memmove(set + 1, set, i * sizeof(*set));
	set[0] = wanted;
	return set;
}

int process_runtime_name(struct process_runtime *runtime, struct name_query *queries,
			 uint32_t count, struct name_answers *answers)
{
	struct runtime_home *home = runtime->shared->home;
	struct hosted memories[ROOM_MEMORIES_MAX];
	int err;

	if (!home)
		return fail(-EBADMSG, "%s has native frames only",
			    runtime->shared->process.language->id->name);
	if (__atomic_load_n(&runtime->is_hanging, __ATOMIC_RELAXED))
		return fail(-EHOSTDOWN, "memory of process %u does not answer", runtime->pid);
	for (uint32_t i = 0; i < runtime->memory_count; i++)
		memories[i] = runtime->memories[i]->memory;
	for (uint32_t i = 0; i < count; i++)
		queries[i].object = find_slot(runtime, queries[i].words)->object;
	err = home->ops->name(home, &runtime->shared->runtime, memories, runtime->memory_count,
			      runtime->pid, queries, count, answers);
	if (err == -EHOSTDOWN)
		process_runtime_note_hanging(runtime);
	for (uint32_t i = 0; i < count && !err; i++)
		find_slot(runtime, queries[i].words)->object = answers->answers.items[i].object;
	return err;
}

struct runtime_set *runtime_set_create(struct process_runtime *const *runtimes, uint32_t count)
{
	struct runtime_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->references = 1;
	set->count = count;
	for (uint32_t i = 0; i < count; i++)
		set->runtimes[i] = process_runtime_ref(runtimes[i]);
	return set;
}

struct runtime_set *runtime_set_ref(struct runtime_set *set)
{
	if (set)
		__atomic_add_fetch(&set->references, 1, __ATOMIC_RELAXED);
	return set;
}

void runtime_set_unref(struct runtime_set *set)
{
	if (!set || __atomic_sub_fetch(&set->references, 1, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; i < set->count; i++)
		process_runtime_unref(set->runtimes[i]);
	free(set);
}
