/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol tables are cached by executable id, dropped above the memory limit, and read again. Files
 * are hostile; host/elf_symbols limits their cost. A file that cannot be read has an empty table,
 * so it is tried only once.
 */
#include "symbols/symbol_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/lru_cache.h"
#include "lib/base/text.h"
#include "lib/elf/elf_symbols.h"
#include "lib/elf/function_start.h"
#include "lib/host/binary_file.h"
#include "symbols/demangle.h"
#include "symbols/go_symbols.h"
#include "symbols/symbol_cache_source.h"

enum {
	TABLES_MAX = 4096,
	/* Most frames that are requested for an address. */
	FRAMES_MAX = SYMBOL_CACHE_MAX_DEPTH,
};

struct symbol_table {
	/* Size of the file, from which names are read when needed. */
	uint64_t file_bytes;
	struct elf_symbols symbols;
};

struct symbol_store {
	struct symbol_lookup lookup;
	struct symbol_store_options options;
	struct go_symbols *go;
	/* Maps an executable id to a struct symbol_table. */
	struct lru_cache tables;
	/* The symbol caches of the last answer, whose strings it uses. */
	struct mapped_symbol_cache *cache;
	/* The file in which a function's start was last searched for; 0: none. */
	uint64_t image_id;
	struct elf_image image;
	char name[ELF_SYMBOL_NAME_MAX_BYTES];
	/* All demangled names of the last answer, with their NULs, and a buffer for one name. */
	struct text_builder names;
	struct text_builder demangled;
	struct symbol_frame frames[FRAMES_MAX];
	/* Offset of each frame's name in @names, plus 1; 0: not demangled. */
	size_t name_offsets[FRAMES_MAX];
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

/* NULL without memory, or if the file is gone; a file that cannot be read gives an empty table. */
static struct symbol_table *read_table(const struct symbol_store *store,
				       const struct binary *binary)
{
	_cleanup_(binary_file_return) struct borrowed_file file =
		binary_file_open(binary, store->options.judge);
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	struct symbol_table *table = calloc(1, sizeof(*table));
	int err;

	if (!table || file.fd < 0) {
		free(table);
		return NULL;
	}
	err = elf_image_init_fd(&image, file.fd);
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
	table = read_table(store, binary);
	if (!table)
		return NULL;
	if (lru_cache_put_capped(&store->tables, &binary->executable_id, table,
				 table_bytes(table))) {
		symbol_table_destroy(table);
		return NULL;
	}
	return table;
}

/* Looks up in the file's own symbol table. */
static uint32_t find_symbol(struct symbol_store *store, const struct binary *binary,
			    uint64_t address)
{
	struct symbol_table *table = find_table(store, binary);
	const struct elf_symbol *symbol = table ? elf_symbols_lookup(&table->symbols, address) :
						  NULL;
	_cleanup_(binary_file_return) struct borrowed_file file = { .fd = -1 };
	struct elf_image image;

	if (!symbol)
		return 0;
	/* Binaries of one id share the file. */
	file = binary_file_open(binary, store->options.judge);
	image = (struct elf_image){ .fd = file.fd, .size = table->file_bytes };
	if (file.fd < 0 ||
	    elf_symbols_name(&table->symbols, &image, symbol, store->name, sizeof(store->name)))
		return 0;
	store->frames[0] = (struct symbol_frame){ .function = store->name };
	return 1;
}

static bool reads_file(const struct symbol_store *store, const struct binary *binary)
{
	return binary_file_is_known(binary) && store->options.table_limit_bytes &&
	       (!binary->may_hang || store->options.reads_remote);
}

/* Fills store->frames. */
static uint32_t find_frames(struct symbol_store *store, struct binary *binary, uint64_t address,
			    uint32_t capacity)
{
	struct symbol_cache_source *source = binary->is_elsewhere ? store->options.uploaded :
								    store->options.caches;

	mapped_symbol_cache_unref(store->cache);
	store->cache = source ? source->ops->get(source, binary, store->options.depth) : NULL;
	if (store->cache)
		return symbol_cache_lookup(&store->cache->file, address, store->frames, capacity);
	return reads_file(store, binary) ? find_symbol(store, binary, address) : 0;
}

/* Consecutive addresses without a name are often in one file, so its headers are kept. */
static bool find_start(struct symbol_store *store, const struct binary *binary, uint64_t address,
		       uint64_t *start)
{
	_cleanup_(binary_file_return) struct borrowed_file file =
		binary_file_open(binary, store->options.judge);
	int err;

	if (store->image_id != binary->executable_id) {
		elf_image_deinit(&store->image);
		store->image = (struct elf_image){ .fd = -1 };
		store->image_id = binary->executable_id;
		/* On failure the image has no segments. */
		if (file.fd >= 0)
			(void)elf_image_init_fd(&store->image, file.fd);
	}
	/* Binaries of one id share the file. */
	store->image.fd = file.fd;
	err = function_start(&store->image, address, start);
	store->image.fd = -1;
	return !err;
}

/* The substitute for the name of the function that has the code. */
static uint32_t name_start(struct symbol_store *store, const struct binary *binary,
			   uint64_t address, uint32_t count)
{
	uint64_t start;

	if (!store->options.names_starts || !reads_file(store, binary) ||
	    (count && store->frames[count - 1].function) ||
	    !find_start(store, binary, address, &start))
		return count;
	snprintf(store->name, sizeof(store->name), "%s+0x%llx", binary_name(binary),
		 (unsigned long long)start);
	if (!count)
		store->frames[count++] = (struct symbol_frame){ 0 };
	store->frames[count - 1].function = store->name;
	return count;
}

/* Removes the prefix of glibc's internal aliases, which are present only in its debug file. */
static const char *without_alias_prefix(const char *function)
{
	static const char prefix[] = "__GI_";

	return text_starts_with(function, prefix) ? function + sizeof(prefix) - 1 : function;
}

/* Names that are not mangled stay where they are. */
static void demangle_frames(struct symbol_store *store, uint32_t count)
{
	text_builder_clear(&store->names);
	for (uint32_t i = 0; i < count; i++) {
		const char *function = store->frames[i].function;

		store->name_offsets[i] = 0;
		if (!function || !store->options.demangles)
			continue;
		if (!demangle(function, &store->demangled)) {
			store->frames[i].function = without_alias_prefix(function);
			continue;
		}
		store->name_offsets[i] = store->names.length + 1;
		text_builder_append_bytes(&store->names, text_builder_text(&store->demangled),
					  store->demangled.length + 1);
	}
	for (uint32_t i = 0; i < count && !store->names.failed; i++) {
		if (store->name_offsets[i])
			store->frames[i].function = store->names.text + store->name_offsets[i] - 1;
	}
}

static uint32_t resolve(struct symbol_lookup *lookup, struct binary *binary, uint64_t address,
			struct symbol *symbols, uint32_t capacity)
{
	struct symbol_store *store = (struct symbol_store *)lookup;
	struct symbol_lookup *go = go_symbols_lookup(store->go);
	uint32_t count = 0;
	bool is_location;

