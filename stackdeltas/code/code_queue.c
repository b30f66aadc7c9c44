/* SPDX-License-Identifier: Apache-2.0 */
/* A stack, and a heap by address. */
#include "stackdeltas/code/code_queue.h"

static int heap_push(struct code_block_list *heap, uint32_t block)
{
	size_t i = heap->count;
	int error = code_block_list_push(heap, block);

	if (error)
		return error;
	for (; i && heap->items[(i - 1) / 2] > block; i = (i - 1) / 2)
		heap->items[i] = heap->items[(i - 1) / 2];
	heap->items[i] = block;
	return 0;
}

static uint32_t heap_pop(struct code_block_list *heap)
{
	uint32_t first = heap->items[0], last = heap->items[--heap->count];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < heap->count) {
		if (child + 1 < heap->count && heap->items[child + 1] < heap->items[child])
			child++;
		if (heap->items[child] >= last)
			break;
		heap->items[i] = heap->items[child];
		i = child;
	}
	heap->items[i] = last;
	return first;
}

int code_queue_add(struct code_queue *queue, uint32_t block, bool is_behind_call)
{
	return is_behind_call ? heap_push(&queue->returned, block) :
				code_block_list_push(&queue->jumped, block);
}

bool code_queue_take(struct code_queue *queue, uint32_t *block)
{
	if (queue->jumped.count)
		*block = queue->jumped.items[--queue->jumped.count];
	else if (queue->returned.count)
		*block = heap_pop(&queue->returned);
	else
		return false;
	return true;
}

void code_queue_deinit(struct code_queue *queue)
{
	code_block_list_deinit(&queue->jumped);
	code_block_list_deinit(&queue->returned);
}
