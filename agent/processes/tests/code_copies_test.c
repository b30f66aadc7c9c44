/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/tests/fakes.h"

#include <elf.h>

#include "agent/processes/code_copies.h"
#include "ebpf/abi/frame.h"
#include "interpreters/language.h"
#include "stackdeltas/copied_code.h"

enum { WINDOW = CODE_WINDOW_BYTES, PID = 7, MAPPINGS_MAX = 32 };

/* The start of a window. */
#define BASE (0x7f0000000000ULL / WINDOW * WINDOW)
#define FILE_ID (5ULL << 16 | 3)

struct fixture {
	struct fake_writer writer;
	struct process_table table;
	struct code_copies copies;
	struct code_copy_request *asked;
	uint32_t asked_count;
	uint64_t now_ns;
	struct process_mapping mappings[MAPPINGS_MAX];
	uint32_t mapping_count;
	struct process *process;
};

static void keep_request(void *context, struct code_copy_request *request)
{
	struct fixture *fixture = context;

	free(fixture->asked);
	fixture->asked = request;
	fixture->asked_count++;
}

static struct process *add_process(struct fixture *fixture, uint32_t pid)
{
	const struct process_identity identity = { .start_time_ns = pid, .exec_id = 1 };
	struct process *process =
		process_table_add(&fixture->table, pid, &identity, fixture->now_ns);

	process->is_published = true;
	process->mappings = fixture->mappings;
	return process;
}

static void remove_process(struct fixture *fixture, struct process *process)
{
	code_copies_release(&fixture->copies, process);
	process->mappings = NULL;
	process_table_remove(&fixture->table, process);
}

static void map_anonymous(struct fixture *fixture, uint64_t start, uint64_t end)
{
	assert_true(fixture->mapping_count < MAPPINGS_MAX);
	fixture->mappings[fixture->mapping_count++] = (struct process_mapping){
		.start = start,
		.end = end,
		.executable_id = EXECUTABLE_ID_ANONYMOUS,
	};
	fixture->process->mapping_count = fixture->mapping_count;
}

/* A page of code in each of as many windows as a process may have copies of: a copy is made soon. */
static void map_a_page_of_windows(struct fixture *fixture)
{
	for (uint64_t i = 0; i < CODE_COPIES_OF_PROCESS_MAX; i++)
		map_anonymous(fixture, BASE + i * WINDOW, BASE + i * WINDOW + 4096);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct executable_cache_config config = { .writer = &fixture->writer.writer };

	fake_writer_init(&fixture->writer);
	fixture->writer.budget_bytes = 64 << 20;
	process_table_init(&fixture->table);
	fixture->now_ns = 1000 * NS_PER_SECOND;
	fixture->copies = (struct code_copies){
		.table = &fixture->table,
		.writer = &fixture->writer.writer,
		.request = keep_request,
		.context = fixture,
	};
	assert_int_equal(executable_cache_create(&config, &fixture->copies.executables), 0);
	fixture->process = add_process(fixture, PID);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	remove_process(fixture, fixture->process);
	code_copies_deinit(&fixture->copies);
	assert_int_equal(fixture->writer.executable_count, 0);
	assert_int_equal(fixture->copies.map_bytes, 0);
	executable_cache_destroy(fixture->copies.executables);
	process_table_deinit(&fixture->table);
	free(fixture->asked);
	free(fixture);
	return 0;
}

/* Whether a hit leads to a request. */
static bool wants(struct fixture *fixture, uint64_t address, bool is_changed)
{
	uint32_t before = fixture->asked_count;

	code_copies_note_hit(&fixture->copies, fixture->process, address, is_changed,
			     fixture->now_ns);
	return fixture->asked_count > before;
}

/* sub $8,%rsp; call *%rdi; add $8,%rsp; ret */
static const uint8_t function[] = {
	0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3
};

/* Code with a function in each window. */
static const uint8_t *code_with_functions(void)
{
	static uint8_t code[COPIED_CODE_MAX_BYTES];

	memset(code, 0xcc, sizeof(code));
	for (size_t at = 0; at < sizeof(code); at += 4096)
		memcpy(code + at, function, sizeof(function));
	return code;
}

