/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JVM runs while it is read. The code's fingerprint is checked before and after a read; the result is used only
 * if it is the same both times.
 */
#include "interpreters/java/java_symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/java.h"
#include "interpreters/java/java_code.h"
#include "interpreters/java/java_fields.h"
#include "interpreters/java/java_lines.h"
#include "interpreters/read_windows.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum { ENTRY_BYTES = 64 };

_Static_assert((int)JAVA_MAX_SCOPES <= (int)INTERPRETED_FRAMES_MAX, "all scopes become frames");

/* The identity of code: its Method, and for an interpreted one the name of its class. */
struct identity {
	uint64_t method;
	uint64_t class_name;
};

/* A cached frame. It is one block of memory, in which the texts follow the methods. */
struct java_cached_frame {
	struct identity identity;
	/* Time of the last check of the identity. */
	uint64_t looked_ns;
	uint32_t count;
	bool is_exact;
	struct cached_method {
		/* Offset of the text. */
		uint32_t name;
		/* Offset of the text; NO_TEXT: unknown. */
		uint32_t file;
		struct java_lines lines;
		bool mounts_virtual_thread;
	} methods[];
};

#define NO_TEXT UINT32_MAX

/* Bytes of the cached frames of all processes. Atomic, because detach may run on another thread. */
static size_t total_bytes;

static void release_frame(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	free(value);
}

void java_symbolizer_init(struct java_symbolizer *symbolizer, const struct java_layout *layout,
			  uint64_t unloads, bool with_signatures, runtime_find_jump *find_jump)
{
	memset(symbolizer, 0, sizeof(*symbolizer));
	symbolizer->layout = *layout;
	symbolizer->unloads = unloads;
	symbolizer->with_signatures = with_signatures;
	symbolizer->find_jump = find_jump;
	lru_cache_init(&symbolizer->cache, 2 * sizeof(uint64_t), JAVA_CACHE_MAX_ENTRIES,
		       JAVA_CACHE_MAX_BYTES, release_frame, NULL);
}

/* Updates the sum over all processes with the current size of this cache, and returns it. */
static size_t count_bytes(struct java_symbolizer *symbolizer)
{
	size_t change = symbolizer->cache.bytes - symbolizer->counted_bytes;

	symbolizer->counted_bytes = symbolizer->cache.bytes;
	return __atomic_add_fetch(&total_bytes, change, __ATOMIC_RELAXED);
}

void java_symbolizer_deinit(struct java_symbolizer *symbolizer)
{
	lru_cache_deinit(&symbolizer->cache);
	count_bytes(symbolizer);
	free(symbolizer->uncached);
	symbolizer->uncached = NULL;
	text_builder_deinit(&symbolizer->texts);
}

/*
 * Checks that the frame belongs to @method, which must have the fingerprint @fingerprint. Classes of one form that are
 * created and freed again and again, such as those of lambdas, may have all of that at the same addresses. So the name
 * of the class is part of the identity.
 */
static int check_method(const struct java_symbolizer *symbolizer, struct remote_memory *memory,
			uint64_t method, uint32_t fingerprint, struct identity *identity)
{
	const struct java_layout *layout = &symbolizer->layout;
	uint64_t const_method = 0, constants = 0, word = 0, holder = 0, unloads = 0, version = 0;
	int err = java_field_read(memory, method, layout->method_const_method, &const_method);

	if (!err)
		err = java_field_read(memory, const_method, layout->const_method_constants,
				      &constants);
	if (!err)
		err = remote_memory_read(memory,
					 const_method + layout->const_method_code_size.offset,
					 &word, sizeof(word));
	if (!err)
		err = java_field_read(memory, constants, layout->constant_pool_holder, &holder);
	if (!err && layout->constant_pool_version.bytes)
		err = java_field_read(memory, constants, layout->constant_pool_version, &version);
	if (!err && symbolizer->unloads)
		err = remote_memory_read(memory, symbolizer->unloads, &unloads, sizeof(unloads));
	if (!err && java_method_fingerprint(constants, word, unloads,
					    layout->constant_pool_version.bytes ? holder : 0,
					    (uint32_t)version) != fingerprint)
		return fail(-ESTALE, "another method");
	if (!err)
		err = java_field_read(memory, holder, layout->klass_name, &identity->class_name);
	identity->method = method;
	return err;
}

/* The same for the nmethod at @address. No two have the same compile id. */
static int check_nmethod(const struct java_symbolizer *symbolizer, struct remote_memory *memory,
			 uint64_t address, uint32_t fingerprint, struct identity *identity)
{
	const struct java_layout *layout = &symbolizer->layout;
	uint64_t is_used = 0, compile_id = 0;
	int err = java_field_read(memory, address - layout->block_bytes, layout->block_used,
				  &is_used);

	/* The block is freed before the methods that are inlined into it. */
	if (!err && !is_used)
		return fail(-ESTALE, "code that was freed");
	if (!err)
		err = java_field_read(memory, address, layout->nmethod_method, &identity->method);
	if (!err)
		err = java_field_read(memory, address, layout->nmethod_compile_id, &compile_id);
	if (!err && fingerprint_of(identity->method, (uint32_t)compile_id) != fingerprint)
		return fail(-ESTALE, "other code");
	identity->class_name = 0;
	return err;
}

