/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/runtime_host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/runtimes/host_entry.h"
#include "agent/runtimes/host_protocol.h"
#include "interpreters/registry.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/confinement.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/message_socket.h"
#include "lib/elf/elf_image.h"
#include "lib/host/remote_memory.h"

enum {
	EXIT_USAGE = 2,
	/* Limit of probed files; beyond it all are forgotten and probed again. */
	FILES_MAX = 256,
	MEMORY_MAX_BYTES = 512 << 20,
};

struct host {
	struct runtime_room *room;
	int sockets[HOST_CHANNEL_COUNT];
	/* Used by the attaching thread: executable id -> struct runtime_file. */
	struct hash_map files;
	char read_bytes[HOME_READ_PARTS * HOME_READ_BYTES];
	/* Used by the naming thread. */
	struct name_answers answers;
	struct name_text_vector reply;
};

/* A received request with the data that follows it. */
struct received {
	struct host_request head;
	char more[MESSAGE_MAX_BYTES - sizeof(struct host_request)];
	size_t more_bytes;
};

/* --- to attach --- */

/* Forgets all probed files; attached runtimes do not need them. */
static void forget_files(struct host *host)
{
	uint64_t value;
	size_t cursor = 0;

	while (hash_map_next(&host->files, &cursor, NULL, &value)) {
		struct runtime_file *file = (void *)(uintptr_t)value;

		file->language->ops->release(file);
	}
	hash_map_deinit(&host->files);
}

static int find_file(struct host *host, const struct host_request *request, const char *path,
		     int fd, const struct runtime_file **file)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	struct runtime_file *made;
	int err;

	*file = hash_map_get_pointer(&host->files, request->executable_id);
	if (*file)
		return 0;
	if (host->files.count == FILES_MAX)
		forget_files(host);
	err = elf_image_init_fd(&image, fd);
	if (!err)
		err = languages_probe(request->languages, &image, path, &made);
	if (err)
		return err;
	if (hash_map_set_pointer(&host->files, request->executable_id, made)) {
		made->language->ops->release(made);
		return fail(-ENOMEM, "no memory for a runtime");
	}
	*file = made;
	return 0;
}

struct modules {
	struct attach_module *items;
	uint32_t count;
	uint32_t wanted;
};

static void modules_deinit(struct modules *modules)
{
	for (uint32_t i = 0; i < modules->count; i++) {
		close(modules->items[i].fd);
		free((char *)modules->items[i].path);
	}
	free(modules->items);
}

/* Takes the modules of a packet; its descriptors from @fd on are the modules'. */
static int take_modules(struct modules *modules, const char *bytes, size_t size,
			struct message_fds *fds, int fd)
{
	size_t at = 0;

	if (fds->count - fd > (int)(modules->wanted - modules->count))
		return -EBADMSG;
	for (; fd < fds->count; fd++) {
		const struct host_module *module = (const void *)(bytes + at);
		size_t left = at < size ? size - at : 0;
		char *path;

		if (left < sizeof(*module) || !module->path_bytes ||
		    module->path_bytes > left - sizeof(*module) ||
		    module->path[module->path_bytes - 1])
			return -EBADMSG;
		path = strdup(module->path);
		if (!path)
			return -ENOMEM;
		modules->items[modules->count++] = (struct attach_module){
			.path = path,
			.fd = take_fd(fds->fds[fd]),
			.bias = module->bias,
		};
		at += host_aligned(sizeof(*module) + module->path_bytes);
	}
	return 0;
}

static int receive_modules(const struct host *host, struct modules *modules)
{
	_Alignas(struct host_module) char bytes[MESSAGE_MAX_BYTES];
	_cleanup_(message_fds_deinit) struct message_fds fds = { 0 };
	ssize_t size = message_receive(host->sockets[HOST_ATTACH], bytes, sizeof(bytes), &fds);

	if (size < 0)
		return (int)size;
	return fds.count ? take_modules(modules, bytes, (size_t)size, &fds, 0) : -EBADMSG;
}

/* Takes the modules behind the path in the request's own packet, and receives the rest. */
static int take_all_modules(const struct host *host, const struct received *received,
			    struct message_fds *fds, struct modules *modules)
{
	size_t path_bytes = strnlen(received->more, received->more_bytes) + 1;
	size_t at = host_aligned(path_bytes);
	uint32_t count = received->head.module_count;
	int err;

	_Static_assert(sizeof(struct host_request) % 8 == 0, "what follows it is aligned");
	if (fds->count < 2 || path_bytes > received->more_bytes || count > HOST_MODULES_MAX ||
	    at > received->more_bytes)
		return -EBADMSG;
	modules->items = calloc(count + 1, sizeof(*modules->items));
	if (!modules->items)
		return -ENOMEM;
	modules->wanted = count;
	err = take_modules(modules, received->more + at, received->more_bytes - at, fds, 2);
	while (!err && modules->count < count)
		err = receive_modules(host, modules);
	return err;
}

