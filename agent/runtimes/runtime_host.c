/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/runtime_host.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "agent/base/hash_map.h"
#include "agent/host/elf_image.h"
#include "agent/runtimes/host_protocol.h"
#include "agent/runtimes/message_socket.h"
#include "interpreters/registry.h"

enum {
	EXIT_USAGE = 2,
	/* Files of runtimes that were looked at; whoever has more of them does without. */
	FILES_MAX = 256,
	MODULES_MAX = 4096,
	MEMORY_MAX_BYTES = 512 << 20,
};

struct host {
	struct runtime_room *room;
	int sockets[HOST_CHANNEL_COUNT];
	/* Of the thread that attaches: executable id -> struct interpreter_file. */
	struct hash_map files;
	/* Of the thread that names. */
	struct name_query queries[NAME_QUERIES_MAX];
	struct name_answers answers;
};

/* --- to attach --- */

static int find_file(struct host *host, const struct host_request *request, int fd,
		     const struct interpreter_file **file)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	struct interpreter_file *made;
	int err;

	*file = hash_map_get_pointer(&host->files, request->executable_id);
	if (*file)
		return 0;
	if (host->files.count == FILES_MAX)
		return fail(-ENOSPC, "more than %d runtimes", FILES_MAX);
	err = elf_image_init_fd(&image, fd);
	if (!err)
		err = interpreters_probe(request->languages, &image, request->path, &made);
	if (err)
		return err;
	if (hash_map_set_pointer(&host->files, request->executable_id, made)) {
		made->interpreter->ops->release(made);
		return fail(-ENOMEM, "no memory for a runtime");
	}
	*file = made;
	return 0;
}

struct modules {
	struct interpreter_module *items;
	uint32_t count;
};

static void modules_deinit(struct modules *modules)
{
	for (uint32_t i = 0; i < modules->count; i++) {
		close(modules->items[i].fd);
		free((char *)modules->items[i].path);
	}
	free(modules->items);
}

/* One packet of them. */
static int receive_modules(const struct host *host, struct modules *modules, uint32_t wanted)
{
	_Alignas(struct host_module) char bytes[MESSAGE_MAX_BYTES];
	_cleanup_(message_fds_deinit) struct message_fds fds = { 0 };
	ssize_t size = message_receive(host->sockets[HOST_ATTACH], bytes, sizeof(bytes), &fds);
	size_t at = 0;

	if (size < 0)
		return (int)size;
	for (int i = 0; i < fds.count && modules->count < wanted; i++) {
		const struct host_module *module = (const void *)(bytes + at);
		size_t left = (size_t)size - at;
		char *path;

		if (left < sizeof(*module) || !module->path_bytes ||
		    module->path_bytes > left - sizeof(*module) ||
		    module->path[module->path_bytes - 1])
			return -EBADMSG;
		path = strdup(module->path);
		if (!path)
			return -ENOMEM;
		modules->items[modules->count++] = (struct interpreter_module){
			.path = path,
			.fd = take_fd(fds.fds[i]),
			.bias = module->bias,
		};
		at += (sizeof(*module) + module->path_bytes + 7) / 8 * 8;
	}
	return fds.count ? 0 : -EBADMSG;
}

static int receive_all_modules(const struct host *host, uint32_t count, struct modules *modules)
{
	int err = 0;

	if (count > MODULES_MAX)
		return -EBADMSG;
	modules->items = calloc(count + 1, sizeof(*modules->items));
	if (!modules->items)
		return -ENOMEM;
	while (!err && modules->count < count)
		err = receive_modules(host, modules, count);
	return err;
}

static int attach(struct host *host, const struct host_request *request, struct message_fds *fds,
		  const struct modules *modules, const struct interpreter_process **process)
{
	const struct room_target target = {
		.pid = request->pid,
		.memory_id = request->memory_ids[0],
		.bias = request->bias,
		.modules = modules->items,
		.module_count = modules->count,
	};
	const struct interpreter_file *file;
	int err = find_file(host, request, fds->fds[0], &file);

	if (!err)
		err = runtime_room_add_memory(host->room, target.memory_id, take_fd(fds->fds[1]));
	if (err)
		return err;
	err = runtime_room_attach(host->room, request->runtime_id, file, &target, process);
	if (err)
		runtime_room_remove_memory(host->room, target.memory_id);
	return err;
}

/* An error is of the socket: there is nobody to answer then. */
static int do_attach(struct host *host, const struct host_request *request,
		     struct message_fds *fds)
{
	_cleanup_(modules_deinit) struct modules modules = { 0 };
	const struct interpreter_process *process = NULL;
	struct host_attached answer = { 0 };
	int socket = host->sockets[HOST_ATTACH], err;

	if (fds->count != 2)
		return -EBADMSG;
	err = receive_all_modules(host, request->module_count, &modules);
	if (err)
		return err;
	answer.err = attach(host, request, fds, &modules, &process);
	if (answer.err) {
		snprintf(answer.text, sizeof(answer.text), "%s", error_text());
	} else {
		answer.data_bytes = process->data_bytes;
		answer.may_grow = process->may_grow;
	}
	err = message_send(socket, &answer, sizeof(answer), NULL, 0);
	return err || answer.err ? err : message_send_all(socket, process->data, process->data_bytes);
}

