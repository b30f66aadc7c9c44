/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/made_symbol_caches.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/model/metrics.h"

static void release_mapped(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	mapped_symbol_cache_unref(value);
}

/* Closes the file; the struct stays for its references. */
static void drop_file(struct made_symbol_caches *made, struct made_file *file)
{
	hash_map_remove_bytes(&made->made, &file->key, sizeof(file->key), NULL);
	lru_cache_remove(&made->mapped, &file->key);
	close_fd(&file->fd);
	file->fd = -1;
}

static void release_file(void *context, const void *key, void *value)
{
	struct made_file *file = value;

	(void)key;
	/* Closed already with its last reference: this is not counted as dropped. */
	if (file->fd < 0)
		return;
	drop_file(context, file);
	metrics_add(METRIC_SYMBOL_CACHES_DROPPED, 1);
}

void made_symbol_caches_init(struct made_symbol_caches *made, size_t files_max, size_t mapped_max,
			     uint64_t file_bytes)
{
	made->made = (struct hash_map){ 0 };
	lru_cache_init(&made->mapped, sizeof(struct hash128), mapped_max, 0, release_mapped, NULL);
	lru_cache_init(&made->files, sizeof(struct hash128), files_max, file_bytes ? file_bytes : 1,
		       release_file, made);
}

void made_symbol_caches_deinit(struct made_symbol_caches *made)
{
	lru_cache_deinit(&made->mapped);
	lru_cache_deinit(&made->files);
	hash_map_deinit(&made->made);
}

struct made_file *made_symbol_caches_find(struct made_symbol_caches *made, struct hash128 key)
{
	uint64_t found;

	if (!hash_map_find_bytes(&made->made, &key, sizeof(key), &found))
		return NULL;
	((struct made_file *)(uintptr_t)found)->references++;
	return (struct made_file *)(uintptr_t)found;
}

struct made_file *made_symbol_caches_add(struct made_symbol_caches *made, struct hash128 key,
					 int fd, uint64_t bytes)
{
	struct made_file *file = malloc(sizeof(*file));

	if (!file || hash_map_set_bytes(&made->made, &key, sizeof(key), (uintptr_t)file)) {
		free(file);
		close(fd);
		return NULL;
	}
	*file = (struct made_file){ .key = key, .fd = fd, .references = 1 };
	if (lru_cache_put(&made->files, &key, file, bytes)) {
		made_symbol_caches_unref(made, file);
		return NULL;
	}
	return file;
}

void made_symbol_caches_unref(struct made_symbol_caches *made, struct made_file *file)
{
	if (!file || --file->references)
		return;
	if (file->fd >= 0) {
		drop_file(made, file);
		lru_cache_remove(&made->files, &file->key);
	}
	free(file);
}

struct mapped_symbol_cache *made_symbol_caches_map(struct made_symbol_caches *made,
						   struct made_file *file)
{
	struct mapped_symbol_cache *mapped = lru_cache_get(&made->mapped, &file->key);

	/* Marks the file as recently used. */
	lru_cache_get(&made->files, &file->key);
	if (mapped)
		return mapped_symbol_cache_ref(mapped);
	/* It was checked when it was made or found. */
	if (mapped_symbol_cache_create(file->fd, file->key, true, &mapped))
		return NULL;
	if (!lru_cache_put(&made->mapped, &file->key, mapped, 0))
		mapped_symbol_cache_ref(mapped);
	return mapped;
}
