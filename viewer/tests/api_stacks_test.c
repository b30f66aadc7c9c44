/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over stacks, and selections. */
#include "viewer/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "viewer/tests/asking.h"

static json_int_t cell(const json_t *tree, const char *column, size_t row)
{
	return json_integer_value(json_array_get(json_object_get(tree, column), row));
}

static const char *text_of(const json_t *tree, const char *texts, json_int_t index)
{
	return json_string_value(json_array_get(json_object_get(tree, texts), (size_t)index));
}

/* "name self/total" of each node after its callers' names. */
static void write_tree(const json_t *tree, char *text, size_t bytes)
{
	size_t count = json_array_size(json_object_get(tree, "parent"));
	FILE *out = fmemopen(text, bytes, "w");

	for (size_t i = 0; i < count; i++) {
		for (size_t at = i; at; at = (size_t)cell(tree, "parent", at))
			fputc(' ', out);
		fprintf(out, "%s(%s) %lld/%lld\n", text_of(tree, "names", cell(tree, "name", i)),
			text_of(tree, "kinds", cell(tree, "kind", i)),
			(long long)cell(tree, "self", i), (long long)cell(tree, "total", i));
		assert_true(!i || cell(tree, "parent", i) < (json_int_t)i);
	}
	fclose(out);
}

static void assert_tree(const struct asked *asked, const char *question, const char *key,
			const char *expected)
{
	json_t *json = ask_json(asked, question);
	char text[4096];

	write_tree(json_object_get(json, key), text, sizeof(text));
	assert_string_equal(text, expected);
	json_decref(json);
}

static void a_flame_graph_is_a_tree_below_processes(void **state)
{
	const struct asked *asked = *state;

	report_many(asked, "main;b;leaf", &(struct told){ .comm = "one", .pid = 1 }, 3);
	report_many(asked, "main;a", &(struct told){ .comm = "one", .pid = 1, .tid = 7 }, 2);
	report_many(asked, "main;a", &(struct told){ .comm = "one", .pid = 1, .tid = 8 }, 2);
	report_many(asked, "main;b;read[k]", &(struct told){ .comm = "other", .pid = 2 }, 1);
	assert_tree(asked, "flame", "tree",
		    "all(root) 0/8\n"
		    " one(process) 0/7\n"
		    "  main(python) 0/7\n"
		    "   a(python) 4/4\n"
		    "   b(python) 0/3\n"
		    "    leaf(python) 3/3\n"
		    " other(process) 0/1\n"
		    "  main(python) 0/1\n"
		    "   b(python) 0/1\n"
		    "    read(kernel) 1/1\n");
	assert_tree(asked, "flame?root=none&max_nodes=3", "tree",
		    "all(root) 0/8\n"
		    " main(python) 0/8\n"
		    "  a(python) 4/4\n");
	assert_tree(asked, "flame?root=thread&pid=2", "tree",
		    "all(root) 0/1\n"
		    " other(process) 0/1\n"
		    "  thread(thread) 0/1\n"
		    "   main(python) 0/1\n"
		    "    b(python) 0/1\n"
		    "     read(kernel) 1/1\n");
}

static void lines_tell_locations_apart_if_they_are_asked_for(void **state)
{
	const struct asked *asked = *state;
	json_t *json;

	report_many(asked, "main:3;leaf", &(struct told){ .pid = 1 }, 3);
	report_many(asked, "main:5;leaf", &(struct told){ .pid = 1 }, 1);
	assert_tree(asked, "flame?root=none", "tree",
		    "all(root) 0/4\n"
		    " main(python) 0/4\n"
		    "  leaf(python) 4/4\n");
	json = ask_json(asked, "flame?root=none&lines=1");
	assert_int_equal(cell(json_object_get(json, "tree"), "line", 1), 3);
	assert_int_equal(cell(json_object_get(json, "tree"), "line", 3), 5);
	assert_string_equal(text_of(json_object_get(json, "tree"), "files",
				    cell(json_object_get(json, "tree"), "file", 1)),
			    "x.py");
	json_decref(json);
	json = ask_json(asked, "top?lines=1&sort=total");
	assert_int_equal(number(json, "functions"), 3);
	json_decref(json);
}