/* Answers the last request with @code, which took @cost_ns. */
static bool answer_code(struct fixture *fixture, const uint8_t *code, uint64_t content,
			uint64_t cost_ns)
{
	struct code_copy_answer answer = code_copy_request_refuse(fixture->asked, 0);

	answer.content = (struct hash128){ 1, content };
	answer.cost_ns = cost_ns;
	assert_int_equal(copied_code_analyse(EM_X86_64, answer.code.start, code, answer.code.bytes,
					     &answer.deltas),
			 0);
	return code_copies_answer(&fixture->copies, &answer, fixture->now_ns);
}

/* Answers the last request, with content of which @content is a part; returns whether the process is published again. */
static bool answer(struct fixture *fixture, int err, uint64_t content)
{
	struct code_copy_answer answer = code_copy_request_refuse(fixture->asked, err);
	const uint8_t *code = code_with_functions();

	answer.content = (struct hash128){ 1, content };
	answer.is_unchanged = hash128_equal(answer.content, fixture->asked->known);
	if (!err && !answer.is_unchanged)
		assert_int_equal(copied_code_analyse(EM_X86_64, answer.code.start, code,
						     answer.code.bytes, &answer.deltas),
				 0);
	return code_copies_answer(&fixture->copies, &answer, fixture->now_ns);
}

static void pass(struct fixture *fixture, uint64_t time_ns)
{
	fixture->now_ns += time_ns;
}

/* Copies the window of @address. */
static void copy(struct fixture *fixture, uint64_t address)
{
	pass(fixture, NS_PER_SECOND);
	assert_true(wants(fixture, address, false));
	assert_true(answer(fixture, 0, 1));
}

/* The rows of the process on the kernel side, made of @rows; the test's array is valid until the next call. */
static const struct mapping_row *rows_of(const struct fixture *fixture,
					 const struct mapping_row *rows, uint32_t *count)
{
	static struct mapping_row made[64];
	struct mapping_table *table = mapping_table_create(rows, *count);
	struct mapping_row *with_copies = code_copies_rows(fixture->process, table, count);

	mapping_table_unref(table);
	if (!with_copies)
		return NULL;
	assert_true(*count <= 64);
	memcpy(made, with_copies, *count * sizeof(*made));
	free(with_copies);
	return made;
}

static void assert_row(const struct mapping_row *row, uint64_t start, uint64_t end, bool is_copy)
{
	assert_int_equal(row->start, start);
	assert_int_equal(row->end, end);
	assert_int_equal(row->bias, 0);
	assert_int_equal(row->executable_id & EXECUTABLE_ID_COPY, is_copy ? EXECUTABLE_ID_COPY : 0);
	if (!is_copy)
		assert_int_equal(row->executable_id, EXECUTABLE_ID_ANONYMOUS);
}

static void a_window_has_code_around_it_analysed_too(void **state)
{
	struct fixture *fixture = *state;

	map_anonymous(fixture, BASE - 4096, BASE + 0x1000);
	map_anonymous(fixture, BASE + 0x3000, BASE + 0x5000);
	map_anonymous(fixture, BASE + 0x5000, BASE + 3 * WINDOW);
	map_anonymous(fixture, BASE + 4 * WINDOW, BASE + 5 * WINDOW);
	assert_true(wants(fixture, BASE + 0x4fff, false));
	/* Two mappings, and nothing in front of them. */
	assert_int_equal(fixture->asked->code.start, BASE + 0x3000);
	assert_int_equal(fixture->asked->code.bytes, WINDOW - 0x3000 + CODE_MARGIN_BYTES);
	assert_int_equal(fixture->asked->code.lead_bytes, 0);
	assert_int_equal(fixture->asked->code.tail_bytes, CODE_MARGIN_BYTES);
	assert_true(answer(fixture, 0, 1));
	pass(fixture, NS_PER_SECOND);
	assert_true(wants(fixture, BASE + 2 * WINDOW - 1, false));
	assert_int_equal(fixture->asked->code.start, BASE + WINDOW - CODE_MARGIN_BYTES);
	assert_int_equal(fixture->asked->code.bytes, COPIED_CODE_MAX_BYTES);
	assert_int_equal(fixture->asked->code.lead_bytes, CODE_MARGIN_BYTES);
	assert_int_equal(fixture->asked->code.tail_bytes, CODE_MARGIN_BYTES);
	assert_true(answer(fixture, 0, 1));
	assert_int_equal(fixture->process->copies->items[1]->start, BASE + WINDOW);
	assert_int_equal(fixture->process->copies->items[1]->end, BASE + 2 * WINDOW);
	pass(fixture, NS_PER_SECOND);
	assert_true(wants(fixture, BASE, false));
	assert_int_equal(fixture->asked->code.start, BASE - 4096);
	assert_int_equal(fixture->asked->code.bytes, 8192);
	assert_int_equal(fixture->asked->code.lead_bytes, 4096);
	assert_int_equal(fixture->asked->code.tail_bytes, 0);
	assert_true(answer(fixture, 0, 1));
	pass(fixture, NS_PER_SECOND);
	assert_true(wants(fixture, BASE + 5 * WINDOW - 1, false));
	assert_int_equal(fixture->asked->code.start, BASE + 4 * WINDOW);
}

