/* SPDX-License-Identifier: Apache-2.0 */
/* Stores names and labels of samples: many small strings that are all freed at once. */

#include "reporter/byte_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *chunks_add(struct chunk_vector *chunks, size_t bytes)
{
	void *chunk;

	if (chunk_vector_reserve(chunks, chunks->count + 1))
		return NULL;
	chunk = malloc(bytes);
	if (chunk)
		chunk_vector_push(chunks, chunk);
	return chunk;
}

void chunks_free(struct chunk_vector *chunks)
{
	for (size_t i = 0; i < chunks->count; i++)
		free(chunks->items[i]);
	chunk_vector_deinit(chunks);
}

void byte_pool_deinit(struct byte_pool *pool)
{
	id_index_deinit(&pool->index);
	pooled_string_vector_deinit(&pool->strings);
	chunks_free(&pool->chunks);
	pool->end = NULL;
	pool->room = 0;
}

size_t byte_pool_cost(size_t count)
{
	return count + sizeof(struct pooled_string) + ID_INDEX_ENTRY_BYTES;
}

static bool is_wanted(const void *context, uint32_t id, const void *key)
{
	const struct byte_pool *pool = context;
	const struct pooled_string *string = &pool->strings.items[id];
	const struct pooled_string *wanted = key;

	return string->count == wanted->count &&
	       !memcmp(string->bytes, wanted->bytes, wanted->count);
}

bool byte_pool_find(const struct byte_pool *pool, const void *bytes, size_t count, uint64_t hash,
		    uint32_t *id)
{
	const struct pooled_string wanted = { bytes, count };

	return id_index_find(&pool->index, hash, is_wanted, pool, &wanted, id);
}

int byte_pool_reserve(struct byte_pool *pool, size_t count)
{
	size_t chunk_bytes = count > CHUNK_BYTES ? count : CHUNK_BYTES;
	int err = id_index_reserve(&pool->index);
	char *chunk;

	if (!err)
		err = pooled_string_vector_reserve(&pool->strings, pool->strings.count + 1);
	if (err || count <= pool->room)
		return err;
	chunk = chunks_add(&pool->chunks, chunk_bytes);
	if (!chunk)
		return -ENOMEM;
	pool->end = chunk;
	pool->room = chunk_bytes;
	return 0;
}

uint32_t byte_pool_add(struct byte_pool *pool, const void *bytes, size_t count, uint64_t hash)
{
	const struct pooled_string string = { memcpy(pool->end, bytes, count), count };
	uint32_t id = pool->strings.count;

	id_index_add(&pool->index, hash, id);
	pooled_string_vector_push(&pool->strings, string);
	pool->end += count;
	pool->room -= count;
	return id;
}
