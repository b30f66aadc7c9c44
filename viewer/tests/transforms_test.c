/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of stacks, compared with the same transforms of lists of names. */
#include "viewer/transforms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "viewer/tests/asking.h"

enum {
	STACKS = 500,
	LENGTH = 14,
	NAME_BYTES = 64,
	ROWS = 200,
	COMMS = 3,
};

/* --- frames --- */

struct shape {
	const char *name;
	uint8_t kind;
	const char *binary;
	const char *file;
	bool is_inlined;
	/* The names of its binary and package. */
	const char *binary_name;
	const char *package;
};

enum { PYTHON_FRAMES = 2, EVAL = 2 };

/* Two functions of one name and file are one function, in two binaries. */
static const struct shape shapes[] = {
	{ "first", FRAME_PYTHON, NULL, "/lib/site-packages/numpy/core/a.py", false, "[python]",
	  "numpy" },
	{ "second", FRAME_PYTHON, NULL, "/srv/app/b.py", false, "[python]", "/srv/app" },
	{ "eval", FRAME_NATIVE, "/usr/lib/libpython.so", NULL, false, "libpython.so",
	  "libpython.so" },
	{ "call", FRAME_NATIVE, "/usr/lib/libpython.so", NULL, false, "libpython.so",
	  "libpython.so" },
	{ "work", FRAME_NATIVE, "/opt/prog", NULL, false, "prog", "prog" },
	{ "std::small()", FRAME_NATIVE, "/opt/prog", NULL, true, "prog", "std" },
	{ "shared", FRAME_NATIVE, "/opt/prog", "a.h", false, "prog", "prog" },
	{ "shared", FRAME_NATIVE, "/opt/other", "a.h", false, "other", "other" },
	{ "read", FRAME_KERNEL, NULL, "vmlinux", false, "vmlinux", "vmlinux" },
	{ "ext4_read", FRAME_KERNEL, NULL, "ext4", false, "ext4", "ext4" },
	{ "[anonymous]+0x1000", FRAME_NATIVE, NULL, NULL, false, "[jit]", "[jit]" },
	{ "[anonymous]+0x2000", FRAME_NATIVE, NULL, NULL, false, "[jit]", "[jit]" },
	{ "runtime.mallocgc", FRAME_GO, "/opt/server", NULL, false, "server", "runtime" },
	{ "net/http.(*conn).serve", FRAME_GO, "/opt/server", NULL, false, "server", "net/http" },
};

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static struct binary *binaries[SHAPES];

/* A binary of a path is one. */
static struct binary *binary_at(const char *path)
{
	int i = 0;

	while (binaries[i] && strcmp(binaries[i]->path, path))
		i++;
	if (!binaries[i])
		binaries[i] = binary_create(
			&(struct binary){ .fd = -1,
					  .executable_id = EXECUTABLE_ID_FIRST + (uint64_t)i,
					  .file_id.bytes[0] = (uint8_t)(i + 1),
					  .path = (char *)path });
	return binaries[i];
}

static int free_binaries(void **state)
{
	for (int i = 0; i < SHAPES; i++)
		binary_unref(binaries[i]);
	memset(binaries, 0, sizeof(binaries));
	return tear_down(state);
}

struct made_stack {
	uint8_t frames[LENGTH];
	int length;
	uint32_t count;
	const char *comm;
};

static void report(const struct asked *asked, const struct made_stack *stack)
{
	struct frame frames[LENGTH] = { 0 };
	struct told told = { .comm = stack->comm, .pid = 1, .time_ns = EPOCH_NS + 10 * MS_NS };
	struct trace *trace;

	for (int i = 0; i < stack->length; i++) {
		const struct shape *shape = &shapes[stack->frames[i]];
		struct frame *frame = &frames[stack->length - 1 - i];

		*frame = (struct frame){
			.kind = shape->kind,
			.flags = shape->is_inlined ? FRAME_INLINED : 0,
			.function = shape->name,
			.file = shape->file,
			.binary = shape->binary ? binary_at(shape->binary) : NULL,
			.address = 16 * (uint64_t)(stack->frames[i] + 1),
		};
		if (*shape->name == '[') {
			frame->function = NULL;
			frame->address = strtoull(strchr(shape->name, '+') + 1, NULL, 16);
		}
	}
	trace = trace_create(frames, (uint32_t)stack->length, true, false);
	assert_non_null(trace);
	for (uint32_t i = 0; i < stack->count; i++)
		report_trace(asked->history, trace, &told);
	trace_unref(trace);
}

