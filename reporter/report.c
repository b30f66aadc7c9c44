// SPDX-License-Identifier: Apache-2.0
#include "reporter/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "reporter/call_tree.h"
#include "reporter/cost_report.h"

enum {
	PROCESSES_MAX = 8,
	FUNCTIONS_MAX = 15,
	CALLS_MAX = 32,
	CALL_TREE_MAX_NODES = 1 << 22,
	/* Calls that are shown at each end of a chain of calls without a branch and without other samples. */
	CHAIN_ENDS = 2,
	/* Lower share of the columns that the file of a function gets. */
	FILE_FRACTION = 4,
	FILE_MIN_COLUMNS = 12,
	TITLE_BYTES = 128,
};

/* The least shares of a call in percent that are tried until the calls fit. */
static const uint32_t least_shares[] = { 1, 2, 3, 5, 8, 12, 20, 30, 50 };

#define COLOUR_OFF "\033[0m"
#define COLOUR_TITLE "\033[1m"

/* The colour of a kind of function; native code has that of the text. */
static const char *colour_of(uint8_t kind)
{
	switch (kind) {
	case TEXT_PROCESS:
		return COLOUR_TITLE;
	case TEXT_NATIVE:
		return "";
	case TEXT_KERNEL:
		return "\033[36m";
	case TEXT_ERROR:
		return "\033[31m";
	default:
		return "\033[32m";
	}
}

struct page {
	const struct function_counts *counts;
	const struct report_info *info;
	struct text_builder *text;
	/* The name of the values, and the width of their columns. */
	const char *unit;
	size_t value_columns;
};

/* Sums of values of an opened profile may be negative. */
static double share_of(const struct page *page, uint64_t count)
{
	double total = (double)(int64_t)page->counts->total;

	return page->counts->total ? 100.0 * (double)(int64_t)count / total : 0.0;
}

static uint64_t magnitude(uint64_t sum)
{
	return sum >> 63 ? -sum : sum;
}

static void append_value(const struct page *page, struct text_builder *text, uint64_t count)
{
	if (page->info->type)
		value_type_append_value(text, page->info->type, (int64_t)count);
	else
		text_builder_format(text, "%" PRIu64, count);
}

/* Appends the value behind a space, at the right of its column. */
static void put_value(struct page *page, uint64_t count)
{
	struct text_builder text = { 0 };

	append_value(page, &text, count);
	text_builder_format(page->text, " %*s", (int)page->value_columns, text_builder_text(&text));
	if (text.failed)
		page->text->failed = true;
	text_builder_deinit(&text);
}

static void widen(struct page *page, uint64_t count)
{
	struct text_builder text = { 0 };

	append_value(page, &text, count);
	if (text.length > page->value_columns)
		page->value_columns = text.length;
	text_builder_deinit(&text);
}

/* Makes the columns of values as wide as the greatest one. */
static void init_columns(struct page *page)
{
	enum { LEAST_COLUMNS = 8 };
	const struct function_counts *counts = page->counts;

	page->unit = "samples";
	if (page->info->type && strcmp(page->info->type->unit, "count"))
		page->unit = page->info->type->unit;
	else if (page->info->type)
		page->unit = page->info->type->type;
	page->value_columns = LEAST_COLUMNS;
	if (!page->info->type)
		return;
	widen(page, counts->total);
	for (size_t i = 0; i < counts->functions.count; i++) {
		widen(page, counts->functions.items[i].self);
		widen(page, counts->functions.items[i].total);
	}
	if (text_columns(page->unit) > page->value_columns)
		page->unit = "value";
}

/* Appends @text in at most @columns columns, cut with dots, and padded if @is_padded. */
static void put_fitted(struct page *page, const char *text, size_t columns, bool is_padded)
{
	text_builder_append_fitted(page->text, text, columns);
	for (size_t needed = text_columns(text); is_padded && needed < columns; needed++)
		text_builder_append(page->text, " ");
}

static void put_coloured(struct page *page, const char *colour, const char *text, size_t columns,
			 bool is_padded)
{
	bool has_colour = page->info->has_colours && *colour;

	if (has_colour)
		text_builder_append(page->text, colour);
	put_fitted(page, text, columns, is_padded);
	if (has_colour)
		text_builder_append(page->text, COLOUR_OFF);
}

