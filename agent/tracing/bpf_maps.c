/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/bpf_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "agent/tracing/slab_space.h"
#include "ebpf/abi/frame.h"
#include "ebpf/abi/runtime.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/log.h"

enum {
	DESCRIPTORS_BYTES = EXECUTABLE_SLOT_COUNT * sizeof(struct executable_descriptor),
	HEADER_CELLS = sizeof(struct unwind_header) / CELL_BYTES,
	ROW_CELLS = sizeof(struct mapping_row) / CELL_BYTES,
};

struct bpf_maps {
	struct map_writer writer;
	struct bpf_fds fds;
	struct slab_space space;
	/* The map `executables`: 1 MiB, mapped all the time, since every table is reached by it. */
	struct executable_descriptor *descriptors;
	/* Maps from executable id and from pid to the packed run of the published table. */
	struct hash_map executables;
	struct hash_map processes;
	/* Runs that are unpublished, but that programs may still read. */
	struct cell_run_vector retired;
	uint32_t retired_cells;
	uint64_t nonce;
};

static uint64_t pack_run(struct cell_run run)
{
	return (uint64_t)run.first << 32 | run.count;
}

static struct cell_run unpack_run(uint64_t packed)
{
	return (struct cell_run){ packed >> 32, (uint32_t)packed };
}

static struct bpf_maps *maps_of(struct map_writer *writer)
{
	return (struct bpf_maps *)((char *)writer - offsetof(struct bpf_maps, writer));
}

/* Reserves memory now, so that retiring a published table never needs any. */
static int reserve_retired(struct bpf_maps *maps)
{
	return cell_run_vector_reserve(&maps->retired, maps->retired.count +
							       maps->executables.count +
							       maps->processes.count + 1);
}

static void retire_run(struct bpf_maps *maps, struct cell_run run)
{
	/* A process without executable mappings and runtimes needs no cells. */
	if (!run.count)
		return;
	maps->retired_cells += run.count;
	(void)cell_run_vector_push(&maps->retired, run);
}

static struct executable_descriptor *descriptor_of(struct bpf_maps *maps, uint64_t executable_id)
{
	return &maps->descriptors[executable_id & (EXECUTABLE_SLOT_COUNT - 1)];
}

/* Header, rules, rows, page index, and the checks of a copy. */
static void fill_executable(void *context, struct cell *cells, struct cell_run run)
{
	const struct stack_deltas *deltas = context;
	uint32_t rule_cell = HEADER_CELLS;
	uint32_t row_cell = rule_cell + deltas->rule_count;
	size_t row_bytes = stack_deltas_row_bytes(deltas->row_count);
	uint32_t index_cell = row_cell + row_bytes / CELL_BYTES;
	const struct unwind_header header = {
		.text_start = deltas->text_start,
		.page_count = deltas->page_count,
		.page_index_cell = run.first + index_cell,
		.row_cell = run.first + row_cell,
		.row_count = deltas->row_count,
		.rule_cell = run.first + rule_cell,
		.rule_count = deltas->rule_count,
	};

	memcpy(cells, &header, sizeof(header));
	memcpy(cells + rule_cell, deltas->rules, deltas->rule_count * sizeof(*deltas->rules));
	memcpy(cells + row_cell, deltas->rows, row_bytes);
	memcpy(cells + index_cell, deltas->page_index,
	       ((size_t)deltas->page_count + 1) * sizeof(*deltas->page_index));
	if (deltas->checks)
		memcpy(cells + index_cell + unwind_index_cells(deltas->page_count), deltas->checks,
		       deltas->page_count * sizeof(*deltas->checks));
}

static int publish_executable(struct map_writer *writer, uint64_t executable_id,
			      const struct stack_deltas *deltas)
{
	struct bpf_maps *maps = maps_of(writer);
	struct executable_descriptor *descriptor = descriptor_of(maps, executable_id);
	struct cell_run run;
	int err;

	if (executable_id < EXECUTABLE_ID_FIRST)
		return fail(-EINVAL, "the executable id %llu is out of range",
			    (unsigned long long)executable_id);
	if (__atomic_load_n(&descriptor->word, __ATOMIC_RELAXED))
		return fail(-EEXIST, "the slot of executable id %#llx is taken",
			    (unsigned long long)executable_id);
	err = reserve_retired(maps);
	if (err)
		return err;
	err = slab_space_add(&maps->space, stack_deltas_cell_count(deltas), fill_executable,
			     (void *)deltas, &run);
	if (err)
		return err;
	err = hash_map_set(&maps->executables, executable_id, pack_run(run));
	if (err) {
		slab_space_remove(&maps->space, run);
		return err;
	}
	__atomic_store_n(&descriptor->used, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&descriptor->word, descriptor_word(executable_id, run.first),
			 __ATOMIC_RELEASE);
	return 0;
}

