/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process may change its code and its mappings while they are read, and may delay the reads. A copy that is mixed of
 * two states equals the process's code nowhere or where it is right, since the kernel side compares each page.
 */
#include "agent/processes/code_copy_request.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/runtimes/executable_file.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/host/proc_info.h"
#include "lib/host/remote_memory.h"
#include "stackdeltas/copied_code.h"

enum { READ_BYTES = HOME_READ_PARTS * HOME_READ_BYTES };

/* Limit of the time from the first read to the last one. */
#define READ_MAX_NS (50 * NS_PER_MS)

/* Reads @bytes bytes, READ_BYTES at most. */
static int read_part(struct runtime_home *home, uid_t uid, uint32_t pid, int memory,
		     uint64_t address, uint64_t bytes, uint8_t *buffer)
{
	struct memory_part parts[HOME_READ_PARTS];
	uint32_t count = 0;

	for (uint64_t at = 0; at < bytes && count < HOME_READ_PARTS; at += HOME_READ_BYTES) {
		uint64_t left = bytes - at;

		parts[count++] = (struct memory_part){
			.address = address + at,
			.bytes = left < HOME_READ_BYTES ? (uint32_t)left : HOME_READ_BYTES,
		};
	}
	return home->ops->read(home, uid, pid, memory, parts, count, buffer);
}

static int read_code(const struct code_copy_request *request, const char *proc_root, uid_t uid,
		     struct runtime_home *home, uint8_t *buffer)
{
	uint64_t end_ns = clock_monotonic_ns() + READ_MAX_NS;
	_cleanup_(close_fd) int memory = -1;
	int err = process_memory_open(proc_root, (pid_t)request->code.pid, &memory);

	for (uint64_t at = 0; !err && at < request->code.bytes; at += READ_BYTES) {
		uint64_t left = request->code.bytes - at;

		if (clock_monotonic_ns() >= end_ns)
			return fail(-ETIME, "reading code of process %u takes too long",
				    request->code.pid);
		err = read_part(home, uid, request->code.pid, memory, request->code.start + at,
				left < READ_BYTES ? left : READ_BYTES, buffer + at);
	}
	return err;
}

static int analyse(const struct code_copy_request *request, const uint8_t *bytes, uid_t uid,
		   struct elf_home *parser, struct stack_deltas *deltas)
{
	_cleanup_(close_fd) int fd = -1;
	int err = executable_file_from_memory("allframes-code", bytes, request->code.bytes, &fd);

	if (err)
		return err;
	return parser ? parser->ops->analyse_copy(parser, fd, uid, request->code.start,
						  request->code.bytes, deltas) :
			executable_file_analyse_copy(fd, request->code.start, request->code.bytes,
						     deltas);
}

static int copy(const struct code_copy_request *request, const char *proc_root,
		struct runtime_home *home, struct elf_home *parser, struct code_copy_answer *answer)
{
	_cleanup_(free_pointer) uint8_t *bytes = NULL;
	uid_t uid;
	int err;

	if (!home)
		return fail(-EOPNOTSUPP, "nobody reads code of processes");
	if (!copied_code_is_range(request->code.start, request->code.bytes))
		return fail(-EINVAL, "a range of code that is not copied");
	bytes = malloc(request->code.bytes);
	if (!bytes)
		return fail(-ENOMEM, "no memory for a copy of code");
	err = proc_user(proc_root, (pid_t)request->code.pid, &uid);
	if (!err)
		err = read_code(request, proc_root, uid, home, bytes);
	if (err)
		return err;
	answer->content = hash128_content(bytes, request->code.bytes);
	answer->is_unchanged = hash128_equal(answer->content, request->known);
	return answer->is_unchanged ? 0 : analyse(request, bytes, uid, parser, &answer->deltas);
}

void code_copy_request_run(const struct code_copy_request *request, const char *proc_root,
			   struct runtime_home *home, struct elf_home *parser,
			   struct code_copy_answer *answer)
{
	uint64_t begin_ns = clock_monotonic_ns();

	*answer = code_copy_request_refuse(request, 0);
	answer->err = copy(request, proc_root, home, parser, answer);
	answer->cost_ns = clock_monotonic_ns() - begin_ns;
}

struct code_copy_answer code_copy_request_refuse(const struct code_copy_request *request, int err)
{
	return (struct code_copy_answer){
		.code = request->code,
		.err = err,
	};
}
