/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process runs while it is read. The fingerprint is read before and after the function; the result is used only if
 * both are equal. All pointers are hostile; they are only used to read memory of the process.
 */
#include "interpreters/php/php_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/hash128.h"
#include "lib/base/text.h"

/** Instead of the address of a class: use the function's own class. A closure gets its class when it is created. */
#define OWN_SCOPE UINT64_MAX

/** The file name of functions in C. */
static const char internal_file[] = "<internal>";

/** Names of code without a name of its own, indexed by enum php_include. */
static const char *const include_names[PHP_INCLUDE_COUNT] = {
	"{main}", "eval", "include", "include_once", "require", "require_once",
};

/** A cached name. It is one block of memory. */
struct php_name {
	/** Offset of the file in the text; 0: there is no name, and the text is the file. */
	uint32_t file;
	uint32_t text_bytes;
	/** First line of the function; 0 if it has none. */
	uint32_t start_line;
	char text[];
};

/** ZEND_ACC_CLOSURE of 8.0 and later, and of 7.4, which uses the other bit only for functions that are not freed. */
enum {
	IS_CLOSURE = 1 << 22 | 1 << 20,
};

struct name_key {
	uint64_t address;
	uint32_t fingerprint;
	/** hash_name(); 0: not computed yet. */
	uint32_t object;
	/** The address is that of a file name. */
	uint64_t is_file;
};

/** Key of names of objects that are freed while the program runs. It has the fingerprint and not the address. */
struct freed_key {
	uint32_t fingerprint;
	uint32_t is_file;
};

/** The fields that were read of a function. */
struct function {
	uint8_t type;
	uint32_t flags;
	uint64_t name;
	uint64_t scope;
	/** 0 for a function in C. */
	uint64_t file;
	uint64_t class_name;
	/** First line; 0 for a function in C. */
	uint32_t start_line;
};

static size_t name_bytes(const struct php_name *name)
{
	return sizeof(*name) + name->text_bytes;
}

void php_names_init(struct php_names *names, const struct php_layout *layout,
		    const struct php_process *process)
{
	names->layout = layout;
	names->process = *process;
	object_cache_init(&names->cache, sizeof(struct name_key), PHP_NAMES_MAX_ENTRIES,
			  PHP_NAMES_MAX_BYTES);
	object_cache_init(&names->freed, sizeof(struct freed_key), PHP_FREED_MAX_ENTRIES,
			  PHP_FREED_MAX_BYTES);
}

void php_names_deinit(struct php_names *names)
{
	object_cache_deinit(&names->cache);
	object_cache_deinit(&names->freed);
}

void php_names_describe(const struct php_layout *layout, struct php_process *process)
{
	process->code = layout->last & ~7U;
	process->last_shift = layout->last % 8 ? 32 : 0;
	process->file = layout->file;
}

/* Mixes the text of the zend_string at @string into @sum; a @string of 0 is empty. */
static int mix_text(struct remote_memory *memory, uint64_t string, uint64_t *sum)
{
	uint64_t words[PHP_TEXT_WORDS] = { 0 }, length;
	int err;

	if (!string)
		return 0;
	err = remote_memory_read(memory, string + PHP_STRING_LENGTH, &length, sizeof(length));
	if (err)
		return err;
	*sum = fingerprint_mix(*sum, length);
	for (int part = 0; !err && length && part < (length > PHP_TEXT_BYTES ? 2 : 1); part++) {
		err = remote_memory_read(memory, php_text_part(string, length, part), words,
					 length < PHP_TEXT_BYTES ? length : PHP_TEXT_BYTES);
		for (size_t i = 0; !err && i < PHP_TEXT_WORDS; i++)
			*sum = fingerprint_mix(*sum, words[i]);
	}
	return err;
}

