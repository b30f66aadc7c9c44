/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V8 runs while it is read. A frame's fingerprint is checked before and after a read; the result is used only if it is
 * right both times. A result holds for all frames with the same words, since V8 uses no number twice.
 */
#include "interpreters/javascript/javascript_symbolize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/javascript/v8_function.h"
#include "interpreters/javascript/v8_lines.h"
#include "interpreters/javascript/v8_wasm.h"
#include "interpreters/javascript/v8_wasm_names.h"
#include "interpreters/read_windows.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/text.h"

#define NO_NAME "(anonymous)"
#define REGEXP_NAME "[regular expression]"
#define NO_WASM_NAME "[wasm function]"
/* The beginning of the names that V8 makes for scripts of modules. */
#define WASM_URL "wasm://wasm/"
#define NO_TEXT UINT32_MAX

enum {
	ENTRY_BYTES = 64,
	/* A name may get a prefix such as "Array.prototype.", and then "new " before that. */
	BUILTIN_NAME_BYTES = V8_NAME_BYTES + V8_BUILTIN_NAME_BYTES + 16,
	NEW_NAME_BYTES = BUILTIN_NAME_BYTES + 8,
};

_Static_assert((int)V8_INLINED_MAX <= (int)INTERPRETED_FRAMES_MAX, "all functions become frames");

/* The decoded words of a frame. */
struct frame_parts {
	uint64_t object;
	uint32_t code;
	uint32_t offset;
	uint32_t fingerprint;
	bool is_new;
	bool is_return_address;
};

/* The function and the code that a frame belongs to. */
struct identity {
	/* Tagged: a SharedFunctionInfo. */
	uint64_t shared;
	/* Set for optimized code. */
	struct v8_code code;
};

/* A cached frame. It is one block of memory, in which the texts follow the functions. */
struct cached_frame {
	uint32_t count;
	bool is_approximate;
	struct cached_function {
		/* Offset of the text. */
		uint32_t name;
		/* Offset of the text; NO_TEXT: unknown. */
		uint32_t file;
		/* 0: unknown. */
		struct v8_location location;
		/* 0: unknown. */
		uint32_t start_line;
	} functions[];
};

/* Key of a script's cached lines: its address, and its number, because another script may take the address. */
struct script_key {
	uint64_t script;
	uint64_t id;
};

/* Key of a module's cached names: the module's bytes, and the number of its script. */
struct module_key {
	uint64_t module;
	uint64_t bytes;
	uint64_t script_id;
};

static void release_frame(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	free(value);
}

static void release_lines(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	v8_lines_deinit(value);
	free(value);
}

static void release_names(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	v8_wasm_names_deinit(value);
	free(value);
}

void javascript_symbolizer_init(struct javascript_symbolizer *symbolizer,
				const struct v8_layout *layout, const struct v8_builtins *builtins)
{
	memset(symbolizer, 0, sizeof(*symbolizer));
	symbolizer->layout = layout;
	symbolizer->builtins = builtins;
	lru_cache_init(&symbolizer->frames, 2 * sizeof(uint64_t), JAVASCRIPT_FRAMES_MAX_ENTRIES,
		       JAVASCRIPT_FRAMES_MAX_BYTES, release_frame, NULL);
	lru_cache_init(&symbolizer->scripts, sizeof(struct script_key),
		       JAVASCRIPT_SCRIPTS_MAX_ENTRIES, JAVASCRIPT_SCRIPTS_MAX_BYTES, release_lines,
		       NULL);
	lru_cache_init(&symbolizer->modules, sizeof(struct module_key),
		       JAVASCRIPT_MODULES_MAX_ENTRIES, JAVASCRIPT_MODULES_MAX_BYTES, release_names,
		       NULL);
}

void javascript_symbolizer_deinit(struct javascript_symbolizer *symbolizer)
{
	lru_cache_deinit(&symbolizer->frames);
	lru_cache_deinit(&symbolizer->scripts);
	lru_cache_deinit(&symbolizer->modules);
	text_builder_deinit(&symbolizer->texts);
}

static struct frame_parts take_apart(const uint64_t words[2])
{
	uint32_t position = words[1] >> 32;

	return (struct frame_parts){
		.object = frame_address(words[0]),
		.code = position >> JAVASCRIPT_CODE_SHIFT & JAVASCRIPT_CODE_MASK,
		.offset = position & JAVASCRIPT_OFFSET_MASK,
		.fingerprint = (uint32_t)words[1],
		.is_new = position & JAVASCRIPT_NEW,
		.is_return_address = frame_flags(words[0]) & FRAME_RETURN_ADDRESS,
	};
}