static void put_title(struct page *page, const char *title)
{
	text_builder_append(page->text, "\n");
	put_coloured(page, COLOUR_TITLE, title, page->info->columns, false);
	text_builder_append(page->text, "\n");
}

/* Appends @line, which may be wider than the page, in lines of whole words. */
static void put_wrapped(struct page *page, const char *line)
{
	size_t used = 0;

	while (*line) {
		size_t length = strcspn(line, " ");
		char word[256];
		size_t columns;

		if (length >= sizeof(word))
			length = text_cut_length(line, strlen(line), sizeof(word) - 1);
		memcpy(word, line, length);
		word[length] = '\0';
		columns = text_columns(word);
		if (used && used + 1 + columns > page->info->columns) {
			text_builder_append(page->text, "\n");
			used = 0;
		} else if (used) {
			text_builder_append(page->text, " ");
			used++;
		}
		put_fitted(page, word, page->info->columns, false);
		used += columns;
		line += length + strspn(line + length, " ");
	}
	text_builder_append(page->text, "\n");
}

/* The first line of an opened profile: "heap.pb.gz: 3145728 bytes of inuse_space in 5.00 s". */
static void put_value_summary(struct page *page)
{
	const struct report_info *info = page->info;
	struct text_builder line = { 0 };
	double seconds = (double)info->duration_ns / NS_PER_SECOND;

	text_builder_append_name(&line, info->subject);
	text_builder_append(&line, ": ");
	append_value(page, &line, page->counts->total);
	text_builder_append(&line, " ");
	if (strcmp(info->type->unit, "count")) {
		text_builder_append_name(&line, info->type->unit);
		text_builder_append(&line, " of ");
	}
	text_builder_append_name(&line, info->type->type);
	if (info->duration_ns)
		text_builder_format(&line, " in %.*f s", seconds < 10 ? 2 : 1, seconds);
	put_wrapped(page, text_builder_text(&line));
	if (line.failed)
		page->text->failed = true;
	text_builder_deinit(&line);
}

static void put_summary(struct page *page)
{
	const struct report_info *info = page->info;
	struct text_builder line = { 0 };
	double seconds = (double)info->duration_ns / NS_PER_SECOND;
	double cpu_seconds = info->samples_per_second ?
				     (double)page->counts->total / info->samples_per_second :
				     0.0;

	text_builder_append(&line, info->subject);
	text_builder_format(&line, ": %" PRIu64 " sample%s in %.*f s, %.*f s of CPU time",
			    page->counts->total, page->counts->total == 1 ? "" : "s",
			    seconds < 10 ? 2 : 1, seconds, cpu_seconds < 10 ? 2 : 1, cpu_seconds);
	if (seconds > 0)
		text_builder_format(&line, " (%.2f CPUs)", cpu_seconds / seconds);
	put_wrapped(page, text_builder_text(&line));
	if (line.failed)
		page->text->failed = true;
	text_builder_deinit(&line);
}

/* --- processes --- */

/* Processes of one name. */
struct process_group {
	uint32_t name;
	uint32_t pid;
	uint32_t process_count;
	uint64_t count;
};

static int compare_names(const void *a, const void *b)
{
	const struct process_group *left = a, *right = b;

	return (left->name > right->name) - (left->name < right->name);
}

static int compare_groups(const void *a, const void *b, void *context)
{
	const struct process_group *left = a, *right = b;
	const struct function_counts *counts = context;

	if (magnitude(left->count) != magnitude(right->count))
		return magnitude(left->count) < magnitude(right->count) ? 1 : -1;
	return strcmp(function_counts_text(counts, left->name),
		      function_counts_text(counts, right->name));
}