/* Python functions are called by the loop, or by each other. */
static void make_stack(struct made_stack *stack)
{
	static const char *const comms[COMMS] = { "alpha", "beta", "gamma" };
	int wanted = 1 + rand() % (LENGTH - 1);

	*stack = (struct made_stack){ .count = 1 + (uint32_t)rand() % 3,
				      .comm = comms[rand() % COMMS] };
	while (stack->length < wanted) {
		uint8_t shape = (uint8_t)(rand() % SHAPES);
		int last = stack->length ? stack->frames[stack->length - 1] : SHAPES;

		if (shape < PYTHON_FRAMES && last > EVAL)
			stack->frames[stack->length++] = EVAL;
		if (stack->length < LENGTH)
			stack->frames[stack->length++] = shape;
	}
}

/* --- the same by names --- */

struct transform {
	const char *hide;
	const char *begin;
	bool folds[FOLD_COUNT];
	enum frame_unit unit;
};

struct named_stack {
	char names[LENGTH][NAME_BYTES];
	int length;
};

static void name_shape(const struct transform *transform, const struct shape *shape,
		       const char *comm, char *name, bool *is_group)
{
	bool is_python = shape->binary && !strcmp(shape->binary_name, "libpython.so");
	bool is_go = !strcmp(shape->name, "runtime.mallocgc");

	*is_group = true;
	if (transform->folds[FOLD_UNNAMED] && *shape->name == '[')
		sprintf(name, "%s%s%s", transform->unit ? "" : "[unnamed code of ",
			transform->unit ? "[jit]" : comm, transform->unit ? "" : "]");
	else if (transform->folds[FOLD_KERNEL] && shape->kind == FRAME_KERNEL)
		strcpy(name, "[kernel]");
	else if (transform->folds[FOLD_RUNTIME] && is_python)
		strcpy(name, "libpython.so");
	else if (transform->folds[FOLD_RUNTIME] && is_go)
		strcpy(name, transform->unit ? "server" : "[runtime of Go]");
	else if (transform->unit == FRAME_OF_BINARY)
		strcpy(name, shape->binary_name);
	else if (transform->unit == FRAME_OF_PACKAGE)
		strcpy(name, shape->package);
	else {
		strcpy(name, shape->name);
		*is_group = false;
	}
}

static int index_of(const struct named_stack *named, const char *name)
{
	for (int i = 0; i < named->length; i++)
		if (!strcmp(named->names[i], name))
			return i;
	return -1;
}

static bool is_hidden(const struct transform *transform, const char *name)
{
	return transform->hide && !strcmp(transform->hide, name);
}

/* False if the stack is not selected. */
static bool transform_stack(const struct transform *transform, const struct made_stack *stack,
			    struct named_stack *named)
{
	int first = 0;

	named->length = 0;
	while (transform->begin && first < stack->length &&
	       strcmp(shapes[stack->frames[first]].name, transform->begin))
		first++;
	if (transform->begin && first == stack->length)
		return false;
	for (int i = first; i < stack->length; i++) {
		const struct shape *shape = &shapes[stack->frames[i]];
		char name[NAME_BYTES];
		bool is_group;
		int before;

		name_shape(transform, shape, stack->comm, name, &is_group);
		if (is_hidden(transform, shape->name) || is_hidden(transform, name) ||
		    (transform->folds[FOLD_INLINED] && shape->is_inlined))
			continue;
		before = index_of(named, name);
		if (is_group && named->length && !strcmp(named->names[named->length - 1], name))
			continue;
		if (transform->folds[FOLD_RECURSION] && before >= 0)
			named->length = before;
		strcpy(named->names[named->length++], name);
	}
	return true;
}

struct row {
	char name[NAME_BYTES];
	uint64_t self;
	uint64_t total;
};

