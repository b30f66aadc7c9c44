/* SPDX-License-Identifier: Apache-2.0 */
/* Reference counts around what the languages make, which looks at hostile memory by itself. */
#include "agent/processes/process_runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/error.h"

/* Of the places of a runtime's objects, those that an object may have; a cache line of them. */
enum { SET_PLACES = 4 };

/* Of a process and its forks. */
struct shared_runtime {
	unsigned int references;
	struct interpreter_process *process;
};

/* Of a process, and of its forks when it is read for them. */
struct shared_memory {
	unsigned int references;
	struct process_memory memory;
};

static void detach(struct interpreter_process *process)
{
	process->interpreter->ops->detach(process);
}

static void shared_unref(struct shared_runtime *shared)
{
	if (__atomic_sub_fetch(&shared->references, 1, __ATOMIC_ACQ_REL))
		return;
	detach(shared->process);
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
	process_memory_deinit(&memory->memory);
	free(memory);
}

struct process_runtime *process_runtime_create(uint64_t executable_id,
					       struct interpreter_process *process,
					       struct process_memory *memory)
{
	struct process_runtime *runtime = malloc(sizeof(*runtime));
	struct shared_runtime *shared = malloc(sizeof(*shared));
	struct shared_memory *own = malloc(sizeof(*own));

	if (!runtime || !shared || !own) {
		free(runtime);
		free(shared);
		free(own);
		detach(process);
		process_memory_deinit(memory);
		return NULL;
	}
	*shared = (struct shared_runtime){ .references = 1, .process = process };
	*own = (struct shared_memory){ .references = 1, .memory = *memory };
	*runtime = (struct process_runtime){
		.references = 1,
		.executable_id = executable_id,
		.shared = shared,
		.memory_count = 1,
		.memories = { own },
	};
	return runtime;
}

int process_runtime_fork(const struct process_runtime *runtime, const char *proc_root, uint32_t pid,
			 struct process_runtime **fork)
{
	_cleanup_(free_pointer) struct process_runtime *created = malloc(sizeof(*created));
	_cleanup_(free_pointer) struct shared_memory *own = malloc(sizeof(*own));
	int err;

	if (!created || !own)
		return fail(-ENOMEM, "no memory for a runtime");
	*own = (struct shared_memory){ .references = 1 };
	*created = (struct process_runtime){
		.references = 1,
		.executable_id = runtime->executable_id,
		.shared = runtime->shared,
		.memory_count = 1,
		.memories = { own },
	};
	err = process_memory_init(&own->memory, proc_root, (pid_t)pid);
	if (err)
		return err;
	created->memories[created->memory_count++] = memory_ref(runtime->memories[0]);
	if (runtime->memory_count > 1)
		created->memories[created->memory_count++] =
			memory_ref(runtime->memories[runtime->memory_count - 1]);
	__atomic_add_fetch(&created->shared->references, 1, __ATOMIC_RELAXED);
	take_pointer(own);
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

const struct interpreter_process *process_runtime_data(const struct process_runtime *runtime)
{
	return runtime->shared->process;
}

/* The place of the object of @words, now its own: the first of its set, whose last one goes. */
static struct runtime_object *find_place(struct process_runtime *runtime, const uint64_t words[2])
{
	struct runtime_object wanted = { .address = frame_address(words[0]),
					 .fingerprint = (uint32_t)words[1] };
	uint64_t mixed = (wanted.address ^ wanted.fingerprint) * 0x9e3779b97f4a7c15ULL;
	struct runtime_object *set =
		&runtime->objects[(mixed >> 32) % (RUNTIME_OBJECTS_MAX / SET_PLACES) * SET_PLACES];
	uint32_t i = 0;

	while (i < SET_PLACES &&
	       (set[i].address != wanted.address || set[i].fingerprint != wanted.fingerprint))
		i++;
	if (i < SET_PLACES)
		wanted = set[i];
	else
		i--;
	memmove(set + 1, set, i * sizeof(*set));
	set[0] = wanted;
	return set;
}

void process_runtime_begin_stack(struct process_runtime *runtime, uint64_t now_ns)
{
	read_budget_begin_stack(&runtime->budget, now_ns);
}

int process_runtime_symbolize(struct process_runtime *runtime, const uint64_t words[2],
			      struct interpreted_frames *frames)
{
	struct interpreter_process *process = runtime->shared->process;
	struct runtime_object *place = find_place(runtime, words);
	int err = -ESRCH;

	if (!process->interpreter->ops->symbolize)
		return fail(-EBADMSG, "%s has native frames only", process->interpreter->name);
	for (uint32_t i = 0; i < runtime->memory_count && err == -ESRCH; i++) {
		struct budgeted_memory memory;

		budgeted_memory_init(&memory, &runtime->memories[i]->memory.memory,
				     &runtime->budget);
		err = process->interpreter->ops->symbolize(process, &memory.memory, words,
							   &place->object, frames);
	}
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
