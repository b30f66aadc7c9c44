/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two levels: symbol tables by executable id, dropped and read again as memory allows, and names by
 * (executable id, function address), which are never dropped. Files are hostile; host/elf_symbols
 * bounds what they cost. A file that cannot be read has an empty table, so it is tried once.
 */
#include "symbols/symbol_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/error.h"
#include "agent/base/hash_map.h"
#include "agent/base/log.h"
#include "agent/base/lru_cache.h"
#include "agent/host/elf_symbols.h"
#include "symbols/go_symbols.h"

enum {
	TABLES_MAX = 4096,
	/* Of a name in the hash map: slot, copied key and the heads of two allocations. */
	NAME_OVERHEAD_BYTES = 96,
};

struct symbol_table {
	/* Of the file, which names are read from when they are asked for. */
	uint64_t file_bytes;
	struct elf_symbols symbols;
};

struct name_key {
	uint64_t executable_id;
	uint64_t address;
};

struct symbol_store {
	struct symbol_lookup lookup;
	struct go_symbols *go;
	/* executable id -> struct symbol_table */
	struct lru_cache tables;
	/* struct name_key -> char * */
	struct hash_map names;
	size_t name_bytes;
};

static void symbol_table_destroy(struct symbol_table *table)
{
	if (!table)
		return;
	elf_symbols_deinit(&table->symbols);
	free(table);
}

static void release_table(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	symbol_table_destroy(value);
}

static size_t table_bytes(const struct symbol_table *table)
{
	return sizeof(*table) + table->symbols.count * sizeof(struct elf_symbol);
}

/* Never NULL but without memory: what cannot be read is an empty table. */
static struct symbol_table *read_table(const struct binary *binary)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	struct symbol_table *table = calloc(1, sizeof(*table));
	int err;

	if (!table)
		return NULL;
	err = elf_image_init_fd(&image, binary->fd);
	if (!err)
		err = elf_symbols_init(&table->symbols, &image);
	table->file_bytes = image.size;
	if (err)
		log_debug("no symbols of %s: %s", binary->path, error_text());
	return table;
}

static struct symbol_table *find_table(struct symbol_store *store, const struct binary *binary)
{
	struct symbol_table *table = lru_cache_get(&store->tables, &binary->executable_id);

	if (table)
		return table;
	table = read_table(binary);
	if (!table)
		return NULL;
	if (lru_cache_put_capped(&store->tables, &binary->executable_id, table,
				 table_bytes(table))) {
		symbol_table_destroy(table);
		return NULL;
	}
	return table;
}

/* Keeps a copy of @name for good. NULL without memory or over the limit. */
static const char *keep_name(struct symbol_store *store, const struct name_key *key,
			     const char *name)
{
	size_t bytes = strlen(name) + 1 + NAME_OVERHEAD_BYTES;
	char *copy;

	if (bytes > SYMBOL_STORE_MAX_NAME_BYTES - store->name_bytes)
		return NULL;
	copy = strdup(name);
	if (!copy)
		return NULL;
	if (hash_map_set_bytes(&store->names, key, sizeof(*key), (uintptr_t)copy)) {
		free(copy);
		return NULL;
	}
	store->name_bytes += bytes;
	return copy;
}

static const char *find_name(struct symbol_store *store, const struct binary *binary,
			     uint64_t address)
{
	struct symbol_table *table = find_table(store, binary);
	char text[ELF_SYMBOL_NAME_MAX_BYTES];
	const struct elf_symbol *symbol;
	struct elf_image file;
	struct name_key key;
	uint64_t known;

	if (!table)
		return NULL;
	symbol = elf_symbols_lookup(&table->symbols, address);
	if (!symbol)
		return NULL;
	key = (struct name_key){
		.executable_id = binary->executable_id,
		.address = symbol->address,
	};
	if (hash_map_find_bytes(&store->names, &key, sizeof(key), &known))
		return (const char *)(uintptr_t)known;
	/* Binaries of one id share the file. */
	file = (struct elf_image){ .fd = binary->fd, .size = table->file_bytes };
	if (elf_symbols_name(&table->symbols, &file, symbol, text, sizeof(text)))
		return NULL;
	return keep_name(store, &key, text);
}

static uint32_t resolve(struct symbol_lookup *lookup, struct binary *binary, uint64_t address,
			struct symbol *symbols, uint32_t capacity)
{
	struct symbol_store *store = (struct symbol_store *)lookup;
	struct symbol_lookup *go = go_symbols_lookup(store->go);
	const char *name;
	uint32_t count;

	/* The names of kernel functions come with their frames. */
	if (!capacity || binary->is_kernel || binary->fd < 0)
		return 0;
	count = go->ops->resolve(go, binary, address, symbols, capacity);
	if (count)
		return count;
	name = find_name(store, binary, address);
	if (!name)
		return 0;
	symbols[0] = (struct symbol){ .function = name };
	return 1;
}

static enum symbol_part part(struct symbol_lookup *lookup, struct binary *binary, uint64_t address)
{
	struct symbol_lookup *go = go_symbols_lookup(((struct symbol_store *)lookup)->go);

	return go->ops->part(go, binary, address);
}

static void rest(struct symbol_lookup *lookup)
{
	struct symbol_lookup *go = go_symbols_lookup(((struct symbol_store *)lookup)->go);

	go->ops->rest(go);
}

int symbol_store_create(struct symbol_store **store, size_t table_limit_bytes)
{
	static const struct symbol_lookup_ops ops = { .resolve = resolve,
						      .part = part,
						      .rest = rest };
	struct symbol_store *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for symbols");
	err = go_symbols_create(&created->go, true);
	if (err) {
		free(created);
		return err;
	}
	created->lookup.ops = &ops;
	if (table_limit_bytes > GO_SYMBOLS_MAX_BYTES)
		table_limit_bytes -= GO_SYMBOLS_MAX_BYTES;
	lru_cache_init(&created->tables, sizeof(uint64_t), TABLES_MAX,
		       table_limit_bytes ? table_limit_bytes : 1, release_table, NULL);
	*store = created;
	return 0;
}

void symbol_store_destroy(struct symbol_store *store)
{
	size_t cursor = 0;
	uint64_t name;

	if (!store)
		return;
	while (hash_map_next(&store->names, &cursor, NULL, &name))
		free((char *)(uintptr_t)name);
	hash_map_deinit(&store->names);
	lru_cache_deinit(&store->tables);
	go_symbols_destroy(store->go);
	free(store);
}

struct symbol_lookup *symbol_store_lookup(struct symbol_store *store)
{
	return &store->lookup;
}
