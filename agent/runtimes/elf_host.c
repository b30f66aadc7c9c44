/* SPDX-License-Identifier: Apache-2.0 */
/*
 * It has no capability and can open nothing. All that it may do is to read files that it was handed, to compute, to write symbols to
 * files in memory that it was handed, and to answer.
 */
#include "agent/runtimes/elf_host.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/runtimes/elf_protocol.h"
#include "agent/runtimes/executable_file.h"
#include "agent/runtimes/host_entry.h"
#include "interpreters/registry.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/confinement.h"
#include "lib/base/error.h"
#include "lib/base/urgent_thread.h"
#include "symbols/build/make_symbol_cache.h"

enum {
	EXIT_USAGE = 2,
	/* The tables of the largest files, and the rows that are made of them. */
	MEMORY_MAX_BYTES = 1 << 30,
	/* Some for each channel. */
	FILES_MAX = 64,
	/* Nice values of the sync thread, which waits for the first channel, and of the others at first. */
	URGENT_PRIORITY = -10,
	PATIENT_PRIORITY = 0,
};

/* State of one thread. */
struct server {
	int socket;
	struct urgent_thread urgency;
	/* The file that is parsed. */
	int fd;
	/* Rows were found by the last key. */
	bool is_cached;
};

struct received {
	struct elf_question head;
	char path[PATH_MAX];
};

static pthread_once_t seed_once = PTHREAD_ONCE_INIT;
static uint64_t seed;

static void set_seed(void)
{
	hash128_seed_content(__atomic_load_n(&seed, __ATOMIC_ACQUIRE));
}

/* --- what the agent does meanwhile --- */

/* Asks the agent; *@fd is the file in its answer, if @fd is not NULL. */
static int ask(const struct server *server, const struct elf_answer *question, int *fd)
{
	_cleanup_(message_fds_deinit) struct message_fds fds = { 0 };
	struct elf_reply reply;

	/* Without the socket nobody is there for whom to go on. */
	if (message_send(server->socket, question,
			 offsetof(struct elf_answer, text) + strlen(question->text) + 1, NULL, 0) ||
	    message_receive(server->socket, &reply, sizeof(reply), &fds) != sizeof(reply))
		_exit(0);
	if (reply.err)
		return reply.err;
	if (!fd)
		return 0;
	if (fds.count != 1)
		return -ENOENT;
	*fd = take_fd(fds.fds[0]);
	return 0;
}

/* As debug_file_search.open. */
static int open_debug_file(void *context, enum debug_file_root root, const char *path, int *fd)
{
	struct elf_answer question = { .kind = ELF_ANSWER_OPEN, .root = root };

	if (strlen(path) >= sizeof(question.text))
		return -ENAMETOOLONG;
	strcpy(question.text, path);
	return ask(context, &question, fd);
}

/* As load_helper.load_cached, but the rows that were found stay with the agent. */
static int find_cached(void *context, struct hash128 key, struct stack_deltas *deltas)
{
	const struct elf_answer question = { .kind = ELF_ANSWER_KEY, .key = key };
	struct server *server = context;
	int err = ask(server, &question, NULL);

	(void)deltas;
	server->is_cached = !err;
	return err;
}

/* --- questions --- */

/* A part of a result. */
struct part {
	const void *bytes;
	size_t size;
};

/* Puts what fits into the packet with the answer's head; the size of all, or 0. */
static size_t pack_parts(const struct part *parts, int count, char *packet, size_t at)
{
	size_t size = at;

	for (int i = 0; i < count; i++)
		size += parts[i].size;
	if (size > MESSAGE_MAX_BYTES)
		return 0;
	for (int i = 0; i < count; i++) {
		memcpy(packet + at, parts[i].bytes, parts[i].size);
		at += parts[i].size;
	}
	return size;
}

/*
 * Sends @answer, and the parts of the result unless @err. An error means that the socket failed. The file is closed before,
 * so that its file system can be unmounted when the agent has closed it.
 */