/* Merges the processes of each name; returns the number of groups. */
static size_t group_processes(const struct function_counts *counts, struct process_group *groups)
{
	size_t count = 0;

	for (size_t i = 0; i < counts->processes.count; i++) {
		const struct counted_process *process = &counts->processes.items[i];

		groups[i] =
			(struct process_group){ process->name, process->pid, 1, process->count };
	}
	qsort(groups, counts->processes.count, sizeof(*groups), compare_names);
	for (size_t i = 0; i < counts->processes.count; i++) {
		if (count && groups[count - 1].name == groups[i].name) {
			groups[count - 1].process_count++;
			groups[count - 1].count += groups[i].count;
		} else {
			groups[count++] = groups[i];
		}
	}
	qsort_r(groups, count, sizeof(*groups), compare_groups, (void *)counts);
	return count;
}

static void put_process(struct page *page, const struct process_group *group)
{
	const size_t start_columns = 11 + page->value_columns;
	char which[32] = "";
	size_t room = page->info->columns - start_columns, needed;

	if (group->process_count > 1)
		snprintf(which, sizeof(which), " (%u processes)", group->process_count);
	else if (group->pid != SAMPLE_NO_NUMBER)
		snprintf(which, sizeof(which), " (%u)", group->pid);
	needed = strlen(which);
	text_builder_format(page->text, " %5.1f%%", share_of(page, group->count));
	put_value(page, group->count);
	text_builder_append(page->text, "   ");
	put_coloured(page, colour_of(TEXT_PROCESS), function_counts_text(page->counts, group->name),
		     needed < room ? room - needed : 1, false);
	text_builder_append(page->text, which);
	text_builder_append(page->text, "\n");
}

static int put_processes(struct page *page)
{
	size_t count = page->counts->processes.count;
	struct process_group *groups;
	char title[TITLE_BYTES];

	/* In an opened profile the process may be unknown. */
	if (!count)
		return 0;
	groups = calloc(count + 1, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	count = group_processes(page->counts, groups);
	snprintf(title, sizeof(title), " share %*s  process", (int)page->value_columns + 1,
		 page->unit);
	put_title(page, title);
	for (size_t i = 0; i < count && i < PROCESSES_MAX; i++)
		put_process(page, &groups[i]);
	if (count > PROCESSES_MAX)
		text_builder_format(page->text, "%*s%zu more names\n",
				    (int)page->value_columns + 11, "", count - PROCESSES_MAX);
	free(groups);
	return 0;
}

/* --- functions --- */

static int compare_functions(const void *a, const void *b, void *context)
{
	const struct function_counts *counts = context;
	const struct counted_function *left = &counts->functions.items[*(const uint32_t *)a];
	const struct counted_function *right = &counts->functions.items[*(const uint32_t *)b];

	if (magnitude(left->self) != magnitude(right->self))
		return magnitude(left->self) < magnitude(right->self) ? 1 : -1;
	if (magnitude(left->total) != magnitude(right->total))
		return magnitude(left->total) < magnitude(right->total) ? 1 : -1;
	return strcmp(function_counts_text(counts, left->name),
		      function_counts_text(counts, right->name));
}

/* The columns of the widest name, or file, of these functions. */
static size_t widest_text(const struct page *page, const uint32_t *order, size_t count,
			  bool is_file)
{
	size_t widest = 0;

	for (size_t i = 0; i < count; i++) {
		const struct counted_function *function = &page->counts->functions.items[order[i]];
		size_t columns = text_columns(function_counts_text(
			page->counts, is_file ? function->file : function->name));

		if (columns > widest)
			widest = columns;
	}
	return widest;
}

/* The columns for files: as wide as the widest that is shown, but a part of the page at most. */
static size_t file_columns(const struct page *page, const uint32_t *order, size_t count)
{
	size_t most = page->info->columns / FILE_FRACTION;
	size_t widest = widest_text(page, order, count, true);

	if (most < FILE_MIN_COLUMNS)
		most = FILE_MIN_COLUMNS;
	return widest < most ? widest : most;
}

/* The columns for names: what @used leaves, but no more than the widest needs, so that files stand beside them. */
static size_t name_columns(const struct page *page, const uint32_t *order, size_t count,
			   size_t used)
{
	size_t most = used < page->info->columns ? page->info->columns - used : 1;
	size_t widest = widest_text(page, order, count, false);

	return widest < most ? widest : most;
}

static void put_function(struct page *page, const struct counted_function *function,
			 size_t columns_of_name, size_t columns_of_file)
{
	const char *file = function_counts_text(page->counts, function->file);

	text_builder_format(page->text, " %5.1f%%  %5.1f%%", share_of(page, function->self),
			    share_of(page, function->total));
	put_value(page, function->self);
	text_builder_append(page->text, "   ");
	put_coloured(page, colour_of(function->trait.kind),
		     function_counts_text(page->counts, function->name), columns_of_name, *file);
	if (*file)
		text_builder_append(page->text, "  ");
	put_fitted(page, file, columns_of_file, false);
	text_builder_append(page->text, "\n");
}

static int put_functions(struct page *page)
{
	const size_t start_columns = 19 + page->value_columns, gap_columns = 2;
	const struct function_counts *counts = page->counts;
	uint32_t *order = calloc(counts->functions.count + 1, sizeof(*order));
	size_t count = 0, shown, columns_of_file, columns_of_name;
	char title[TITLE_BYTES];

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < counts->functions.count; i++) {
		const struct counted_function *function = &counts->functions.items[i];

		if (function->trait.kind != TEXT_PROCESS && function->self)
			order[count++] = (uint32_t)i;
	}
	qsort_r(order, count, sizeof(*order), compare_functions, (void *)counts);
	shown = count < FUNCTIONS_MAX ? count : FUNCTIONS_MAX;
	columns_of_file = file_columns(page, order, shown);
	columns_of_name =
		name_columns(page, order, shown, start_columns + gap_columns + columns_of_file);
	snprintf(title, sizeof(title), "  self   total %*s  function, by self",
		 (int)page->value_columns, page->unit);
	put_title(page, title);
	for (size_t i = 0; i < shown; i++)
		put_function(page, &counts->functions.items[order[i]], columns_of_name,
			     columns_of_file);
	free(order);
	return 0;
}

