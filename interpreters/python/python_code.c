/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process runs while it is read. The fingerprint is read before and after the object; the result is used only if
 * both are equal. All pointers are hostile; they are only used to read memory of the process.
 */
#include "interpreters/python/python_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/hash128.h"

/** A cached code object. It is one block of memory. */
struct python_code {
	int32_t first_line;
	uint32_t filename;
	uint32_t line_table;
	uint32_t line_table_bytes;
	uint64_t instruction_bytes;
	/** Address of a line table that is too large for the cache; else 0. */
	uint64_t large_line_table;
	/** The object belongs to no function (_Py_InitCleanup). */
	bool is_of_runtime;
	/** The function's name; at the offsets above the file name and the table. */
	char bytes[];
};

struct code_key {
	uint64_t address;
	uint32_t fingerprint;
	/** hash_code(); 0: not computed yet. */
	uint32_t object;
};

enum {
	/* More than the frames and functions that any program has of one code object. */
	REFERENCES_MAX = 1 << 22,
	/* Count of objects of 3.11 that are static data of the program. */
	REFERENCES_STATIC = 999999999,
};

/* _Py_REF_DEFERRED, which is added to the counts of objects that only the collector frees. */
#define REFERENCES_DEFERRED (INT64_MAX / 8)

void python_code_cache_init(struct python_code_cache *cache, const struct python_layout *layout,
			    const struct python_process *process)
{
	cache->layout = *layout;
	cache->process = *process;
	object_cache_init(&cache->codes, sizeof(struct code_key), PYTHON_CODE_CACHE_MAX_ENTRIES,
			  PYTHON_CODE_CACHE_MAX_BYTES);
}

void python_code_cache_deinit(struct python_code_cache *cache)
{
	object_cache_deinit(&cache->codes);
}

/* The offset of the 8-byte word that contains a field of 4 bytes. */
static uint16_t word_of(uint16_t offset)
{
	return offset & ~7U;
}

int python_code_describe(const struct python_layout *layout, struct python_process *process)
{
	const struct python_code_layout *code = &layout->code;
	bool has_version = layout->version >= PYTHON_VERSION(3, 12);
	/* The version is 24 bytes after the first line, and follows co_nfreevars. */
	uint16_t words[PYTHON_CODE_WORDS + 1] = {
		word_of(code->first_line),
		code->line_table,
		code->qualified_name ? code->qualified_name : code->instructions,
		has_version	     ? word_of(code->first_line + 24) :
		code->qualified_name ? code->filename :
				       code->instructions + 8,
		code->name,
	};
	uint16_t start = UINT16_MAX, end = 0;

	for (size_t i = 0; i < PYTHON_CODE_WORDS + 1; i++) {
		start = words[i] < start ? words[i] : start;
		end = words[i] + 8 > end ? words[i] + 8 : end;
	}
	if (end - start > PYTHON_READ_MAX_BYTES)
		return fail(-EOPNOTSUPP, "code objects of %u bytes", end);
	process->code_start = start;
	process->code_bytes = (uint8_t)(end - start);
	for (size_t i = 0; i < PYTHON_CODE_WORDS; i++)
		process->code_words[i] = (uint8_t)(words[i] - start);
	process->code_name = PYTHON_NO_OFFSET;
	if (!has_version) {
		/* The hash of a name exists before the code object, which interns its names when it is created. */
		process->code_name = (uint8_t)(code->name - start);
		process->name_hash = (uint8_t)(layout->string.is_bytes ? layout->bytes.size :
									 layout->string.length) +
				     8;
	}
	return 0;
}

int python_code_read_fingerprint(const struct python_code_cache *cache,
				 struct remote_memory *memory, uint64_t address,
				 uint32_t *fingerprint)
{
	const struct python_process *process = &cache->process;
	uint64_t words[PYTHON_CODE_WORDS], name = 0, hash = 0;
	uint8_t bytes[PYTHON_READ_MAX_BYTES];
	int err;

	err = remote_memory_read(memory, address + process->code_start, bytes, process->code_bytes);
	if (err)
		return err;
	for (size_t i = 0; i < PYTHON_CODE_WORDS; i++)
		memcpy(&words[i], bytes + process->code_words[i], sizeof(words[i]));
	if (process->code_name != PYTHON_NO_OFFSET) {
		memcpy(&name, bytes + process->code_name, sizeof(name));
		err = remote_memory_read(memory, name + process->name_hash, &hash, sizeof(hash));
		if (err)
			return err;
	}
	*fingerprint = python_code_fingerprint((const __u64 *)words, hash);
	return 0;
}