static int check(const struct java_symbolizer *symbolizer, struct remote_memory *memory,
		 const uint64_t words[2], struct identity *identity)
{
	uint64_t address = frame_address(words[0]);
	uint32_t fingerprint = (uint32_t)words[1];

	return words[1] >> 32 & JAVA_COMPILED ?
		       check_nmethod(symbolizer, memory, address, fingerprint, identity) :
		       check_method(symbolizer, memory, address, fingerprint, identity);
}

/* Checks with the memory itself and not with windows that were read before. */
static int check_now(const struct java_symbolizer *symbolizer, struct remote_memory *memory,
		     const uint64_t words[2], struct identity *identity)
{
	struct read_windows windows;

	read_windows_init(&windows, memory);
	return check(symbolizer, &windows.memory, words, identity);
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->method == b->method && a->class_name == b->class_name;
}

static int read_compiled(const struct java_symbolizer *symbolizer, struct remote_memory *memory,
			 const uint64_t words[2], uint64_t method, struct java_scopes *scopes)
{
	const struct java_layout *layout = &symbolizer->layout;
	uint32_t offset = words[1] >> 32 & ~JAVA_COMPILED;
	struct java_blob blob;
	int err = java_blob_find_at(layout, memory, frame_address(words[0]), &blob);

	if (!err)
		err = java_scopes_read(layout, memory, &blob, offset,
				       frame_flags(words[0]) & FRAME_RETURN_ADDRESS,
				       symbolizer->find_jump, scopes);
	if (!err || is_passing(err))
		return err;
	scopes->count = 1;
	scopes->scopes[0] = (struct java_scope){ method, JAVA_BCI_OF_ENTRY };
	scopes->is_exact = false;
	return 0;
}

static int read_scopes(const struct java_symbolizer *symbolizer, struct remote_memory *memory,
		       const uint64_t words[2], uint64_t method, struct java_scopes *scopes)
{
	uint32_t position = words[1] >> 32;

	if (position & JAVA_COMPILED)
		return read_compiled(symbolizer, memory, words, method, scopes);
	scopes->count = 1;
	scopes->scopes[0] = (struct java_scope){ method, (int32_t)position };
	scopes->is_exact = true;
	return 0;
}

static uint32_t keep_text(struct java_symbolizer *symbolizer)
{
	uint32_t offset = (uint32_t)symbolizer->texts.length;

	text_builder_append_bytes(&symbolizer->texts, symbolizer->text,
				  strlen(symbolizer->text) + 1);
	return offset;
}

/*
 * True for the method that calls the frames of a virtual thread. While a part of them is still in the heap, the stack
 * has the stub that fetches them instead. @method may have types or not.
 */
static bool mounts_virtual_thread(const char *method)
{
	static const char name[] = "jdk.internal.vm.Continuation.enterSpecial";
	size_t length = sizeof(name) - 1;

	return !strncmp(method, name, length) && (!method[length] || method[length] == '(');
}

static int read_method(struct java_symbolizer *symbolizer, struct remote_memory *memory,
		       const struct java_scope *scope, struct cached_method *method)
{
	const struct java_layout *layout = &symbolizer->layout;
	uint32_t bci = scope->bci > 0 ? (uint32_t)scope->bci : 0;
	int err = java_method_name(layout, memory, scope->method, symbolizer->with_signatures,
				   symbolizer->text);

	if (err)
		return err;
	*method = (struct cached_method){
		.name = keep_text(symbolizer),
		.file = NO_TEXT,
		.mounts_virtual_thread = mounts_virtual_thread(symbolizer->text),
	};
	err = java_source_file(layout, memory, scope->method, symbolizer->text);
	if (!err)
		method->file = keep_text(symbolizer);
	if (!is_passing(err) && bci != JAVA_NO_BCI)
		err = java_lines_of(layout, memory, scope->method, bci, &method->lines);
	return is_passing(err) ? err : 0;
}

/* Makes a cached frame from the methods and texts that were read. */
static int make_frame(struct java_symbolizer *symbolizer, const struct identity *identity,
		      const struct cached_method *methods, uint64_t now_ns,
		      struct java_cached_frame **frame, size_t *bytes)
{
	const struct java_scopes *scopes = &symbolizer->scopes;
	const struct text_builder *texts = &symbolizer->texts;
	size_t method_bytes = scopes->count * sizeof(methods[0]);
	struct java_cached_frame *made;

	if (texts->failed)
		return -ENOMEM;
	*bytes = sizeof(*made) + method_bytes + texts->length;
	made = malloc(*bytes);
	if (!made)
		return -ENOMEM;
	made->identity = *identity;
	made->looked_ns = now_ns;
	made->count = scopes->count;
	made->is_exact = scopes->is_exact;
	memcpy(made->methods, methods, method_bytes);
	memcpy(made->methods + made->count, texts->text, texts->length);
	*frame = made;
	return 0;
}