/* --- calls --- */

struct call_page {
	struct page page;
	const struct call_tree *tree;
	uint64_t least;
	uint32_t line_count;
};

static const struct call_node *node_at(const struct call_page *calls, uint32_t node)
{
	return &calls->tree->nodes.items[node];
}

/* The children are in order, so those that are shown come first. */
static uint32_t shown_children(const struct call_page *calls, const struct call_node *node)
{
	uint32_t count = 0;

	for (uint32_t child = node->first_child;
	     child && node_at(calls, child)->total >= calls->least;
	     child = node_at(calls, child)->next_sibling)
		count++;
	return count;
}

/* Whether @node does nothing but call one function. */
static bool only_calls(const struct call_page *calls, const struct call_node *node)
{
	return !node->self && node->first_child && !node_at(calls, node->first_child)->next_sibling;
}

static void put_call(struct call_page *calls, const struct call_node *node, uint32_t level)
{
	const size_t start_columns = 18;
	struct page *page = &calls->page;
	const struct counted_function *function = &page->counts->functions.items[node->function];
	size_t indent = 2 * (size_t)level;
	size_t room = page->info->columns - start_columns;

	if (indent > room / 2)
		indent = room / 2;
	if (node->self)
		text_builder_format(page->text, " %5.1f%%  %5.1f%%   %*s",
				    share_of(page, node->total), share_of(page, node->self),
				    (int)indent, "");
	else
		text_builder_format(page->text, " %5.1f%%           %*s",
				    share_of(page, node->total), (int)indent, "");
	put_coloured(page, colour_of(function->trait.kind),
		     function_counts_text(page->counts, function->name), room - indent, false);
	text_builder_append(page->text, "\n");
	calls->line_count++;
}

static void put_left_out(struct call_page *calls, uint32_t count, uint32_t level)
{
	size_t room = calls->page.info->columns - 18, indent = 2 * (size_t)level;
	char text[32];

	if (indent > room / 2)
		indent = room / 2;
	snprintf(text, sizeof(text), "(%u calls)", count);
	text_builder_format(calls->page.text, "%18s%*s", "", (int)indent, "");
	put_fitted(&calls->page, text, room - indent, false);
	text_builder_append(calls->page.text, "\n");
	calls->line_count++;
}

