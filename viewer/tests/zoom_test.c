/* SPDX-License-Identifier: Apache-2.0 */
/* Flame graphs below a path, and the search: their numbers are those of whole stacks. */
#include "viewer/api.h"
#include "viewer/function_id.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "viewer/tests/asking.h"

enum {
	STACKS = 300,
	LETTERS = 4,
	LENGTH_MAX = 9,
	ZOOMS = 60,
};

struct stack {
	char letters[LENGTH_MAX + 1];
	uint32_t count;
};

static struct stack stacks[STACKS];

static json_int_t cell(const json_t *tree, const char *column, size_t row)
{
	return json_integer_value(json_array_get(json_object_get(tree, column), row));
}

static size_t node_count(const json_t *tree)
{
	return json_array_size(json_object_get(tree, "parent"));
}

static const char *text_of(const json_t *tree, const char *texts, json_int_t index)
{
	return json_string_value(json_array_get(json_object_get(tree, texts), (size_t)index));
}

static void report_random_stacks(const struct asked *asked)
{
	srand(31);
	for (int i = 0; i < STACKS; i++) {
		int length = 1 + rand() % LENGTH_MAX;
		char text[2 * LENGTH_MAX + 1] = "";

		memset(&stacks[i], 0, sizeof(stacks[i]));
		for (int letter = 0; letter < length; letter++) {
			stacks[i].letters[letter] = (char)('a' + rand() % LETTERS);
			sprintf(text + strlen(text), "%s%c", letter ? ";" : "",
				stacks[i].letters[letter]);
		}
		stacks[i].count = 1 + (uint32_t)rand() % 4;
		report_many(asked, text, &(struct told){ .pid = (uint32_t)i % 3 }, stacks[i].count);
	}
}

/* The names and the ids of the nodes from below the root to node @node. */
static void path_to(const json_t *tree, size_t node, char *letters, char *ids)
{
	size_t nodes[LENGTH_MAX + 1], count = 0;

	for (; node; node = (size_t)cell(tree, "parent", node))
		nodes[count++] = node;
	*letters = *ids = '\0';
	while (count--) {
		strcat(letters, text_of(tree, "names", cell(tree, "name", nodes[count])));
		sprintf(ids + strlen(ids), "%s%s", *ids ? "." : "",
			text_of(tree, "ids", cell(tree, "id", nodes[count])));
	}
}

/* Self and total are sums over the stacks that start with a node's path. */
static void assert_sums(const json_t *tree)
{
	for (size_t node = 0; node < node_count(tree); node++) {
		char letters[LENGTH_MAX + 1], ids[16 * LENGTH_MAX];
		json_int_t self = 0, total = 0;

		path_to(tree, node, letters, ids);
		for (int i = 0; i < STACKS; i++) {
			if (strncmp(stacks[i].letters, letters, strlen(letters)) != 0)
				continue;
			total += stacks[i].count;
			self += strcmp(stacks[i].letters, letters) ? 0 : stacks[i].count;
		}
		assert_int_equal(cell(tree, "self", node), self);
		assert_int_equal(cell(tree, "total", node), total);
	}
}

static void a_zoom_spends_all_nodes_below_its_path(void **state)
{
	const struct asked *asked = *state;
	json_t *whole, *tree;

	report_random_stacks(asked);
	whole = ask_json(asked, "flame?root=none&max_nodes=10000");
	tree = json_object_get(whole, "tree");
	assert_sums(tree);
	for (int i = 0; i < ZOOMS; i++) {
		size_t node = 1 + (size_t)rand() % (node_count(tree) - 1), below = 1;
		char letters[LENGTH_MAX + 1], ids[16 * LENGTH_MAX], again[LENGTH_MAX + 1];
		char question[64 + sizeof(ids)];
		json_t *zoomed, *part;
		size_t steps;

		path_to(tree, node, letters, ids);
		steps = strlen(letters);
		sprintf(question, "flame?root=none&max_nodes=20&zoom=%s", ids);
		zoomed = ask_json(asked, question);
		part = json_object_get(zoomed, "tree");
		assert_int_equal(number(zoomed, "zoom"), steps);
		assert_int_equal(number(zoomed, "total"), number(whole, "total"));
		path_to(part, steps, again, ids);
		assert_string_equal(again, letters);
		assert_sums(part);
		while (node + below < node_count(tree)) {
			size_t parent = node + below;

			while (parent > node)
				parent = (size_t)cell(tree, "parent", parent);
			if (parent != node)
				break;
			below++;
		}
		/* All nodes if they are few enough, else as many as are allowed. */
		assert_int_equal(node_count(part), steps + (below < 20 ? below : 20));
		assert_int_equal(number(part, "pruned_nodes"), below < 20 ? 0 : below - 20);
		json_decref(zoomed);
	}
	json_decref(whole);
}