/* Mixes the fields that only functions in PHP have into @sum. */
static int read_code(const struct php_process *process, struct remote_memory *memory,
		     uint64_t address, struct function *function, uint64_t *sum)
{
	uint64_t code[2], file[2];
	int err = remote_memory_read(memory, address + process->code, code, sizeof(code));

	if (!err)
		err = remote_memory_read(memory, address + process->file, file, sizeof(file));
	if (err)
		return err;
	*sum = fingerprint_mix(*sum, code[0]);
	*sum = fingerprint_mix(*sum, code[1]);
	*sum = fingerprint_mix(*sum, file[0]);
	*sum = fingerprint_mix(*sum, file[1]);
	function->file = file[0];
	/* line_start and line_end are behind the file. */
	function->start_line = (uint32_t)file[1];
	return mix_text(memory, function->file, sum);
}

/* Reads the function at @address, and computes its fingerprint as the kernel side does for the class @scope. */
static int read_function(const struct php_process *process, struct remote_memory *memory,
			 uint64_t address, uint64_t scope, struct function *function,
			 uint32_t *fingerprint)
{
	uint64_t words[PHP_FUNCTION_WORDS], sum = 0;
	int err = remote_memory_read(memory, address, words, sizeof(words));

	if (err)
		return err;
	*function = (struct function){ .type = (uint8_t)words[0],
				       .flags = words[0] >> 32,
				       .name = words[1],
				       .scope = scope == OWN_SCOPE ? words[2] : scope };
	sum = fingerprint_mix(sum, function->type);
	sum = fingerprint_mix(sum, function->name);
	sum = fingerprint_mix(sum, function->scope);
	if (function->type != PHP_FUNCTION_INTERNAL)
		err = read_code(process, memory, address, function, &sum);
	if (!err)
		err = mix_text(memory, function->name, &sum);
	if (!err && function->scope)
		err = remote_memory_read(memory, function->scope + PHP_CLASS_NAME,
					 &function->class_name, sizeof(function->class_name));
	if (!err)
		err = mix_text(memory, function->class_name, &sum);
	if (!err)
		*fingerprint = fingerprint_end(sum);
	return err;
}

/* The same for code without a name, from the file whose name is at @address. */
static int read_file(struct remote_memory *memory, uint64_t address, struct function *function,
		     uint32_t *fingerprint)
{
	uint64_t sum = 0;
	int err = mix_text(memory, address, &sum);

	*function = (struct function){ .type = PHP_FUNCTION_USER, .file = address };
	if (!err)
		*fingerprint = fingerprint_end(sum);
	return err;
}

/* Reads the function or the file of @key; -ESTALE if it is not the one that the kernel side saw. */
static int check_function(const struct php_names *names, struct remote_memory *memory,
			  const struct name_key *key, struct function *function)
{
	uint32_t fingerprint;
	int err = key->is_file ? read_file(memory, key->address, function, &fingerprint) :
				 read_function(&names->process, memory, key->address, OWN_SCOPE,
					       function, &fingerprint);

	if (err == -EFAULT || err == -EBADMSG || (!err && fingerprint != key->fingerprint))
		return fail(-ESTALE, "another function at %#" PRIx64, key->address);
	return err;
}

/*
 * Appends the text of the zend_string at @string as UTF-8, up to @limit bytes and up to a NUL. In the name of an
 * anonymous class a NUL precedes the location of the class.
 */
static int append_text(struct remote_memory *memory, uint64_t string, size_t limit, char *text,
		       size_t *length)
{
	uint8_t bytes[FRAME_NAME_MAX_BYTES];
	uint64_t size;
	int err = remote_memory_read(memory, string + PHP_STRING_LENGTH, &size, sizeof(size));

	if (!err && size > sizeof(bytes))
		size = sizeof(bytes);
	if (!err && size)
		err = remote_memory_read(memory, string + PHP_STRING_BYTES, bytes, size);
	if (err)
		return err;
	for (size_t i = 0, step; i < size && bytes[i]; i += step) {
		char encoded[TEXT_UTF8_MAX_BYTES];
		size_t count =
			text_encode_utf8(text_decode_utf8(bytes + i, size - i, &step), encoded);

		if (*length + count > limit)
			break;
		memcpy(text + *length, encoded, count);
		*length += count;
	}
	text[*length] = '\0';
	return 0;
}