static int check_fingerprint(const struct python_code_cache *cache, struct remote_memory *memory,
			     uint64_t address, uint32_t expected)
{
	uint32_t fingerprint;
	int err = python_code_read_fingerprint(cache, memory, address, &fingerprint);

	/* -EFAULT: the memory of the object may have been unmapped. */
	if (err == -EFAULT || (!err && fingerprint != expected))
		return fail(-ESTALE, "no such code object at %#" PRIx64 " any more", address);
	return err;
}

static uint64_t code_pointer(const uint8_t *bytes, uint16_t offset)
{
	uint64_t pointer;

	memcpy(&pointer, bytes + offset, sizeof(pointer));
	return pointer;
}

/*
 * From 3.13 on, a call of a class has a frame of the runtime itself between the caller and __init__. Its code object
 * has the same string for name, qualified name and file, which no compiler makes.
 */
static bool is_of_runtime(const struct python_code_layout *layout, const uint8_t *bytes)
{
	uint64_t name = code_pointer(bytes, layout->name);

	return layout->qualified_name && code_pointer(bytes, layout->qualified_name) == name &&
	       code_pointer(bytes, layout->filename) == name;
}

/* The state of an object, according to its count of references. */
enum object_state {
	/* Freed: the count is 0, or the allocator's link to the next free block. */
	OBJECT_FREED,
	OBJECT_COUNTED,
	/* Never freed. */
	OBJECT_IMMORTAL,
};

static enum object_state state_of_count(uint16_t version, uint64_t count)
{
	bool is_immortal = false;

	/* Since 3.14 the highest 16 bits are flags of the object. */
	count &= (1ULL << 48) - 1;
	if (count <= REFERENCES_MAX)
		return count ? OBJECT_COUNTED : OBJECT_FREED;
	if (version >= PYTHON_VERSION(3, 14))
		is_immortal = count > INT32_MAX && count <= UINT32_MAX;
	else if (version >= PYTHON_VERSION(3, 12))
		is_immortal = count == UINT32_MAX;
	else if (version == PYTHON_VERSION(3, 11))
		is_immortal = count == REFERENCES_STATIC;
	return is_immortal ? OBJECT_IMMORTAL : OBJECT_FREED;
}

static int read_state(const struct python_layout *layout, struct remote_memory *memory,
		      uint64_t address, enum object_state *state)
{
	uint64_t count;
	int64_t shared;
	int err = remote_memory_read(memory, address + layout->references, &count, sizeof(count));

	if (!err && layout->is_free_threaded) {
		/* There are two counts, of 4 and 8 bytes; the second one has two flags. */
		count &= UINT32_MAX;
		err = remote_memory_read(memory, address + layout->references + 4, &shared,
					 sizeof(shared));
		if (!err && !count) {
			count = shared >> 2 > 0 ? (uint64_t)(shared >> 2) : 0;
			/* Threads count some references elsewhere, so this count may be lower. */
			if (count > REFERENCES_DEFERRED - REFERENCES_MAX)
				count = 1;
		}
	}
	if (!err)
		*state = state_of_count(layout->version, count);
	return err;
}

/* Returns -ESTALE if the code object at @address was freed. */
static int check_alive(const struct python_layout *layout, struct remote_memory *memory,
		       uint64_t address)
{
	enum object_state state;
	int err = read_state(layout, memory, address, &state);

	if (!err && state == OBJECT_FREED)
		err = fail(-ESTALE, "the code object at %#" PRIx64 " was freed", address);
	return err;
}

static bool line_table_fits(const struct python_code_cache *cache, const struct python_code *code,
			    const struct elf_bytes *table)
{
	return python_lines_fit(cache->layout.lines, table->data, table->size,
				code->instruction_bytes);
}

/* The size of the instructions of the code object in @bytes; 0 if it is unknown. */
static uint64_t instruction_bytes(const struct python_code_cache *cache,
				  struct remote_memory *memory, const uint8_t *bytes)
{
	const struct python_layout *layout = &cache->layout;
	uint64_t size;

