/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/slab_space.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/log.h"

struct slab {
	/* -1: there is none. */
	int fd;
	/* The slab is in the outer map, where programs see it. */
	bool is_published;
	uint32_t used_cells;
};

/* A mapped run of cells. */
struct window {
	void *pages;
	size_t bytes;
	struct cell *cells;
};

static int create_slab(struct slab *slab)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int fd;

	if (slab->fd >= 0)
		return 0;
	/* It must match the template in ebpf/maps.bpf.h, or the outer map refuses it. */
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "slab", sizeof(uint32_t), CELL_BYTES, SLAB_CELLS,
			    &options);
	if (fd < 0)
		return fail_errno(-errno, "cannot make a slab");
	slab->fd = fd;
	return 0;
}

static int publish_slab(struct slab_space *space, uint32_t number)
{
	struct slab *slab = &space->slabs[number];

	if (slab->is_published)
		return 0;
	if (bpf_map_update_elem(space->outer_fd, &number, &slab->fd, BPF_ANY))
		return fail_errno(-errno, "cannot publish slab %u", number);
	slab->is_published = true;
	return 0;
}

static void destroy_slab(struct slab_space *space, uint32_t number)
{
	struct slab *slab = &space->slabs[number];

	if (slab->is_published && bpf_map_delete_elem(space->outer_fd, &number)) {
		/* The slab stays in the map, empty, and can be reused. */
		log_debug("slab %u cannot be taken back: error %d", number, errno);
		return;
	}
	close(slab->fd);
	*slab = (struct slab){ .fd = -1 };
}

int slab_space_init(struct slab_space *space, int outer_fd, uint32_t slab_count)
{
	struct slab_space empty = { .outer_fd = outer_fd, .slab_count = slab_count };
	int err;

	if (slab_count < 1 || slab_count > SLAB_MAX_COUNT)
		return fail(-EINVAL, "%u slabs", slab_count);
	empty.slabs = calloc(slab_count, sizeof(*empty.slabs));
	if (!empty.slabs)
		return -ENOMEM;
	for (uint32_t i = 0; i < slab_count; i++)
		empty.slabs[i].fd = -1;
	err = cell_allocator_init(&empty.allocator, slab_count << SLAB_SHIFT);
	if (!err)
		err = create_slab(&empty.slabs[0]);
	if (!err)
		err = publish_slab(&empty, 0);
	if (err) {
		slab_space_deinit(&empty);
		return err;
	}
	*space = empty;
	return 0;
}

void slab_space_deinit(struct slab_space *space)
{
	for (uint32_t i = 0; space->slabs && i < space->slab_count; i++) {
		if (space->slabs[i].fd >= 0)
			close(space->slabs[i].fd);
	}
	free(space->slabs);
	cell_allocator_deinit(&space->allocator);
	*space = (struct slab_space){ .outer_fd = -1 };
}

static uint32_t first_slab(struct cell_run run)
{
	return run.first >> SLAB_SHIFT;
}

static uint32_t last_slab(struct cell_run run)
{
	return (run.first + run.count - 1) >> SLAB_SHIFT;
}

/* Number of cells of @run in slab @number. */
static uint32_t cells_in_slab(struct cell_run run, uint32_t number)
{
	uint64_t slab_start = (uint64_t)number << SLAB_SHIFT, slab_end = slab_start + SLAB_CELLS;
	uint64_t run_end = (uint64_t)run.first + run.count;
	uint64_t start = run.first > slab_start ? run.first : slab_start;
	uint64_t end = run_end < slab_end ? run_end : slab_end;

	return (uint32_t)(end - start);
}

/* Slabs are whole pages, so those of neighbouring slabs can be mapped side by side. */
static int map_window(const struct slab_space *space, struct cell_run run, struct window *window)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t start = (uint64_t)run.first * CELL_BYTES,
		 end = start + (uint64_t)run.count * CELL_BYTES;
	uint64_t first_page = start & -page_bytes, last_page = (end + page_bytes - 1) & -page_bytes;
	size_t bytes = last_page - first_page;
	uint8_t *pages = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err;

	if (pages == MAP_FAILED)
		return fail_errno(-errno, "cannot map slabs");
	for (uint32_t number = first_slab(run); number <= last_slab(run); number++) {
		uint64_t slab_start = (uint64_t)number * SLAB_BYTES;
		uint64_t from = slab_start > first_page ? slab_start : first_page;
		uint64_t to = slab_start + SLAB_BYTES < last_page ? slab_start + SLAB_BYTES :
								    last_page;

		if (mmap(pages + (from - first_page), to - from, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, space->slabs[number].fd,
			 (off_t)(from - slab_start)) == MAP_FAILED) {
			err = fail_errno(-errno, "cannot map slab %u", number);
			munmap(pages, bytes);
			return err;
		}
	}
	*window = (struct window){ pages, bytes, (struct cell *)(pages + (start - first_page)) };
	return 0;
}

static int fill_run(struct slab_space *space, struct cell_run run, slab_space_fill fill,
		    void *context)
{
	struct window window = { 0 };
	int err = 0;

	for (uint32_t number = first_slab(run); !err && number <= last_slab(run); number++)
		err = create_slab(&space->slabs[number]);
	if (!err)
		err = map_window(space, run, &window);
	if (err)
		return err;
	fill(context, window.cells, run);
	/* Mapped pages would count as our own memory. */
	munmap(window.pages, window.bytes);
	for (uint32_t number = first_slab(run); !err && number <= last_slab(run); number++)
		err = publish_slab(space, number);
	return err;
}

int slab_space_add(struct slab_space *space, uint32_t count, slab_space_fill fill, void *context,
		   struct cell_run *result)
{
	struct cell_run run;
	int err = cell_allocator_take(&space->allocator, count, &run);

	if (err == -ENOSPC)
		return fail(err, "no room for %u cells in the slabs", count);
	if (err)
		return err;
	for (uint32_t number = first_slab(run); number <= last_slab(run); number++)
		space->slabs[number].used_cells += cells_in_slab(run, number);
	err = fill_run(space, run, fill, context);
	if (err) {
		slab_space_remove(space, run);
		/* -ENOSPC, since evicting something helps here too. */
		return err == -ENOMEM ? -ENOSPC : err;
	}
	*result = run;
	return 0;
}

void slab_space_remove(struct slab_space *space, struct cell_run run)
{
	cell_allocator_release(&space->allocator, run);
	for (uint32_t number = first_slab(run); number <= last_slab(run); number++) {
		struct slab *slab = &space->slabs[number];

		slab->used_cells -= cells_in_slab(run, number);
		if (number > 0 && slab->fd >= 0 && !slab->used_cells)
			destroy_slab(space, number);
	}
}

int slab_space_wait_for_readers(struct slab_space *space)
{
	const uint32_t first = 0;

	/*
	 * This waits for an RCU grace period, and programs run under rcu_read_lock(). On a machine with one CPU
	 * it returns at once, which is right as well, since programs that read slabs run in interrupts.
	 */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
		return 0;
	/*
	 * membarrier is refused with nohz_full. Replacing an element of a map of maps waits for the same grace
	 * period.
	 */
	if (bpf_map_update_elem(space->outer_fd, &first, &space->slabs[0].fd, BPF_ANY))
		return fail_errno(-errno, "cannot wait for running BPF programs");
	return 0;
}
