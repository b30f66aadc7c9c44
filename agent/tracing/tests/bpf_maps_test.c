/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live: real maps, written by the map_writer and read back cell by cell in the way in which the
 * kernel side searches them, against stack_deltas_lookup() over the input.
 */
#include "agent/tracing/bpf_maps.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/tracing/tests/live_maps.h"
#include "ebpf/abi/frame.h"
#include "ebpf/abi/runtime.h"

enum {
	SLAB_COUNT = 4,
	/* More cells than a slab has, so that the table crosses a border. */
	BIG_PAGES = 300000,
	RULES = 7,
};

struct fixture {
	struct bpf_fds fds;
	struct bpf_maps *maps;
	struct map_writer *writer;
	/* Inner maps as they were at the last forget_slabs(): below 6.19 a lookup takes 15 ms. */
	int inner_fds[SLAB_COUNT];
};

static uint64_t executable_id(uint64_t generation, uint32_t slot)
{
	return generation << 16 | slot;
}

static void close_maps(const struct bpf_fds *fds)
{
	const int all[] = { fds->slabs, fds->executables, fds->processes, fds->notified };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i] >= 0)
			close(all[i]);
	}
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->fds = (struct bpf_fds){
		.slabs = live_slabs(SLAB_COUNT),
		.executables = live_array(sizeof(struct executable_descriptor),
					  EXECUTABLE_SLOT_COUNT, BPF_F_MMAPABLE),
		.processes = live_hash(sizeof(struct process_entry), 1024),
		.notified = live_hash(sizeof(struct notified), 16),
		.slab_count = SLAB_COUNT,
	};
	*state = fixture;
	if (fixture->fds.slabs < 0)
		return 0;
	if (bpf_maps_create(&fixture->fds, &fixture->maps))
		return -1;
	fixture->writer = bpf_maps_writer(fixture->maps);
	return 0;
}

static void forget_slabs(struct fixture *fixture)
{
	for (uint32_t slab = 0; slab < SLAB_COUNT; slab++) {
		if (fixture->inner_fds[slab] > 0)
			close(fixture->inner_fds[slab]);
		fixture->inner_fds[slab] = 0;
	}
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	forget_slabs(fixture);
	bpf_maps_destroy(fixture->maps);
	close_maps(&fixture->fds);
	free(fixture);
	return 0;
}

static struct fixture *live(void **state)
{
	struct fixture *fixture = *state;

	if (!fixture->maps) {
		print_message("bpf(2) is refused here\n");
		skip();
	}
	return fixture;
}

static bool slab_exists(const struct fixture *fixture, uint32_t slab)
{
	uint32_t id;

	return bpf_map_lookup_elem(fixture->fds.slabs, &slab, &id) == 0;
}

static struct cell read_cell(struct fixture *fixture, uint32_t number)
{
	uint32_t slab = number >> SLAB_SHIFT, index = number & (SLAB_CELLS - 1), id;
	struct cell cell;

	if (!fixture->inner_fds[slab]) {
		assert_int_equal(bpf_map_lookup_elem(fixture->fds.slabs, &slab, &id), 0);
		fixture->inner_fds[slab] = bpf_map_get_fd_by_id(id);
	}
	assert_int_equal(bpf_map_lookup_elem(fixture->inner_fds[slab], &index, &cell), 0);
	return cell;
}

static uint32_t read_word(struct fixture *fixture, uint32_t first_cell, uint32_t index)
{
	struct cell cell = read_cell(fixture, first_cell + index / 4);
	uint32_t words[4];

	memcpy(words, &cell, sizeof(words));
	return words[index % 4];
}

static struct executable_descriptor read_descriptor(const struct fixture *fixture, uint64_t id)
{
	struct executable_descriptor descriptor;
	uint32_t slot = id & (EXECUTABLE_SLOT_COUNT - 1);

	assert_int_equal(bpf_map_lookup_elem(fixture->fds.executables, &slot, &descriptor), 0);
	return descriptor;
}

/* The search of ebpf/abi/slab.h over the maps. False: not loaded, or outside the text. */
static bool find_rule(struct fixture *fixture, uint64_t id, uint64_t address,
		      struct unwind_rule *rule)
{
	uint64_t word = read_descriptor(fixture, id).word;
	uint32_t header_cell = word & ((1u << DESCRIPTOR_CELL_BITS) - 1);
	struct unwind_header header;
	struct cell cells[2];
	uint32_t page, offset, low, high;
	uint16_t numbers[8];