	/* ob_size, as in all objects of variable size; for code objects it counts units of two bytes. */
	if (layout->version >= PYTHON_VERSION(3, 11))
		return code_pointer(bytes, layout->bytes.size) * 2;
	if (remote_memory_read(memory,
			       code_pointer(bytes, layout->code.instructions) + layout->bytes.size,
			       &size, sizeof(size)))
		return 0;
	return size;
}

/*
 * Returns -ESTALE unless the string at @address is still the one of a freed code object. A string that was freed with
 * it keeps its characters. A string that is referred to may be a new one in the same memory.
 */
static int check_string_of_freed(const struct python_layout *layout, struct remote_memory *memory,
				 uint64_t address)
{
	enum object_state state;
	int err = read_state(layout, memory, address, &state);

	if (!err && state == OBJECT_COUNTED)
		err = fail(-ESTALE, "the string at %#" PRIx64 " may be another one by now",
			   address);
	return err;
}

/*
 * Checks what was read of the code object at @address: its fields in @bytes, its strings in @code and its @table (NULL:
 * too large). All of it is right if the object is still alive. A freed code object keeps its fields, and so its
 * fingerprint, until its memory is reused. The memory of its strings and its table may be reused before that: -ESTALE.
 */
static int check_code(const struct python_code_cache *cache, struct remote_memory *memory,
		      uint64_t address, const uint8_t *bytes, const struct python_code *code,
		      const struct elf_bytes *table)
{
	const struct python_layout *layout = &cache->layout;
	uint64_t name = code_pointer(bytes, layout->code.name);
	uint64_t qualified_name = layout->code.qualified_name ?
					  code_pointer(bytes, layout->code.qualified_name) :
					  name;
	bool is_name_in_fingerprint = cache->process.code_name != PYTHON_NO_OFFSET;
	int err = check_alive(layout, memory, address);

	if (err != -ESTALE || !table || !line_table_fits(cache, code, table))
		return err;
	err = check_string_of_freed(layout, memory, code_pointer(bytes, layout->code.filename));
	if (!err && !(is_name_in_fingerprint && qualified_name == name))
		err = check_string_of_freed(layout, memory, qualified_name);
	return err;
}

/* Reads the code object at @address; the caller owns *@code. */
static int read_code(struct python_code_cache *cache, struct remote_memory *memory,
		     uint64_t address, struct python_code **code, size_t *code_bytes)
{
	const struct python_code_layout *layout = &cache->layout.code;
	_cleanup_(elf_bytes_deinit) struct elf_bytes table = { 0 };
	_cleanup_(free_pointer) char *name = NULL;
	size_t name_length, file_length, size;
	uint8_t bytes[PYTHON_CODE_MAX_BYTES] = { 0 };
	uint64_t line_table;
	struct python_code *made;
	int err;

	err = remote_memory_read(memory, address, bytes, layout->bytes);
	if (!err)
		err = python_string_read(memory, &cache->layout,
					 code_pointer(bytes, layout->qualified_name ?
								     layout->qualified_name :
								     layout->name),
					 cache->text, &name_length);
	if (err)
		return err;
	name = strdup(cache->text);
	if (!name)
		return -ENOMEM;
	line_table = code_pointer(bytes, layout->line_table);
	err = python_string_read(memory, &cache->layout, code_pointer(bytes, layout->filename),
				 cache->text, &file_length);
	if (!err)
		err = python_bytes_read(memory, &cache->layout, line_table,
					PYTHON_LINE_TABLE_CACHED_BYTES, &table);
	if (err && err != -E2BIG)
		return err;
	size = sizeof(*made) + name_length + 1 + file_length + 1 + table.size;
	made = malloc(size);
	if (!made)
		return -ENOMEM;
	*made = (struct python_code){
		.filename = (uint32_t)name_length + 1,
		.line_table = (uint32_t)(name_length + 1 + file_length + 1),
		.line_table_bytes = (uint32_t)table.size,
		.instruction_bytes = instruction_bytes(cache, memory, bytes),
		.large_line_table = err ? line_table : 0,
		.is_of_runtime = is_of_runtime(layout, bytes),
	};
	memcpy(&made->first_line, bytes + layout->first_line, sizeof(made->first_line));
	memcpy(made->bytes, name, name_length + 1);
	memcpy(made->bytes + made->filename, cache->text, file_length + 1);
	if (table.size)
		memcpy(made->bytes + made->line_table, table.data, table.size);
	/* The size of a line table that was freed may be anything. check_code() finds out. */
	err = check_code(cache, memory, address, bytes, made, err ? NULL : &table);
	if (err) {
		free(made);
		return err;
	}
	*code = made;
	*code_bytes = size;
	return 0;
}

