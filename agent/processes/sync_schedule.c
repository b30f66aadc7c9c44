/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash of entries and a heap of times. An entry that becomes due earlier gets a second time in
 * the heap; the later one finds no entry and is skipped. One that is postponed goes back into the heap
 * when its first time comes.
 */
#include "agent/processes/sync_schedule.h"

#include <errno.h>
#include <stdlib.h>

void sync_schedule_deinit(struct sync_schedule *schedule)
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&schedule->by_pid, &cursor, NULL, &value))
		free((void *)(uintptr_t)value);
	hash_map_deinit(&schedule->by_pid);
	due_vector_deinit(&schedule->due);
}

static void swap(struct due_time *a, struct due_time *b)
{
	struct due_time held = *a;

	*a = *b;
	*b = held;
}

static int heap_push(struct due_vector *heap, uint64_t due_ns, uint32_t pid)
{
	size_t i = heap->count;
	int err = due_vector_push(heap, (struct due_time){ .due_ns = due_ns, .pid = pid });

	while (!err && i && heap->items[(i - 1) / 2].due_ns > heap->items[i].due_ns) {
		swap(&heap->items[i], &heap->items[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	return err;
}

static struct due_time heap_pop(struct due_vector *heap)
{
	struct due_time first = heap->items[0];
	size_t i = 0;

	heap->items[0] = heap->items[--heap->count];
	for (;;) {
		size_t least = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++)
			if (child < heap->count &&
			    heap->items[child].due_ns < heap->items[least].due_ns)
				least = child;
		if (least == i)
			return first;
		swap(&heap->items[i], &heap->items[least]);
		i = least;
	}
}

int sync_schedule_add(struct sync_schedule *schedule, const struct scheduled_sync *request)
{
	struct scheduled_sync *entry = hash_map_get_pointer(&schedule->by_pid, request->pid);
	bool is_earlier = !entry || request->due_ns < entry->due_ns;

	if (is_earlier && heap_push(&schedule->due, request->due_ns, request->pid))
		return -ENOMEM;
	if (!entry) {
		entry = malloc(sizeof(*entry));
		if (!entry || hash_map_set_pointer(&schedule->by_pid, request->pid, entry)) {
			free(entry);
			return -ENOMEM;
		}
		*entry = *request;
		return 0;
	}
	if (is_earlier)
		entry->due_ns = request->due_ns;
	entry->reasons |= request->reasons;
	if (request->touched_start < entry->touched_start)
		entry->touched_start = request->touched_start;
	if (request->touched_end > entry->touched_end)
		entry->touched_end = request->touched_end;
	return 0;
}

void sync_schedule_postpone(struct sync_schedule *schedule, uint32_t pid, uint32_t reasons,
			    uint64_t due_ns)
{
	struct scheduled_sync *entry = hash_map_get_pointer(&schedule->by_pid, pid);

	if (entry && !(entry->reasons & ~reasons) && entry->due_ns < due_ns)
		entry->due_ns = due_ns;
}

uint64_t sync_schedule_next_due(const struct sync_schedule *schedule)
{
	return schedule->due.count ? schedule->due.items[0].due_ns : UINT64_MAX;
}

bool sync_schedule_pop(struct sync_schedule *schedule, uint64_t now_ns,
		       struct scheduled_sync *entry)
{
	while (sync_schedule_next_due(schedule) <= now_ns) {
		struct due_time due = heap_pop(&schedule->due);
		struct scheduled_sync *found = hash_map_get_pointer(&schedule->by_pid, due.pid);

		if (!found)
			continue;
		/* Back to its new time; without memory it is early rather than lost. */
		if (found->due_ns > now_ns && !heap_push(&schedule->due, found->due_ns, due.pid))
			continue;
		*entry = *found;
		hash_map_remove(&schedule->by_pid, due.pid, NULL);
		free(found);
		return true;
	}
	return false;
}

size_t sync_schedule_count(const struct sync_schedule *schedule)
{
	return schedule->by_pid.count;
}