static void only_anonymous_code_is_copied(void **state)
{
	struct fixture *fixture = *state;

	map_anonymous(fixture, BASE, BASE + 4096);
	assert_false(wants(fixture, BASE + 4096, false));
	fixture->mappings[0].inode = 5;
	assert_false(wants(fixture, BASE, false));
	fixture->mappings[0].inode = 0;
	/* It may be the text of a file, which is being found out. */
	fixture->mappings[0].look_count = 1;
	assert_false(wants(fixture, BASE, false));
	fixture->mappings[0].look_count = 0;
	fixture->mappings[0].executable_id = FILE_ID;
	assert_false(wants(fixture, BASE, false));
	fixture->mappings[0].executable_id = EXECUTABLE_ID_ANONYMOUS;
	fixture->process->hanging_until_ns = fixture->now_ns + 1;
	assert_false(wants(fixture, BASE, false));
	fixture->process->hanging_until_ns = 0;
	fixture->process->is_published = false;
	assert_false(wants(fixture, BASE, false));
	fixture->process->is_published = true;
	assert_true(wants(fixture, BASE, false));
}

static void the_id_is_in_the_rows_once_the_copys_rows_are_published(void **state)
{
	const struct mapping_row rows[] = {
		{ BASE - 8192, BASE - 4096, 77, FILE_ID },
		{ BASE, BASE + 4 * WINDOW, 0, EXECUTABLE_ID_ANONYMOUS },
	};
	struct fixture *fixture = *state;
	const struct mapping_row *made;
	uint32_t count = 2;

	map_anonymous(fixture, BASE, BASE + 4 * WINDOW);
	assert_true(wants(fixture, BASE + WINDOW, false));
	assert_null(rows_of(fixture, rows, &count));
	assert_true(answer(fixture, 0, 1));
	copy(fixture, BASE + 3 * WINDOW);
	made = rows_of(fixture, rows, &count);
	assert_int_equal(count, 5);
	assert_memory_equal(&made[0], &rows[0], sizeof(rows[0]));
	assert_row(&made[1], BASE, BASE + WINDOW, false);
	assert_row(&made[2], BASE + WINDOW, BASE + 2 * WINDOW, true);
	assert_row(&made[3], BASE + 2 * WINDOW, BASE + 3 * WINDOW, false);
	assert_row(&made[4], BASE + 3 * WINDOW, BASE + 4 * WINDOW, true);
	assert_true(fake_has_executable(&fixture->writer, made[2].executable_id));
	assert_true(fake_has_executable(&fixture->writer, made[4].executable_id));
	assert_int_not_equal(made[2].executable_id, made[4].executable_id);
}

static void a_copy_is_cut_to_what_is_still_anonymous(void **state)
{
	/* A file was mapped into the window, and the rest is two mappings with a gap. */
	const struct mapping_row rows[] = {
		{ BASE, BASE + 4096, 0, EXECUTABLE_ID_ANONYMOUS },
		{ BASE + 4096, BASE + 8192, 77, FILE_ID },
		{ BASE + 3 * 4096, BASE + 2 * WINDOW, 0, EXECUTABLE_ID_ANONYMOUS },
	};
	struct fixture *fixture = *state;
	const struct mapping_row *made;
	uint32_t count = 3;

	map_anonymous(fixture, BASE, BASE + 2 * WINDOW);
	copy(fixture, BASE);
	made = rows_of(fixture, rows, &count);
	assert_int_equal(count, 4);
	assert_row(&made[0], BASE, BASE + 4096, true);
	assert_memory_equal(&made[1], &rows[1], sizeof(rows[1]));
	assert_row(&made[2], BASE + 3 * 4096, BASE + WINDOW, true);
	assert_row(&made[3], BASE + WINDOW, BASE + 2 * WINDOW, false);
}