static int finish(struct server *server, struct elf_answer *answer, int err,
		  const struct part *parts, int count)
{
	char packet[MESSAGE_MAX_BYTES];
	size_t head_bytes, size;

	close(server->fd);
	answer->kind = ELF_ANSWER_DONE;
	answer->err = err;
	if (err)
		snprintf(answer->text, ELF_ERROR_BYTES, "%s", error_text());
	if (err)
		count = 0;
	head_bytes = offsetof(struct elf_answer, text) + strlen(answer->text) + 1;
	memcpy(packet, answer, head_bytes);
	size = pack_parts(parts, count, packet, head_bytes);
	err = message_send(server->socket, packet, size ? size : head_bytes, NULL, 0);
	for (int i = 0; i < count && !size && !err; i++)
		err = message_send_all(server->socket, parts[i].bytes, parts[i].size);
	return err;
}

static void pack_facts(const struct program_facts *facts, struct elf_identity *identity)
{
	identity->has_facts = 1;
	identity->languages = facts->languages;
	identity->fact_count = facts->count;
	for (uint32_t i = 0; i < facts->count; i++) {
		struct elf_fact *packed = &identity->facts[i];

		snprintf(packed->key, sizeof(packed->key), "%s", facts->items[i].key);
		strcpy(packed->text, facts->items[i].text);
		packed->is_of_binary = facts->items[i].is_of_binary;
	}
}

static int identify(int fd, struct elf_identity *identity)
{
	_cleanup_(elf_image_deinit) struct elf_image segments = { .fd = -1 };
	struct binary binary = { 0 };
	struct program_facts facts;
	int err = executable_file_identify(fd, &binary, &facts, &segments);

	if (err)
		return err;
	*identity = (struct elf_identity){
		.file_id = binary.file_id,
		.build_id_bytes = binary.build_id_bytes,
		.machine = segments.machine,
		.memory_start = binary.memory_start,
		.memory_limit = binary.memory_limit,
		.file_offset = binary.file_offset,
		.size = segments.size,
		.segment_count = segments.segment_count,
	};
	memcpy(identity->build_id, binary.build_id, binary.build_id_bytes);
	memcpy(identity->segments, segments.segments,
	       segments.segment_count * sizeof(*segments.segments));
	if (binary.facts)
		pack_facts(binary.facts, identity);
	return 0;
}

static int do_identify(struct server *server)
{
	struct elf_answer answer = { 0 };
	struct elf_identity identity = { 0 };
	int err = identify(server->fd, &identity);
	struct part part;

	/* Segments that the file does not have are not sent. */
	part = (struct part){ &identity,
			      offsetof(struct elf_identity, segments) +
				      identity.segment_count * sizeof(identity.segments[0]) };
	return finish(server, &answer, err, &part, 1);
}

static int send_rows(struct server *server, struct elf_answer *answer,
		     const struct stack_deltas *deltas)
{
	const struct part parts[] = {
		{ deltas->page_index,
		  ((size_t)deltas->page_count + 1) * sizeof(*deltas->page_index) },
		{ deltas->rows, stack_deltas_row_bytes(deltas->row_count) },
		{ deltas->rules, deltas->rule_count * sizeof(*deltas->rules) },
		{ deltas->checks, deltas->page_count * sizeof(*deltas->checks) },
	};
	const int count = sizeof(parts) / sizeof(parts[0]);

	answer->text_start = deltas->text_start;
	answer->page_count = deltas->page_count;
	answer->row_count = deltas->row_count;
	answer->rule_count = deltas->rule_count;
	return finish(server, answer, 0, parts, deltas->checks ? count : count - 1);
}

static int do_load(struct server *server, const struct elf_question *question, const char *path)
{
	const struct debug_file_search search = {
		.open = open_debug_file,
		.open_context = server,
		.path = path,
	};
	const struct load_helper helper = {
		.search = question->may_search ? &search : NULL,
		.load_cached = question->has_cache ? find_cached : NULL,
		.context = server,
	};
	const struct load_limits limits = { question->max_work_bytes, question->max_code_bytes };
	struct elf_answer answer = { 0 };
	struct load_result result = { 0 };
	int err;

	server->is_cached = false;
	err = executable_file_load(server->fd, &helper, &limits, &result);
	answer.lacks_code = result.lacks_code;
	answer.is_cached = server->is_cached;
	if (err || server->is_cached)
		return finish(server, &answer, err, NULL, 0);
	err = send_rows(server, &answer, &result.deltas);
	stack_deltas_deinit(&result.deltas);
	return err;
}

