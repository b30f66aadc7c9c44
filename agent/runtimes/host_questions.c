/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/host_questions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

/* A busy disk may take half of this time for a page. */
#define HANG_NS (NS_PER_SECOND / 2)

/* Short, since all samples wait for names. */
#define NAME_WAITS_NS (2 * NS_PER_SECOND)
#define ATTACH_WAITS_NS (5 * NS_PER_SECOND)

static const struct host_patience name_patience = {
	.max_ns = 10 * NS_PER_SECOND,
	.hang_ns = HANG_NS,
	.waits_ns = NAME_WAITS_NS,
};

static int ended_error(int code)
{
	return fail(code, "the process that read its memory has ended");
}

/* --- to attach --- */

/* A packet that is being filled. */
struct packet {
	_Alignas(struct host_module) char bytes[MESSAGE_MAX_BYTES];
	size_t size;
	int fds[MESSAGE_MAX_FDS];
	int fd_count;
};

static int send_packet(int socket, struct packet *packet)
{
	int err = message_send(socket, packet->bytes, packet->size, packet->fds, packet->fd_count);

	packet->size = 0;
	packet->fd_count = 0;
	return err;
}

static int add_module(int socket, struct packet *packet, const struct attach_module *module)
{
	size_t path_bytes = strlen(module->path) + 1;
	size_t needed = host_aligned(sizeof(struct host_module) + path_bytes);
	struct host_module *packed;
	int err = 0;

	if (packet->fd_count == MESSAGE_MAX_FDS || packet->size + needed > MESSAGE_MAX_BYTES)
		err = send_packet(socket, packet);
	if (err)
		return err;
	packed = (struct host_module *)(packet->bytes + packet->size);
	*packed = (struct host_module){
		.bias = module->bias,
		.path_bytes = (uint32_t)path_bytes,
	};
	memcpy(packed->path, module->path, path_bytes);
	packet->size += needed;
	packet->fds[packet->fd_count++] = module->fd;
	return 0;
}

static int send_attach(int socket, const struct host_request *request,
		       const struct host_target *target)
{
	size_t path_bytes = strlen(target->path) + 1;
	struct packet packet;
	int err = 0;

	memcpy(packet.bytes, request, sizeof(*request));
	memcpy(packet.bytes + sizeof(*request), target->path, path_bytes);
	packet.size = host_aligned(sizeof(*request) + path_bytes);
	packet.fds[0] = target->file;
	packet.fds[1] = target->memory;
	packet.fd_count = 2;
	for (uint32_t i = 0; i < target->module_count && !err; i++)
		err = add_module(socket, &packet, &target->modules[i]);
	return err ? err : send_packet(socket, &packet);
}

/* Whether all paths, which the process chooses, fit into packets. */
static bool fits(const struct host_target *target)
{
	if (strlen(target->path) >= HOST_PATH_MAX_BYTES)
		return false;
	for (uint32_t i = 0; i < target->module_count; i++)
		if (strlen(target->modules[i].path) >= HOST_PATH_MAX_BYTES)
			return false;
	return true;
}

/* The error of a language. Codes that mean the host process are replaced. */
static int language_error(int err)
{
	return err < 0 && err > -4096 && err != -EHOSTDOWN && err != -ENOTCONN &&
			       err != -ECANCELED ?
		       err :
		       -EBADMSG;
}

static int receive_attached(int socket, struct host_runtime *runtime)
{
	_Alignas(struct host_attached) char packet[MESSAGE_MAX_BYTES];
	struct host_attached *answer = (struct host_attached *)packet;
	ssize_t size = message_receive(socket, packet, sizeof(packet), NULL);
	_cleanup_(free_pointer) char *data = NULL;
	size_t first;

	if (size < (ssize_t)sizeof(*answer))
		return ended_error(-EHOSTDOWN);
	if (answer->err) {
		answer->text[sizeof(answer->text) - 1] = '\0';
		return fail(language_error(answer->err), "%s", answer->text);
	}
	first = (size_t)size - sizeof(*answer);
	if (!answer->data_bytes || answer->data_bytes % CELL_BYTES ||
	    answer->data_bytes > RUNTIME_DATA_MAX_BYTES || first > answer->data_bytes)
		return ended_error(-EHOSTDOWN);
	data = malloc(answer->data_bytes);
	if (!data)
		return fail(-ENOTCONN, "no memory for a runtime");
	memcpy(data, packet + sizeof(*answer), first);
	if (message_receive_all(socket, data + first, answer->data_bytes - first))
		return ended_error(-EHOSTDOWN);
	runtime->data = take_pointer(data);
	runtime->data_bytes = answer->data_bytes;
	runtime->may_grow = answer->may_grow;
	runtime->cpu_ns = answer->cpu_ns;
	return 0;
}

int host_ask_attach(const struct host_process *process, struct host_request *request,
		    const struct host_target *target, const bool *is_cancelled,
		    struct host_runtime *runtime)
{
	const struct host_patience patience = {
		.max_ns = 60 * NS_PER_SECOND,
		.hang_ns = HANG_NS,
		.waits_ns = ATTACH_WAITS_NS,
		.is_hurried = is_cancelled,
	};
	int socket = process->channels[HOST_ATTACH].socket, err;