	/* Kernel frames already have their function names. */
	if (!capacity || binary->is_kernel)
		return 0;
	if (binary_file_is_known(binary))
		count = go->ops->resolve(go, binary, address, symbols, capacity);
	if (count)
		return count;
	count = find_frames(store, binary, address, capacity < FRAMES_MAX ? capacity : FRAMES_MAX);
	count = name_start(store, binary, address, count);
	is_location = count && store->frames[count - 1].function == store->name;
	for (uint32_t i = 0; i < count; i++)
		symbols[i].linkage_name = is_location && i + 1 == count ? NULL :
									  store->frames[i].function;
	demangle_frames(store, count);
	for (uint32_t i = 0; i < count; i++)
		symbols[i] = (struct symbol){
			.function = store->frames[i].function,
			.linkage_name = symbols[i].linkage_name,
			.start_line = store->frames[i].start_line,
			.file = store->frames[i].file,
			.line = store->frames[i].line,
			.flags = (store->frames[i].is_inlined ? SYMBOL_INLINED : 0) |
				 (is_location && i + 1 == count ? SYMBOL_LOCATION : 0),
		};
	return count;
}

static uint32_t traits(struct symbol_lookup *lookup, struct binary *binary, uint64_t address)
{
	struct symbol_lookup *go = go_symbols_lookup(((struct symbol_store *)lookup)->go);

	return go->ops->traits(go, binary, address);
}

static void rest(struct symbol_lookup *lookup)
{
	struct symbol_store *store = (struct symbol_store *)lookup;
	struct symbol_lookup *go = go_symbols_lookup(store->go);

	go->ops->rest(go);
	mapped_symbol_cache_unref(store->cache);
	store->cache = NULL;
	elf_image_deinit(&store->image);
	store->image = (struct elf_image){ .fd = -1 };
	store->image_id = 0;
	text_builder_deinit(&store->names);
	text_builder_deinit(&store->demangled);
}

int symbol_store_create(const struct symbol_store_options *options, struct symbol_store **store)
{
	static const struct symbol_lookup_ops ops = { .resolve = resolve,
						      .traits = traits,
						      .rest = rest };
	struct symbol_store *created = calloc(1, sizeof(*created));
	size_t table_bytes = options->table_limit_bytes;
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for symbols");
	err = go_symbols_create(&created->go, options->reads_remote, options->judge);
	if (err) {
		free(created);
		return err;
	}
	created->lookup.ops = &ops;
	created->options = *options;
	if (table_bytes > GO_SYMBOLS_MAX_BYTES)
		table_bytes -= GO_SYMBOLS_MAX_BYTES;
	lru_cache_init(&created->tables, sizeof(uint64_t), TABLES_MAX,
		       table_bytes ? table_bytes : 1, release_table, NULL);
	*store = created;
	return 0;
}

void symbol_store_destroy(struct symbol_store *store)
{
	if (!store)
		return;
	rest(&store->lookup);
	lru_cache_deinit(&store->tables);
	go_symbols_destroy(store->go);
	free(store);
}

struct symbol_lookup *symbol_store_lookup(struct symbol_store *store)
{
	return &store->lookup;
}