static void a_table_without_room_has_no_copies(void **state)
{
	struct fixture *fixture = *state;
	struct mapping_row *rows = calloc(PROCESS_MAX_MAPPINGS, sizeof(*rows));
	struct mapping_table *table;
	uint32_t count = PROCESS_MAX_MAPPINGS;

	map_anonymous(fixture, BASE, BASE + 2 * WINDOW);
	copy(fixture, BASE);
	for (uint32_t i = 0; i < count; i++)
		rows[i] = (struct mapping_row){ BASE + i * 2ULL * WINDOW,
						BASE + (i + 1) * 2ULL * WINDOW, 0,
						EXECUTABLE_ID_ANONYMOUS };
	table = mapping_table_create(rows, count);
	assert_null(code_copies_rows(fixture->process, table, &count));
	mapping_table_unref(table);
	free(rows);
}

static void a_failed_read_keeps_the_copy_and_lengthens_the_pause(void **state)
{
	struct fixture *fixture = *state;
	uint64_t id, pause_ns = CODE_COPY_PAUSE_MIN_NS;

	map_anonymous(fixture, BASE, BASE + 4096);
	copy(fixture, BASE);
	id = fixture->process->copies->items[0]->id;
	pass(fixture, NS_PER_SECOND);
	for (int i = 0; i < 12; i++) {
		assert_true(wants(fixture, BASE, true));
		/* One request at a time. */
		assert_false(wants(fixture, BASE, true));
		assert_false(answer(fixture, -EFAULT, 0));
		pass(fixture, pause_ns - 1);
		assert_false(wants(fixture, BASE, true));
		pass(fixture, 1);
		pause_ns *= 2;
		if (pause_ns > CODE_COPY_PAUSE_MAX_NS)
			pause_ns = CODE_COPY_PAUSE_MAX_NS;
	}
	assert_int_equal(pause_ns, CODE_COPY_PAUSE_MAX_NS);
	assert_int_equal(fixture->process->copies->count, 1);
	assert_int_equal(fixture->process->copies->items[0]->id, id);
	assert_true(fake_has_executable(&fixture->writer, id));
}

static void code_that_changed_is_copied_again_after_ever_longer_pauses(void **state)
{
	struct fixture *fixture = *state;
	uint64_t id, changes = 0;

	map_anonymous(fixture, BASE, BASE + 4096);
	copy(fixture, BASE);
	for (int i = 0; i < 3000; i++) {
		pass(fixture, 100 * NS_PER_MS);
		id = fixture->process->copies->items[0]->id;
		if (!wants(fixture, BASE, true))
			continue;
		assert_true(answer(fixture, 0, 2 + i));
		assert_int_equal(fixture->process->copies->count, 1);
		assert_int_not_equal(fixture->process->copies->items[0]->id, id);
		assert_false(fake_has_executable(&fixture->writer, id));
		changes++;
	}
	/* In five minutes: nine until the pause is 30 s. */
	assert_in_range(changes, 15, 21);
	assert_int_equal(fixture->writer.executable_count, 1);
}

static void code_that_is_as_before_keeps_its_copy(void **state)
{
	struct fixture *fixture = *state;
	uint64_t id;

	map_anonymous(fixture, BASE, BASE + 4096);
	copy(fixture, BASE);
	id = fixture->process->copies->items[0]->id;
	pass(fixture, NS_PER_SECOND);
	/* The analysis has no row there: a copy would be the same. */
	assert_false(wants(fixture, BASE, false));
	assert_true(wants(fixture, BASE, true));
	assert_false(answer(fixture, 0, 1));
	assert_int_equal(fixture->process->copies->items[0]->id, id);
}