/*
 * Computes the fingerprint of the function at tagged @shared from the same words as the kernel side. The object in the
 * script's field is not checked to be a Script, and fields of it that cannot be read count as 0.
 */
static int read_fingerprint(const struct v8_heap *heap, uint64_t shared, uint32_t *fingerprint)
{
	const struct v8_layout *layout = heap->layout;
	int32_t literal = 0, unique = 0, length = 0;
	uint64_t script = 0, id = 0, source = 0;
	int err = v8_field_int(heap, shared, layout->shared_literal_id, &literal);

	if (!err)
		err = v8_field(heap, shared, layout->shared_script, &script);
	if (!err && layout->shared_unique_id != V8_ABSENT)
		err = v8_field_int(heap, shared, layout->shared_unique_id, &unique);
	if (err)
		return err;
	err = v8_field(heap, script, layout->script_id, &id);
	if (is_passing(err))
		return err;
	err = v8_field(heap, script, layout->script_source, &source);
	if (!err)
		err = v8_field_int(heap, source, layout->string_length, &length);
	if (is_passing(err))
		return err;
	*fingerprint = javascript_function_fingerprint(
		(uint64_t)(uint32_t)unique << 32 | (uint32_t)literal, id, (uint32_t)length);
	return 0;
}

/* Checks that @frame's object is still the one that the kernel side saw; -ESTALE: it is not. */
static int check(const struct v8_heap *heap, const struct frame_parts *frame,
		 struct identity *identity)
{
	uint32_t fingerprint = 0;
	int32_t optimization = 0;
	int err = 0;

	memset(identity, 0, sizeof(*identity));
	identity->shared = frame->object;
	if (frame->code == JAVASCRIPT_OPTIMIZED) {
		err = v8_code_read(heap, frame->object, &identity->code);
		if (!err)
			err = v8_code_optimization_id(heap, &identity->code, &optimization);
		if (!err)
			err = v8_optimized_function(heap, &identity->code, &identity->shared);
	}
	if (!err)
		err = read_fingerprint(heap, identity->shared, &fingerprint);
	if (!err && frame->code == JAVASCRIPT_OPTIMIZED)
		fingerprint = javascript_code_fingerprint(fingerprint, (uint32_t)optimization);
	if (!err && fingerprint != frame->fingerprint)
		err = fail(-ESTALE, "another function");
	/* An object that is no function now was one when the kernel side saw it. */
	return err && !is_passing(err) ? -ESTALE : err;
}

/* The same with the memory itself and not with windows that were read before. */
static int check_now(const struct v8_heap *heap, struct remote_memory *memory,
		     const struct frame_parts *frame)
{
	struct read_windows windows;
	struct v8_heap now = *heap;
	struct identity identity;

	read_windows_init(&windows, memory);
	now.memory = &windows.memory;
	return check(&now, frame, &identity);
}

/* Converts the frame for v8_frame_find_functions(). A function that has just been entered is at its first bytecode. */
static int make_frame(const struct v8_heap *heap, const struct frame_parts *parts,
		      const struct identity *identity, struct v8_frame *frame)
{
	const uint32_t bytecode = parts->offset == JAVASCRIPT_NO_OFFSET ? 0 : parts->offset;
	uint64_t baseline = 0;
	int err = 0;

	*frame = (struct v8_frame){
		.code = identity->code,
		.tier = identity->code.tier,
		.shared = identity->shared,
		.is_return_address = parts->is_return_address,
		.bytecode_offset =
			(uint64_t)(bytecode + (uint32_t)heap->layout->bytecodes_data - V8_TAG)
			<< V8_SMI_SHIFT,
	};
	if (parts->code == JAVASCRIPT_OPTIMIZED) {
		frame->pc = frame->code.start + parts->offset;
		return 0;
	}
	if (parts->code == JAVASCRIPT_BASELINE) {
		err = v8_shared_baseline(heap, identity->shared, &baseline);
		if (!err)
			err = v8_code_read(heap, baseline, &frame->code);
		frame->tier = V8_TIER_BASELINE;
		frame->pc = frame->code.start + parts->offset;
	} else {
		frame->tier = V8_TIER_INTERPRETED;
	}
	return err ? err : v8_shared_bytecodes(heap, identity->shared, &frame->bytecodes);
}

/*
 * Finds the frame's own function at its first bytecode. Used if no table has the instruction, such as one before a
 * function's first bytecode.
 */