static int do_copy(struct server *server, const struct elf_question *question)
{
	_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };
	struct elf_answer answer = { 0 };
	int err = executable_file_analyse_copy(server->fd, question->code_address,
					       question->code_bytes, &deltas);

	return err ? finish(server, &answer, err, NULL, 0) : send_rows(server, &answer, &deltas);
}

/* Attaches now, where that needs the file alone. */
static int take_data(const struct runtime_file *file, struct elf_runtime *found)
{
	const struct attach_target nothing = { 0 };
	struct runtime *process;
	int err = file->language->ops->attach(file, &nothing, &process);

	if (err)
		return err;
	if (process->data_bytes > sizeof(found->data))
		err = fail(-E2BIG, "%u bytes of a runtime's data", process->data_bytes);
	else
		memcpy(found->data, process->data, process->data_bytes);
	found->data_bytes = process->data_bytes;
	file->language->ops->detach(process);
	return err;
}

static int pack_runtime(const struct runtime_file *file, struct elf_runtime *found)
{
	found->language = (uint32_t)(file->language->id - language_ids);
	memcpy(found->version, file->version, sizeof(found->version));
	found->range_count = file->range_count;
	memcpy(found->ranges, file->ranges, sizeof(found->ranges));
	found->steps_without_rules = file->steps_without_rules;
	found->attaches_at_once = file->attaches_at_once;
	found->with_signatures = file->with_signatures;
	return file->attaches_at_once ? take_data(file, found) : 0;
}

static int do_probe(struct server *server, const struct elf_question *question, const char *path)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	struct elf_answer answer = { 0 };
	struct elf_runtime found = { 0 };
	const struct part part = { &found, sizeof(found) };
	struct runtime_file *file;
	int err = elf_image_init_fd(&image, server->fd);

	if (!err) {
		answer.copies_stacks = languages_copy_stacks(question->languages, &image);
		err = languages_probe(question->languages, &image, path, &file);
	}
	if (!err) {
		err = pack_runtime(file, &found);
		file->language->ops->release(file);
	}
	return finish(server, &answer, err, &part, 1);
}

static int make_symbols(const struct server *server, const int *others, int count,
			struct hash128 key)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 }, debug = { .fd = -1 };
	int err = elf_image_init_fd(&image, server->fd);
	/* Without a readable debug file there are the file's own symbols. */
	bool has_debug = count == 2 && !elf_image_init_fd(&debug, others[1]);

	return err ? err :
		     make_small_symbol_cache(&image, has_debug ? &debug : NULL, key, others[0]);
}

static int do_symbols(struct server *server, const struct elf_question *question,
		      struct message_fds *fds)
{
	uint64_t start_ns = clock_thread_cpu_ns();
	struct elf_answer answer = { 0 };
	struct stat status;
	int err = make_symbols(server, fds->fds + 1, fds->count - 1, question->key);

	if (!err && fstat(fds->fds[1], &status))
		err = fail_errno(-errno, "a symbol cache");
	if (!err)
		answer.symbol_bytes = (uint64_t)status.st_size;
	answer.cpu_ns = clock_thread_cpu_ns() - start_ns;
	/* Before the answer, as the file itself. */
	message_fds_deinit(fds);
	return finish(server, &answer, err, NULL, 0);
}

static bool has_files(const struct elf_question *question, int count)
{
	return question->kind == ELF_QUESTION_SYMBOLS ? count == 2 || count == 3 : count == 1;
}

