/* SPDX-License-Identifier: Apache-2.0 */
/* Stores names and labels of samples: many small strings that are all freed at once. */

#include "reporter/kept_bytes.h"

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

void kept_bytes_deinit(struct kept_bytes *kept)
{
	number_index_deinit(&kept->index);
	kept_string_vector_deinit(&kept->strings);
	chunks_free(&kept->chunks);
	kept->end = NULL;
	kept->room = 0;
}

size_t kept_bytes_cost(size_t count)
{
	return count + sizeof(struct kept_string) + NUMBER_INDEX_ENTRY_BYTES;
}

static bool is_wanted(const void *context, uint32_t number, const void *key)
{
	const struct kept_bytes *kept = context;
	const struct kept_string *string = &kept->strings.items[number];
	const struct kept_string *wanted = key;

	return string->count == wanted->count &&
	       !memcmp(string->bytes, wanted->bytes, wanted->count);
}

bool kept_bytes_find(const struct kept_bytes *kept, const void *bytes, size_t count, uint64_t hash,
		     uint32_t *number)
{
	const struct kept_string wanted = { bytes, count };

	return number_index_find(&kept->index, hash, is_wanted, kept, &wanted, number);
}

int kept_bytes_reserve(struct kept_bytes *kept, size_t count)
{
	size_t chunk_bytes = count > CHUNK_BYTES ? count : CHUNK_BYTES;
	int err = number_index_reserve(&kept->index);
	char *chunk;

	if (!err)
		err = kept_string_vector_reserve(&kept->strings, kept->strings.count + 1);
	if (err || count <= kept->room)
		return err;
	chunk = chunks_add(&kept->chunks, chunk_bytes);
	if (!chunk)
		return -ENOMEM;
	kept->end = chunk;
	kept->room = chunk_bytes;
	return 0;
}

uint32_t kept_bytes_add(struct kept_bytes *kept, const void *bytes, size_t count, uint64_t hash)
{
	const struct kept_string string = { memcpy(kept->end, bytes, count), count };
	uint32_t number = kept->strings.count;

	number_index_add(&kept->index, hash, number);
	kept_string_vector_push(&kept->strings, string);
	kept->end += count;
	kept->room -= count;
	return number;
}
