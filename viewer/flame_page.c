/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/flame_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "viewer/flame_tree.h"

/* The page, built by `make page` and committed. */
__asm__(".pushsection .rodata\n"
	"flame_page: .incbin \"viewer/assets/export.html\"\n"
	"flame_page_end: .byte 0\n"
	".popsection\n");
extern const char flame_page[], flame_page_end[];

/* The profile is inserted after this tag. */
static const char profile_tag[] = "<script type=\"application/json\" id=\"profile\">";

/*
 * Writes @text, valid UTF-8 like all frame strings. `<` is escaped, because it could start the
 * element's end tag.
 */
static void put_string(FILE *out, const char *text, size_t length)
{
	putc('"', out);
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte == '"' || byte == '\\')
			fprintf(out, "\\%c", byte);
		else if (byte < ' ' || byte == '<')
			fprintf(out, "\\u%04x", byte);
		else
			putc(byte, out);
	}
	putc('"', out);
}

/* Cuts the suffix of a text, such as "_[k]", which kind and flags express already. */
static size_t name_length(const char *text, uint8_t kind, uint8_t flags)
{
	size_t length = strlen(text);
	bool is_marked = kind == TEXT_KERNEL || kind == TEXT_JIT || flags;

	return is_marked && length > 4 && !strncmp(text + length - 4, "_[", 2) ? length - 4 :
										 length;
}

static void put_names(FILE *out, const struct stack_counts *counts)
{
	fputs("\"names\":[", out);
	for (size_t i = 0; i < counts->strings.count; i++) {
		const char *text = counts->strings.items[i];
		const struct text_trait *trait = &counts->traits.items[i];

		put_string(out, text, name_length(text, trait->kind, trait->flags));
		putc(',', out);
	}
	fputs("\"all\"],\"kinds\":[", out);
	for (int i = 0; i <= TEXT_KIND_COUNT; i++) {
		if (i)
			putc(',', out);
		put_string(out, text_kind_name(i), strlen(text_kind_name(i)));
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

static int compare_strings(const void *a, const void *b, void *context)
{
	const struct stack_counts *counts = context;

	return strcmp(counts->strings.items[*(const uint32_t *)a],
		      counts->strings.items[*(const uint32_t *)b]);
}

/*
 * The rank of each text in text order, indexed by id. The caller frees it; NULL without memory.
 */
static uint32_t *rank_strings(const struct stack_counts *counts)
{
	size_t count = counts->strings.count;
	_cleanup_(free_pointer) uint32_t *sorted = calloc(count + 1, sizeof(*sorted));
	uint32_t *ranks = calloc(count + 1, sizeof(*ranks));

	if (!sorted || !ranks) {
		free(ranks);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = i;
	qsort_r(sorted, count, sizeof(*sorted), compare_strings, (void *)counts);
	for (uint32_t i = 0; i < count; i++)
		ranks[sorted[i]] = i;
	return ranks;
}

static int make_tree(const struct stack_counts *counts, struct flame_tree *tree)
{
	_cleanup_(flame_stack_vector_deinit) struct flame_stack_vector stacks = { 0 };
	_cleanup_(free_pointer) uint32_t *ranks = rank_strings(counts);
	int err = ranks ? 0 : -ENOMEM;

	for (size_t i = 0; i < counts->stacks.sequences.count && !err; i++) {
		const struct counted_sequence *sequence = &counts->stacks.sequences.items[i];

		err = flame_stack_vector_push(
			&stacks, (struct flame_stack){
					 .ids = counts->stacks.numbers.items + sequence->first,
					 .length = sequence->length,
					 .count = sequence->count,
				 });
	}
	return err ? err : flame_tree_init(tree, &stacks, ranks, FLAME_PAGE_MAX_NODES);
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

int flame_page_write(FILE *out, const struct stack_counts *counts)
{
	_cleanup_(flame_tree_deinit) struct flame_tree tree = { 0 };
	const char *behind;
	int err = make_tree(counts, &tree);

	if (err)
		return err;
	behind = begin_page(out);
	if (!behind)
		return -EINVAL;
	fprintf(out, "{\"total\":%" PRIu64 ",\"tree\":{", counts->total);
	put_names(out, counts);
	put_columns(out, counts, &tree);
	fputs("}}", out);
	end_page(out, behind);
	return 0;
}