static int serve_one(struct server *server)
{
	_cleanup_(message_fds_deinit) struct message_fds fds = { 0 };
	struct received received;
	const struct elf_question *question = &received.head;
	ssize_t size = message_receive(server->socket, &received, sizeof(received), &fds);

	if (size < 0)
		return (int)size;
	if ((size_t)size <= sizeof(*question) || ((char *)&received)[size - 1] ||
	    !has_files(question, fds.count))
		return -EBADMSG;
	if (question->is_urgent)
		urgent_thread_tick(&server->urgency);
	else
		urgent_thread_rest(&server->urgency);
	server->fd = take_fd(fds.fds[0]);
	__atomic_store_n(&seed, question->seed, __ATOMIC_RELEASE);
	pthread_once(&seed_once, set_seed);
	switch (question->kind) {
	case ELF_QUESTION_IDENTIFY:
		return do_identify(server);
	case ELF_QUESTION_LOAD:
		return do_load(server, question, received.path);
	case ELF_QUESTION_PROBE:
		return do_probe(server, question, received.path);
	case ELF_QUESTION_COPY:
		return do_copy(server, question);
	case ELF_QUESTION_SYMBOLS:
		return do_symbols(server, question, &fds);
	default:
		return -EBADMSG;
	}
}

/* --- the threads --- */

/* Files are passed open, and all but the one in memory, for symbols, cannot be written. */
static int filter_calls(int socket)
{
	const struct call_rule rules[] = {
		{ .call = SYS_pread64 },
		{ .call = SYS_pwrite64 },
		/* Some C libraries use it for fstat(). */
		{ .call = SYS_newfstatat,
		  .kind = CALL_ALLOWED_EQUAL,
		  .argument = 3,
		  .value = AT_EMPTY_PATH },
		{ .call = SYS_sched_yield },
		/* qsort() of glibc up to 2.38 calls it to check the memory for a merge sort. */
		{ .call = SYS_sysinfo },
		/* For its own thread only. */
		{ .call = SYS_sched_setscheduler, .kind = CALL_ALLOWED_EQUAL },
	};

	return host_entry_filter_calls(socket, rules, sizeof(rules) / sizeof(rules[0]));
}

/* Until the agent has gone; nothing is freed then. */
static void serve(struct server *server)
{
	int err = filter_calls(server->socket);

	if (!err)
		err = host_entry_ready(server->socket);
	while (!err)
		err = serve_one(server);
	_exit(0);
}

static void *run_patient(void *argument)
{
	struct server *server = argument;

	pthread_setname_np(pthread_self(), "parse_rows");
	urgent_thread_init(&server->urgency, PATIENT_PRIORITY);
	urgent_thread_rest(&server->urgency);
	serve(server);
	return NULL;
}

static int confine(void)
{
	int err = confinement_limit_memory(MEMORY_MAX_BYTES, UINT64_MAX);

	/* A file that grows further is an error, and does not end the process. */
	signal(SIGXFSZ, SIG_IGN);
	if (!err)
		err = confinement_limit(RLIMIT_FSIZE, ELF_SYMBOL_CACHE_MAX_BYTES);
	if (!err)
		err = confinement_limit(RLIMIT_NOFILE, FILES_MAX);
	return err ? err : confinement_drop_privileges(0);
}

static void run(void)
{
	static struct server servers[ELF_CHANNEL_COUNT];
	int sockets[ELF_CHANNEL_COUNT];
	pthread_t thread;

	/* By hand, most likely. */
	if (host_entry_begin("parse", sockets, ELF_CHANNEL_COUNT, NULL))
		_exit(EXIT_USAGE);
	for (int i = 0; i < ELF_CHANNEL_COUNT; i++)
		servers[i].socket = sockets[i];
	/* Threads that start later do not inherit it. */
	host_entry_raise_priority(&servers[ELF_URGENT].urgency, URGENT_PRIORITY);
	if (confine())
		_exit(EXIT_USAGE);
	for (int i = ELF_SYMBOLS; i < ELF_CHANNEL_COUNT; i++)
		if (pthread_create(&thread, NULL, run_patient, &servers[i]))
			_exit(EXIT_USAGE);
	serve(&servers[ELF_URGENT]);
}

void elf_host_enter(int argument_count, char **arguments)
{
	if (argument_count == 2 && !strcmp(arguments[1], ELF_HOST_ARGUMENT))
		run();
}
