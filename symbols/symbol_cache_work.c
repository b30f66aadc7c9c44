/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key is computed before the work and again after it. The owner of the file may change it
 * during the work, and a result is used for every file that has the same key.
 */
#include "symbols/symbol_cache_work.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/model/metrics.h"
#include "symbols/build/go_functions.h"
#include "symbols/cache/scratch_file.h"

enum {
	/*
	 * Limit of symbols and their names; reading them takes some times as much memory for a
	 * moment.
	 */
	SYMBOLS_HERE_MAX_BYTES = 4 << 20,
	MINI_HERE_MAX_BYTES = 512 << 10,
};

/* Other files' symbols wait for this. The million symbols of the largest programs take a second. */
#define SYMBOLS_CPU_NS (5 * NS_PER_SECOND)

static bool has_dwarf(const struct elf_image *image)
{
	return elf_image_find_section(image, ".debug_info") ||
	       elf_image_find_section(image, ".zdebug_info");
}

static int open_debug_file(struct symbol_cache_work *work)
{
	_cleanup_(close_fd) int fd = -1;

	if (debug_file_open(&work->search, &work->image, &fd) ||
	    elf_image_init_fd(&work->debug, fd)) {
		work->debug = (struct elf_image){ .fd = -1 };
		return -ENOENT;
	}
	(void)take_fd(fd);
	return 0;
}

static int take_key(const struct symbol_cache_work *work, struct symbol_cache_key *key)
{
	int err = symbol_cache_key_make(&work->image, work->debug.fd >= 0 ? &work->debug : NULL,
					work->depth, key);

	/* The key is valid for this one file only. */
	if (!err && key->is_partial) {
		const struct {
			struct hash128 hash;
			uint64_t executable_id;
		} of_file = { key->hash, work->binary->executable_id };

		key->hash = hash128_content(&of_file, sizeof(of_file));
	}
	return err;
}

static bool is_same_inode(int one_fd, int other_fd)
{
	struct statx one, other;

	/* DONT_SYNC: network file systems are not queried. */
	return !statx(one_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &one) &&
	       !statx(other_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &other) &&
	       one.stx_ino == other.stx_ino && one.stx_dev_major == other.stx_dev_major &&
	       one.stx_dev_minor == other.stx_dev_minor;
}

int symbol_cache_work_open_root(const struct symbol_cache_work_options *options, pid_t pid, int *fd)
{
	const struct debug_file_search search = { .proc_root = options->proc_root,
						  .judge = options->judge };
	_cleanup_(close_fd) int root_fd = -1, host_fd = -1;

	if (!options->proc_root || !pid)
		return 0;
	if (debug_file_open_root(&search, pid, &root_fd))
		return fail(-ESRCH, "no root of process %d", pid);
	if (debug_file_open_root(&search, DEBUG_FILE_HOST_PID, &host_fd) ||
	    !is_same_inode(root_fd, host_fd))
		*fd = take_fd(root_fd);
	return 0;
}

/*
 * True for the DWARF of a file that somebody else may need: it is better to have no lines than a
 * file system that cannot be unmounted.
 */
static bool is_read_for_long(const struct binary *binary, enum symbol_depth depth)
{
	return depth == SYMBOL_DEPTH_FULL && binary_file_is_in_the_way(binary);
}

int symbol_cache_work_init(struct symbol_cache_work *work,
			   const struct symbol_cache_work_options *options,
			   const struct binary *binary, const struct symbol_cache_process *process,
			   enum symbol_depth depth)
{
	struct symbol_cache_key key;
	int err;

	*work = (struct symbol_cache_work){
		.options = options,
		.binary = binary,
		.depth = depth,
		.search = { .proc_root = options->proc_root,
			    .pid = process->pid,
			    .has_root = process->root_fd >= 0,
			    .root_fd = process->root_fd,
			    .path = binary->path,
			    .fetched = options->fetched,
			    .judge = options->judge },
		.image = { .fd = -1 },
		.debug = { .fd = -1 },
	};
	work->file =
		binary_file_open(binary, is_read_for_long(binary, depth) ? NULL : &options->judge);
	err = work->file.fd < 0 ? -ESTALE : elf_image_init_fd(&work->image, work->file.fd);
	if (err)
		return err;
	if (options->proc_root)
		open_debug_file(work);
	if (depth == SYMBOL_DEPTH_FULL && !has_dwarf(&work->image) &&
	    !(work->debug.fd >= 0 && has_dwarf(&work->debug)))
		return fail(-ENOENT, "no DWARF");
	err = take_key(work, &key);
	if (err)
		return err;
	work->key = key.hash;
	work->is_partial = key.is_partial;
	return 0;
}

void symbol_cache_work_deinit(struct symbol_cache_work *work)
{
	int fd = work->debug.fd;

	elf_image_deinit(&work->image);
	elf_image_deinit(&work->debug);
	close_fd(&fd);
	binary_file_return(&work->file);
}

/* --- the output file --- */

static uint64_t symbol_bytes(const struct elf_image *image)
{
	const struct elf_section *go = go_functions_section(image);
	uint64_t bytes = go ? go->size : 0;

	for (uint32_t i = 0; i < image->section_count; i++) {
		const struct elf_section *section = &image->sections[i];

		if ((section->type == SHT_SYMTAB || section->type == SHT_DYNSYM ||
		     section->type == SHT_STRTAB) &&
		    __builtin_add_overflow(bytes, section->size, &bytes))
			return UINT64_MAX;
		if (!strcmp(section->name, ".gnu_debugdata") && section->size > MINI_HERE_MAX_BYTES)
			return UINT64_MAX;
	}
	return bytes;
}