static int read_frame(struct java_symbolizer *symbolizer, struct remote_memory *memory,
		      const uint64_t words[2], uint64_t now_ns, struct java_cached_frame **frame,
		      size_t *bytes)
{
	struct cached_method methods[JAVA_MAX_SCOPES];
	struct java_scopes *scopes = &symbolizer->scopes;
	struct read_windows windows;
	struct identity identity, again;
	int err, changed;

	read_windows_init(&windows, memory);
	text_builder_clear(&symbolizer->texts);
	err = check(symbolizer, &windows.memory, words, &identity);
	if (!err)
		err = read_scopes(symbolizer, &windows.memory, words, identity.method, scopes);
	for (uint32_t i = 0; !err && i < scopes->count; i++)
		err = read_method(symbolizer, &windows.memory, &scopes->scopes[i], &methods[i]);
	if (is_passing(err))
		return err;
	/* The objects may have been freed while they were read. */
	changed = check_now(symbolizer, memory, words, &again);
	if (changed)
		return changed;
	if (err)
		return err;
	return is_same(&identity, &again) ?
		       make_frame(symbolizer, &identity, methods, now_ns, frame, bytes) :
		       fail(-ESTALE, "other code");
}

/* Checks whether the cached @frame is still right for the words. */
static int look_again(struct java_symbolizer *symbolizer, struct remote_memory *memory,
		      const uint64_t words[2], uint64_t now_ns, struct java_cached_frame *frame,
		      bool *is_valid)
{
	struct identity identity;
	int err;

	*is_valid = true;
	if (words[1] >> 32 & JAVA_COMPILED || symbolizer->unloads ||
	    now_ns - frame->looked_ns < JAVA_LOOK_NS)
		return 0;
	err = check_now(symbolizer, memory, words, &identity);
	if (err)
		return err;
	*is_valid = is_same(&identity, &frame->identity);
	if (*is_valid)
		frame->looked_ns = now_ns;
	return 0;
}

/* The limit of this cache. If all processes together are over theirs, the one that adds an entry evicts some. */
static size_t limit_bytes(struct java_symbolizer *symbolizer)
{
	size_t total = count_bytes(symbolizer), bytes = symbolizer->cache.bytes;
	size_t others = total - bytes, limit = JAVA_CACHE_MIN_BYTES;

	if (others < JAVA_CACHE_TOTAL_BYTES - JAVA_CACHE_MIN_BYTES)
		limit = JAVA_CACHE_TOTAL_BYTES - others;
	return limit < JAVA_CACHE_MAX_BYTES ? limit : JAVA_CACHE_MAX_BYTES;
}

static void cache_frame(struct java_symbolizer *symbolizer, const uint64_t words[2],
			struct java_cached_frame *frame, size_t bytes)
{
	struct lru_cache *cache = &symbolizer->cache;

	cache->max_bytes = limit_bytes(symbolizer);
	if (lru_cache_put(cache, words, frame, bytes + ENTRY_BYTES)) {
		free(symbolizer->uncached);
		symbolizer->uncached = frame;
	}
	count_bytes(symbolizer);
}

/* Finds or reads the frame. The cache owns *@frame, or symbolizer->uncached does. */
static int get_frame(struct java_symbolizer *symbolizer, struct remote_memory *memory,
		     const uint64_t words[2], uint64_t now_ns, struct java_cached_frame **frame)
{
	struct java_cached_frame *found = lru_cache_get(&symbolizer->cache, words);
	bool is_valid = false;
	size_t bytes = 0;
	int err = 0;

	if (found)
		err = look_again(symbolizer, memory, words, now_ns, found, &is_valid);
	if (!err && !is_valid) {
		err = read_frame(symbolizer, memory, words, now_ns, &found, &bytes);
		if (!err)
			cache_frame(symbolizer, words, found, bytes);
	}
	if (!err)
		*frame = found;
	return err;
}

int java_symbolize(struct java_symbolizer *symbolizer, struct remote_memory *memory,
		   const uint64_t words[2], uint64_t now_ns, struct interpreted_frames *frames)
{
	struct java_cached_frame *frame = NULL;
	const char *texts;
	int err;

	if (now_ns >= symbolizer->next_age_ns) {
		lru_cache_age(&symbolizer->cache);
		count_bytes(symbolizer);
		symbolizer->next_age_ns = now_ns + JAVA_CACHE_AGE_NS;
	}
	err = get_frame(symbolizer, memory, words, now_ns, &frame);
	if (err)
		return err;
	texts = (const char *)(frame->methods + frame->count);
	frames->count = frame->count;
	for (uint32_t i = 0; i < frame->count; i++) {
		const struct cached_method *method = &frame->methods[i];

		frames->items[i] = (struct interpreted_frame){
			.function = texts + method->name,
			.file = method->file == NO_TEXT ? NULL : texts + method->file,
			.line = method->lines.line,
			.start_line = method->lines.start_line,
			.is_inlined = i + 1 < frame->count,
			.is_approximate = !frame->is_exact,
			.marks_trace = method->mounts_virtual_thread,
		};
	}
	return 0;
}