static void retire_executable(struct map_writer *writer, uint64_t executable_id)
{
	struct bpf_maps *maps = maps_of(writer);
	uint64_t packed;

	if (!hash_map_remove(&maps->executables, executable_id, &packed))
		return;
	__atomic_store_n(&descriptor_of(maps, executable_id)->word, 0, __ATOMIC_RELEASE);
	retire_run(maps, unpack_run(packed));
}

static bool executable_was_used(struct map_writer *writer, uint64_t executable_id)
{
	struct bpf_maps *maps = maps_of(writer);

	if (!hash_map_find(&maps->executables, executable_id, NULL))
		return false;
	return __atomic_exchange_n(&descriptor_of(maps, executable_id)->used, 0, __ATOMIC_RELAXED);
}

/* Content of a process's run: the mapping table, the runtime table, each language's data. */
struct process_tables {
	const struct mapping_row *rows;
	uint32_t row_count;
	const struct published_runtime *runtimes;
	uint32_t runtime_count;
};

/* The table always has all rows; rows that are 0 mark its end. */
static uint32_t runtime_table_cells(uint32_t count)
{
	return count ? RUNTIMES_MAX : 0;
}

static uint32_t process_cell_count(const struct process_tables *tables)
{
	uint32_t count = tables->row_count * ROW_CELLS;

	count += runtime_table_cells(tables->runtime_count);
	for (uint32_t i = 0; i < tables->runtime_count; i++)
		count += tables->runtimes[i].data_bytes / CELL_BYTES;
	return count;
}

static void fill_process(void *context, struct cell *cells, struct cell_run run)
{
	const struct process_tables *tables = context;
	uint32_t table_cell = tables->row_count * ROW_CELLS;
	uint32_t data_cell = table_cell + runtime_table_cells(tables->runtime_count);

	if (tables->row_count)
		memcpy(cells, tables->rows, (size_t)table_cell * CELL_BYTES);
	memset(cells + table_cell, 0, (size_t)(data_cell - table_cell) * CELL_BYTES);
	for (uint32_t i = 0; i < tables->runtime_count; i++) {
		const struct published_runtime *runtime = &tables->runtimes[i];
		const struct runtime_row row = {
			.executable_id = runtime->executable_id,
			.language = runtime_row_language(runtime->language),
			.cell = run.first + data_cell,
		};

		memcpy(cells + table_cell + i, &row, sizeof(row));
		memcpy(cells + data_cell, runtime->data, runtime->data_bytes);
		data_cell += runtime->data_bytes / CELL_BYTES;
	}
}

static int check_runtimes(const struct published_runtime *runtimes, uint32_t count)
{
	if (count > RUNTIMES_MAX)
		return fail(-E2BIG, "%u runtimes in a process", count);
	for (uint32_t i = 0; i < count; i++)
		if (runtimes[i].data_bytes % CELL_BYTES ||
		    runtimes[i].executable_id < EXECUTABLE_ID_FIRST ||
		    !frame_kind_is_interpreted(runtimes[i].language))
			return fail(-EINVAL, "runtime of executable id %#llx, %u bytes",
				    (unsigned long long)runtimes[i].executable_id,
				    runtimes[i].data_bytes);
	return 0;
}

static int write_entry(struct bpf_maps *maps, uint32_t pid, const struct process_identity *identity,
		       const struct process_tables *tables, struct cell_run run)
{
	uint32_t mapping_cells = tables->row_count * ROW_CELLS;
	struct process_entry entry = {
		.identity = *identity,
		.pid = pid,
		.mapping_cell = run.first,
		.mapping_count = tables->row_count,
		.runtime_cell = tables->runtime_count ? run.first + mapping_cells : 0,
		.nonce = ++maps->nonce,
	};

	entry.checksum = process_entry_checksum(&entry);
	if (bpf_map_update_elem(maps->fds.processes, &pid, &entry, BPF_ANY))
		return fail_errno(-errno, "cannot publish process %u to the kernel side", pid);
	return 0;
}