static bool is_small(const struct symbol_cache_work *work)
{
	return work->depth == SYMBOL_DEPTH_SYMBOLS &&
	       symbol_bytes(&work->image) <= SYMBOLS_HERE_MAX_BYTES &&
	       (work->debug.fd < 0 || symbol_bytes(&work->debug) <= SYMBOLS_HERE_MAX_BYTES);
}

static int make_small(struct symbol_cache_work *work, const struct symbol_cache_maker_files *files)
{
	const struct small_symbol_cache_maker *maker = &work->options->small;

	if (maker->make)
		return maker->make(maker->context, files, work->key, &work->process_cpu_ns);
	return make_small_symbol_cache(&work->image, work->debug.fd >= 0 ? &work->debug : NULL,
				       work->key, files->output);
}

static int write_cache(struct symbol_cache_work *work, bool is_unnamed, int fd)
{
	const struct symbol_cache_maker_files files = {
		.elf = work->file.fd, .debug = work->debug.fd, .output = fd, .binary = work->binary
	};
	struct symbol_cache_maker_limits limits = work->options->limits;

	int err = is_small(work) ? make_small(work, &files) : -E2BIG;

	if (!err || err == -ECANCELED)
		return err;
	/* A small file may have names that are much larger than the file; and who makes small ones may have no time. */
	if (ftruncate(fd, 0))
		return fail_errno(-errno, "symbol cache");
	if (work->depth == SYMBOL_DEPTH_SYMBOLS && limits.cpu_ns > SYMBOLS_CPU_NS)
		limits.cpu_ns = SYMBOLS_CPU_NS;
	if (is_unnamed && limits.output_bytes > work->options->unnamed_bytes)
		limits.output_bytes = work->options->unnamed_bytes;
	return symbol_cache_maker_run(&files, work->options->proc_root ? &work->search : NULL,
				      work->depth, work->key, &limits, &work->process_cpu_ns);
}

static int make(struct symbol_cache_work *work, bool is_unnamed, int fd)
{
	struct mapped_symbol_cache *mapped;
	struct symbol_cache_key after;
	int err = write_cache(work, is_unnamed, fd);

	if (!err)
		err = mapped_symbol_cache_create(fd, work->key, false, &mapped);
	if (err)
		return err;
	mapped_symbol_cache_unref(mapped);
	err = take_key(work, &after);
	if (!err && !(hash128_equal(after.hash, work->key) && binary_file_is_valid(&work->file)))
		return fail(-EAGAIN, "changed while it was read");
	return err;
}

static int make_unnamed(struct symbol_cache_work *work, int *fd)
{
	_cleanup_(close_fd) int opened = -1;
	int err = scratch_file_open(0, &opened);

	if (!err)
		err = make(work, true, opened);
	if (!err)
		*fd = take_fd(opened);
	return err;
}

static int find_cached(const struct symbol_cache_work *work, int *fd)
{
	_cleanup_(close_fd) int found = -1;
	struct mapped_symbol_cache *mapped;
	int err = file_cache_open(work->options->cache, work->key, &found);

	if (err)
		return err;
	err = mapped_symbol_cache_create(found, work->key, false, &mapped);
	if (err) {
		if (err != -ENOMEM)
			file_cache_remove(work->options->cache, work->key);
		return err;
	}
	mapped_symbol_cache_unref(mapped);
	file_cache_touch(found);
	*fd = take_fd(found);
	return 0;
}

static int make_cached(struct symbol_cache_work *work, int *fd)
{
	struct file_cache *cache = work->options->cache;
	struct new_file file;
	int err = file_cache_begin(cache, &file);

	if (err)
		return err;
	err = make(work, false, file.fd);
	if (err)
		file_cache_abandon(cache, &file);
	else
		err = file_cache_keep(cache, work->key, &file);
	if (err)
		close(file.fd);
	else
		*fd = file.fd;
	return err;
}

/* True if the error is one of the disk that has the cache. */
static bool is_of_disk(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EIO || err == -EROFS || err == -EACCES;
}

static int make_new(struct symbol_cache_work *work, int *fd)
{
	int err = -EROFS;

	if (work->options->cache && !work->is_partial)
		err = make_cached(work, fd);
	/* Without a writable disk there are still names. */
	return is_of_disk(err) ? make_unnamed(work, fd) : err;
}

int symbol_cache_work_do(struct symbol_cache_work *work, struct symbol_cache_made *made)
{
	_cleanup_(close_fd) int fd = -1;
	bool is_cached = work->options->cache && !work->is_partial && !find_cached(work, &fd);
	struct stat status;
	int err = is_cached ? 0 : make_new(work, &fd);

	if (!err && fstat(fd, &status))
		err = fail_errno(-errno, "symbol cache");
	if (err)
		return err;
	metrics_add(is_cached ? METRIC_SYMBOL_CACHES_CACHED : METRIC_SYMBOL_CACHES_MADE, 1);
	*made = (struct symbol_cache_made){ .fd = take_fd(fd), .bytes = status.st_size };
	return 0;
}
