/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree has columns of nodes in depth-first order; each node has the index of its parent. Samples of callees that were too
 * small to be shown are in the totals of their callers only: they become a callee of its own.
 */
#include "viewer/open/open_page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/model/languages.h"
#include "reporter/stack_text.h"
#include "viewer/open/opened_json.h"

enum {
	VALUES_MAX = 16 << 20,
	/* Flags of a node. */
	NODE_INLINED = 1 << 0,
	NODE_GUESS = 1 << 1,
	NODE_APPROXIMATE = 1 << 2,
};

/* The profile stands behind this tag. */
static const char profile_tag[] = "<script type=\"application/json\" id=\"profile\">";

struct node {
	uint32_t parent;
	/* enum text_kind; TEXT_KIND_COUNT for the root, and for kinds that are not known. */
	uint8_t kind;
	struct json_function function;
	double self;
	double total;
	/* Totals of the callees that are there. */
	double shown;
};

VECTOR_DEFINE(node_vector, struct node)
VECTOR_DEFINE(kind_vector, uint8_t)

struct page_reader {
	struct json_reader json;
	struct node_vector nodes;
	struct kind_vector kinds;
};

bool is_exported_page(const char *text, size_t count)
{
	return memmem(text, count, profile_tag, sizeof(profile_tag) - 1);
}

/* --- nodes --- */

static uint8_t kind_by_name(const char *name)
{
	for (uint8_t i = 0; i < TEXT_KIND_COUNT; i++)
		if (!strcmp(text_kind_name(i), name))
			return i;
	return TEXT_KIND_COUNT;
}

static int list_kinds(struct page_reader *reader, uint32_t tree)
{
	struct json_index *index = &reader->json.index;
	uint32_t kinds = json_member(index, tree, "kinds");
	int err = 0;

	for (uint32_t i = json_first(index, kinds); i != JSON_NONE && !err;
	     i = json_next(index, kinds, i)) {
		const char *name = json_string_at(index, i);

		err = kind_vector_push(&reader->kinds, name ? kind_by_name(name) : TEXT_KIND_COUNT);
	}
	return err;
}

