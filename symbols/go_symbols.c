/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three caches: tables by executable id, which are small without their pages; the tables that have
 * pages; and answers by executable id and address. Executable ids are never reused, so no entry
 * becomes wrong.
 */
#include "symbols/go_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/lru_cache.h"
#include "lib/elf/go_frames.h"
#include "lib/host/binary_file.h"

enum {
	TABLES_MAX = 1024,
	ANSWERS_MAX = 65536,
	/*
	 * Memory of a cached answer besides its contents: key, links, and the overhead of an
	 * allocation.
	 */
	ANSWER_OVERHEAD_BYTES = 64,
};

/*
 * CPU time for look-ups, in one file and in total: what can be saved up, and the fraction of
 * elapsed time that is added. A look-up of a random address in a large program takes 30 to 55 us.
 */
#define FILE_BURST_NS (2 * NS_PER_SECOND)
#define ALL_BURST_NS (5 * NS_PER_SECOND)
enum { FILE_SHARE = 20, ALL_SHARE = 4 };

struct allowance {
	uint64_t spent_ns;
	uint64_t refilled_ns;
};

struct table {
	struct elf_image image;
	struct go_table go;
	/* Not 0: the error of the table. */
	int err;
	struct allowance allowance;
};

struct answer_key {
	uint64_t executable_id;
	uint64_t address;
};

struct answer_name {
	/* Offsets in the texts after the names. */
	uint32_t function;
	uint32_t file;
	uint32_t line;
	uint32_t start_line;
	bool is_inlined;
	bool is_wrapper;
};

/* Names, followed by their texts. Without names there are none, or the table is damaged here. */
struct answer {
	uint32_t count;
	/* enum function_trait */
	uint32_t traits;
	struct answer_name names[];
};

struct go_symbols {
	struct symbol_lookup lookup;
	bool reads_remote;
	const struct path_judge *judge;
	/* Map an executable id to a struct table; open has those with pages. */
	struct lru_cache tables;
	struct lru_cache open;
	/* Maps a struct answer_key to a struct answer. */
	struct lru_cache answers;
	struct go_frames frames;
	struct allowance allowance;
};

/* --- tables --- */

static void table_destroy(struct table *table)
{
	if (!table)
		return;
	if (!table->err)
		go_table_deinit(&table->go);
	elf_image_deinit(&table->image);
	free(table);
}

static void release_table(void *context, const void *key, void *value)
{
	struct go_symbols *symbols = context;

	lru_cache_remove(&symbols->open, key);
	table_destroy(value);
}

static void release_pages(void *context, const void *key, void *value)
{
	struct table *table = value;

	(void)context;
	(void)key;
	go_table_release(&table->go);
}

static void log_refused(const struct binary *binary)
{
	static struct log_limit limit = { .interval_ns = NS_PER_SECOND, .burst = 20 };
	uint64_t suppressed;

	/* The code that makes the file's unwind rows has already logged this above debug. */
	if (log_limit_allow(&limit, clock_monotonic_ns(), &suppressed))
		log_debug("no names of Go in %s: %s", binary->path, error_text());
}

/* NULL without memory, or if the file is gone; a table that cannot be read has an err. */
static struct table *read_table(const struct go_symbols *symbols, const struct binary *binary)
{
	_cleanup_(binary_file_return) struct borrowed_file file =
		binary_file_open(binary, symbols->judge);
	struct table *table = calloc(1, sizeof(*table));

	if (!table || file.fd < 0) {
		free(table);
		return NULL;
	}
	table->image.fd = -1;
	table->err = elf_image_init_fd(&table->image, file.fd);
	if (!table->err)
		table->err = go_table_init(&table->go, &table->image);
	if (table->err == -ENOMEM) {
		table_destroy(table);
		return NULL;
	}
	if (table->err)
		log_refused(binary);
	else
		go_table_release(&table->go);
	return table;
}

static size_t table_bytes(const struct table *table)
{
	return sizeof(*table) + table->image.segment_count * sizeof(struct elf_segment) +
	       table->image.section_count * sizeof(struct elf_section);
}

static struct table *find_table(struct go_symbols *symbols, const struct binary *binary)
{
	struct table *table = lru_cache_get(&symbols->tables, &binary->executable_id);

	if (table)
		return table;
	table = read_table(symbols, binary);
	if (!table)
		return NULL;
	if (lru_cache_put_capped(&symbols->tables, &binary->executable_id, table,
				 table_bytes(table))) {
		table_destroy(table);
		return NULL;
	}
	return table;
}

