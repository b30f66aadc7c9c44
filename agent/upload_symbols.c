/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/upload_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/collector_transport.h"
#include "agent/privileges.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/hash128.h"
#include "lib/base/launcher.h"
#include "lib/base/log.h"
#include "lib/elf/elf_notes.h"
#include "lib/host/file_id.h"
#include "reporter/grpc_transport.h"
#include "symbols/build/symbol_cache_maker.h"
#include "symbols/cache/scratch_file.h"
#include "symbols/cache/symbol_cache.h"
#include "symbols/uploaded_symbol_caches.h"
#include "viewer/receive/symbol_upload.h"

enum {
	/* Number of tries to send a chunk without an answer, or a file that the receiver has lost. */
	TRIES = 5,
	/* Number of tries while the receiver is busy with other uploads, which lasts minutes. */
	BUSY_TRIES = 60,
};

/* Limits of making one symbol cache, generous since the user waits for it. */
#define MAKER_CPU_NS (1800 * NS_PER_SECOND)
#define MAKER_MEMORY_BYTES (2ULL << 30)
/* Time-out of one chunk, long enough for a slow line. */
#define CHUNK_TIMEOUT_NS (60 * NS_PER_SECOND)
/* Pause before the second try; it doubles before each further try, up to LONGEST_PAUSE_NS. */
#define FIRST_PAUSE_NS NS_PER_SECOND
#define LONGEST_PAUSE_NS (5 * NS_PER_SECOND)

/* One file: its ids and its symbol cache. */
struct upload_file {
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint32_t build_id_bytes;
	struct file_id file_id;
	/* -1: not made yet. */
	int fd;
	uint8_t *bytes;
	size_t size;
};

static void upload_file_deinit(struct upload_file *file)
{
	if (file->bytes)
		munmap(file->bytes, file->size);
	close_fd(&file->fd);
}

/* --- the symbol cache --- */

static int open_debug_file(const struct elf_image *image, const struct debug_file_search *search)
{
	int fd;

	return debug_file_open(search, image, &fd) ? -1 : fd;
}

static int read_ids(const struct elf_image *image, int fd, struct upload_file *file)
{
	/* Without a build id the file id is enough. */
	if (elf_image_build_id(image, file->build_id, &file->build_id_bytes))
		file->build_id_bytes = 0;
	return file_id_of_file(fd, &file->file_id) ? fail_errno(-errno, "cannot be read") : 0;
}

static int make_symbol_cache_file(const char *path, struct upload_file *file)
{
	static const struct symbol_cache_maker_limits limits = {
		.cpu_ns = MAKER_CPU_NS,
		.memory_bytes = MAKER_MEMORY_BYTES,
		.output_bytes = UPLOAD_MAX_BYTES,
	};
	_cleanup_(close_fd) int input = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	_cleanup_(free_pointer) char *real_path = NULL;
	_cleanup_(close_fd) int debug = -1;
	struct debug_file_search search = { .proc_root = "/proc", .pid = getpid() };
	int err;

	if (input < 0)
		return fail_errno(-errno, "cannot be opened");
	search.path = real_path = realpath(path, NULL);
	if (!real_path)
		return fail_errno(-errno, "its path");
	err = elf_image_init_fd(&image, input);
	if (!err)
		err = read_ids(&image, input, file);
	if (err)
		return err;
	debug = open_debug_file(&image, &search);
	err = scratch_file_open(0, &file->fd);
	if (err)
		return err;
	return symbol_cache_maker_run(&(struct symbol_cache_maker_files){ .elf = input,
									  .debug = debug,
									  .output = file->fd },
				      &search, SYMBOL_DEPTH_FULL, (struct hash128){ 0 }, &limits,
				      NULL);
}

static int map_cache(struct upload_file *file)
{
	struct symbol_cache cache;
	struct stat status;
	int err;

	if (fstat(file->fd, &status) || !status.st_size)
		return fail(-EBADMSG, "nothing is known of its code");
	file->size = (size_t)status.st_size;
	file->bytes = mmap(NULL, file->size, PROT_READ, MAP_SHARED, file->fd, 0);
	if (file->bytes == MAP_FAILED) {
		file->bytes = NULL;
		return fail_errno(-errno, "its symbols");
	}
	err = symbol_cache_init(&cache, file->bytes, file->size);
	if (err)
		return err;
	if (cache.blocks.count)
		return 0;
	return fail(-ENOENT,
		    "it says nothing of its code: there are neither symbols nor debug data");
}