/* The kind of a function's frames, and the mark for kinds that are none. */
static void set_kind(struct json_function *function, uint8_t kind)
{
	function->kind = FRAME_NATIVE;
	switch (kind) {
	case TEXT_KERNEL:
		function->kind = FRAME_KERNEL;
		function->marks.marks |= OPENED_KERNEL;
		break;
	case TEXT_JIT:
		function->marks.marks |= OPENED_JIT;
		break;
#define X(number, NAME, name, type, frames, files)                                                 \
	case TEXT_##NAME:                                                                          \
		if (LANGUAGE_##frames != LANGUAGE_NATIVE)                                          \
			function->kind = FRAME_##NAME;                                             \
		break;
		LANGUAGES(X)
#undef X
	}
}

/* A row of the columns, which are read side by side. */
struct column {
	uint32_t array;
	uint32_t value;
};

static struct column begin_column(struct page_reader *reader, uint32_t tree, const char *name)
{
	uint32_t array = json_member(&reader->json.index, tree, name);

	return (struct column){ array, json_first(&reader->json.index, array) };
}

static double next_number(struct page_reader *reader, struct column *column, double otherwise)
{
	double number = json_number(&reader->json.index, column->value, otherwise);

	if (column->value != JSON_NONE)
		column->value = json_next(&reader->json.index, column->array, column->value);
	return number;
}

/* The texts of an array by index: names, or files. */
VECTOR_DEFINE(page_text_vector, const char *)

static int list_texts(struct page_reader *reader, uint32_t tree, const char *name,
		      struct page_text_vector *texts)
{
	struct json_index *index = &reader->json.index;
	uint32_t array = json_member(index, tree, name);
	int err = 0;

	for (uint32_t i = json_first(index, array); i != JSON_NONE && !err;
	     i = json_next(index, array, i)) {
		const char *text = json_string_at(index, i);

		err = page_text_vector_push(texts, text ? text : "");
	}
	return err;
}

static const char *text_at(const struct page_text_vector *texts, double index)
{
	return index >= 0 && index < (double)texts->count ? texts->items[(size_t)index] : "";
}

static uint8_t marks_of(uint32_t flags)
{
	return (flags & NODE_INLINED ? OPENED_INLINED : 0) |
	       (flags & NODE_GUESS ? OPENED_GUESS : 0) |
	       (flags & NODE_APPROXIMATE ? OPENED_APPROXIMATE : 0);
}

static int list_nodes(struct page_reader *reader, uint32_t tree,
		      const struct page_text_vector *names, const struct page_text_vector *files)
{
	struct column parents = begin_column(reader, tree, "parent");
	struct column name = begin_column(reader, tree, "name");
	struct column kind = begin_column(reader, tree, "kind");
	struct column file = begin_column(reader, tree, "file");
	struct column line = begin_column(reader, tree, "line");
	struct column column = begin_column(reader, tree, "column");
	struct column flags = begin_column(reader, tree, "flags");
	struct column self = begin_column(reader, tree, "self");
	struct column total = begin_column(reader, tree, "total");
	int err = 0;

	while (parents.value != JSON_NONE && !err) {
		struct node node = { .parent = JSON_NONE, .kind = TEXT_KIND_COUNT };
		double parent = next_number(reader, &parents, -1);
		double kind_index = next_number(reader, &kind, -1);
		double bits = next_number(reader, &flags, 0);

		node.function.name = text_at(names, next_number(reader, &name, -1));
		node.function.file = text_at(files, next_number(reader, &file, -1));
		node.function.line = next_number(reader, &line, 0);
		node.function.column = next_number(reader, &column, 0);
		node.self = next_number(reader, &self, 0);
		node.total = next_number(reader, &total, 0);
		if (kind_index >= 0 && kind_index < (double)reader->kinds.count)
			node.kind = reader->kinds.items[(size_t)kind_index];
		/* A parent comes before its children. */
		if (parent >= 0 && parent < (double)reader->nodes.count) {
			node.parent = (uint32_t)parent;
			reader->nodes.items[node.parent].shown += node.total;
		}
		/* An error's text may be that of an error of ours. */
		if (node.kind == TEXT_ERROR)
			node.function.marks = opened_name_parse((char *)node.function.name);
		node.function.marks.marks |= marks_of(bits >= 0 && bits < 8 ? (uint32_t)bits : 0);
		set_kind(&node.function, node.kind);
		err = node_vector_push(&reader->nodes, node);
	}
	return err;
}

/* --- samples --- */

/* Puts @value for the path from @node to the root; with @is_left_out in a callee that is not shown. */
static int put_path(struct page_reader *reader, uint32_t node, bool is_left_out, double value)
{
	static const struct json_function left_out = {
		.name = "(too small to be shown)",
		.file = "",
		.kind = FRAME_NATIVE,
	};
	struct sample sample = opened_sample_unknown();
	uint32_t depth = 0;
	int err = is_left_out ? json_reader_push(&reader->json, &left_out) : 0;

	for (uint32_t at = node; at != JSON_NONE && !err && depth < OPENED_FRAMES_MAX;
	     at = reader->nodes.items[at].parent, depth++) {
		const struct node *one = &reader->nodes.items[at];

		if (one->kind == TEXT_PROCESS)
			sample.process_comm = one->function.name;
		else if (one->kind == TEXT_THREAD)
			sample.thread_comm = one->function.name;
		else if (one->parent != JSON_NONE)
			err = json_reader_push(&reader->json, &one->function);
	}
	return err ? err :
		     json_reader_put(&reader->json, &sample, reader->json.opened->start_ns, value);
}

static int put_nodes(struct page_reader *reader)
{
	int err = 0;

	for (uint32_t i = 0; i < reader->nodes.count && !err; i++) {
		const struct node *node = &reader->nodes.items[i];
		double rest = node->total - node->self - node->shown;

		if (node->self != 0)
			err = put_path(reader, i, false, node->self);
		if (!err && rest > 0)
			err = put_path(reader, i, true, rest);
	}
	return err;
}

static int read_facts(struct page_reader *reader, uint32_t tree)
{
	struct json_reader *json = &reader->json;
	uint32_t type = json_reader_root(json, "type"), about = json_reader_root(json, "about");
	bool has_fractions =
		json_has_fraction(&json->index, json_member(&json->index, tree, "self"));
	int err;

	err = type == JSON_NONE ?
		      json_reader_set_type(json, "samples", "count", has_fractions) :
		      json_reader_set_type(json, json_reader_text(json, type, "type"),
					   json_reader_text(json, type, "unit"), has_fractions);
	for (uint32_t i = json_first(&json->index, about); i != JSON_NONE && !err;
	     i = json_next(&json->index, about, i)) {
		const char *key = json_string_at(&json->index, json_first(&json->index, i));
		const char *value = NULL;

		if (key)
			value = json_string_at(&json->index,
					       json_next(&json->index, i,
							 json_first(&json->index, i)));
		if (value)
			err = json_reader_add_fact(json, key, value);
	}
	return err;
}

static int read_tree(struct page_reader *reader)
{
	struct page_text_vector names = { 0 }, files = { 0 };
	uint32_t tree = json_reader_root(&reader->json, "tree");
	int err = read_facts(reader, tree);

	if (!err)
		err = list_kinds(reader, tree);
	if (!err)
		err = list_texts(reader, tree, "names", &names);
	if (!err)
		err = list_texts(reader, tree, "files", &files);
	if (!err)
		err = list_nodes(reader, tree, &names, &files);
	if (!err)
		err = put_nodes(reader);
	page_text_vector_deinit(&names);
	page_text_vector_deinit(&files);
	return err;
}

int open_page(char *text, size_t count, struct opened_samples *opened)
{
	struct page_reader reader = { .json = { .opened = opened, .scale = 1 } };
	char *json = memmem(text, count, profile_tag, sizeof(profile_tag) - 1), *end;
	int err;

	if (!json)
		return fail(-EBADMSG, "it is an HTML page without a profile");
	json += sizeof(profile_tag) - 1;
	/* `<` does not occur in the JSON. */
	end = memchr(json, '<', (size_t)(text + count - json));
	if (!end)
		return fail(-EBADMSG, "its profile does not end");
	*end = '\0';
	opened_samples_init(opened);
	err = json_index_init(&reader.json.index, json, (size_t)(end - json), VALUES_MAX);
	if (!err)
		err = opened_mapping_init_nowhere(&reader.json.nowhere, opened);
	if (!err)
		err = read_tree(&reader);
	if (!err)
		opened_samples_choose_type(opened, NULL);
	json_index_deinit(&reader.json.index);
	opened_mapping_deinit(&reader.json.nowhere);
	opened_stack_deinit(&reader.json.stack);
	node_vector_deinit(&reader.nodes);
	kind_vector_deinit(&reader.kinds);
	return err;
}