static void functions_differ_by_column_on_demand(void **state)
{
	const struct asked *asked = *state;
	json_t *json, *tree;

	report_many(asked, "main:5:20;leaf", &(struct told){ .pid = 1 }, 1);
	report_many(asked, "main:5:9;leaf", &(struct told){ .pid = 1 }, 1);
	assert_tree(asked, "flame?root=none", "tree",
		    "all(root) 0/2\n"
		    " main(python) 0/2\n"
		    "  leaf(python) 2/2\n");
	json = ask_json(asked, "flame?root=none&lines=1");
	tree = json_object_get(json, "tree");
	assert_int_equal(cell(tree, "line", 1), 5);
	assert_int_equal(cell(tree, "column", 1), 9);
	assert_int_equal(cell(tree, "line", 3), 5);
	assert_int_equal(cell(tree, "column", 3), 20);
	json_decref(json);
	json = ask_json(asked, "top?lines=1&sort=total");
	assert_int_equal(number(json, "functions"), 3);
	json_decref(json);
}

static void a_sandwich_has_callees_of_the_outermost_and_callers_of_the_innermost(void **state)
{
	const struct asked *asked = *state;

	report_many(asked, "main;f;g;f;h", &(struct told){ .pid = 1 }, 2);
	report_many(asked, "main;f", &(struct told){ .pid = 1 }, 3);
	report_many(asked, "main;g", &(struct told){ .pid = 1 }, 4);
	assert_tree(asked, "sandwich?of=f&root=none", "callees",
		    "f(root) 3/5\n"
		    " g(python) 0/2\n"
		    "  f(python) 0/2\n"
		    "   h(python) 2/2\n");
	assert_tree(asked, "sandwich?of=f", "callers",
		    "f(root) 0/5\n"
		    " g(python) 0/2\n"
		    "  f(python) 0/2\n"
		    "   main(python) 0/2\n"
		    "    prog(process) 2/2\n"
		    " main(python) 0/3\n"
		    "  prog(process) 3/3\n");
	assert_int_equal(ask_number(asked, "sandwich?of=f", "self"), 3);
	assert_int_equal(ask_number(asked, "sandwich?of=f", "samples"), 5);
	assert_int_equal(ask_number(asked, "sandwich?of=f", "total"), 9);
	assert_int_equal(ask_number(asked, "sandwich?of=f&of_kind=kernel", "samples"), 0);
	assert_int_equal(ask_number(asked, "sandwich?of=none%FF", "samples"), 0);
}

/* --- compared with sums made by hand --- */

enum {
	RANDOM_STACKS = 400,
	RANDOM_FUNCTIONS = 6,
};

struct sums {
	uint64_t self[RANDOM_FUNCTIONS];
	uint64_t total[RANDOM_FUNCTIONS];
};

/* Reports a stack of some functions, with recursion, and adds it to the sums. */
static void report_random(const struct asked *asked, struct sums *sums)
{
	bool is_there[RANDOM_FUNCTIONS] = { false };
	uint32_t count = 1 + (uint32_t)rand() % 3, length = 1 + (uint32_t)rand() % 12, last = 0;
	char stack[64] = "";

	for (uint32_t i = 0; i < length; i++) {
		last = (uint32_t)rand() % RANDOM_FUNCTIONS;
		is_there[last] = true;
		sprintf(stack + strlen(stack), "%sf%u", i ? ";" : "", last);
	}
	report_many(asked, stack, &(struct told){ .pid = (uint32_t)rand() % 3 }, count);
	sums->self[last] += count;
	for (uint32_t f = 0; f < RANDOM_FUNCTIONS; f++)
		sums->total[f] += is_there[f] ? count : 0;
}

static void the_table_counts_a_recursive_function_once(void **state)
{
	const struct asked *asked = *state;
	struct sums sums = { 0 };
	json_t *json, *row;
	size_t i;

	srand(11);
	for (int n = 0; n < RANDOM_STACKS; n++)
		report_random(asked, &sums);
	json = ask_json(asked, "top");
	assert_int_equal(number(json, "functions"), RANDOM_FUNCTIONS);
	json_array_foreach(json_object_get(json, "rows"), i, row)
	{
		int f = json_string_value(json_object_get(row, "name"))[1] - '0';
		char question[32];

		assert_int_equal(number(row, "self"), sums.self[f]);
		assert_int_equal(number(row, "total"), sums.total[f]);
		sprintf(question, "sandwich?of=f%d", f);
		assert_int_equal(ask_number(asked, question, "samples"), sums.total[f]);
		assert_int_equal(ask_number(asked, question, "self"), sums.self[f]);
		sprintf(question, "flame?function=f%d", f);
		assert_int_equal(ask_number(asked, question, "total"), sums.total[f]);
	}
	json_decref(json);
}