struct rows {
	struct row rows[ROWS];
	int count;
	uint64_t total;
	/* Samples without a frame. */
	uint64_t empty;
};

static struct row *row_of(struct rows *rows, const char *name)
{
	int i = 0;

	while (i < rows->count && strcmp(rows->rows[i].name, name))
		i++;
	if (i == rows->count) {
		assert_true(i < ROWS);
		strcpy(rows->rows[rows->count++].name, name);
	}
	return &rows->rows[i];
}

static void add_stack(struct rows *rows, const struct named_stack *named, uint32_t count)
{
	rows->total += count;
	for (int i = 0; i < named->length; i++)
		if (index_of(named, named->names[i]) == i)
			row_of(rows, named->names[i])->total += count;
	if (named->length)
		row_of(rows, named->names[named->length - 1])->self += count;
	else
		rows->empty += count;
}

static struct made_stack stacks[STACKS];

static void sum_up(const struct transform *transform, struct rows *rows)
{
	memset(rows, 0, sizeof(*rows));
	for (int i = 0; i < STACKS; i++) {
		struct named_stack named;

		if (transform_stack(transform, &stacks[i], &named))
			add_stack(rows, &named, stacks[i].count);
	}
}

/* --- compared --- */

static void check_table(const struct asked *asked, const char *question, const struct rows *rows)
{
	json_t *json = ask_json(asked, question), *array = json_object_get(json, "rows"), *row;
	struct rows found = { 0 };
	size_t i;

	assert_int_equal(number(json, "total"), rows->total);
	json_array_foreach(array, i, row)
	{
		struct row *sums = row_of(&found, json_string_value(json_object_get(row, "name")));

		/* Each name is one function. */
		if (sums->total)
			print_error("%s: %s twice\n", question, sums->name);
		assert_int_equal(sums->total, 0);
		sums->self = (uint64_t)number(row, "self");
		sums->total = (uint64_t)number(row, "total");
	}
	assert_int_equal(found.count, rows->count);
	for (int each = 0; each < rows->count; each++) {
		const struct row *sums = row_of(&found, rows->rows[each].name);

		if (sums->self != rows->rows[each].self || sums->total != rows->rows[each].total)
			print_error("%s: %s\n", question, rows->rows[each].name);
		assert_int_equal(sums->self, rows->rows[each].self);
		assert_int_equal(sums->total, rows->rows[each].total);
	}
	json_decref(json);
}

static json_int_t cell(const json_t *tree, const char *column, size_t node)
{
	return json_integer_value(json_array_get(json_object_get(tree, column), node));
}

static const char *node_name(const json_t *tree, size_t node)
{
	return json_string_value(
		json_array_get(json_object_get(tree, "names"), (size_t)cell(tree, "name", node)));
}

/* Self samples by name, and that each node has the samples of its callees and its own. */
static void check_graph(const struct asked *asked, const char *question, const struct rows *rows)
{
	json_t *json = ask_json(asked, question), *tree = json_object_get(json, "tree");
	size_t count = json_array_size(json_object_get(tree, "parent"));
	uint64_t *below = calloc(count, sizeof(*below));
	struct rows found = { 0 };

	assert_int_equal(number(json, "total"), rows->total);
	for (size_t i = count; i-- > 0;) {
		uint64_t self = (uint64_t)cell(tree, "self", i);

		assert_int_equal(cell(tree, "total", i), self + below[i]);
		if (i)
			below[cell(tree, "parent", i)] += (uint64_t)cell(tree, "total", i);
		row_of(&found, node_name(tree, i))->self += self;
	}
	for (int i = 0; i < rows->count; i++)
		assert_int_equal(row_of(&found, rows->rows[i].name)->self, rows->rows[i].self);
	assert_int_equal(row_of(&found, "all")->self, rows->empty);
	free(below);
	json_decref(json);
}