static void a_mapping_that_has_grown_gets_one_copy(void **state)
{
	struct fixture *fixture = *state;

	map_anonymous(fixture, BASE, BASE + 4096);
	copy(fixture, BASE);
	fixture->mappings[0].end = BASE + 16 * 4096;
	copy(fixture, BASE + 8 * 4096);
	assert_int_equal(fixture->process->copies->count, 1);
	assert_int_equal(fixture->process->copies->items[0]->start, BASE);
	assert_int_equal(fixture->process->copies->items[0]->end, BASE + 16 * 4096);
	assert_int_equal(fixture->writer.executable_count, 1);
}

static void a_full_process_gives_up_only_what_it_does_not_use(void **state)
{
	struct fixture *fixture = *state;
	uint64_t first;

	map_a_page_of_windows(fixture);
	map_anonymous(fixture, BASE + 90ULL * WINDOW, BASE + 90ULL * WINDOW + 4096);
	for (uint64_t i = 0; i < CODE_COPIES_OF_PROCESS_MAX; i++) {
		pass(fixture, 100 * NS_PER_MS);
		assert_true(wants(fixture, BASE + i * WINDOW, false));
		assert_true(answer(fixture, 0, 1));
	}
	first = fixture->process->copies->items[0]->id;
	pass(fixture, NS_PER_SECOND);
	assert_false(wants(fixture, BASE + 90ULL * WINDOW, false));
	/* The first one is used, the second one is not. */
	pass(fixture, CODE_COPY_IN_USE_NS);
	fixture->writer.executables[0].was_used = true;
	copy(fixture, BASE + 90ULL * WINDOW);
	assert_int_equal(fixture->process->copies->count, CODE_COPIES_OF_PROCESS_MAX);
	assert_int_equal(fixture->process->copies->items[0]->id, first);
	assert_int_equal(fixture->process->copies->items[1]->start, BASE + 2 * WINDOW);
	assert_int_equal(fixture->writer.executable_count, CODE_COPIES_OF_PROCESS_MAX);
}

static void all_processes_together_have_a_limit(void **state)
{
	struct fixture *fixture = *state;
	struct process *own = fixture->process, *others[10];
	uint32_t count = 0;

	map_a_page_of_windows(fixture);
	for (uint32_t i = 0; i < 10; i++) {
		fixture->process = others[i] = add_process(fixture, 100 + i);
		fixture->process->mapping_count = fixture->mapping_count;
		for (uint64_t k = 0; k < CODE_COPIES_OF_PROCESS_MAX; k++) {
			pass(fixture, 30 * NS_PER_MS);
			if (wants(fixture, BASE + k * WINDOW, false)) {
				assert_true(answer(fixture, 0, 1));
				count++;
			}
		}
	}
	assert_int_equal(count, CODE_COPIES_MAX);
	assert_int_equal(fixture->writer.executable_count, CODE_COPIES_MAX);
	for (uint32_t i = 0; i < fixture->writer.executable_count; i++)
		fixture->writer.executables[i].was_used = true;
	code_copies_tick(&fixture->copies, fixture->now_ns);
	/* Unused for long, they go, and their processes drop them. */
	pass(fixture, CODE_COPY_KEEP_NS + NS_PER_SECOND);
	code_copies_tick(&fixture->copies, fixture->now_ns);
	assert_int_equal(fixture->writer.executable_count, 0);
	copy(fixture, BASE);
	assert_int_equal(fixture->process->copies->count, 1);
	for (uint32_t i = 0; i < 10; i++)
		remove_process(fixture, others[i]);
	fixture->process = own;
	assert_int_equal(fixture->writer.executable_count, 0);
}

static void rows_of_files_do_not_go_for_copies(void **state)
{
	struct fixture *fixture = *state;

	map_anonymous(fixture, BASE, BASE + 100ULL * WINDOW);
	fixture->writer.budget_bytes = 4096;
	assert_true(wants(fixture, BASE, false));
	assert_false(answer(fixture, 0, 1));
	assert_int_equal(fixture->writer.executable_count, 0);
	assert_int_equal(fixture->process->copies->count, 0);
}