static void pruning_leaves_totals_as_they_are(void **state)
{
	const struct asked *asked = *state;
	struct sums sums = { 0 };
	json_t *whole, *pruned, *tree;
	json_int_t self = 0;
	size_t count;

	srand(12);
	for (int n = 0; n < RANDOM_STACKS; n++)
		report_random(asked, &sums);
	whole = ask_json(asked, "flame");
	pruned = ask_json(asked, "flame?max_nodes=50");
	tree = json_object_get(pruned, "tree");
	count = json_array_size(json_object_get(tree, "parent"));
	assert_in_range(count, 2, 50);
	for (size_t i = 0; i < count; i++)
		self += cell(tree, "self", i);
	assert_int_equal(cell(tree, "total", 0), number(whole, "total"));
	assert_int_equal(self + number(tree, "pruned_samples"), number(whole, "total"));
	assert_int_equal(
		count + (size_t)number(tree, "pruned_nodes"),
		json_array_size(json_object_get(json_object_get(whole, "tree"), "parent")));
	json_decref(whole);
	json_decref(pruned);
}

/* --- selections --- */

static void different_parameters_narrow_and_the_same_one_widens(void **state)
{
	const struct asked *asked = *state;

	report_many(asked, "a", &(struct told){ .comm = "x", .pid = 1, .tid = 10, .cpu = 0 }, 1);
	report_many(asked, "b", &(struct told){ .comm = "x", .pid = 2, .tid = 20, .cpu = 1 }, 2);
	report_many(asked, "b;c[k]", &(struct told){ .comm = "y", .pid = 3, .tid = 30, .cpu = 1 },
		    4);
	assert_int_equal(ask_number(asked, "flame", "total"), 7);
	assert_int_equal(ask_number(asked, "flame?pid=1", "total"), 1);
	assert_int_equal(ask_number(asked, "flame?pid=1&pid=3", "total"), 5);
	assert_int_equal(ask_number(asked, "flame?pid=1&comm=y", "total"), 0);
	assert_int_equal(ask_number(asked, "flame?comm=x&cpu=1", "total"), 2);
	assert_int_equal(ask_number(asked, "flame?tid=20&tid=30", "total"), 6);
	assert_int_equal(ask_number(asked, "flame?kind=kernel", "total"), 4);
	assert_int_equal(ask_number(asked, "flame?kind=python&kind=kernel", "total"), 7);
	assert_int_equal(ask_number(asked, "flame?function=b", "total"), 6);
	assert_int_equal(ask_number(asked, "flame?container=c0ffee", "total"), 2);
	assert_int_equal(ask_number(asked, "flame?container=", "total"), 5);
	assert_int_equal(ask_number(asked, "flame?thread=none", "total"), 0);
}

static void a_list_to_choose_from_is_not_narrowed_by_itself(void **state)
{
	const struct asked *asked = *state;
	json_t *json, *first;

	report_many(asked, "a", &(struct told){ .comm = "x", .pid = 1, .tid = 10, .cpu = 0 }, 1);
	report_many(asked, "b[k]", &(struct told){ .comm = "y", .pid = 2, .tid = 20, .cpu = 1 }, 2);
	json = ask_json(asked, "facets?pid=1");
	assert_int_equal(json_array_size(json_object_get(json, "processes")), 2);
	assert_int_equal(json_array_size(json_object_get(json, "threads")), 1);
	assert_int_equal(json_array_size(json_object_get(json, "cpus")), 1);
	first = json_array_get(json_object_get(json, "processes"), 0);
	assert_int_equal(number(first, "pid"), 2);
	assert_int_equal(number(first, "count"), 2);
	assert_string_equal(json_string_value(json_object_get(first, "container")), "c0ffee");
	json_decref(json);
	json = ask_json(asked, "facets?cpu=0");
	assert_int_equal(json_array_size(json_object_get(json, "cpus")), 2);
	assert_int_equal(number(json, "processes_total"), 1);
	json_decref(json);
	json = ask_json(asked, "facets?kind=kernel");
	assert_int_equal(json_array_size(json_object_get(json, "kinds")), 2);
	assert_int_equal(number(json, "containers_total"), 1);
	json_decref(json);
}

