/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/flame_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/json_text.h"
#include "reporter/stack_text.h"
#include "viewer/counts_tree.h"

/* The page, built by `make page` and committed. */
__asm__(".pushsection .rodata\n"
	"flame_page: .incbin \"viewer/assets/export.html\"\n"
	"flame_page_end: .byte 0\n"
	".popsection\n");
extern const char flame_page[], flame_page_end[];

/* Further functions are left out of the table. */
enum { MAX_ROWS = 10000 };

/* The profile is inserted after this tag. */
static const char profile_tag[] = "<script type=\"application/json\" id=\"profile\">";

static void put_names(FILE *out, const struct stack_counts *counts)
{
	fputs("\"names\":[", out);
	for (size_t i = 0; i < counts->strings.count; i++) {
		json_text_write_bytes(out, counts->strings.items[i],
				      counts_tree_name_length(counts, (uint32_t)i));
		putc(',', out);
	}
	fputs("\"all\"],\"kinds\":[", out);
	for (int i = 0; i <= TEXT_KIND_COUNT; i++) {
		if (i)
			putc(',', out);
		json_text_write(out, text_kind_name(i));
	}
	putc(']', out);
}

enum column {
	COLUMN_PARENT,
	COLUMN_NAME,
	COLUMN_KIND,
	COLUMN_FLAGS,
	COLUMN_PRUNED,
	COLUMN_SELF,
	COLUMN_TOTAL,
};

static int64_t cell(const struct stack_counts *counts, const struct flame_node *node,
		    enum column column)
{
	bool is_root = node->id == FLAME_ROOT_ID;
	const struct text_trait *trait = is_root ? NULL : &counts->traits.items[node->id];

	switch (column) {
	case COLUMN_PARENT:
		return is_root ? -1 : (int64_t)node->parent;
	case COLUMN_NAME:
		return is_root ? (int64_t)counts->strings.count : (int64_t)node->id;
	case COLUMN_KIND:
		return trait ? trait->kind : TEXT_KIND_COUNT;
	case COLUMN_FLAGS:
		return trait ? trait->flags : 0;
	case COLUMN_PRUNED:
		return (int64_t)node->pruned;
	case COLUMN_SELF:
		return (int64_t)node->self;
	default:
		return (int64_t)node->total;
	}
}

static void put_columns(FILE *out, const struct stack_counts *counts, const struct flame_tree *tree)
{
	static const char *const names[] = {
		[COLUMN_PARENT] = "parent", [COLUMN_NAME] = "name",	[COLUMN_KIND] = "kind",
		[COLUMN_FLAGS] = "flags",   [COLUMN_PRUNED] = "pruned", [COLUMN_SELF] = "self",
		[COLUMN_TOTAL] = "total",
	};

	for (enum column column = COLUMN_PARENT; column <= COLUMN_TOTAL; column++) {
		fprintf(out, ",\"%s\":[", names[column]);
		for (size_t i = 0; i < tree->nodes.count; i++)
			fprintf(out, "%s%" PRId64, i ? "," : "",
				cell(counts, &tree->nodes.items[i], column));
		putc(']', out);
	}
}

/*
 * Writes the page up to the profile and returns the rest; NULL if the page has no tag for a
 * profile.
 */
static const char *begin_page(FILE *out)
{
	const char *behind = strstr(flame_page, profile_tag);

	if (!behind)
		return NULL;
	behind += sizeof(profile_tag) - 1;
	fwrite(flame_page, 1, (size_t)(behind - flame_page), out);
	return behind;
}

static void end_page(FILE *out, const char *behind)
{
	fwrite(behind, 1, (size_t)(flame_page_end - behind), out);
}

int flame_page_write_json(FILE *out, const char *json)
{
	const char *behind = begin_page(out);

	if (!behind)
		return -EINVAL;
	/* `<` occurs only in JSON strings. */
	for (const char *c = json; *c; c++) {
		if (*c == '<')
			fputs("\\u003c", out);
		else
			putc(*c, out);
	}
	end_page(out, behind);
	return 0;
}

static void put_fact(void *context, const char *key, const char *value)
{
	FILE *out = context;

	fputs(",[", out);
	json_text_write(out, key);
	putc(',', out);
	json_text_write(out, value);
	putc(']', out);
}