static void a_fork_shares_the_copies_of_its_parent(void **state)
{
	struct fixture *fixture = *state;
	struct process *child = add_process(fixture, 8);
	uint64_t id;

	map_anonymous(fixture, BASE, BASE + 4096);
	child->mapping_count = fixture->mapping_count;
	copy(fixture, BASE);
	id = fixture->process->copies->items[0]->id;
	code_copies_inherit(child, fixture->process);
	code_copies_release(&fixture->copies, fixture->process);
	assert_int_equal(child->copies->items[0]->id, id);
	assert_true(fake_has_executable(&fixture->writer, id));
	remove_process(fixture, child);
	assert_false(fake_has_executable(&fixture->writer, id));
}

static void copies_go_with_their_memory(void **state)
{
	struct fixture *fixture = *state;

	map_anonymous(fixture, BASE, BASE + 4096);
	map_anonymous(fixture, BASE + WINDOW, BASE + WINDOW + 4096);
	copy(fixture, BASE);
	copy(fixture, BASE + WINDOW);
	code_copies_update(&fixture->copies, fixture->process);
	assert_int_equal(fixture->process->copies->count, 2);
	fixture->mappings[0].executable_id = FILE_ID;
	code_copies_update(&fixture->copies, fixture->process);
	assert_int_equal(fixture->process->copies->count, 1);
	assert_int_equal(fixture->process->copies->items[0]->start, BASE + WINDOW);
	assert_int_equal(fixture->writer.executable_count, 1);
}

static void map_file(struct fixture *fixture, struct executable *executable)
{
	fixture->mappings[fixture->mapping_count++] = (struct process_mapping){
		.start = BASE + 8 * WINDOW,
		.end = BASE + 9 * WINDOW,
		.executable_id = FILE_ID,
		.executable = executable,
		.inode = 5,
	};
	fixture->process->mapping_count = fixture->mapping_count;
}

static void a_runtime_that_makes_code_has_no_copies(void **state)
{
	struct fixture *fixture = *state;
	struct language language = { .id = &language_ids[LANGUAGE_INDEX_JAVA] };
	const struct runtime_file file = { .language = &language };
	char path[] = "/usr/lib/library.so";
	struct binary binary = { .path = path };
	struct executable executable = { .binary = &binary };

	map_anonymous(fixture, BASE, BASE + 4096);
	map_file(fixture, &executable);
	copy(fixture, BASE);
	pass(fixture, NS_PER_SECOND);
	/* Whether it is attached to or not. */
	executable.runtime_file = &file;
	assert_false(wants(fixture, BASE, true));
	code_copies_update(&fixture->copies, fixture->process);
	assert_int_equal(fixture->writer.executable_count, 0);
	executable.runtime_file = NULL;
	assert_true(wants(fixture, BASE, true));
	/* It is found meanwhile. */
	executable.runtime_file = &file;
	assert_false(answer(fixture, 0, 1));
	pass(fixture, CODE_COPY_PAUSE_MAX_NS);
	/* Its functions run in a loop. */
	language.id = &language_ids[LANGUAGE_INDEX_PYTHON];
	assert_true(wants(fixture, BASE, true));
}

static void a_runtime_that_is_not_supported_has_no_copies(void **state)
{
	static const char *const paths[] = {
		"/usr/lib/erlang/erts-13.1.5/bin/beam.smp",
		"/usr/bin/node",
		"/usr/lib/libluajit-5.1.so.2",
		"/usr/lib/jvm/java-17/lib/server/libjvm.so",
	};
	struct fixture *fixture = *state;
	char path[64], refusal[] = "an unknown version";
	struct binary binary = { .path = path };
	struct executable executable = { .binary = &binary };

	map_anonymous(fixture, BASE, BASE + 4096);
	map_file(fixture, &executable);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		snprintf(path, sizeof(path), "%s", paths[i]);
		assert_false(wants(fixture, BASE, false));
	}
	snprintf(path, sizeof(path), "/usr/bin/program");
	executable.refusal = refusal;
	assert_false(wants(fixture, BASE, false));
	executable.refusal = NULL;
	assert_true(wants(fixture, BASE, false));
}