static void each_node_counts_what_was_left_out_below_it(void **state)
{
	const struct asked *asked = *state;
	json_t *json, *tree;
	json_int_t pruned = 0;

	report_random_stacks(asked);
	json = ask_json(asked, "flame?max_nodes=40");
	tree = json_object_get(json, "tree");
	assert_int_equal(node_count(tree), 40);
	for (size_t i = 0; i < node_count(tree); i++) {
		json_int_t shown = cell(tree, "self", i);

		pruned += cell(tree, "pruned", i);
		for (size_t child = i + 1; child < node_count(tree); child++)
			if (cell(tree, "parent", child) == (json_int_t)i)
				shown += cell(tree, "total", child);
		/* Something is missing exactly where nodes were left out. */
		assert_int_equal(shown<cell(tree, "total", i), cell(tree, "pruned", i)> 0);
	}
	assert_int_equal(pruned, number(tree, "pruned_nodes"));
	json_decref(json);
}

static void a_path_that_is_gone_leads_as_far_as_it_can(void **state)
{
	const struct asked *asked = *state;
	char question[128], ids[64], letters[16];
	struct api_answer answer;
	json_t *json;

	report_many(asked, "main;f;g", &(struct told){ .pid = 1 }, 2);
	report_many(asked, "main;f", &(struct told){ .pid = 2 }, 3);
	json = ask_json(asked, "flame?root=none&pid=1");
	path_to(json_object_get(json, "tree"), 3, letters, ids);
	assert_string_equal(letters, "mainfg");
	json_decref(json);
	sprintf(question, "flame?root=none&pid=2&zoom=%s", ids);
	assert_int_equal(ask_number(asked, question, "zoom"), 2);
	assert_int_equal(ask_number(asked, "flame?zoom=AAAAAAAA", "zoom"), 0);
	assert_int_equal(ask_number(asked, "flame?zoom=", "zoom"), 0);
	/* With lines, the same functions have other ids. */
	sprintf(question, "flame?root=none&lines=1&zoom=%s", ids);
	assert_int_equal(ask_number(asked, question, "zoom"), 3);
	ask(asked, "flame?zoom=short", false, &answer);
	assert_int_equal(answer.status, 400);
	free(answer.body);
}

static void a_comparison_can_be_zoomed(void **state)
{
	const struct asked *asked = *state;
	const struct told before = { .pid = 1, .time_ns = EPOCH_NS + 100 * MS_NS };
	const struct told after = { .pid = 1, .time_ns = EPOCH_NS + 900 * MS_NS };
	char question[192], ids[64], letters[16];
	json_t *json, *tree;

	report_many(asked, "f;g", &before, 2);
	report_many(asked, "f", &before, 1);
	report_many(asked, "f;g", &after, 5);
	report_many(asked, "h", &after, 4);
	json = ask_json(asked, "flame?root=none");
	path_to(json_object_get(json, "tree"), 2, letters, ids);
	assert_string_equal(letters, "fg");
	json_decref(json);
	sprintf(question, "flame?root=none&from=500&to=1000&base_from=0&base_to=500&zoom=%s", ids);
	json = ask_json(asked, question);
	tree = json_object_get(json, "tree");
	assert_int_equal(node_count(tree), 3);
	assert_int_equal(cell(tree, "total", 0), 9);
	assert_int_equal(cell(tree, "base_total", 0), 3);
	assert_int_equal(cell(tree, "total", 1), 5);
	assert_int_equal(cell(tree, "base_self", 1), 1);
	assert_int_equal(cell(tree, "base_total", 1), 3);
	assert_int_equal(cell(tree, "base_total", 2), 2);
	json_decref(json);
}