	if (!word || word != descriptor_word(id, header_cell))
		return false;
	cells[0] = read_cell(fixture, header_cell);
	cells[1] = read_cell(fixture, header_cell + 1);
	memcpy(&header, cells, sizeof(header));
	if (address < header.text_start ||
	    (address - header.text_start) >> UNWIND_PAGE_SHIFT >= header.page_count)
		return false;
	page = (address - header.text_start) >> UNWIND_PAGE_SHIFT;
	offset = address & (UNWIND_PAGE_BYTES - 1);
	low = read_word(fixture, header.page_index_cell, page);
	high = read_word(fixture, header.page_index_cell, page + 1);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct cell row = read_cell(fixture, header.row_cell + middle / CELL_BYTES);

		if (((const uint8_t *)&row)[middle % CELL_BYTES] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	low--;
	cells[0] = read_cell(fixture,
			     header.row_cell + unwind_offset_cells(header.row_count) + low / 8);
	memcpy(numbers, &cells[0], sizeof(numbers));
	cells[0] = read_cell(fixture, header.rule_cell + numbers[low % 8]);
	memcpy(rule, &cells[0], sizeof(*rule));
	return true;
}

/* Up to three rows a page, some pages without any; rules tell from which table they are. */
static struct stack_deltas make_deltas(uint32_t page_count, uint32_t mark)
{
	struct stack_deltas deltas = {
		.text_start = 0x400000,
		.page_count = page_count,
		.rule_count = RULES,
		.page_index = calloc((size_t)page_count + 1, sizeof(uint32_t)),
		.rules = calloc(RULES, sizeof(struct unwind_rule)),
	};
	uint32_t row = 0;