static void two_ranges_are_compared_by_their_shares(void **state)
{
	const struct asked *asked = *state;
	const char *question = "flame?root=none&from=1000&to=2000&base_from=0&base_to=1000";
	double pooled = (30 + 10) / 100.0;
	json_t *json, *tree;

	report_many(asked, "a", &(struct told){ .time_ns = EPOCH_NS + 500 * MS_NS }, 10);
	report_many(asked, "b", &(struct told){ .time_ns = EPOCH_NS + 999 * MS_NS }, 30);
	report_many(asked, "a", &(struct told){ .time_ns = EPOCH_NS + 1000 * MS_NS }, 30);
	report_many(asked, "b", &(struct told){ .time_ns = EPOCH_NS + 1999 * MS_NS }, 30);
	report_many(asked, "b", &(struct told){ .time_ns = EPOCH_NS + 2000 * MS_NS }, 7);
	json = ask_json(asked, question);
	tree = json_object_get(json, "tree");
	assert_int_equal(number(json, "total"), 60);
	assert_int_equal(number(json, "base_total"), 40);
	assert_int_equal(cell(tree, "total", 1), 30);
	assert_int_equal(cell(tree, "base_total", 1), 10);
	assert_int_equal(cell(tree, "base_self", 2), 30);
	assert_true(fabs(json_real_value(json_array_get(json_object_get(tree, "z"), 1)) -
			 (0.5 - 0.25) / sqrt(pooled * (1 - pooled) * (1 / 60.0 + 1 / 40.0))) <
		    0.051);
	json_decref(json);
	json = ask_json(asked, "top?from=1000&to=2000&base_from=0&base_to=1000");
	assert_int_equal(number(json_array_get(json_object_get(json, "rows"), 0), "base_self"), 30);
	json_decref(json);
}

static void equal_numbers_of_machines_are_different_rows(void **state)
{
	static const char *const hosts[] = { "", "web", "db" };
	static const char *const lists[] = { "processes", "threads" };
	struct asked *asked = *state;
	json_t *json;

	for (int i = 0; i < 3; i++)
		for (int j = 0; j <= i; j++)
			report_stack(asked->history, "main",
				     &(struct told){ .comm = "systemd",
						     .host = hosts[i],
						     .pid = 1,
						     .tid = 1,
						     .time_ns = EPOCH_NS + 1 });
	json = ask_json(asked, "facets");
	for (int list = 0; list < 2; list++) {
		const json_t *rows = json_object_get(json, lists[list]);

		assert_int_equal(json_array_size(rows), 3);
		/* The greatest is first. */
		for (int i = 0; i < 3; i++) {
			const json_t *row = json_array_get(rows, 2 - i);

			assert_int_equal(json_integer_value(json_object_get(row, "pid")), 1);
			assert_int_equal(json_integer_value(json_object_get(row, "count")), i + 1);
			assert_string_equal(json_string_value(json_object_get(row, "host")),
					    hosts[i]);
		}
	}
	json_decref(json);
}

/* A test of two proportions, computed by hand, to one decimal. */
static double significance(double count, double total, double base_count, double base_total)
{
	double pooled = (count + base_count) / (total + base_total);

	return (count / total - base_count / base_total) /
	       sqrt(pooled * (1 - pooled) * (1 / total + 1 / base_total));
}

static void assert_near(double value, double expected)
{
	assert_true(fabs(value - expected) < 0.051);
}

#define RANGES "from=1000&to=2000&base_from=0&base_to=1000"

/* In the base 40 samples of 100 have f, in the range 60 of 200. */
static void report_two_ranges(const struct asked *asked)
{
	const struct told base = { .time_ns = EPOCH_NS + 500 * MS_NS };
	const struct told range = { .time_ns = EPOCH_NS + 1500 * MS_NS };

	report_many(asked, "main;f;g", &base, 30);
	report_many(asked, "main;f", &base, 10);
	report_many(asked, "main;gone;h", &base, 20);
	report_many(asked, "main", &base, 40);
	report_many(asked, "main;f;g", &range, 15);
	report_many(asked, "main;f", &range, 45);
	report_many(asked, "main", &range, 140);
}

static const json_t *row_named(const json_t *answer, const char *name)
{
	size_t i;
	json_t *row;

	json_array_foreach(json_object_get(answer, "rows"), i, row)
	{
		if (!strcmp(json_string_value(json_object_get(row, "name")), name))
			return row;
	}
	fail_msg("no row %s", name);
	return NULL;
}