static int find_entry(struct javascript_symbolizer *symbolizer, const struct v8_heap *heap,
		      const struct identity *identity)
{
	const struct frame_parts entry = { .offset = JAVASCRIPT_NO_OFFSET };
	struct v8_frame_functions *functions = &symbolizer->functions;
	struct v8_frame frame;
	int err = make_frame(heap, &entry, identity, &frame);

	if (!err)
		err = v8_frame_find_functions(heap, &frame, V8_INLINING_BEST, functions);
	if (!err || is_passing(err))
		return err;
	functions->count = 1;
	functions->items[0] =
		(struct v8_frame_function){ .shared = identity->shared, .script_offset = -1 };
	return 0;
}

/*
 * True if a source position was found. Offset 0, the beginning of the script, does not count, because V8 uses it for
 * instructions that it has generated itself.
 */
static bool has_position(const struct v8_frame_functions *functions)
{
	return functions->count > 1 || functions->items[0].script_offset > 0;
}

/* Finds the functions of a frame. */
static int find_functions(struct javascript_symbolizer *symbolizer, const struct v8_heap *heap,
			  const struct frame_parts *parts, const struct identity *identity,
			  bool *is_approximate)
{
	struct v8_frame frame;
	int err = -ENOENT;

	*is_approximate = parts->code == JAVASCRIPT_INTERPRETED_BEFORE;
	if (parts->code != JAVASCRIPT_BUILTIN)
		err = make_frame(heap, parts, identity, &frame);
	if (!err)
		err = v8_frame_find_functions(heap, &frame, V8_INLINING_BEST,
					      &symbolizer->functions);
	if (is_passing(err) || (!err && has_position(&symbolizer->functions)))
		return err;
	*is_approximate = parts->code != JAVASCRIPT_BUILTIN;
	return find_entry(symbolizer, heap, identity);
}

static uint32_t keep_text(struct javascript_symbolizer *symbolizer, const char *text)
{
	uint32_t offset = (uint32_t)symbolizer->texts.length;

	text_builder_append_bytes(&symbolizer->texts, text, strlen(text) + 1);
	return offset;
}

/* The lines of the script at tagged @script; NULL if they are not available. */
static const struct v8_lines *find_lines(struct javascript_symbolizer *symbolizer,
					 const struct v8_heap *heap, uint64_t script)
{
	struct script_key key = { .script = script };
	struct v8_lines *lines;

	if (v8_field(heap, script, heap->layout->script_id, &key.id))
		return NULL;
	lines = lru_cache_get(&symbolizer->scripts, &key);
	if (lines)
		return lines;
	lines = calloc(1, sizeof(*lines));
	if (!lines)
		return NULL;
	/* An empty result is cached as well. */
	v8_lines_read(heap, script, lines);
	if (lru_cache_put_capped(&symbolizer->scripts, &key, lines,
				 lines->count * sizeof(lines->ends[0]) + ENTRY_BYTES)) {
		v8_lines_deinit(lines);
		free(lines);
		return NULL;
	}
	return lines;
}

/* Reads file, line and column of a function. */
static void read_source(struct javascript_symbolizer *symbolizer, const struct v8_heap *heap,
			const struct v8_frame_function *from, struct cached_function *function)
{
	const struct v8_lines *lines = NULL;
	struct v8_location start;
	uint64_t script = 0;
	uint32_t offset;
	v8_text text;

	if (v8_shared_script(heap, from->shared, &script))
		return;
	if (!v8_script_name(heap, script, text) && *text)
		function->file = keep_text(symbolizer, text);
	if (from->script_offset >= 0)
		lines = find_lines(symbolizer, heap, script);
	if (!lines)
		return;
	v8_lines_locate(lines, (uint32_t)from->script_offset, &function->location);
	if (!v8_shared_start(heap, from->shared, &offset) &&
	    !v8_lines_locate(lines, offset, &start))
		function->start_line = start.line;
}

/* Makes the name of the builtin at @offset whose function is named @function. */
static void name_builtin(const struct javascript_symbolizer *symbolizer, uint32_t offset,
			 const char *function, char *name, size_t capacity)
{
	const struct v8_builtin *builtin =
		v8_builtins_find(symbolizer->builtins, symbolizer->builtins->start + offset);

	if (builtin)
		v8_builtin_function_name(builtin->name, function, name, capacity);
	else
		snprintf(name, capacity, "%s", *function ? function : NO_NAME);
}