/* The first level has the leaves, with their self samples. */
static void check_inverted(const struct asked *asked, const char *question, const struct rows *rows)
{
	json_t *json = ask_json(asked, question), *tree = json_object_get(json, "tree");
	size_t count = json_array_size(json_object_get(tree, "parent"));
	struct rows found = { 0 };

	for (size_t i = 1; i < count; i++)
		if (!cell(tree, "parent", i))
			row_of(&found, node_name(tree, i))->self +=
				(uint64_t)cell(tree, "total", i);
	for (int i = 0; i < rows->count; i++)
		assert_int_equal(row_of(&found, rows->rows[i].name)->self, rows->rows[i].self);
	json_decref(json);
}

static void check_one(const struct asked *asked, const char *query, const struct row *row)
{
	char question[512];

	snprintf(question, sizeof(question), "sandwich?root=none&%s&of=%s", query, row->name);
	assert_int_equal(ask_number(asked, question, "samples"), row->total);
	assert_int_equal(ask_number(asked, question, "self"), row->self);
}

static void check_search(const struct asked *asked, const char *query,
			 const struct transform *transform, const char *text)
{
	char question[512];
	uint64_t matched = 0;

	for (int i = 0; i < STACKS; i++) {
		struct named_stack named;
		bool is_match = false;

		if (!transform_stack(transform, &stacks[i], &named))
			continue;
		for (int n = 0; n < named.length; n++)
			is_match |= strstr(named.names[n], text) != NULL;
		matched += is_match ? stacks[i].count : 0;
	}
	snprintf(question, sizeof(question), "search?root=none&%s&text=%s", query, text);
	assert_int_equal(ask_number(asked, question, "matched"), matched);
}

static void check(const struct asked *asked, const char *query, const struct transform *transform)
{
	static const char *const texts[] = { "eval", "work", "o", "lib", "kernel", "read" };
	struct rows rows;
	char question[512];

	sum_up(transform, &rows);
	assert_true(rows.total > 0 && rows.count > 0);
	snprintf(question, sizeof(question), "top?limit=1000&%s", query);
	check_table(asked, question, &rows);
	snprintf(question, sizeof(question), "flame?root=none&max_nodes=50000&%s", query);
	check_graph(asked, question, &rows);
	snprintf(question, sizeof(question), "flame?root=none&max_nodes=50000&inverted=1&%s",
		 query);
	check_inverted(asked, question, &rows);
	for (int i = 0; i < rows.count; i++)
		check_one(asked, query, &rows.rows[i]);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_search(asked, query, transform, texts[i]);
}

static void all_sums_are_those_of_the_changed_stacks(void **state)
{
	static const struct {
		const char *query;
		struct transform transform;
	} checks[] = {
		{ "", { 0 } },
		{ "hide=call", { .hide = "call" } },
		{ "hide=shared", { .hide = "shared" } },
		{ "begin=work", { .begin = "work" } },
		{ "begin=first&hide=first", { .begin = "first", .hide = "first" } },
		{ "fold=inlined", { .folds[FOLD_INLINED] = true } },
		{ "fold=unnamed", { .folds[FOLD_UNNAMED] = true } },
		{ "fold=kernel", { .folds[FOLD_KERNEL] = true } },
		{ "fold=runtime", { .folds[FOLD_RUNTIME] = true } },
		{ "fold=recursion", { .folds[FOLD_RECURSION] = true } },
		{ "frames=binary", { .unit = FRAME_OF_BINARY } },
		{ "frames=package", { .unit = FRAME_OF_PACKAGE } },
		{ "frames=binary&hide=libpython.so",
		  { .unit = FRAME_OF_BINARY, .hide = "libpython.so" } },
		{ "frames=package&fold=recursion",
		  { .unit = FRAME_OF_PACKAGE, .folds[FOLD_RECURSION] = true } },
		{ "fold=recursion&begin=eval&fold=kernel&fold=runtime",
		  { .begin = "eval",
		    .folds = { [FOLD_RECURSION] = true,
			       [FOLD_KERNEL] = true,
			       [FOLD_RUNTIME] = true } } },
		{ "fold=inlined&fold=unnamed&fold=kernel&fold=runtime&fold=recursion&frames=binary",
		  { .unit = FRAME_OF_BINARY, .folds = { true, true, true, true, true } } },
		{ "fold=inlined&fold=unnamed&fold=kernel&fold=runtime&fold=recursion",
		  { .folds = { true, true, true, true, true } } },
	};
	const struct asked *asked = *state;

	srand(31);
	for (int i = 0; i < STACKS; i++) {
		make_stack(&stacks[i]);
		report(asked, &stacks[i]);
	}
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		check(asked, checks[i].query, &checks[i].transform);
}