static int attach(struct host *host, const struct host_request *request, const char *path,
		  struct message_fds *fds, const struct modules *modules,
		  const struct runtime **process)
{
	const struct room_target target = {
		.pid = request->pid,
		.memory_id = request->memory_ids[0],
		.bias = request->bias,
		.modules = modules->items,
		.module_count = modules->count,
	};
	const struct runtime_file *file;
	int err = find_file(host, request, path, fds->fds[0], &file);

	if (!err)
		err = runtime_room_add_memory(host->room, target.memory_id,
					      process_memory_create(take_fd(fds->fds[1])));
	if (err)
		return err;
	err = runtime_room_attach(host->room, request->runtime_id, file, &target, process);
	if (err)
		runtime_room_remove_memory(host->room, target.memory_id);
	return err;
}

static int send_attached(int socket, const struct host_attached *answer, const void *data)
{
	char packet[MESSAGE_MAX_BYTES];
	size_t room = sizeof(packet) - sizeof(*answer);
	size_t first = answer->data_bytes < room ? answer->data_bytes : room;
	int err;

	memcpy(packet, answer, sizeof(*answer));
	memcpy(packet + sizeof(*answer), data, first);
	err = message_send(socket, packet, sizeof(*answer) + first, NULL, 0);
	return err ? err :
		     message_send_all(socket, (const char *)data + first,
				      answer->data_bytes - first);
}

/* An error means that the socket failed; then no answer is possible. */
static int do_attach(struct host *host, const struct received *received, struct message_fds *fds)
{
	const struct host_request *request = &received->head;
	_cleanup_(modules_deinit) struct modules modules = { 0 };
	const struct runtime *process = NULL;
	struct host_attached answer = { 0 };
	int socket = host->sockets[HOST_ATTACH], err;
	uint64_t begin_cpu_ns;

	err = take_all_modules(host, received, fds, &modules);
	if (err)
		return err;
	begin_cpu_ns = clock_thread_cpu_ns();
	answer.err = attach(host, request, received->more, fds, &modules, &process);
	if (answer.err || !process) {
		snprintf(answer.text, sizeof(answer.text), "%s", error_text());
	} else {
		answer.data_bytes = process->data_bytes;
		answer.may_grow = process->may_grow;
	}
	answer.cpu_ns = clock_thread_cpu_ns() - begin_cpu_ns;
	return process ? send_attached(socket, &answer, process->data) :
			 message_send(socket, &answer, sizeof(answer), NULL, 0);
}

/* --- to read --- */

static int read_parts(struct host *host, const struct memory_part *parts, uint32_t count, int fd)
{
	struct remote_memory *memory = process_memory_create(fd);
	int err = memory ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && !err; i++)
		err = parts[i].bytes > HOME_READ_BYTES ?
			      -EBADMSG :
			      remote_memory_read(memory, parts[i].address,
						 host->read_bytes + (size_t)i * HOME_READ_BYTES,
						 parts[i].bytes);
	if (!err && !remote_memory_is_same(memory))
		err = -ESRCH;
	remote_memory_destroy(memory);
	return err;
}

static int do_read(struct host *host, const struct received *received, struct message_fds *fds)
{
	const struct memory_part *parts = (const struct memory_part *)received->more;
	uint32_t count = received->head.query_count;
	int socket = host->sockets[HOST_ATTACH], err;
	int32_t answer;

	if (fds->count != 1 || count > HOME_READ_PARTS ||
	    received->more_bytes != count * sizeof(*parts))
		return -EBADMSG;
	answer = read_parts(host, parts, count, take_fd(fds->fds[0]));
	err = message_send(socket, &answer, sizeof(answer), NULL, 0);
	for (uint32_t i = 0; i < count && !err && !answer; i++)
		err = message_send_all(socket, host->read_bytes + (size_t)i * HOME_READ_BYTES,
				       parts[i].bytes);
	return err;
}

/* --- to name --- */

static void append(struct name_text_vector *reply, const void *bytes, size_t size)
{
	if (size)
		memcpy(reply->items + reply->count, bytes, size);
	reply->count += size;
}

/* Packs the answers for sending; without memory there are none. */
static int make_reply(struct host *host, struct host_named *named)
{
	const struct name_answers *answers = &host->answers;
	size_t answer_bytes = answers->answers.count * sizeof(struct name_answer);
	size_t frame_bytes = answers->frames.count * sizeof(struct name_frame);
	struct name_text_vector *reply = &host->reply;

	reply->count = 0;
	if (name_text_vector_reserve(reply, sizeof(*named) + answer_bytes + frame_bytes +
						    answers->texts.count))
		return -ENOMEM;
	named->frame_count = (uint32_t)answers->frames.count;
	named->text_bytes = (uint32_t)answers->texts.count;
	append(reply, named, sizeof(*named));
	append(reply, answers->answers.items, answer_bytes);
	append(reply, answers->frames.items, frame_bytes);
	append(reply, answers->texts.items, answers->texts.count);
	return 0;
}