static int publish_process(struct map_writer *writer, uint32_t pid,
			   const struct process_identity *identity, const struct mapping_row *rows,
			   uint32_t count, const struct published_runtime *runtimes,
			   uint32_t runtime_count)
{
	const struct process_tables tables = {
		.rows = rows,
		.row_count = count,
		.runtimes = runtimes,
		.runtime_count = runtime_count,
	};
	struct bpf_maps *maps = maps_of(writer);
	struct cell_run run = { 0, 0 };
	uint32_t cell_count;
	uint64_t old_packed;
	bool has_old = hash_map_find(&maps->processes, pid, &old_packed);
	int err;

	if (count > PROCESS_MAX_MAPPINGS)
		return fail(-E2BIG, "process %u has %u executable mappings", pid, count);
	if (!has_old && maps->processes.count >= PROCESS_MAX_COUNT)
		return fail(-E2BIG, "%d processes are published", PROCESS_MAX_COUNT);
	err = check_runtimes(runtimes, runtime_count);
	if (err)
		return err;
	cell_count = process_cell_count(&tables);
	err = reserve_retired(maps);
	if (!err && cell_count)
		err = slab_space_add(&maps->space, cell_count, fill_process, (void *)&tables, &run);
	if (err)
		return err;
	/* This comes first because it can fail; for an existing pid it cannot. */
	err = hash_map_set(&maps->processes, pid, pack_run(run));
	if (!err) {
		err = write_entry(maps, pid, identity, &tables, run);
		if (err && has_old)
			(void)hash_map_set(&maps->processes, pid, old_packed);
		else if (err)
			hash_map_remove(&maps->processes, pid, NULL);
	}
	if (err) {
		if (run.count)
			slab_space_remove(&maps->space, run);
		return err;
	}
	if (has_old)
		retire_run(maps, unpack_run(old_packed));
	return 0;
}

static void retire_process(struct map_writer *writer, uint32_t pid)
{
	struct bpf_maps *maps = maps_of(writer);
	uint64_t packed;

	if (!hash_map_find(&maps->processes, pid, &packed))
		return;
	if (bpf_map_delete_elem(maps->fds.processes, &pid) && errno != ENOENT) {
		/* Programs may go on reading the table, so it stays known and its cells stay allocated. */
		log_debug("process %u stays published: error %d", pid, errno);
		return;
	}
	hash_map_remove(&maps->processes, pid, NULL);
	retire_run(maps, unpack_run(packed));
}

static void rearm_process_event(struct map_writer *writer, uint32_t pid)
{
	/* Usually there is no such element. */
	(void)bpf_map_delete_elem(maps_of(writer)->fds.notified, &pid);
}

static int wait_retired(struct map_writer *writer)
{
	struct bpf_maps *maps = maps_of(writer);
	int err;

	if (!maps->retired.count)
		return 0;
	err = slab_space_wait_for_readers(&maps->space);
	if (err)
		return err;
	for (size_t i = 0; i < maps->retired.count; i++)
		slab_space_remove(&maps->space, maps->retired.items[i]);
	maps->retired.count = 0;
	maps->retired_cells = 0;
	return 0;
}

static void memory(struct map_writer *writer, uint64_t *used_bytes, uint64_t *budget_bytes)
{
	const struct bpf_maps *maps = maps_of(writer);
	uint64_t used_cells = maps->space.allocator.used_cells - maps->retired_cells;

	*used_bytes = used_cells * CELL_BYTES;
	*budget_bytes = (uint64_t)maps->space.slab_count * SLAB_BYTES;
}

static const struct map_writer_ops writer_ops = {
	.publish_executable = publish_executable,
	.retire_executable = retire_executable,
	.executable_was_used = executable_was_used,
	.publish_process = publish_process,
	.retire_process = retire_process,
	.rearm_process_event = rearm_process_event,
	.wait_retired = wait_retired,
	.memory = memory,
};

static int map_descriptors(struct bpf_maps *maps)
{
	void *descriptors = mmap(NULL, DESCRIPTORS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
				 maps->fds.executables, 0);

	if (descriptors == MAP_FAILED)
		return fail_errno(-errno, "cannot map the BPF map of executables");
	maps->descriptors = descriptors;
	return 0;
}

int bpf_maps_create(const struct bpf_fds *fds, struct bpf_maps **out)
{
	struct bpf_maps *maps = calloc(1, sizeof(*maps));
	int err;

	if (!maps)
		return -ENOMEM;
	maps->writer.ops = &writer_ops;
	maps->fds = *fds;
	if (getrandom(&maps->nonce, sizeof(maps->nonce), GRND_NONBLOCK) != sizeof(maps->nonce))
		maps->nonce = 0;
	err = slab_space_init(&maps->space, fds->slabs, fds->slab_count);
	if (!err)
		err = map_descriptors(maps);
	if (err) {
		bpf_maps_destroy(maps);
		return err;
	}
	*out = maps;
	return 0;
}

void bpf_maps_destroy(struct bpf_maps *maps)
{
	if (!maps)
		return;
	if (maps->descriptors)
		munmap(maps->descriptors, DESCRIPTORS_BYTES);
	cell_run_vector_deinit(&maps->retired);
	hash_map_deinit(&maps->processes);
	hash_map_deinit(&maps->executables);
	slab_space_deinit(&maps->space);
	free(maps);
}

struct map_writer *bpf_maps_writer(struct bpf_maps *maps)
{
	return &maps->writer;
}