static int read_function_name(struct php_names *names, struct remote_memory *memory,
			      const struct function *function, size_t *length)
{
	int err = 0;

	*length = 0;
	if (function->class_name) {
		err = append_text(memory, function->class_name, FRAME_NAME_MAX_BYTES / 2,
				  names->name, length);
		if (err)
			return err;
		memcpy(names->name + *length, "::", 2);
		*length += 2;
	}
	return append_text(memory, function->name, FRAME_NAME_MAX_BYTES, names->name, length);
}

static struct php_name *make_name(const struct php_names *names, size_t name_length,
				  size_t file_length)
{
	/* Code without a name has only the file. */
	size_t file = name_length ? name_length + 1 : 0;
	struct php_name *made = malloc(sizeof(*made) + file + file_length + 1);

	if (!made)
		return NULL;
	made->file = (uint32_t)file;
	made->text_bytes = (uint32_t)(file + file_length + 1);
	memcpy(made->text, names->name, file);
	memcpy(made->text + file, names->file, file_length + 1);
	return made;
}

static int read_name(struct php_names *names, struct remote_memory *memory,
		     const struct function *function, struct php_name **name)
{
	size_t name_length = 0, file_length = sizeof(internal_file) - 1;
	int err = 0;

	memcpy(names->file, internal_file, sizeof(internal_file));
	if (function->name)
		err = read_function_name(names, memory, function, &name_length);
	if (!err && function->type != PHP_FUNCTION_INTERNAL) {
		file_length = 0;
		names->file[0] = '\0';
		if (function->file)
			err = append_text(memory, function->file, FRAME_NAME_MAX_BYTES, names->file,
					  &file_length);
	}
	if (err)
		return err;
	*name = make_name(names, name_length, file_length);
	if (!*name)
		return -ENOMEM;
	(*name)->start_line = function->start_line;
	return 0;
}

static uint32_t hash_name(const struct php_name *name)
{
	return object_cache_hash(
		fingerprint_mix(hash64_bytes(name->text, name->text_bytes), name->file));
}

static bool is_freed_soon(const struct name_key *key, const struct function *function)
{
	return key->is_file ||
	       (function->type != PHP_FUNCTION_INTERNAL && function->flags & IS_CLOSURE);
}

static const struct php_name *get_freed(struct php_names *names, const struct name_key *key)
{
	const struct freed_key freed = { key->fingerprint, (uint32_t)key->is_file };

	return object_cache_get(&names->freed, &freed);
}

/* Caches a copy of the name of an object that may be freed before the next call. */
static void cache_freed(struct php_names *names, const struct name_key *key,
			const struct php_name *name)
{
	const struct freed_key freed = { key->fingerprint, (uint32_t)key->is_file };

	object_cache_add_copy(&names->freed, &freed, name, name_bytes(name));
}

/* Caches the name of the closure whose function is at @address, for the class @scope. */
static int learn_closure(struct php_names *names, struct remote_memory *memory, uint64_t address,
			 uint64_t scope)
{
	struct name_key key = { .address = address }, again = key;
	struct php_name *made = NULL;
	struct function function;
	int err =
		read_function(&names->process, memory, address, scope, &function, &key.fingerprint);

	if (err || get_freed(names, &key))
		return err;
	err = read_name(names, memory, &function, &made);
	if (!err)
		err = read_function(&names->process, memory, address, scope, &function,
				    &again.fingerprint);
	if (!err && again.fingerprint == key.fingerprint)
		cache_freed(names, &key, made);
	free(made);
	return err;
}

/*
 * Caches the names of the closures that the function at @address declares, and of theirs, at most *@left. The
 * declarations exist as long as the function does.
 */