static void a_search_counts_all_samples_once(void **state)
{
	const struct asked *asked = *state;
	json_t *json, *tree;
	json_int_t matched = 0, hits = 0;

	report_random_stacks(asked);
	for (int i = 0; i < STACKS; i++)
		matched += strchr(stacks[i].letters, 'c') ? stacks[i].count : 0;
	/* However few nodes are wanted. */
	json = ask_json(asked, "search?root=none&text=C&max_nodes=5");
	assert_int_equal(number(json, "matched"), matched);
	assert_int_equal(number(json, "total"), ask_number(asked, "flame", "total"));
	json_decref(json);
	json = ask_json(asked, "search?root=none&text=/^c$/&max_nodes=10000");
	tree = json_object_get(json, "hits");
	for (size_t i = 1; i < node_count(tree); i++) {
		bool is_hit = !strcmp(text_of(tree, "names", cell(tree, "name", i)), "c");

		assert_int_equal(cell(tree, "self", i) > 0, is_hit);
		hits += cell(tree, "self", i);
	}
	assert_int_equal(hits, matched);
	json_decref(json);
	assert_int_equal(ask_number(asked, "search?text=zzz", "matched"), 0);
}

static void a_search_counts_by_process(void **state)
{
	const struct asked *asked = *state;
	json_t *json, *row;

	report_many(asked, "main;malloc", &(struct told){ .comm = "one", .pid = 1 }, 2);
	report_many(asked, "main;read[k]", &(struct told){ .comm = "one", .pid = 1 }, 1);
	report_many(asked, "main;malloc;malloc", &(struct told){ .comm = "two", .pid = 2 }, 5);
	report_many(asked, "main", &(struct told){ .comm = "three", .pid = 3 }, 1);
	json = ask_json(asked, "search?text=malloc");
	assert_int_equal(number(json, "matched"), 7);
	assert_int_equal(number(json, "total"), 9);
	assert_int_equal(number(json, "processes_total"), 2);
	row = json_array_get(json_object_get(json, "processes"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "comm")), "two");
	assert_int_equal(number(row, "matched"), 5);
	row = json_array_get(json_object_get(json, "processes"), 1);
	assert_int_equal(number(row, "pid"), 1);
	assert_int_equal(number(row, "matched"), 2);
	assert_int_equal(number(row, "samples"), 3);
	json_decref(json);
	/* The level of processes has names too, unless it is not shown. */
	assert_int_equal(ask_number(asked, "search?text=three", "matched"), 1);
	assert_int_equal(ask_number(asked, "search?text=three&root=none", "matched"), 0);
	assert_int_equal(ask_number(asked, "search?text=malloc&pid=1", "total"), 3);
	assert_int_equal(ask_number(asked, "top?name=/^(main|read)$/", "named"), 2);
}

static void a_bad_search_says_why(void **state)
{
	const struct asked *asked = *state;
	struct api_answer answer;

	ask(asked, "search?text=/a(b/", false, &answer);
	assert_int_equal(answer.status, 400);
	assert_non_null(strstr(answer.body, "character 2 of the expression: the group has no"));
	free(answer.body);
	ask(asked, "top?name=/a(b/", false, &answer);
	assert_int_equal(answer.status, 400);
	free(answer.body);
	ask(asked, "search", false, &answer);
	assert_int_equal(answer.status, 400);
	free(answer.body);
}

static void ids_are_read_as_they_are_written(void **state)
{
	(void)state;
	srand(5);
	for (int i = 0; i < 1000; i++) {
		uint64_t id = ((uint64_t)rand() << 24 ^ (uint64_t)rand()) & 0xffffffffffff, read;
		char text[FUNCTION_ID_LENGTH + 1];

		function_id_write(id, text);
		assert_int_equal(strlen(text), FUNCTION_ID_LENGTH);
		assert_true(function_id_read(text, &read));
		assert_int_equal(read, id);
	}
	assert_false(function_id_read("AAAAAAA", &(uint64_t){ 0 }));
	assert_false(function_id_read("AAAAAAA.", &(uint64_t){ 0 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_zoom_spends_all_nodes_below_its_path, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(each_node_counts_what_was_left_out_below_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_path_that_is_gone_leads_as_far_as_it_can, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_comparison_can_be_zoomed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_search_counts_all_samples_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_search_counts_by_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_bad_search_says_why, set_up, tear_down),
		cmocka_unit_test(ids_are_read_as_they_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