static int do_name(struct host *host, const struct received *received)
{
	const struct host_request *request = &received->head;
	const struct room_names names = {
		.runtime_id = request->runtime_id,
		.memory_count = request->memory_count,
		.memory_ids = { request->memory_ids[0], request->memory_ids[1],
				request->memory_ids[2] },
		.queries = (const struct name_query *)received->more,
		.query_count = request->query_count,
	};
	struct host_named named = { 0 };
	int socket = host->sockets[HOST_NAMES];

	if (names.query_count > NAME_QUERIES_MAX || names.memory_count > ROOM_MEMORIES_MAX ||
	    received->more_bytes != names.query_count * sizeof(struct name_query))
		return -EBADMSG;
	named.err = runtime_room_name(host->room, &names, clock_monotonic_ns(), &host->answers);
	if (!named.err)
		named.err = make_reply(host, &named);
	if (named.err)
		return message_send(socket, &named, sizeof(named), NULL, 0);
	return message_send_all(socket, host->reply.items, host->reply.count);
}

/* --- the threads --- */

static int add_memory(struct host *host, const struct host_request *request,
		      struct message_fds *fds)
{
	if (fds->count != 1)
		return -EBADMSG;
	/* Without memory, reads report that the process is gone. */
	(void)runtime_room_add_memory(host->room, request->memory_ids[0],
				      process_memory_create(take_fd(fds->fds[0])));
	return 0;
}

/* @received is the thread's own buffer, aligned for the queries. */
static int serve_one(struct host *host, enum host_channel channel, struct received *received)
{
	_cleanup_(message_fds_deinit) struct message_fds fds = { 0 };
	ssize_t size = message_receive(host->sockets[channel], received,
				       offsetof(struct received, more_bytes), &fds);

	if (size < 0)
		return (int)size;
	if ((size_t)size < sizeof(received->head))
		return -EBADMSG;
	received->more_bytes = (size_t)size - sizeof(received->head);
	if (channel == HOST_ATTACH && received->head.kind == HOST_REQUEST_READ)
		return do_read(host, received, &fds);
	if (channel == HOST_ATTACH)
		return received->head.kind == HOST_REQUEST_ATTACH ?
			       do_attach(host, received, &fds) :
			       -EBADMSG;
	switch (received->head.kind) {
	case HOST_REQUEST_NAME:
		return do_name(host, received);
	case HOST_REQUEST_ADD_MEMORY:
		return add_memory(host, &received->head, &fds);
	case HOST_REQUEST_REMOVE_MEMORY:
		runtime_room_remove_memory(host->room, received->head.memory_ids[0]);
		return 0;
	case HOST_REQUEST_REMOVE_RUNTIME:
		runtime_room_remove_runtime(host->room, received->head.runtime_id);
		return 0;
	default:
		return -EBADMSG;
	}
}

/* Allows the calls for reading memory. Files are passed open. */
static int filter_calls(int socket)
{
	const struct call_rule rules[] = {
		{ .call = SYS_process_vm_readv },
		{ .call = SYS_pread64 },
		{ .call = SYS_lseek },
		/* Some C libraries use it for fstat(). */
		{ .call = SYS_newfstatat,
		  .kind = CALL_ALLOWED_EQUAL,
		  .argument = 3,
		  .value = AT_EMPTY_PATH },
		{ .call = SYS_sched_yield },
		/* qsort() of glibc up to 2.38 calls it to check the memory for a merge sort. */
		{ .call = SYS_sysinfo },
	};

	return host_entry_filter_calls(socket, rules, sizeof(rules) / sizeof(rules[0]));
}

/* Serves requests until the agent has ended; nothing is freed then. */
static void serve(struct host *host, enum host_channel channel)
{
	struct received received;
	int err = filter_calls(host->sockets[channel]);

	if (!err)
		err = host_entry_ready(host->sockets[channel]);
	while (!err)
		err = serve_one(host, channel, &received);
	_exit(0);
}

static void *run_attaching(void *argument)
{
	pthread_setname_np(pthread_self(), "attach");
	serve(argument, HOST_ATTACH);
	return NULL;
}

static int confine(void)
{
	int err = confinement_limit_memory(MEMORY_MAX_BYTES, UINT64_MAX);

	/* CAP_SYS_PTRACE allows reads of other processes. */
	return err ? err : confinement_drop_privileges(1U << CAP_SYS_PTRACE);
}

static void run(void)
{
	struct host *host = calloc(1, sizeof(*host));
	pthread_t thread;

	if (host)
		host->room = runtime_room_create();
	/* The program was most likely started by hand. */
	if (!host || !host->room ||
	    host_entry_begin("runtimes", host->sockets, HOST_CHANNEL_COUNT, NULL) || confine() ||
	    pthread_create(&thread, NULL, run_attaching, host))
		_exit(EXIT_USAGE);
	serve(host, HOST_NAMES);
}

void runtime_host_enter(int argument_count, char **arguments)
{
	if (argument_count == 2 && !strcmp(arguments[1], HOST_ARGUMENT))
		run();
}