static uint32_t hash_code(const struct python_code *code)
{
	uint64_t sum = hash64_bytes(code->bytes, code->line_table + code->line_table_bytes);

	sum = fingerprint_mix(sum, (uint32_t)code->first_line);
	sum = fingerprint_mix(sum, code->large_line_table);
	return object_cache_hash(fingerprint_mix(sum, code->is_of_runtime));
}

/* Finds the code object of @key in the cache, or reads it. The result is borrowed until the next call. */
static int get_code(struct python_code_cache *cache, struct remote_memory *memory,
		    struct code_key *key, const struct python_code **code)
{
	const struct python_code *found = key->object ? object_cache_get(&cache->codes, key) : NULL;
	struct python_code *made = NULL;
	size_t bytes = 0;
	int err;

	if (found) {
		*code = found;
		return 0;
	}
	err = check_fingerprint(cache, memory, key->address, key->fingerprint);
	if (err)
		return err;
	err = read_code(cache, memory, key->address, &made, &bytes);
	if (err != -ESRCH && err != -ENOMEM) {
		/* The result is useless if the object was freed while it was read. */
		int changed = check_fingerprint(cache, memory, key->address, key->fingerprint);

		if (changed) {
			if (!err)
				free(made);
			return changed;
		}
	}
	if (err)
		return err;
	*code = object_cache_add(&cache->codes, key, &key->object, hash_code(made), made, bytes);
	return *code ? 0 : fail(-ESTALE, "another code object at %#" PRIx64, key->address);
}

static int line_of(struct python_code_cache *cache, struct remote_memory *memory,
		   const struct code_key *key, const struct python_code *code, int64_t offset,
		   uint32_t *line)
{
	_cleanup_(elf_bytes_deinit) struct elf_bytes table = { 0 };
	int err;

	if (!code->large_line_table) {
		*line = python_line(cache->layout.lines,
				    (const uint8_t *)code->bytes + code->line_table,
				    code->line_table_bytes, code->first_line, offset);
		return 0;
	}
	err = python_bytes_read(memory, &cache->layout, code->large_line_table,
				PYTHON_LINE_TABLE_MAX_BYTES, &table);
	if (err == -E2BIG) {
		*line = 0;
		return check_alive(&cache->layout, memory, key->address);
	}
	if (!err)
		err = check_fingerprint(cache, memory, key->address, key->fingerprint);
	if (!err && !line_table_fits(cache, code, &table))
		err = check_alive(&cache->layout, memory, key->address);
	if (!err)
		*line = python_line(cache->layout.lines, table.data, table.size, code->first_line,
				    offset);
	return err;
}

int python_code_symbolize(struct python_code_cache *cache, struct remote_memory *memory,
			  const uint64_t words[2], uint32_t *object,
			  struct interpreted_frame *frame)
{
	struct code_key key = { .address = frame_address(words[0]),
				.fingerprint = (uint32_t)words[1],
				.object = *object };
	/* Negative positions are before the first instruction. */
	int64_t offset = (int64_t)(int32_t)(words[1] >> 32) * cache->layout.position_bytes;
	const struct python_code *code;
	uint32_t line;
	int err;

	if (!key.fingerprint)
		return fail(-ESTALE, "a code object that could not be read");
	err = get_code(cache, memory, &key, &code);
	if (!err)
		*object = key.object;
	if (!err && code->is_of_runtime)
		return fail(-ENOENT, "a frame of CPython's own");
	if (!err)
		err = line_of(cache, memory, &key, code, offset, &line);
	if (err)
		return err;
	frame->function = code->bytes;
	frame->file = code->bytes[code->filename] ? code->bytes + code->filename : NULL;
	frame->line = line;
	frame->start_line = code->first_line > 0 ? (uint32_t)code->first_line : 0;
	return 0;
}