static int read_function(struct javascript_symbolizer *symbolizer, const struct v8_heap *heap,
			 const struct frame_parts *parts, const struct v8_frame_function *from,
			 bool is_new, struct cached_function *function)
{
	const char *shown;
	char text[NEW_NAME_BYTES], builtin[BUILTIN_NAME_BYTES];
	v8_text name;
	int err = v8_shared_name(heap, from->shared, name);

	if (err)
		return err;
	*function = (struct cached_function){ .file = NO_TEXT };
	shown = *name ? name : NO_NAME;
	if (parts->code == JAVASCRIPT_BUILTIN) {
		name_builtin(symbolizer, parts->offset - parts->is_return_address, name, builtin,
			     sizeof(builtin));
		shown = builtin;
	} else {
		read_source(symbolizer, heap, from, function);
	}
	snprintf(text, sizeof(text), "%s%s", is_new ? "new " : "", shown);
	text[text_cut_length(text, strlen(text), FRAME_NAME_MAX_BYTES)] = '\0';
	function->name = keep_text(symbolizer, text);
	return 0;
}

static int read_functions(struct javascript_symbolizer *symbolizer, const struct v8_heap *heap,
			  const struct frame_parts *parts, struct cached_function *functions)
{
	const struct v8_frame_functions *from = &symbolizer->functions;
	int err = 0;

	for (uint32_t i = 0; !err && i < from->count; i++) {
		const bool is_own = i + 1 == from->count;

		err = read_function(symbolizer, heap, parts, &from->items[i],
				    is_own ? parts->is_new : from->items[i].is_construct,
				    &functions[i]);
	}
	return err;
}

/* Makes a cached frame from the @count functions and the texts that were read. */
static int make_cached_frame(const struct javascript_symbolizer *symbolizer,
			     const struct cached_function *functions, uint32_t count,
			     bool is_approximate, struct cached_frame **cached, size_t *bytes)
{
	const struct text_builder *texts = &symbolizer->texts;
	struct cached_frame *made;

	if (texts->failed)
		return -ENOMEM;
	*bytes = sizeof(*made) + count * sizeof(functions[0]) + texts->length;
	made = malloc(*bytes);
	if (!made)
		return -ENOMEM;
	made->count = count;
	made->is_approximate = is_approximate;
	memcpy(made->functions, functions, count * sizeof(functions[0]));
	memcpy(made->functions + count, texts->text, texts->length);
	*cached = made;
	return 0;
}

static int read_frame(struct javascript_symbolizer *symbolizer, struct remote_memory *memory,
		      const struct frame_parts *parts, struct cached_frame **cached, size_t *bytes)
{
	struct cached_function functions[V8_INLINED_MAX];
	struct read_windows windows;
	struct v8_heap heap = { .layout = symbolizer->layout, .memory = &windows.memory };
	struct identity identity;
	bool is_approximate = false;
	int err, changed;

	read_windows_init(&windows, memory);
	text_builder_clear(&symbolizer->texts);
	err = check(&heap, parts, &identity);
	if (!err)
		err = find_functions(symbolizer, &heap, parts, &identity, &is_approximate);
	if (!err)
		err = read_functions(symbolizer, &heap, parts, functions);
	if (is_passing(err))
		return err;
	/* The objects may have been freed while they were read. */
	changed = check_now(&heap, memory, parts);
	if (changed)
		return changed;
	return err ? err :
		     make_cached_frame(symbolizer, functions, symbolizer->functions.count,
				       is_approximate, cached, bytes);
}

/* The names in the module of @function; NULL if they are not available. */
static const struct v8_wasm_names *find_names(struct javascript_symbolizer *symbolizer,
					      const struct v8_heap *heap,
					      const struct v8_wasm_function *function)
{
	struct module_key key = { .module = function->module, .bytes = function->module_bytes };
	struct v8_wasm_names *names;

	if (v8_field(heap, function->script, heap->layout->script_id, &key.script_id))
		return NULL;
	names = lru_cache_get(&symbolizer->modules, &key);
	if (names)
		return names;
	names = calloc(1, sizeof(*names));
	if (!names)
		return NULL;
	/* An empty result is cached as well. */
	v8_wasm_names_read(heap->memory, key.module, key.bytes, names);
	if (lru_cache_put_capped(&symbolizer->modules, &key, names,
				 names->count * sizeof(names->offsets[0]) + ENTRY_BYTES)) {
		v8_wasm_names_deinit(names);
		free(names);
		return NULL;
	}
	return names;
}

/* Reads the name and the file of a function of WebAssembly, which is the name of its module's script. */
static void read_wasm_function(struct javascript_symbolizer *symbolizer, const struct v8_heap *heap,
			       const struct v8_wasm_function *from,
			       struct cached_function *function)
{
	const struct v8_wasm_names *names = find_names(symbolizer, heap, from);
	char text[NEW_NAME_BYTES];
	const char *module;
	v8_text name, script;