	for (uint32_t i = 0; i < RULES; i++) {
		deltas.rules[i].cfa = CFA_SP;
		deltas.rules[i].cfa_offset = (int32_t)i * 8;
		deltas.rules[i].ra_offset = (int16_t)mark;
		deltas.rules[i].fp_offset = (int16_t)(mark >> 16);
	}
	for (uint32_t page = 0; page < page_count; page++)
		deltas.row_count += page ? page % 4 : 1;
	deltas.rows = calloc(1, stack_deltas_row_bytes(deltas.row_count));
	for (uint32_t page = 0; page < page_count; page++) {
		deltas.page_index[page] = row;
		for (uint32_t i = 0; i < (page ? page % 4 : 1); i++) {
			stack_deltas_offsets(&deltas)[row] = page ? i * 80 + page % 7 : 0;
			stack_deltas_rule_ids(&deltas)[row] = row % RULES;
			row++;
		}
	}
	deltas.page_index[page_count] = deltas.row_count;
	assert_int_equal(stack_deltas_check(&deltas), 0);
	return deltas;
}

static void check_lookup(struct fixture *fixture, uint64_t id, const struct stack_deltas *deltas,
			 uint64_t address)
{
	const struct unwind_rule *expected = stack_deltas_lookup(deltas, address);
	struct unwind_rule rule;

	assert_int_equal(find_rule(fixture, id, address, &rule), expected != NULL);
	if (expected)
		assert_memory_equal(&rule, expected, sizeof(rule));
}

static void check_all_borders(struct fixture *fixture, uint64_t id,
			      const struct stack_deltas *deltas, uint32_t step)
{
	uint64_t end = deltas->text_start + (uint64_t)deltas->page_count * UNWIND_PAGE_BYTES;

	forget_slabs(fixture);
	check_lookup(fixture, id, deltas, deltas->text_start - 1);
	check_lookup(fixture, id, deltas, deltas->text_start);
	check_lookup(fixture, id, deltas, end - 1);
	check_lookup(fixture, id, deltas, end);
	for (uint64_t address = deltas->text_start; address < end; address += step)
		check_lookup(fixture, id, deltas, address);
}

static void a_published_table_is_found_as_in_user_space(void **state)
{
	struct fixture *fixture = live(state);
	struct stack_deltas deltas = make_deltas(40, 1);
	uint64_t id = executable_id(1, 77);

	assert_int_equal(fixture->writer->ops->publish_executable(fixture->writer, id, &deltas), 0);
	check_all_borders(fixture, id, &deltas, 1);
	stack_deltas_deinit(&deltas);
}

static void checks_of_a_copy_are_behind_its_page_index(void **state)
{
	struct fixture *fixture = live(state);
	uint64_t id = executable_id(1, 5) | EXECUTABLE_ID_COPY;
	struct unwind_header header;
	struct cell cells[2];
	uint32_t first, files;

	for (uint32_t page_count = 5; page_count < 9; page_count++, id += 1ULL << 16) {
		struct stack_deltas deltas = make_deltas(page_count, 3);

		files = stack_deltas_cell_count(&deltas);
		deltas.checks = calloc(page_count, sizeof(*deltas.checks));
		for (uint32_t page = 0; page < page_count; page++)
			deltas.checks[page] = (struct code_check){
				.fingerprint = 100 + page,
				.pages_before = (uint16_t)(page / 2),
			};
		assert_int_equal(stack_deltas_check(&deltas), 0);
		assert_int_equal(stack_deltas_cell_count(&deltas), files + (page_count + 1) / 2);
		assert_int_equal(
			fixture->writer->ops->publish_executable(fixture->writer, id, &deltas), 0);
		first = read_descriptor(fixture, id).word & ((1u << DESCRIPTOR_CELL_BITS) - 1);
		cells[0] = read_cell(fixture, first);
		cells[1] = read_cell(fixture, first + 1);
		memcpy(&header, cells, sizeof(header));
		assert_int_equal(read_word(fixture, header.page_index_cell, page_count),
				 deltas.row_count);
		first = header.page_index_cell + unwind_index_cells(page_count);
		for (uint32_t page = 0; page < page_count; page++) {
			assert_int_equal(read_word(fixture, first, 2 * page), 100 + page);
			assert_int_equal(read_word(fixture, first, 2 * page + 1), page / 2);
		}
		/* A page depends on none in front of the first one. */
		deltas.checks[2].pages_before = 3;
		assert_int_equal(stack_deltas_check(&deltas), -EBADMSG);
		deltas.checks[2].pages_before = 2;
		deltas.checks[2].pages_after = (uint16_t)(page_count - 3);
		assert_int_equal(stack_deltas_check(&deltas), 0);
		/* And on none behind the last one. */
		deltas.checks[2].pages_after++;
		assert_int_equal(stack_deltas_check(&deltas), -EBADMSG);
		stack_deltas_deinit(&deltas);
		fixture->writer->ops->retire_executable(fixture->writer, id);
	}
}

static void a_table_may_cross_slabs(void **state)
{
	struct fixture *fixture = live(state);
	struct stack_deltas deltas = make_deltas(BIG_PAGES, 2);
	uint64_t id = executable_id(1, EXECUTABLE_SLOT_COUNT - 1), used, budget;

	assert_true(stack_deltas_cell_count(&deltas) > SLAB_CELLS);
	assert_false(slab_exists(fixture, 1));
	assert_int_equal(fixture->writer->ops->publish_executable(fixture->writer, id, &deltas), 0);
	assert_true(slab_exists(fixture, 1));
	check_all_borders(fixture, id, &deltas, 76543);
	fixture->writer->ops->memory(fixture->writer, &used, &budget);
	assert_int_equal(used, (uint64_t)stack_deltas_cell_count(&deltas) * CELL_BYTES);
	assert_int_equal(budget, (uint64_t)SLAB_COUNT * SLAB_BYTES);
	stack_deltas_deinit(&deltas);
}

static void slabs_go_when_they_are_empty_and_come_again(void **state)
{
	struct fixture *fixture = live(state);
	const struct map_writer_ops *ops = fixture->writer->ops;
	struct stack_deltas deltas = make_deltas(BIG_PAGES, 3);
	uint64_t id = executable_id(9, 5), used, budget;

	for (int round = 0; round < 2; round++) {
		assert_int_equal(ops->publish_executable(fixture->writer, id, &deltas), 0);
		check_all_borders(fixture, id, &deltas, 1234567);
		ops->retire_executable(fixture->writer, id);
		assert_int_equal(read_descriptor(fixture, id).word, 0);
		/* Programs may still read them. */
		assert_true(slab_exists(fixture, 1));
		assert_int_equal(ops->wait_retired(fixture->writer), 0);
		assert_false(slab_exists(fixture, 1));
		assert_true(slab_exists(fixture, 0));
		ops->memory(fixture->writer, &used, &budget);
		assert_int_equal(used, 0);
	}
	stack_deltas_deinit(&deltas);
}

static void over_the_budget_is_refused_until_something_was_retired(void **state)
{
	struct fixture *fixture = live(state);
	const struct map_writer_ops *ops = fixture->writer->ops;
	struct stack_deltas deltas = make_deltas(BIG_PAGES, 4);
	uint32_t fit = (SLAB_COUNT * SLAB_CELLS - 1) / stack_deltas_cell_count(&deltas);

	assert_true(fit > 0);
	for (uint32_t i = 0; i < fit; i++)
		assert_int_equal(
			ops->publish_executable(fixture->writer, executable_id(1, i), &deltas), 0);
	assert_int_equal(ops->publish_executable(fixture->writer, executable_id(1, fit), &deltas),
			 -ENOSPC);
	assert_int_equal(read_descriptor(fixture, executable_id(1, fit)).word, 0);
	ops->retire_executable(fixture->writer, executable_id(1, 0));
	assert_int_equal(ops->publish_executable(fixture->writer, executable_id(1, fit), &deltas),
			 -ENOSPC);
	assert_int_equal(ops->wait_retired(fixture->writer), 0);
	assert_int_equal(ops->publish_executable(fixture->writer, executable_id(1, fit), &deltas),
			 0);
	check_all_borders(fixture, executable_id(1, fit), &deltas, 7654321);
	stack_deltas_deinit(&deltas);
}

static void a_slot_is_told_apart_by_its_generation(void **state)
{
	struct fixture *fixture = live(state);
	const struct map_writer_ops *ops = fixture->writer->ops;
	struct stack_deltas deltas = make_deltas(4, 5);
	uint64_t old_id = executable_id(3, 12), new_id = executable_id(4, 12);
	struct unwind_rule rule;

	assert_int_equal(ops->publish_executable(fixture->writer, old_id, &deltas), 0);
	assert_int_equal(ops->publish_executable(fixture->writer, new_id, &deltas), -EEXIST);
	/* The id has another generation than the published one, and is ignored. */
	ops->retire_executable(fixture->writer, new_id);
	assert_true(find_rule(fixture, old_id, 0x400000, &rule));
	ops->retire_executable(fixture->writer, old_id);
	assert_int_equal(ops->publish_executable(fixture->writer, new_id, &deltas), 0);
	assert_false(find_rule(fixture, old_id, 0x400000, &rule));
	assert_true(find_rule(fixture, new_id, 0x400000, &rule));
	assert_int_equal(ops->publish_executable(fixture->writer, 3, &deltas), -EINVAL);
	stack_deltas_deinit(&deltas);
}

static void use_is_told_once(void **state)
{
	struct fixture *fixture = live(state);
	const struct map_writer_ops *ops = fixture->writer->ops;
	struct stack_deltas deltas = make_deltas(4, 6);
	uint64_t id = executable_id(1, 3);
	struct executable_descriptor descriptor;
	uint32_t slot = 3;

	assert_false(ops->executable_was_used(fixture->writer, id));
	assert_int_equal(ops->publish_executable(fixture->writer, id, &deltas), 0);
	assert_false(ops->executable_was_used(fixture->writer, id));
	descriptor = read_descriptor(fixture, id);
	descriptor.used = 1;
	assert_int_equal(bpf_map_update_elem(fixture->fds.executables, &slot, &descriptor, BPF_ANY),
			 0);
	assert_true(ops->executable_was_used(fixture->writer, id));
	assert_false(ops->executable_was_used(fixture->writer, id));
	stack_deltas_deinit(&deltas);
}

static void check_process(struct fixture *fixture, uint32_t pid,
			  const struct process_identity *identity, const struct mapping_row *rows,
			  uint32_t count)
{
	struct process_entry entry;

	assert_int_equal(bpf_map_lookup_elem(fixture->fds.processes, &pid, &entry), 0);
	assert_int_equal(entry.checksum, process_entry_checksum(&entry));
	assert_int_equal(entry.pid, pid);
	assert_memory_equal(&entry.identity, identity, sizeof(*identity));
	assert_int_equal(entry.mapping_count, count);
	for (uint32_t i = 0; i < count; i++) {
		struct cell cells[2] = {
			read_cell(fixture, entry.mapping_cell + 2 * i),
			read_cell(fixture, entry.mapping_cell + 2 * i + 1),
		};

		assert_memory_equal(cells, &rows[i], sizeof(rows[i]));
	}
}

static void a_process_is_published_replaced_and_retired(void **state)
{
	struct fixture *fixture = live(state);
	const struct map_writer_ops *ops = fixture->writer->ops;
	const struct process_identity identity = { 123456789, 2 }, new_identity = { 123456789, 3 };
	struct mapping_row rows[3] = { { 0x1000, 0x2000, 0, 1 << 16 },
				       { 0x3000, 0x5000, 0x1000, 2 << 16 },
				       { 0x7000, 0x9000, 0, EXECUTABLE_ID_ANONYMOUS } };
	struct process_entry entry, old;
	uint32_t pid = 4242;
	uint64_t used, budget;

	assert_int_equal(ops->publish_process(fixture->writer, pid, &identity, rows, 3, NULL, 0),
			 0);
	check_process(fixture, pid, &identity, rows, 3);
	assert_int_equal(bpf_map_lookup_elem(fixture->fds.processes, &pid, &old), 0);
	rows[0].end = 0x3000;
	assert_int_equal(
		ops->publish_process(fixture->writer, pid, &new_identity, rows, 2, NULL, 0), 0);
	check_process(fixture, pid, &new_identity, rows, 2);
	assert_int_equal(bpf_map_lookup_elem(fixture->fds.processes, &pid, &entry), 0);
	/* The old table's cells must not be used again yet. */
	assert_int_not_equal(entry.mapping_cell, old.mapping_cell);
	assert_int_not_equal(entry.nonce, old.nonce);
	ops->retire_process(fixture->writer, pid);
	ops->retire_process(fixture->writer, pid);
	assert_int_equal(bpf_map_lookup_elem(fixture->fds.processes, &pid, &entry), -ENOENT);
	assert_int_equal(ops->wait_retired(fixture->writer), 0);
	ops->memory(fixture->writer, &used, &budget);
	assert_int_equal(used, 0);
	/* A process without executable mappings takes no cells. */
	assert_int_equal(ops->publish_process(fixture->writer, pid, &identity, NULL, 0, NULL, 0),
			 0);
	check_process(fixture, pid, &identity, NULL, 0);
	ops->retire_process(fixture->writer, pid);
	assert_int_equal(ops->publish_process(fixture->writer, pid, &identity, rows,
					      PROCESS_MAX_MAPPINGS + 1, NULL, 0),
			 -E2BIG);
}

static void runtimes_are_published_with_their_process(void **state)
{
	struct fixture *fixture = live(state);
	const struct map_writer_ops *ops = fixture->writer->ops;
	const struct process_identity identity = { 5, 6 };
	const struct mapping_row row = { 0x1000, 0x2000, 0, 1 << 16 };
	const uint64_t first[4] = { 1, 2, 3, 4 }, second[2] = { 5, 6 };
	struct published_runtime runtimes[RUNTIMES_MAX + 1] = {
		{ 1 << 16, FRAME_PYTHON, sizeof(first), first },
		{ 2 << 16, FRAME_PYTHON + 1, sizeof(second), second },
	};
	struct runtime_row found;
	struct process_entry entry;
	uint64_t used, budget;
	uint32_t pid = 4343;
	struct cell cell;

	assert_int_equal(
		ops->publish_process(fixture->writer, pid, &identity, &row, 1, runtimes, 2), 0);
	check_process(fixture, pid, &identity, &row, 1);
	assert_int_equal(bpf_map_lookup_elem(fixture->fds.processes, &pid, &entry), 0);
	assert_int_not_equal(entry.runtime_cell, 0);
	for (uint32_t i = 0; i < 2; i++) {
		cell = read_cell(fixture, entry.runtime_cell + i);
		memcpy(&found, &cell, sizeof(found));
		assert_int_equal(found.executable_id, runtimes[i].executable_id);
		assert_int_equal(found.language, runtimes[i].language);
		for (uint32_t j = 0; j < runtimes[i].data_bytes / CELL_BYTES; j++) {
			cell = read_cell(fixture, found.cell + j);
			assert_memory_equal(&cell, (const uint64_t *)runtimes[i].data + 2 * j,
					    sizeof(cell));
		}
	}
	for (uint32_t i = 2; i < RUNTIMES_MAX; i++)
		assert_int_equal(read_cell(fixture, entry.runtime_cell + i).words[0], 0);
	ops->memory(fixture->writer, &used, &budget);
	assert_int_equal(used,
			 sizeof(row) + RUNTIMES_MAX * CELL_BYTES + sizeof(first) + sizeof(second));
	/* A process that loses them loses the table as well. */
	assert_int_equal(ops->publish_process(fixture->writer, pid, &identity, &row, 1, NULL, 0),
			 0);
	assert_int_equal(bpf_map_lookup_elem(fixture->fds.processes, &pid, &entry), 0);
	assert_int_equal(entry.runtime_cell, 0);
	ops->memory(fixture->writer, &used, &budget);
	assert_int_equal(used, sizeof(row));
	/* Without mappings, and all that there may be. */
	for (uint32_t i = 0; i <= RUNTIMES_MAX; i++)
		runtimes[i] = runtimes[0];
	assert_int_equal(ops->publish_process(fixture->writer, pid, &identity, NULL, 0, runtimes,
					      RUNTIMES_MAX),
			 0);
	assert_int_equal(ops->publish_process(fixture->writer, pid, &identity, NULL, 0, runtimes,
					      RUNTIMES_MAX + 1),
			 -E2BIG);
	runtimes[0].data_bytes = CELL_BYTES + 8;
	assert_int_equal(ops->publish_process(fixture->writer, pid, &identity, NULL, 0, runtimes,
					      1),
			 -EINVAL);
	ops->retire_process(fixture->writer, pid);
	assert_int_equal(ops->wait_retired(fixture->writer), 0);
	ops->memory(fixture->writer, &used, &budget);
	assert_int_equal(used, 0);
}

static void a_failed_publication_leaves_all_as_it_was(void **state)
{
	struct fixture *fixture = live(state);
	const struct map_writer_ops *ops = fixture->writer->ops;
	const struct process_identity identity = { 1, 1 };
	const struct mapping_row row = { 0x1000, 0x2000, 0, 1 << 16 };
	uint64_t used, budget;
	uint32_t pid = 0;
	int err = 0;

	/* The test's hash has 1024 elements. */
	while (!err && pid < 1100)
		err = ops->publish_process(fixture->writer, ++pid, &identity, &row, 1, NULL, 0);
	assert_int_equal(err, -E2BIG);
	assert_int_equal(pid, 1025);
	ops->memory(fixture->writer, &used, &budget);
	assert_int_equal(used, 1024 * sizeof(row));
	ops->retire_process(fixture->writer, 7);
	assert_int_equal(ops->publish_process(fixture->writer, pid, &identity, &row, 1, NULL, 0),
			 0);
}

static void a_process_event_is_rearmed(void **state)
{
	struct fixture *fixture = live(state);
	const struct notified notified = { .type = PROCESS_EVENT_UNKNOWN_PROCESS };
	struct notified found;
	uint32_t pid = 99;

	assert_int_equal(bpf_map_update_elem(fixture->fds.notified, &pid, &notified, BPF_ANY), 0);
	fixture->writer->ops->rearm_process_event(fixture->writer, pid);
	assert_int_equal(bpf_map_lookup_elem(fixture->fds.notified, &pid, &found), -ENOENT);
	fixture->writer->ops->rearm_process_event(fixture->writer, pid);
}

#define LIVE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE_TEST(a_published_table_is_found_as_in_user_space),
		LIVE_TEST(checks_of_a_copy_are_behind_its_page_index),
		LIVE_TEST(a_table_may_cross_slabs),
		LIVE_TEST(slabs_go_when_they_are_empty_and_come_again),
		LIVE_TEST(over_the_budget_is_refused_until_something_was_retired),
		LIVE_TEST(a_slot_is_told_apart_by_its_generation),
		LIVE_TEST(use_is_told_once),
		LIVE_TEST(a_process_is_published_replaced_and_retired),
		LIVE_TEST(runtimes_are_published_with_their_process),
		LIVE_TEST(a_failed_publication_leaves_all_as_it_was),
		LIVE_TEST(a_process_event_is_rearmed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