static bool may_spend(struct allowance *allowance, uint64_t burst_ns, uint32_t share,
		      uint64_t now_ns)
{
	uint64_t refill_ns = (now_ns - allowance->refilled_ns) / share;

	allowance->spent_ns -= refill_ns < allowance->spent_ns ? refill_ns : allowance->spent_ns;
	allowance->refilled_ns = now_ns;
	return allowance->spent_ns < burst_ns;
}

/* Fills symbols->frames. -EAGAIN: not now. */
static int find_frames(struct go_symbols *symbols, struct table *table, const struct binary *binary,
		       uint64_t address)
{
	_cleanup_(binary_file_return) struct borrowed_file file = { .fd = -1 };
	uint64_t now_ns = clock_monotonic_ns(), begin_ns, spent_ns;
	int err;

	if (!may_spend(&table->allowance, FILE_BURST_NS, FILE_SHARE, now_ns) ||
	    !may_spend(&symbols->allowance, ALL_BURST_NS, ALL_SHARE, now_ns))
		return fail(-EAGAIN, "look-ups take too long");
	/* The first read brings pages, so the table counts as open from here on. */
	if (!lru_cache_get(&symbols->open, &binary->executable_id) &&
	    lru_cache_put(&symbols->open, &binary->executable_id, table, 0))
		return fail(-ENOMEM, "no memory for Go's table");
	file = binary_file_open(binary, symbols->judge);
	if (file.fd < 0)
		return -EAGAIN;
	begin_ns = clock_thread_cpu_ns();
	/* Binaries of one id share the file, but not the descriptor. */
	table->image.fd = file.fd;
	err = go_frames_find(&symbols->frames, &table->go, address);
	table->image.fd = -1;
	spent_ns = clock_thread_cpu_ns() - begin_ns;
	table->allowance.spent_ns += spent_ns;
	symbols->allowance.spent_ns += spent_ns;
	return err;
}

/* --- answers --- */

static void release_answer(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	free(value);
}

/* Go's own linker enters C functions into the table too, but only with their names. */
static bool is_c(const struct go_function *function)
{
	return !function->pcsp && !function->pcfile && !(function->flags & GO_FUNCTION_ASSEMBLY);
}

/* The outermost of @frames has the code; @answer has the names of the shown ones. */
static uint32_t traits_of(const struct go_frame_vector *frames, const struct answer *answer)
{
	if (!frames->count)
		return 0;
	switch (frames->items[frames->count - 1].kind) {
	case GO_FUNCTION_GOPANIC:
	case GO_FUNCTION_PANICWRAP:
	case GO_FUNCTION_SIGPANIC:
		return FUNCTION_SHOWS_GENERATED;
	case GO_FUNCTION_WRAPPER:
	case GO_FUNCTION_ORDINARY:
		break;
	}
	if (!answer->count || !answer->names[0].is_wrapper)
		return 0;
	return answer->count == 1 ? FUNCTION_IS_GENERATED : FUNCTION_BEGINS_GENERATED;
}

/* Makes an answer from symbols->frames. NULL without memory. */
static struct answer *make_answer(const struct go_symbols *symbols, size_t *bytes)
{
	const struct go_frame_vector *frames = &symbols->frames.frames;
	size_t count = is_c(&symbols->frames.function) ? 0 : frames->count;
	size_t text_bytes = count ? symbols->frames.text.length : 0;
	struct answer *answer;

	*bytes = sizeof(*answer) + count * sizeof(answer->names[0]) + text_bytes;
	answer = malloc(*bytes);
	if (!answer)
		return NULL;
	answer->count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct go_frame *frame = &frames->items[i];

		/* A name may be "" up to Go 1.22. */
		if (frame->is_left_out || !*go_frames_function(&symbols->frames, frame))
			continue;
		answer->names[answer->count++] = (struct answer_name){
			.function = frame->function,
			.file = frame->file,
			.line = frame->line > 0 ? (uint32_t)frame->line : 0,
			.start_line = frame->start_line > 0 ? (uint32_t)frame->start_line : 0,
			.is_inlined = frame->is_inlined,
			.is_wrapper = !i && frame->kind == GO_FUNCTION_WRAPPER,
		};
	}
	answer->traits = traits_of(frames, answer);
	if (text_bytes)
		memcpy(&answer->names[answer->count], symbols->frames.text.text, text_bytes);
	return answer;
}

static bool is_in_go(const struct table *table, uint64_t address)
{
	return !table->err && address >= table->go.first_address && address < table->go.end_address;
}