	*function = (struct cached_function){ .file = NO_TEXT };
	if (v8_script_name(heap, from->script, script))
		*script = '\0';
	if (*script)
		function->file = keep_text(symbolizer, script);
	if (names && !v8_wasm_names_find(heap->memory, names, from->index, name, sizeof(name))) {
		function->name = keep_text(symbolizer, name);
		return;
	}
	module = text_starts_with(script, WASM_URL) ? script + strlen(WASM_URL) : script;
	snprintf(text, sizeof(text), "wasm function %u%s%s", from->index, *module ? " in " : "",
		 module);
	text[text_cut_length(text, strlen(text), FRAME_NAME_MAX_BYTES)] = '\0';
	function->name = keep_text(symbolizer, text);
}

/* Checks that the code before the frame's pc is still the one that the kernel side saw; -ESTALE: it is not. */
static int check_wasm(struct remote_memory *memory, const uint64_t words[2])
{
	const uint64_t pc = frame_address(words[1]);
	uint64_t bytes = 0;
	int err = remote_memory_read(memory, pc - sizeof(bytes), &bytes, sizeof(bytes));

	if (is_passing(err))
		return err;
	return javascript_wasm_word(pc, err ? 0 : bytes) == words[1] ?
		       0 :
		       fail(-ESTALE, "other code of WebAssembly");
}

static int read_wasm_frame(struct javascript_symbolizer *symbolizer, struct remote_memory *memory,
			   const uint64_t words[2], struct cached_frame **cached, size_t *bytes)
{
	struct read_windows windows;
	struct v8_heap heap = { .layout = symbolizer->layout, .memory = &windows.memory };
	const bool is_return_address = frame_flags(words[0]) & FRAME_RETURN_ADDRESS;
	struct v8_wasm_function function;
	struct cached_function named;
	int err;

	read_windows_init(&windows, memory);
	text_builder_clear(&symbolizer->texts);
	err = v8_wasm_find(&heap, frame_address(words[0]),
			   frame_address(words[1]) - is_return_address, &function);
	if (is_passing(err))
		return err;
	if (err)
		/* Code of no function, or a layout that is not known. */
		named = (struct cached_function){ .name = keep_text(symbolizer, NO_WASM_NAME),
						  .file = NO_TEXT };
	else
		read_wasm_function(symbolizer, &heap, &function, &named);
	err = check_wasm(memory, words);
	return err ? err : make_cached_frame(symbolizer, &named, 1, false, cached, bytes);
}

static int get_frame(struct javascript_symbolizer *symbolizer, struct remote_memory *memory,
		     const uint64_t words[2], struct cached_frame **cached)
{
	const struct frame_parts parts = take_apart(words);
	struct cached_frame *found = lru_cache_get(&symbolizer->frames, words);
	size_t bytes = 0;
	int err;

	if (found) {
		*cached = found;
		return 0;
	}
	err = parts.code == JAVASCRIPT_WASM ?
		      read_wasm_frame(symbolizer, memory, words, &found, &bytes) :
		      read_frame(symbolizer, memory, &parts, &found, &bytes);
	if (err)
		return err;
	err = lru_cache_put_capped(&symbolizer->frames, words, found, bytes + ENTRY_BYTES);
	if (err)
		free(found);
	else
		*cached = found;
	return err;
}

int javascript_symbolize(struct javascript_symbolizer *symbolizer, struct remote_memory *memory,
			 const uint64_t words[2], uint64_t now_ns,
			 struct interpreted_frames *frames)
{
	struct cached_frame *cached = NULL;
	const char *texts;
	int err;

	if (take_apart(words).code == JAVASCRIPT_REGEXP) {
		frames->count = 1;
		frames->items[0] = (struct interpreted_frame){ .function = REGEXP_NAME };
		return 0;
	}
	if (now_ns >= symbolizer->next_age_ns) {
		lru_cache_age(&symbolizer->frames);
		lru_cache_age(&symbolizer->scripts);
		lru_cache_age(&symbolizer->modules);
		symbolizer->next_age_ns = now_ns + JAVASCRIPT_CACHE_AGE_NS;
	}
	err = get_frame(symbolizer, memory, words, &cached);
	if (err)
		return err;
	texts = (const char *)(cached->functions + cached->count);
	frames->count = cached->count;
	for (uint32_t i = 0; i < cached->count; i++) {
		const struct cached_function *function = &cached->functions[i];

		frames->items[i] = (struct interpreted_frame){
			.function = texts + function->name,
			.file = function->file == NO_TEXT ? NULL : texts + function->file,
			.line = function->location.line,
			.column = function->location.column,
			.start_line = function->start_line,
			.is_inlined = i + 1 < cached->count,
			.is_approximate = cached->is_approximate,
		};
	}
	return 0;
}