static void learn_closures(struct php_names *names, struct remote_memory *memory, uint64_t address,
			   uint64_t scope, uint32_t depth, uint32_t *left)
{
	uint64_t closures[PHP_CLOSURES_MAX], array;
	uint32_t count;

	if (!names->layout->closures || depth == PHP_CLOSURES_MAX_DEPTH ||
	    remote_memory_read(memory, address + names->layout->closure_count, &count,
			       sizeof(count)) ||
	    !count || count > *left ||
	    remote_memory_read(memory, address + names->layout->closures, &array, sizeof(array)) ||
	    remote_memory_read(memory, array, closures, count * sizeof(closures[0])))
		return;
	*left -= count;
	for (uint32_t i = 0; i < count; i++)
		if (!learn_closure(names, memory, closures[i], scope))
			learn_closures(names, memory, closures[i], scope, depth + 1, left);
}

/* Reads the name of @key; the caller owns it. */
static int read_whole_name(struct php_names *names, struct remote_memory *memory,
			   const struct name_key *key, struct php_name **name)
{
	struct function function, again;
	uint32_t closures_left = PHP_CLOSURES_MAX;
	struct php_name *made = NULL;
	int err = check_function(names, memory, key, &function), changed = 0;

	if (err)
		return err;
	err = read_name(names, memory, &function, &made);
	/* The result is useless if the function was freed while it was read. */
	if (err != -ESRCH && err != -ENOMEM)
		changed = check_function(names, memory, key, &again);
	if (err || changed) {
		free(made);
		return changed ? changed : err;
	}
	if (is_freed_soon(key, &function))
		cache_freed(names, key, made);
	else if (function.type != PHP_FUNCTION_INTERNAL)
		learn_closures(names, memory, key->address, function.scope, 0, &closures_left);
	*name = made;
	return 0;
}

/* Finds the name of @key in the cache, or reads it. The result is borrowed until the next call. */
static int get_name(struct php_names *names, struct remote_memory *memory, struct name_key *key,
		    const struct php_name **name)
{
	const struct php_name *found = key->object ? object_cache_get(&names->cache, key) : NULL;
	struct php_name *made = NULL;
	int err;

	if (found) {
		*name = found;
		return 0;
	}
	err = read_whole_name(names, memory, key, &made);
	if (err == -ESTALE) {
		*name = get_freed(names, key);
		return *name ? 0 : err;
	}
	if (err)
		return err;
	*name = object_cache_add(&names->cache, key, &key->object, hash_name(made), made,
				 name_bytes(made));
	return *name ? 0 : fail(-ESTALE, "another function at %#" PRIx64, key->address);
}

int php_names_symbolize(struct php_names *names, struct remote_memory *memory,
			const uint64_t *words, uint32_t *object, struct interpreted_frame *frame)
{
	uint32_t position = (uint32_t)(words[1] >> 32);
	uint32_t include = position >> PHP_INCLUDE_SHIFT & PHP_INCLUDE_MASK;
	struct name_key key = { .address = frame_address(words[0]),
				.fingerprint = (uint32_t)words[1],
				.object = *object,
				.is_file = position & PHP_IS_FILE };
	const struct php_name *name;
	int err;

	if (!key.fingerprint || include >= PHP_INCLUDE_COUNT)
		return fail(-ESTALE, "a function that could not be read");
	err = get_name(names, memory, &key, &name);
	if (err)
		return err;
	*object = key.object;
	/* The function that runs at the start of a fiber has no name. */
	if (!name->file && position & PHP_IS_INTERNAL)
		return -ENOENT;
	frame->function = name->file ? name->text : include_names[include];
	frame->file = name->text + name->file;
	frame->line = position & PHP_LINE_MASK;
	frame->start_line = name->start_line;
	frame->is_approximate = position & PHP_IS_APPROXIMATE;
	return 0;
}