/* Puts the calls from @node on until there is a branch or the end; returns the last one. */
static const struct call_node *put_chain(struct call_page *calls, const struct call_node *node,
					 uint32_t level)
{
	const struct call_node *ahead = node;
	uint32_t length = 1;

	for (; only_calls(calls, ahead); ahead = node_at(calls, ahead->first_child))
		length++;
	for (uint32_t i = 0; i < length; i++) {
		bool is_left_out = length > 2 * CHAIN_ENDS + 1 && i >= CHAIN_ENDS &&
				   i < length - CHAIN_ENDS;

		if (!is_left_out)
			put_call(calls, node, level);
		else if (i == CHAIN_ENDS)
			put_left_out(calls, length - 2 * CHAIN_ENDS, level);
		if (i + 1 < length)
			node = node_at(calls, node->first_child);
	}
	return node;
}

/*
 * Puts @node and what it calls. Only branches are indented, and go one level deeper here; each has a part of the samples
 * of at least calls->least, so there are few.
 */
static void put_calls_below(struct call_page *calls, uint32_t index, uint32_t level)
{
	const struct call_node *node = put_chain(calls, node_at(calls, index), level);
	uint32_t count = shown_children(calls, node);

	while (count == 1 && calls->line_count <= CALLS_MAX) {
		node = put_chain(calls, node_at(calls, node->first_child), level);
		count = shown_children(calls, node);
	}
	for (uint32_t child = node->first_child; count && calls->line_count <= CALLS_MAX; count--) {
		put_calls_below(calls, child, level + 1);
		child = node_at(calls, child)->next_sibling;
	}
}

/* Appends the calls with at least @share percent; returns the number of lines. */
static uint32_t put_calls_of(const struct page *page, const struct call_tree *tree, uint32_t share)
{
	struct call_page calls = {
		.page = *page,
		.tree = tree,
		.least = (uint64_t)(((unsigned __int128)page->counts->total * share + 99) / 100),
	};
	const struct call_node *root = node_at(&calls, CALL_TREE_ROOT);
	uint32_t child = root->first_child;

	for (uint32_t count = shown_children(&calls, root); count && calls.line_count <= CALLS_MAX;
	     count--) {
		put_calls_below(&calls, child, 0);
		child = node_at(&calls, child)->next_sibling;
	}
	return calls.line_count;
}

/* Shares of calls mean nothing where values cancel each other out. */
static bool has_negative(const struct function_counts *counts)
{
	for (size_t i = 0; i < counts->stacks.sequences.count; i++)
		if (counts->stacks.sequences.items[i].count >> 63)
			return true;
	return false;
}

static int put_calls(struct page *page)
{
	struct call_tree tree;
	int err = call_tree_init(&tree, page->counts, CALL_TREE_MAX_NODES);
	size_t start;

	if (err)
		return err;
	put_title(page, " total    self    heaviest calls");
	start = page->text->length;
	for (size_t i = 0; i < sizeof(least_shares) / sizeof(least_shares[0]); i++) {
		text_builder_cut(page->text, start);
		if (put_calls_of(page, &tree, least_shares[i]) <= CALLS_MAX)
			break;
	}
	call_tree_deinit(&tree);
	return 0;
}

int report_append(const struct function_counts *counts, const struct report_info *info,
		  struct text_builder *text)
{
	struct page page = { .counts = counts, .info = info, .text = text };
	int err = 0;

	init_columns(&page);
	if (info->type)
		put_value_summary(&page);
	else
		put_summary(&page);
	if (counts->stacks.sequences.count) {
		err = put_processes(&page);
		if (!err)
			err = put_functions(&page);
		if (!err && !has_negative(counts))
			err = put_calls(&page);
	}
	if (!err && info->costs)
		err = cost_report_append(info->costs, info->columns, info->has_colours, text);
	if (err)
		return err;
	if (*info->quality && (counts->stacks.sequences.count || info->costs))
		text_builder_append(text, "\n");
	if (*info->quality)
		put_wrapped(&page, info->quality);
	return text->failed ? -ENOMEM : 0;
}