static void nothing_is_copied_before_all_files_were_probed(void **state)
{
	const struct mapping_row rows[] = { { BASE + 8 * WINDOW, BASE + 9 * WINDOW, 0, FILE_ID } };
	struct fixture *fixture = *state;
	struct executable_cache *cache = fixture->copies.executables;
	struct executable executable = { .id = FILE_ID, .is_load_requested = true };

	map_anonymous(fixture, BASE, BASE + 4096);
	fixture->process->table = mapping_table_create(rows, 1);
	cache->slots[FILE_ID & (EXECUTABLE_SLOT_COUNT - 1)] = &executable;
	cache->loading_count = 1;
	assert_false(wants(fixture, BASE, false));
	/* Rows are still being made of it. */
	executable.is_probe_done = true;
	assert_true(wants(fixture, BASE, false));
	assert_true(answer(fixture, 0, 1));
	pass(fixture, NS_PER_SECOND);
	cache->loading_count = 0;
	/* A file that is still to be opened. */
	fixture->mappings[0].is_requested = true;
	assert_false(wants(fixture, BASE, true));
	fixture->mappings[0].is_requested = false;
	assert_true(wants(fixture, BASE, true));
	cache->slots[FILE_ID & (EXECUTABLE_SLOT_COUNT - 1)] = NULL;
}

static void a_copy_without_rows_is_not_made_again_for_a_while(void **state)
{
	static const uint8_t nothing[COPIED_CODE_MAX_BYTES];
	struct fixture *fixture = *state;

	map_anonymous(fixture, BASE, BASE + 4 * WINDOW);
	assert_true(wants(fixture, BASE, false));
	assert_false(answer_code(fixture, nothing, 1, 0));
	assert_int_equal(fixture->writer.executable_count, 0);
	pass(fixture, CODE_COPY_PAUSE_MIN_NS - 1);
	assert_false(wants(fixture, BASE + WINDOW, false));
	pass(fixture, 1);
	assert_false(wants(fixture, BASE + 4096, false));
	assert_true(wants(fixture, BASE + WINDOW, false));
	assert_false(answer_code(fixture, nothing, 1, 0));
	pass(fixture, 2 * CODE_COPY_PAUSE_MIN_NS - 1);
	assert_false(wants(fixture, BASE + 2 * WINDOW, false));
	pass(fixture, CODE_BARREN_NS);
	copy(fixture, BASE);
}

static void rows_around_the_window_are_of_no_use(void **state)
{
	static uint8_t code[COPIED_CODE_MAX_BYTES];
	struct fixture *fixture = *state;

	map_anonymous(fixture, BASE, BASE + 3 * WINDOW);
	memcpy(code + CODE_MARGIN_BYTES - 64, function, sizeof(function));
	memcpy(code + COPIED_CODE_MAX_BYTES - CODE_MARGIN_BYTES, function, sizeof(function));
	assert_true(wants(fixture, BASE + WINDOW, false));
	assert_false(answer_code(fixture, code, 1, 0));
	memcpy(code + CODE_MARGIN_BYTES + 64, function, sizeof(function));
	pass(fixture, CODE_BARREN_NS);
	assert_true(wants(fixture, BASE + WINDOW, false));
	assert_true(answer_code(fixture, code, 1, 0));
}

static void a_copy_that_nobody_used_is_not_made_again_for_a_while(void **state)
{
	struct fixture *fixture = *state;

	map_anonymous(fixture, BASE, BASE + 2 * WINDOW);
	copy(fixture, BASE);
	copy(fixture, BASE + WINDOW);
	fixture->writer.executables[1].was_used = true;
	code_copies_tick(&fixture->copies, fixture->now_ns);
	pass(fixture, CODE_COPY_KEEP_NS + NS_PER_SECOND);
	code_copies_tick(&fixture->copies, fixture->now_ns);
	assert_int_equal(fixture->writer.executable_count, 0);
	assert_false(wants(fixture, BASE, false));
	pass(fixture, CODE_COPY_PAUSE_MIN_NS);
	assert_false(wants(fixture, BASE, false));
	assert_true(wants(fixture, BASE + WINDOW, false));
	assert_true(answer(fixture, 0, 1));
	pass(fixture, CODE_BARREN_NS);
	assert_true(wants(fixture, BASE, false));
}