/* --- sending --- */

/* Pauses before try @number, counted from 0. */
static void wait_before(int number)
{
	uint64_t pause_ns = number ? FIRST_PAUSE_NS : 0;

	for (int i = 1; i < number && pause_ns < LONGEST_PAUSE_NS; i++)
		pause_ns *= 2;
	if (pause_ns > LONGEST_PAUSE_NS)
		pause_ns = LONGEST_PAUSE_NS;
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(pause_ns / NS_PER_SECOND) }, NULL);
}

/* Number of tries for this status. */
static int tries_of(enum rpc_status status)
{
	switch (status) {
	case RPC_CANCELLED:
	case RPC_DEADLINE_EXCEEDED:
	case RPC_UNAVAILABLE:
		return TRIES;
	case RPC_RESOURCE_EXHAUSTED:
		return BUSY_TRIES;
	default:
		return 1;
	}
}

static int send_chunk(struct transport *transport, const struct options *options,
		      const struct upload_chunk *chunk)
{
	struct transport_answer answer;
	size_t count;
	_cleanup_(free_pointer) void *request = symbol_upload_pack(chunk, &count);
	int tries = 0;

	if (!request)
		return fail(-ENOMEM, "there is no memory for it");
	do {
		wait_before(tries++);
		transport->ops->send(transport, SYMBOL_UPLOAD_METHOD, request, count,
				     CHUNK_TIMEOUT_NS, &answer);
	} while (tries < tries_of(answer.status));
	if (answer.status == RPC_OK)
		return 0;
	return fail(answer.status == RPC_ABORTED ? -EAGAIN : -EIO, "%s does not take it: %s",
		    options->collector.address, answer.message);
}

static int send_chunks(struct transport *transport, const struct options *options,
		       const struct upload_file *file)
{
	struct upload_chunk chunk = {
		/* Never 0. */
		.upload_id = hash128_draw_seed() | 1,
		.build_id = file->build_id,
		.build_id_bytes = file->build_id_bytes,
		.file_id = &file->file_id,
		.size = file->size,
	};
	int err = 0;

	for (; chunk.offset < file->size && !err; chunk.offset += chunk.count) {
		chunk.bytes = file->bytes + chunk.offset;
		chunk.count = file->size - chunk.offset;
		if (chunk.count > SYMBOL_UPLOAD_CHUNK_BYTES)
			chunk.count = SYMBOL_UPLOAD_CHUNK_BYTES;
		err = send_chunk(transport, options, &chunk);
	}
	return err;
}

static int upload(struct transport *transport, const struct options *options, const char *path)
{
	_cleanup_(upload_file_deinit) struct upload_file file = { .fd = -1 };
	int err = make_symbol_cache_file(path, &file);

	if (!err)
		err = map_cache(&file);
	if (err)
		return err;
	for (int i = 0; i < TRIES; i++) {
		wait_before(i);
		err = send_chunks(transport, options, &file);
		if (err != -EAGAIN)
			break;
	}
	if (!err)
		log_info("%s: its symbols are sent, %.1f MB", path, (double)file.size / 1e6);
	return err;
}

int upload_symbols(const struct options *options)
{
	struct grpc_transport_options transport_options =
		collector_transport_options(&options->collector);
	struct grpc_transport *transport;
	int status = EXIT_STATUS_DONE;
	int err;

	err = privileges_start_launcher(options);
	if (!err)
		err = privileges_drop(options, -1);
	if (!err)
		err = grpc_transport_create(&transport_options, &transport);
	if (err) {
		log_error("%s", error_text());
		return err == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_FAILED;
	}
	for (uint32_t i = 0; i < options->upload_count; i++) {
		if (!upload(grpc_transport_base(transport), options, options->uploads[i]))
			continue;
		log_error("%s: %s", options->uploads[i], error_text());
		status = EXIT_STATUS_FAILED;
	}
	grpc_transport_destroy(transport);
	launcher_stop();
	return status;
}