static double real(const json_t *object, const char *key)
{
	return json_real_value(json_object_get(object, key));
}

static void self_and_total_of_the_table_have_a_significance_each(void **state)
{
	const struct asked *asked = *state;
	const json_t *row;
	json_t *json;

	report_two_ranges(asked);
	json = ask_json(asked, "top?" RANGES);
	/* f has become rarer, its self samples more frequent. */
	row = row_named(json, "f");
	assert_near(real(row, "z"), significance(60, 200, 40, 100));
	assert_near(real(row, "z_self"), significance(45, 200, 10, 100));
	assert_true(real(row, "z") < 0);
	assert_true(real(row, "z_self") > 2);
	json_decref(json);
}

static double z_at(const json_t *tree, size_t node)
{
	return json_real_value(json_array_get(json_object_get(tree, "z"), node));
}

static void a_sandwich_compares_shares_of_its_function(void **state)
{
	const struct asked *asked = *state;
	const json_t *tree;
	json_t *json;

	report_two_ranges(asked);
	json = ask_json(asked, "sandwich?of=f&root=none&" RANGES);
	assert_int_equal(number(json, "samples"), 60);
	assert_int_equal(number(json, "base_samples"), 40);
	assert_int_equal(number(json, "base_self"), 10);
	assert_int_equal(number(json, "base_total"), 100);
	assert_near(real(json, "z"), significance(60, 200, 40, 100));
	tree = json_object_get(json, "callees");
	assert_string_equal(text_of(tree, "names", cell(tree, "name", 1)), "g");
	assert_near(z_at(tree, 1), significance(15, 60, 30, 40));
	/* All of its samples are called by main, in both ranges. */
	tree = json_object_get(json, "callers");
	assert_string_equal(text_of(tree, "names", cell(tree, "name", 1)), "main");
	assert_near(z_at(tree, 1), 0);
	json_decref(json);
	/* A function that only the base has is shown too. */
	json = ask_json(asked, "sandwich?of=gone&root=none&" RANGES);
	assert_int_equal(number(json, "samples"), 0);
	assert_int_equal(number(json, "base_samples"), 20);
	assert_near(real(json, "z"), significance(0, 200, 20, 100));
	assert_int_equal(cell(json_object_get(json, "callees"), "base_total", 1), 20);
	json_decref(json);
}

static void assert_functions(const struct asked *asked, const char *question, const char *expected)
{
	json_t *json = ask_json(asked, question);
	char names[256] = "";
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(json, "rows"), i, row)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? " " : "",
			 json_string_value(json_object_get(row, "name")));
	if (strcmp(names, expected) != 0)
		fail_msg("%s: '%s', not '%s'", question, names, expected);
	json_decref(json);
}

static void functions_are_sorted_by_what_has_changed(void **state)
{
	const struct asked *asked = *state;

	report_two_ranges(asked);
	assert_functions(asked, "top?sort=self&" RANGES, "main f g h gone");
	/* The base has 500 ms with 100 samples, the range 501 ms with 200. */
	assert_functions(asked, "top?sort=self_change&" RANGES, "main f h g gone");
	assert_functions(asked, "top?sort=self_share_change&" RANGES, "main g h f gone");
	assert_functions(asked, "top?sort=total_share_change&" RANGES, "g h gone f main");
	assert_functions(asked, "top?sort=total_change&limit=1&" RANGES, "main");
	assert_int_equal(ask_number(asked, "top?" RANGES, "ms"), 501);
	assert_int_equal(ask_number(asked, "top?" RANGES, "base_ms"), 500);
}

static void other_samples_of_the_same_time_are_compared(void **state)
{
	const struct asked *asked = *state;
	json_t *json, *tree;

	report_many(asked, "main;f", &(struct told){ .comm = "old", .pid = 1, .unit = "x.service" },
		    10);
	report_many(asked, "main;g", &(struct told){ .comm = "new", .pid = 3, .unit = "x.service" },
		    30);
	report_many(asked, "main;h", &(struct told){ .comm = "old", .pid = 5 }, 5);
	json = ask_json(asked, "flame?root=none&comm=new&base_comm=old&unit=x.service");
	assert_int_equal(number(json, "total"), 30);
	assert_int_equal(number(json, "base_total"), 10);
	tree = json_object_get(json, "tree");
	assert_string_equal(text_of(tree, "names", cell(tree, "name", 2)), "f");
	assert_int_equal(cell(tree, "total", 2), 0);
	assert_int_equal(cell(tree, "base_total", 2), 10);
	json_decref(json);
	assert_int_equal(ask_number(asked, "top?pid=3&base_pid=1&base_pid=5", "base_total"), 15);
	assert_int_equal(ask_number(asked, "top?base_pid=1", "total"), 45);
	/* With times of its own too. */
	assert_int_equal(ask_number(asked, "top?comm=new&base_comm=old&base_from=0&base_to=5",
				    "base_total"),
			 0);
}