/* --- to name --- */

static int do_name(struct host *host, const struct host_request *request)
{
	const struct room_names names = {
		.runtime_id = request->runtime_id,
		.memory_count = request->memory_count,
		.memory_ids = { request->memory_ids[0], request->memory_ids[1],
				request->memory_ids[2] },
		.queries = host->queries,
		.query_count = request->query_count,
	};
	struct name_answers *answers = &host->answers;
	struct host_named named = { 0 };
	int socket = host->sockets[HOST_NAMES], err;

	if (names.query_count > NAME_QUERIES_MAX || names.memory_count > ROOM_MEMORIES_MAX)
		return -EBADMSG;
	err = message_receive_all(socket, host->queries,
				  names.query_count * sizeof(host->queries[0]));
	if (err)
		return err;
	name_answers_clear(answers);
	named.err = runtime_room_name(host->room, &names, clock_monotonic_ns(), answers);
	if (!named.err) {
		named.frame_count = (uint32_t)answers->frames.count;
		named.text_bytes = (uint32_t)answers->texts.count;
	}
	err = message_send(socket, &named, sizeof(named), NULL, 0);
	if (err || named.err)
		return err;
	err = message_send_all(socket, answers->answers.items,
			       answers->answers.count * sizeof(answers->answers.items[0]));
	if (!err)
		err = message_send_all(socket, answers->frames.items,
				       answers->frames.count * sizeof(answers->frames.items[0]));
	return err ? err : message_send_all(socket, answers->texts.items, answers->texts.count);
}

/* --- the threads --- */

static int add_memory(struct host *host, const struct host_request *request,
		      struct message_fds *fds)
{
	if (fds->count != 1)
		return -EBADMSG;
	/* Without memory what is asked of it says that the process is gone. */
	(void)runtime_room_add_memory(host->room, request->memory_ids[0], take_fd(fds->fds[0]));
	return 0;
}

static int serve_one(struct host *host, enum host_channel channel)
{
	_cleanup_(message_fds_deinit) struct message_fds fds = { 0 };
	struct host_request request;
	ssize_t size = message_receive(host->sockets[channel], &request, sizeof(request), &fds);

	if (size < 0)
		return (int)size;
	if ((size_t)size <= offsetof(struct host_request, path))
		return -EBADMSG;
	((char *)&request)[size - 1] = '\0';
	if (channel == HOST_ATTACH)
		return request.kind == HOST_REQUEST_ATTACH ? do_attach(host, &request, &fds) :
							     -EBADMSG;
	switch (request.kind) {
	case HOST_REQUEST_NAME:
		return do_name(host, &request);
	case HOST_REQUEST_ADD_MEMORY:
		return add_memory(host, &request, &fds);
	case HOST_REQUEST_REMOVE_MEMORY:
		runtime_room_remove_memory(host->room, request.memory_ids[0]);
		return 0;
	case HOST_REQUEST_REMOVE_RUNTIME:
		runtime_room_remove_runtime(host->room, request.runtime_id);
		return 0;
	default:
		return -EBADMSG;
	}
}

/* Until the agent has gone; nothing is freed then. */
static void serve(struct host *host, enum host_channel channel)
{
	const struct host_ready ready = { .tid = gettid() };
	int err = message_send(host->sockets[channel], &ready, sizeof(ready), NULL, 0);

	while (!err)
		err = serve_one(host, channel);
	_exit(0);
}

static void *run_attaching(void *argument)
{
	pthread_setname_np(pthread_self(), "attach");
	serve(argument, HOST_ATTACH);
	return NULL;
}

static int drop_privileges(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	const struct rlimit no_core = { 0, 0 };
	const struct rlimit memory = { MEMORY_MAX_BYTES, MEMORY_MAX_BYTES };

	setrlimit(RLIMIT_CORE, &no_core);
	setrlimit(RLIMIT_DATA, &memory);
	if (syscall(SYS_capset, &header, none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return 0;
}

static int receive_hello(struct host *host)
{
	_cleanup_(message_fds_deinit) struct message_fds fds = { 0 };
	struct host_hello hello;
	ssize_t size = message_receive(HOST_SOCKET, &hello, sizeof(hello), &fds);

	if (size != sizeof(hello) || fds.count != 1)
		return -EBADMSG;
	host->sockets[HOST_NAMES] = HOST_SOCKET;
	host->sockets[HOST_ATTACH] = take_fd(fds.fds[0]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return getppid() == hello.parent ? 0 : -ESRCH;
}

static void run(void)
{
	struct host *host = calloc(1, sizeof(*host));
	pthread_t thread;

	prctl(PR_SET_NAME, "runtimes");
	if (host)
		host->room = runtime_room_create();
	/* By hand, most likely. */
	if (!host || !host->room || receive_hello(host) || drop_privileges() ||
	    pthread_create(&thread, NULL, run_attaching, host))
		_exit(EXIT_USAGE);
	serve(host, HOST_NAMES);
}

void runtime_host_enter(int argument_count, char **arguments)
{
	if (argument_count == 2 && !strcmp(arguments[1], HOST_ARGUMENT))
		run();
}