/* The page takes the values for samples if there is no type. */
static void put_type(FILE *out, const struct value_type *type)
{
	if (!type)
		return;
	fputs(",\"type\":{\"type\":", out);
	json_text_write(out, type->type);
	fputs(",\"unit\":", out);
	json_text_write(out, type->unit);
	putc('}', out);
}

/* --- the table of functions --- */

struct function_row {
	/* The id of its text. */
	uint32_t id;
	uint64_t self;
	uint64_t total;
	/* The number of the last stack that counted in the total, from 1. */
	size_t last_stack;
};

static int compare_rows(const void *a, const void *b)
{
	const struct function_row *one = a, *other = b;

	if (one->self != other->self)
		return one->self < other->self ? 1 : -1;
	if (one->total != other->total)
		return one->total < other->total ? 1 : -1;
	return (one->id > other->id) - (one->id < other->id);
}

/* Counts each function in @rows, which has one for each text. */
static void count_functions(const struct stack_counts *counts, struct function_row *rows)
{
	for (size_t i = 0; i < counts->strings.count; i++)
		rows[i].id = (uint32_t)i;
	for (size_t i = 0; i < counts->stacks.sequences.count; i++) {
		const struct counted_sequence *stack = &counts->stacks.sequences.items[i];
		const uint32_t *ids = counts->stacks.numbers.items + stack->first;

		for (size_t j = 0; j < stack->length; j++) {
			if (rows[ids[j]].last_stack != i + 1)
				rows[ids[j]].total += stack->count;
			rows[ids[j]].last_stack = i + 1;
		}
		if (stack->length)
			rows[ids[stack->length - 1]].self += stack->count;
	}
}

static void put_row(FILE *out, const struct stack_counts *counts, const struct function_row *row)
{
	const struct text_trait *trait = &counts->traits.items[row->id];

	fputs("{\"name\":", out);
	json_text_write_bytes(out, counts->strings.items[row->id],
			      counts_tree_name_length(counts, row->id));
	fputs(",\"kind\":", out);
	json_text_write(out, text_kind_name(trait->kind));
	fprintf(out, ",\"file\":\"\",\"flags\":%u,\"self\":%" PRIu64 ",\"total\":%" PRIu64 "}",
		trait->flags, row->self, row->total);
}

/* Writes the functions as an answer to "top" (viewer/page/API.md). */
static int put_functions(FILE *out, const struct stack_counts *counts)
{
	size_t count = 0, shown;
	_cleanup_(free_pointer) struct function_row *rows =
		calloc(counts->strings.count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	count_functions(counts, rows);
	for (size_t i = 0; i < counts->strings.count; i++)
		if (rows[i].total && counts->traits.items[i].kind != TEXT_PROCESS)
			rows[count++] = rows[i];
	qsort(rows, count, sizeof(*rows), compare_rows);
	shown = count < MAX_ROWS ? count : MAX_ROWS;
	fprintf(out, ",\"top\":{\"total\":%" PRIu64 ",\"functions\":%zu,\"named\":%zu,\"rows\":[",
		counts->total, count, shown);
	for (size_t i = 0; i < shown; i++) {
		if (i)
			putc(',', out);
		put_row(out, counts, &rows[i]);
	}
	fputs("]}", out);
	return 0;
}

int flame_page_write(FILE *out, const struct stack_counts *counts,
		     const struct sample_snapshot *snapshot, const struct profile_info *info)
{
	_cleanup_(flame_tree_deinit) struct flame_tree tree = { 0 };
	const char *behind;
	int err = counts_tree_init(&tree, counts, FLAME_PAGE_MAX_NODES);

	if (err)
		return err;
	behind = begin_page(out);
	if (!behind)
		return -EINVAL;
	fprintf(out, "{\"total\":%" PRIu64, counts->total);
	put_type(out, profile_info_shown_type(info));
	fputs(",\"tree\":{", out);
	put_names(out, counts);
	put_columns(out, counts, &tree);
	/* The first entry has no comma before it. */
	fputs("},\"about\":[[\"tool\",\"allframes\"]", out);
	profile_info_describe(info, snapshot, put_fact, out);
	putc(']', out);
	err = put_functions(out, counts);
	putc('}', out);
	end_page(out, behind);
	return err;
}