static void a_graph_may_begin_with_the_leaves(void **state)
{
	const struct asked *asked = *state;
	json_t *json, *tree;

	report_many(asked, "main;f;malloc", &(struct told){ .comm = "web", .pid = 1 }, 3);
	report_many(asked, "main;g;malloc", &(struct told){ .comm = "db", .pid = 3 }, 4);
	report_many(asked, "main;g", &(struct told){ .comm = "db", .pid = 3 }, 1);
	json = ask_json(asked, "flame?inverted=1");
	assert_int_equal(number(json, "total"), 8);
	tree = json_object_get(json, "tree");
	/* all, g, main, db, malloc, f, main, web, g, main, db */
	assert_int_equal(json_array_size(json_object_get(tree, "parent")), 11);
	assert_string_equal(text_of(tree, "names", cell(tree, "name", 1)), "g");
	assert_int_equal(cell(tree, "total", 1), 1);
	assert_string_equal(text_of(tree, "names", cell(tree, "name", 4)), "malloc");
	assert_int_equal(cell(tree, "total", 4), 7);
	assert_string_equal(text_of(tree, "names", cell(tree, "name", 8)), "g");
	assert_int_equal(cell(tree, "total", 8), 4);
	assert_string_equal(text_of(tree, "names", cell(tree, "name", 10)), "db");
	assert_int_equal(cell(tree, "self", 10), 4);
	json_decref(json);
}

static void hidden_functions_leave_their_time_to_their_callers(void **state)
{
	const struct asked *asked = *state;
	json_t *json, *tree;

	report_many(asked, "main;wrap;f", &(struct told){ .pid = 1 }, 3);
	report_many(asked, "main;wrap", &(struct told){ .pid = 1 }, 2);
	report_many(asked, "main;f", &(struct told){ .pid = 1 }, 1);
	report_many(asked, "wrap", &(struct told){ .pid = 1 }, 4);
	json = ask_json(asked, "flame?root=none&hide=wrap");
	assert_int_equal(number(json, "total"), 10);
	tree = json_object_get(json, "tree");
	/* all, main, f */
	assert_int_equal(json_array_size(json_object_get(tree, "parent")), 3);
	assert_int_equal(cell(tree, "self", 0), 4);
	assert_int_equal(cell(tree, "self", 1), 2);
	assert_int_equal(cell(tree, "total", 2), 4);
	json_decref(json);
	json = ask_json(asked, "top?hide=wrap&hide=main");
	assert_int_equal(json_array_size(json_object_get(json, "rows")), 1);
	assert_int_equal(number(row_named(json, "f"), "total"), 4);
	json_decref(json);
	/* Who is filtered by it is not changed. */
	assert_int_equal(ask_number(asked, "flame?function=wrap&hide=wrap", "total"), 9);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_flame_graph_is_a_tree_below_processes),
		TEST(lines_tell_locations_apart_if_they_are_asked_for),
		TEST(functions_differ_by_column_on_demand),
		TEST(a_sandwich_has_callees_of_the_outermost_and_callers_of_the_innermost),
		TEST(the_table_counts_a_recursive_function_once),
		TEST(pruning_leaves_totals_as_they_are),
		TEST(different_parameters_narrow_and_the_same_one_widens),
		TEST(a_list_to_choose_from_is_not_narrowed_by_itself),
		TEST(two_ranges_are_compared_by_their_shares),
		TEST(equal_numbers_of_machines_are_different_rows),
		TEST(self_and_total_of_the_table_have_a_significance_each),
		TEST(a_sandwich_compares_shares_of_its_function),
		TEST(functions_are_sorted_by_what_has_changed),
		TEST(other_samples_of_the_same_time_are_compared),
		TEST(a_graph_may_begin_with_the_leaves),
		TEST(hidden_functions_leave_their_time_to_their_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