static void pauses_are_as_long_as_copies_took_time(void **state)
{
	const uint64_t cost_ns = 100 * NS_PER_MS;
	struct fixture *fixture = *state;
	struct process *own = fixture->process, *other = add_process(fixture, 8);

	map_anonymous(fixture, BASE, BASE + 4 * WINDOW);
	other->mapping_count = fixture->mapping_count;
	assert_true(wants(fixture, BASE, false));
	/* One at a time. */
	fixture->process = other;
	assert_false(wants(fixture, BASE, false));
	fixture->process = own;
	assert_true(answer_code(fixture, code_with_functions(), 1, cost_ns));
	pass(fixture, cost_ns * CODE_COPY_PAUSE - 1);
	fixture->process = other;
	assert_false(wants(fixture, BASE, false));
	pass(fixture, 1);
	assert_true(wants(fixture, BASE, false));
	assert_false(answer(fixture, -EAGAIN, 0));
	fixture->process = own;
	pass(fixture, cost_ns * (CODE_COPY_PROCESS_PAUSE - CODE_COPY_PAUSE) - 1);
	assert_false(wants(fixture, BASE + WINDOW, false));
	pass(fixture, 1);
	assert_true(wants(fixture, BASE + WINDOW, false));
	remove_process(fixture, other);
}

static void a_lost_answer_does_not_stop_the_others_for_long(void **state)
{
	struct fixture *fixture = *state;
	struct process *own = fixture->process, *other = add_process(fixture, 8);

	map_anonymous(fixture, BASE, BASE + 4096);
	other->mapping_count = fixture->mapping_count;
	assert_true(wants(fixture, BASE, false));
	pass(fixture, 10 * NS_PER_SECOND);
	assert_false(wants(fixture, BASE, false));
	fixture->process = other;
	assert_true(wants(fixture, BASE, false));
	fixture->process = own;
	remove_process(fixture, other);
}

static void idle_copies_go_before_rows_of_files(void **state)
{
	struct fixture *fixture = *state;

	map_anonymous(fixture, BASE, BASE + 2 * WINDOW);
	copy(fixture, BASE);
	copy(fixture, BASE + WINDOW);
	pass(fixture, CODE_COPY_IN_USE_NS + 1);
	fixture->writer.executables[1].was_used = true;
	code_copies_tick(&fixture->copies, fixture->now_ns);
	assert_int_equal(fixture->writer.executable_count, 2);
	fixture->writer.budget_bytes = fixture->writer.used_bytes + 1;
	code_copies_tick(&fixture->copies, fixture->now_ns);
	assert_int_equal(fixture->writer.executable_count, 1);
}

static void an_answer_for_a_process_that_ended_is_dropped(void **state)
{
	struct fixture *fixture = *state;

	map_anonymous(fixture, BASE, BASE + 4096);
	assert_true(wants(fixture, BASE, false));
	code_copies_release(&fixture->copies, fixture->process);
	assert_false(answer(fixture, 0, 1));
	assert_int_equal(fixture->writer.executable_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_window_has_code_around_it_analysed_too),
		TEST(only_anonymous_code_is_copied),
		TEST(the_id_is_in_the_rows_once_the_copys_rows_are_published),
		TEST(a_copy_is_cut_to_what_is_still_anonymous),
		TEST(a_table_without_room_has_no_copies),
		TEST(a_failed_read_keeps_the_copy_and_lengthens_the_pause),
		TEST(code_that_changed_is_copied_again_after_ever_longer_pauses),
		TEST(code_that_is_as_before_keeps_its_copy),
		TEST(a_mapping_that_has_grown_gets_one_copy),
		TEST(a_full_process_gives_up_only_what_it_does_not_use),
		TEST(all_processes_together_have_a_limit),
		TEST(rows_of_files_do_not_go_for_copies),
		TEST(a_fork_shares_the_copies_of_its_parent),
		TEST(copies_go_with_their_memory),
		TEST(a_runtime_that_makes_code_has_no_copies),
		TEST(a_runtime_that_is_not_supported_has_no_copies),
		TEST(nothing_is_copied_before_all_files_were_probed),
		TEST(a_copy_without_rows_is_not_made_again_for_a_while),
		TEST(rows_around_the_window_are_of_no_use),
		TEST(a_copy_that_nobody_used_is_not_made_again_for_a_while),
		TEST(pauses_are_as_long_as_copies_took_time),
		TEST(a_lost_answer_does_not_stop_the_others_for_long),
		TEST(idle_copies_go_before_rows_of_files),
		TEST(an_answer_for_a_process_that_ended_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