/* A begin is a filter for all that is asked for; other transforms are not. */
static void only_a_begin_narrows_the_selection(void **state)
{
	const struct asked *asked = *state;

	report_many(asked, "main;f;leaf", &(struct told){ .pid = 1 }, 3);
	report_many(asked, "main;g", &(struct told){ .pid = 2 }, 4);
	assert_int_equal(ask_number(asked, "flame?begin=f", "total"), 3);
	assert_int_equal(ask_number(asked, "flame?begin=f&begin=g", "total"), 7);
	assert_int_equal(ask_number(asked, "flame?begin=f&function=g", "total"), 0);
	assert_int_equal(ask_number(asked, "facets?begin=f", "processes_total"), 1);
	assert_int_equal(ask_number(asked, "processes?begin=g", "total"), 4);
	assert_int_equal(ask_number(asked, "processes?hide=g&fold=recursion", "total"), 7);
}

static void frames_of_two_processes_without_names_stay_apart(void **state)
{
	const struct asked *asked = *state;
	const struct made_stack one = { { 10, 11 }, 2, 3, "alpha" },
				other = { { 10 }, 1, 2, "beta" };
	json_t *json;

	report(asked, &one);
	report(asked, &other);
	json = ask_json(asked, "top?root=none&fold=unnamed");
	assert_int_equal(json_array_size(json_object_get(json, "rows")), 2);
	json_decref(json);
}

static void a_comparison_is_of_changed_stacks_on_both_sides(void **state)
{
	const struct asked *asked = *state;
	json_t *json, *tree;

	report_many(asked, "main;f;main", &(struct told){ .pid = 1, .comm = "x" }, 3);
	report_many(asked, "main;f", &(struct told){ .pid = 2, .comm = "y" }, 4);
	json = ask_json(asked, "flame?root=none&comm=x&base_comm=y&fold=recursion");
	tree = json_object_get(json, "tree");
	assert_int_equal(json_array_size(json_object_get(tree, "parent")), 3);
	assert_int_equal(cell(tree, "self", 1), 3);
	assert_int_equal(cell(tree, "base_self", 2), 4);
	assert_int_equal(cell(tree, "base_total", 0), 4);
	json_decref(json);
}

static void nodes_have_their_binary_or_package_on_demand(void **state)
{
	const struct asked *asked = *state;
	const struct made_stack stack = { { 4, 2, 0, 8 }, 4, 1, "alpha" };
	static const char *const expected[] = { "prog", "libpython.so", "numpy", "vmlinux" };
	json_t *json, *tree;

	report(asked, &stack);
	json = ask_json(asked, "flame?root=none");
	assert_null(json_object_get(json_object_get(json, "tree"), "unit"));
	json_decref(json);
	json = ask_json(asked, "flame?root=none&colour=package");
	tree = json_object_get(json, "tree");
	assert_int_equal(cell(tree, "unit", 0), -1);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(
			json_string_value(json_array_get(json_object_get(tree, "units"),
							 (size_t)cell(tree, "unit", i + 1))),
			expected[i]);
	json_decref(json);
}

static void unknown_transforms_are_refused(void **state)
{
	static const char *const questions[] = { "flame?fold=everything", "top?frames=line",
						 "flame?colour=red" };

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		struct api_answer answer;

		ask(*state, questions[i], false, &answer);
		assert_int_equal(answer.status, 400);
		free(answer.body);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, free_binaries)
	const struct CMUnitTest tests[] = {
		TEST(all_sums_are_those_of_the_changed_stacks),
		TEST(only_a_begin_narrows_the_selection),
		TEST(frames_of_two_processes_without_names_stay_apart),
		TEST(a_comparison_is_of_changed_stacks_on_both_sides),
		TEST(nodes_have_their_binary_or_package_on_demand),
		TEST(unknown_transforms_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