	if (!fits(target))
		return fail(-ENAMETOOLONG, "a file that process %u has mapped", target->pid);
	request->kind = HOST_REQUEST_ATTACH;
	request->pid = target->pid;
	request->executable_id = target->executable_id;
	request->bias = target->bias;
	request->module_count = target->module_count;
	if (send_attach(socket, request, target))
		return ended_error(-ENOTCONN);
	err = host_process_wait(process, HOST_ATTACH, &patience, NULL);
	return err ? err : receive_attached(socket, runtime);
}

/* --- to read --- */

static int receive_read(int socket, size_t size, void *bytes)
{
	int32_t err;

	if (message_receive(socket, &err, sizeof(err), NULL) != sizeof(err))
		return ended_error(-EHOSTDOWN);
	if (err)
		return fail(language_error(err), "memory of a process");
	return message_receive_all(socket, bytes, size) ? ended_error(-EHOSTDOWN) : 0;
}

int host_ask_read(const struct host_process *process, int fd, const struct memory_part *parts,
		  uint32_t count, const bool *is_cancelled, void *bytes)
{
	const struct host_request request = { .kind = HOST_REQUEST_READ, .query_count = count };
	struct host_patience patience = name_patience;
	int socket = process->channels[HOST_ATTACH].socket, err;
	char packet[sizeof(request) + HOME_READ_PARTS * sizeof(*parts)];
	size_t size = 0;

	for (uint32_t i = 0; i < count; i++)
		size += parts[i].bytes;
	memcpy(packet, &request, sizeof(request));
	memcpy(packet + sizeof(request), parts, count * sizeof(*parts));
	if (message_send(socket, packet, sizeof(request) + count * sizeof(*parts), &fd, 1))
		return ended_error(-ENOTCONN);
	patience.is_hurried = is_cancelled;
	err = host_process_wait(process, HOST_ATTACH, &patience, NULL);
	return err ? err : receive_read(socket, size, bytes);
}

/* --- to name --- */

static size_t array_bytes(const struct host_named *named, uint32_t query_count)
{
	return query_count * sizeof(struct name_answer) +
	       named->frame_count * sizeof(struct name_frame) + named->text_bytes;
}

/* @bytes has the arrays of @named. */
static int take_answers(const struct host_named *named, const char *bytes, uint32_t query_count,
			struct name_answers *answers)
{
	if (name_answer_vector_reserve(&answers->answers, query_count) ||
	    name_frame_vector_reserve(&answers->frames, named->frame_count) ||
	    name_text_vector_reserve(&answers->texts, named->text_bytes))
		return fail(-ENOMEM, "no memory for names");
	answers->answers.count = query_count;
	answers->frames.count = named->frame_count;
	answers->texts.count = named->text_bytes;
	memcpy(answers->answers.items, bytes, query_count * sizeof(struct name_answer));
	bytes += query_count * sizeof(struct name_answer);
	if (named->frame_count)
		memcpy(answers->frames.items, bytes,
		       named->frame_count * sizeof(struct name_frame));
	bytes += named->frame_count * sizeof(struct name_frame);
	if (named->text_bytes)
		memcpy(answers->texts.items, bytes, named->text_bytes);
	return name_answers_are_valid(answers, query_count) ? 0 : ended_error(-EHOSTDOWN);
}

static int receive_names(int socket, uint32_t query_count, struct name_answers *answers)
{
	char packet[MESSAGE_MAX_BYTES];
	ssize_t size = message_receive(socket, packet, sizeof(packet), NULL);
	_cleanup_(free_pointer) char *all = NULL;
	struct host_named named;
	size_t bytes, first;

	if (size < (ssize_t)sizeof(named))
		return ended_error(-EHOSTDOWN);
	memcpy(&named, packet, sizeof(named));
	first = (size_t)size - sizeof(named);
	if (named.err)
		return fail(-ENOMEM, "no memory for names");
	if (named.frame_count > NAME_ANSWERS_MAX_FRAMES ||
	    named.text_bytes > NAME_ANSWERS_MAX_TEXT_BYTES)
		return ended_error(-EHOSTDOWN);
	bytes = array_bytes(&named, query_count);
	if (first == bytes)
		return take_answers(&named, packet + sizeof(named), query_count, answers);
	if (first > bytes)
		return ended_error(-EHOSTDOWN);
	all = malloc(bytes);
	if (!all)
		return fail(-ENOTCONN, "no memory for names");
	memcpy(all, packet + sizeof(named), first);
	if (message_receive_all(socket, all + first, bytes - first))
		return ended_error(-EHOSTDOWN);
	return take_answers(&named, all, query_count, answers);
}

int host_ask_names(const struct host_process *process, const struct host_request *request,
		   const struct name_query *queries, struct name_answers *answers)
{
	int socket = process->channels[HOST_NAMES].socket, err;
	size_t query_bytes = request->query_count * sizeof(*queries);
	char packet[MESSAGE_MAX_BYTES];

	memcpy(packet, request, sizeof(*request));
	memcpy(packet + sizeof(*request), queries, query_bytes);
	if (message_send(socket, packet, sizeof(*request) + query_bytes, NULL, 0))
		return ended_error(-ENOTCONN);
	err = host_process_wait(process, HOST_NAMES, &name_patience, NULL);
	return err ? err : receive_names(socket, request->query_count, answers);
}