/* NULL outside of Go's code, and for what may be found later. */
static const struct answer *find_answer(struct go_symbols *symbols, const struct binary *binary,
					uint64_t address)
{
	const struct answer_key key = { binary->executable_id, address };
	struct answer *answer = lru_cache_get(&symbols->answers, &key);
	struct table *table;
	size_t bytes;
	int err;

	if (answer)
		return answer;
	table = find_table(symbols, binary);
	if (!table || !is_in_go(table, address))
		return NULL;
	err = find_frames(symbols, table, binary, address);
	if (err && err != -ENOENT)
		log_refused(binary);
	if (err == -EAGAIN || err == -ENOMEM)
		return NULL;
	answer = make_answer(symbols, &bytes);
	if (!answer)
		return NULL;
	if (lru_cache_put(&symbols->answers, &key, answer, bytes + ANSWER_OVERHEAD_BYTES)) {
		free(answer);
		return NULL;
	}
	return answer;
}

/* If there is not enough room: the innermost ones, and the one that has the code. */
static uint32_t give(const struct answer *answer, struct symbol *symbols, uint32_t capacity)
{
	const char *text = (const char *)&answer->names[answer->count];
	uint32_t count = answer->count < capacity ? answer->count : capacity;

	for (uint32_t i = 0; i < count; i++) {
		const struct answer_name *name =
			&answer->names[i + 1 == count ? answer->count - 1 : i];

		symbols[i] = (struct symbol){
			.function = text + name->function,
			/* The runtime uses "?" for an unknown file. */
			.file = strcmp(text + name->file, "?") ? text + name->file : NULL,
			.line = name->line,
			.start_line = name->start_line,
			.language = FRAME_GO,
			.flags = (name->is_inlined ? SYMBOL_INLINED : 0) |
				 (name->is_wrapper ? SYMBOL_GENERATED : 0),
		};
	}
	return count;
}

static bool is_read(const struct go_symbols *symbols, const struct binary *binary)
{
	return binary_has_code_of(binary, FRAME_GO) && binary_file_is_known(binary) &&
	       (!binary->may_hang || symbols->reads_remote);
}

static uint32_t resolve(struct symbol_lookup *lookup, struct binary *binary, uint64_t address,
			struct symbol *names, uint32_t capacity)
{
	struct go_symbols *symbols = (struct go_symbols *)lookup;
	const struct answer *answer;

	if (!capacity || !is_read(symbols, binary))
		return 0;
	answer = find_answer(symbols, binary, address);
	return answer ? give(answer, names, capacity) : 0;
}

static uint32_t traits(struct symbol_lookup *lookup, struct binary *binary, uint64_t address)
{
	struct go_symbols *symbols = (struct go_symbols *)lookup;
	const struct answer *answer =
		is_read(symbols, binary) ? find_answer(symbols, binary, address) : NULL;

	return answer ? answer->traits : 0;
}

static void init_open(struct go_symbols *symbols)
{
	lru_cache_init(&symbols->open, sizeof(uint64_t), GO_SYMBOLS_MAX_OPEN, 0, release_pages,
		       NULL);
}

static void rest(struct symbol_lookup *lookup)
{
	struct go_symbols *symbols = (struct go_symbols *)lookup;

	lru_cache_deinit(&symbols->open);
	init_open(symbols);
	go_frames_deinit(&symbols->frames);
}

int go_symbols_create(struct go_symbols **symbols, bool reads_remote,
		      const struct path_judge *judge)
{
	static const struct symbol_lookup_ops ops = { .resolve = resolve,
						      .traits = traits,
						      .rest = rest };
	struct go_symbols *created = calloc(1, sizeof(*created));

	if (!created)
		return fail(-ENOMEM, "no memory for names of Go");
	created->lookup.ops = &ops;
	created->reads_remote = reads_remote;
	created->judge = judge;
	lru_cache_init(&created->tables, sizeof(uint64_t), TABLES_MAX, GO_SYMBOLS_MAX_TABLE_BYTES,
		       release_table, created);
	init_open(created);
	lru_cache_init(&created->answers, sizeof(struct answer_key), ANSWERS_MAX,
		       GO_SYMBOLS_MAX_ANSWER_BYTES, release_answer, NULL);
	*symbols = created;
	return 0;
}

void go_symbols_destroy(struct go_symbols *symbols)
{
	if (!symbols)
		return;
	/* Also removes them from symbols->open. */
	lru_cache_deinit(&symbols->tables);
	lru_cache_deinit(&symbols->open);
	lru_cache_deinit(&symbols->answers);
	go_frames_deinit(&symbols->frames);
	free(symbols);
}

struct symbol_lookup *go_symbols_lookup(struct go_symbols *symbols)
{
	return &symbols->lookup;
}
