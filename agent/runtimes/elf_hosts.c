/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers come from a program of ours that has read hostile files, so nothing in them is trusted. While it parses, it
 * may ask for debug files, which are opened here: only ELF files below the roots of the search.
 */
#include "agent/runtimes/elf_hosts.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/runtimes/elf_answers.h"
#include "agent/runtimes/elf_protocol.h"
#include "agent/runtimes/host_pool.h"
#include "interpreters/registry.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/sealed_file.h"
#include "lib/model/metrics.h"
#include "stackdeltas/copied_code.h"

enum {
	/* Limit of what a request may ask for: paths of debug files, and keys. */
	ASKS_MAX = 32,
	/* A user's files may end so many processes within a minute. */
	LOST_OF_USER_MAX = 12,
	/* Nobody: the owner of files that have no name any more, as copies in memory. */
	NAMELESS_UID = UINT32_MAX - 1,
};

/* A disk may take its time. */
#define HANG_NS (5 * NS_PER_SECOND)
#define ANSWER_MAX_NS (60 * NS_PER_SECOND)
#define URGENT_HANG_NS NS_PER_SECOND
#define HURRIED_NS (100 * NS_PER_MS)

struct elf_host {
	struct pooled_host pooled;
	/* For each channel, under its lock but atomic: a request is under way; the owner of its file; the nice value. */
	bool is_busy[ELF_CHANNEL_COUNT];
	uid_t uids[ELF_CHANNEL_COUNT];
	int nices[ELF_CHANNEL_COUNT];
};

struct elf_hosts {
	struct elf_home home;
	struct host_pool pool;
	/* One request at a time is made again, so that few are under way with the one that ends the process. */
	pthread_mutex_t again;
	/* Atomic: nothing but symbols is parsed any more. */
	bool is_stopped;
};

static const struct host_kind elf_host_kind = {
	.argument = ELF_HOST_ARGUMENT,
	.name = "parse-executables",
	.channel_count = ELF_CHANNEL_COUNT,
	.job = "parse executables",
	.fault = "files that end such processes",
	.subject = "a file of it",
};

/* A request, and what comes of it. */
struct request {
	struct elf_question question;
	const char *path;
	int fds[ELF_QUESTION_FDS_MAX];
	int fd_count;
	bool is_urgent;
	/* ELF_QUESTION_LOAD; NULL: none. */
	const struct load_helper *helper;
	/* Rows that were found by the last key. */
	struct load_result *cached;
	struct elf_answer answer;
	/* The packet with the answer, and the part of it behind the text: a small result. */
	char packet[MESSAGE_MAX_BYTES];
	const char *rest;
	size_t rest_bytes;
	/* Takes the result; called with the socket. */
	int (*receive)(struct request *request, int socket);
	void *result;
};

static void host_init(struct pooled_host *pooled)
{
	struct elf_host *host = (struct elf_host *)pooled;

	for (int i = 0; i < ELF_CHANNEL_COUNT; i++)
		host->nices[i] = getpriority(PRIO_PROCESS, pooled->process.channels[i].tid);
}

static void host_deinit(struct pooled_host *pooled)
{
	(void)pooled;
}

/* --- losses --- */

static int ended_error(void)
{
	return fail(-EHOSTDOWN, "the process that parsed it has ended");
}

/* Whose file has ended @host: if several were parsed, one that is not root's, since root has the others' libraries. */
static uid_t blamed(const struct elf_host *host, uid_t own)
{
	for (int i = 0; i < ELF_CHANNEL_COUNT && !own; i++)
		if (__atomic_load_n(&host->is_busy[i], __ATOMIC_ACQUIRE))
			own = __atomic_load_n(&host->uids[i], __ATOMIC_RELAXED);
	return own;
}

static void lose(struct elf_hosts *hosts, struct elf_host *host, const struct request *request,
		 uid_t uid)
{
	static struct log_limit limit = { .interval_ns = NS_PER_SECOND, .burst = 5 };
	uint64_t suppressed;

	if (!host_pool_lose(&hosts->pool, &host->pooled, blamed(host, uid)))
		return;
	metrics_add(METRIC_ELF_HOSTS_LOST, 1);
	if (!host_pool_is_stopped(&hosts->pool) &&
	    log_limit_allow(&limit, clock_monotonic_ns(), &suppressed))
		log_warn("%s: %s; parsing it again in a new one", request->path, error_text());
}

/* --- what a request asks for --- */

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, ELFMAG, SELFMAG);
}

static int open_debug_file(const struct request *request, int *fd)
{
	const struct debug_file_search *search = request->helper ? request->helper->search : NULL;
	_cleanup_(close_fd) int opened = -1;

	if (!search || request->answer.root >= DEBUG_ROOT_COUNT ||
	    debug_file_open_below(search, (enum debug_file_root)request->answer.root,
				  request->answer.text, request->fds[0], &opened) ||
	    !is_elf(opened))
		return -ENOENT;
	*fd = take_fd(opened);
	return 0;
}

static int find_rows(const struct request *request)
{
	const struct load_helper *helper = request->helper;
	struct load_result *cached = request->cached;

	if (!helper || !helper->load_cached)
		return -ENOENT;
	stack_deltas_deinit(&cached->deltas);
	cached->key = request->answer.key;
	cached->is_new = helper->load_cached(helper->context, cached->key, &cached->deltas);
	return cached->is_new ? -ENOENT : 0;
}

static int reply_to(const struct request *request, int socket)
{
	_cleanup_(close_fd) int fd = -1;
	const struct elf_reply reply = {
		.err = request->answer.kind == ELF_ANSWER_OPEN ? open_debug_file(request, &fd) :
								 find_rows(request),
	};

	return message_send(socket, &reply, sizeof(reply), &fd, fd >= 0);
}

/* --- requests --- */

static int send_question(const struct request *request, int socket)
{
	char packet[sizeof(request->question) + PATH_MAX];
	size_t path_bytes = strlen(request->path) + 1;

	if (path_bytes > PATH_MAX)
		return fail(-ENAMETOOLONG, "a file's path of %zu bytes", path_bytes);
	memcpy(packet, &request->question, sizeof(request->question));
	memcpy(packet + sizeof(request->question), request->path, path_bytes);
	return message_send(socket, packet, sizeof(request->question) + path_bytes, request->fds,
			    request->fd_count) ?
		       ended_error() :
		       0;
}

static const bool *stop_of(const struct elf_hosts *hosts, const struct request *request)
{
	return request->question.kind == ELF_QUESTION_SYMBOLS ? &hosts->pool.is_stopped :
								&hosts->is_stopped;
}

static int wait_for_answer(struct elf_hosts *hosts, const struct elf_host *host, int channel,
			   struct request *request)
{
	const struct host_patience patience = {
		.max_ns = request->is_urgent ? HANG_NS : ANSWER_MAX_NS,
		.hang_ns = request->is_urgent ? URGENT_HANG_NS : HANG_NS,
		.is_hurried = stop_of(hosts, request),
		.hurried_ns = HURRIED_NS,
	};
	const size_t head_bytes = offsetof(struct elf_answer, text);
	int err = host_process_wait(&host->pooled.process, channel, &patience, NULL);
	size_t text_bytes;
	const char *end;
	ssize_t size;

	if (err)
		return err;
	size = message_receive(host->pooled.process.channels[channel].socket, request->packet,
			       sizeof(request->packet), NULL);
	if (size <= (ssize_t)head_bytes)
		return ended_error();
	text_bytes = (size_t)size - head_bytes;
	if (text_bytes > sizeof(request->answer.text))
		text_bytes = sizeof(request->answer.text);
	end = memchr(request->packet + head_bytes, '\0', text_bytes);
	if (!end)
		return ended_error();
	memcpy(&request->answer, request->packet, (size_t)(end + 1 - request->packet));
	request->rest = end + 1;
	request->rest_bytes = (size_t)(request->packet + size - request->rest);
	return 0;
}

/* Nothing is asked any more once requests of this kind were told not to wait. */
static bool is_stopped_for(const struct elf_hosts *hosts, const struct request *request)
{
	return __atomic_load_n(stop_of(hosts, request), __ATOMIC_ACQUIRE);
}

/* Errors of files; codes that have another meaning here are replaced. */
static int file_error(int err)
{
	return err < 0 && err > -4096 && err != -EHOSTDOWN && err != -ECANCELED && err != -ESTALE ?
		       err :
		       -EIO;
}

/* To be called with the lock of the channel. -EHOSTDOWN and -ECANCELED: the process is of no use any more. */
static int ask_host(struct elf_hosts *hosts, const struct elf_host *host, int channel,
		    struct request *request)
{
	int socket = host->pooled.process.channels[channel].socket, err;

	if (pooled_host_is_lost(&host->pooled))
		return ended_error();
	/* The answer to a request that did not wait for it may come yet. */
	if (is_stopped_for(hosts, request))
		return fail(-ECANCELED, "the agent stops");
	err = send_question(request, socket);
	for (int i = 0; !err && i < ASKS_MAX; i++) {
		err = wait_for_answer(hosts, host, channel, request);
		if (err || request->answer.kind == ELF_ANSWER_DONE)
			break;
		if (reply_to(request, socket))
			err = ended_error();
	}
	if (err)
		return err;
	if (request->answer.kind != ELF_ANSWER_DONE)
		return ended_error();
	if (request->answer.err)
		return fail(file_error(request->answer.err), "%s", request->answer.text);
	return request->receive(request, socket);
}

/* Locks a channel: the one for the request, or one that is free. */
static int take_channel(struct elf_host *host, const struct request *request)
{
	int channel = request->is_urgent			     ? ELF_URGENT :
		      request->question.kind == ELF_QUESTION_SYMBOLS ? ELF_SYMBOLS :
								       ELF_FIRST_PATIENT;

	for (int i = channel; channel == ELF_FIRST_PATIENT && i < ELF_CHANNEL_COUNT; i++)
		if (!pthread_mutex_trylock(&host->pooled.asking[i]))
			return i;
	pthread_mutex_lock(&host->pooled.asking[channel]);
	return channel;
}

/* Gives the other side the nice value @nice. With a lock, or to hurry. */
static void set_nice(struct elf_host *host, int channel, int nice)
{
	int32_t tid = host->pooled.process.channels[channel].tid;

	if (__atomic_exchange_n(&host->nices[channel], nice, __ATOMIC_RELAXED) != nice && tid > 0)
		setpriority(PRIO_PROCESS, tid, nice);
}

static bool is_realtime(void)
{
	int policy = sched_getscheduler(0);

	return policy >= 0 && (policy & ~SCHED_RESET_ON_FORK) == SCHED_RR;
}

static int ask(struct elf_hosts *hosts, struct elf_host *host, struct request *request, uid_t uid)
{
	int channel = take_channel(host, request), err;

	if (channel != ELF_URGENT)
		set_nice(host, channel, getpriority(PRIO_PROCESS, 0));
	request->question.is_urgent = is_realtime();
	__atomic_store_n(&host->uids[channel], uid, __ATOMIC_RELAXED);
	__atomic_store_n(&host->is_busy[channel], true, __ATOMIC_RELEASE);
	err = ask_host(hosts, host, channel, request);
	if (err == -EHOSTDOWN)
		lose(hosts, host, request, uid);
	__atomic_store_n(&host->is_busy[channel], false, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&host->pooled.asking[channel]);
	return err;
}

static int ask_once(struct elf_hosts *hosts, struct request *request, uid_t uid)
{
	struct pooled_host *pooled;
	int err = host_pool_get(&hosts->pool, uid, true, &pooled);

	if (err)
		return err;
	err = ask(hosts, (struct elf_host *)pooled, request, uid);
	pooled_host_unref(pooled);
	return err;
}

static int ask_again(struct elf_hosts *hosts, struct request *request, uid_t uid)
{
	int err = -EHOSTDOWN;

	/* The urgent thread does not wait for the others. */
	if (!request->is_urgent)
		pthread_mutex_lock(&hosts->again);
	for (int i = 1; i < ELF_TRIES_MAX && err == -EHOSTDOWN; i++)
		err = ask_once(hosts, request, uid);
	if (!request->is_urgent)
		pthread_mutex_unlock(&hosts->again);
	return err == -EHOSTDOWN ? fail(-EBADMSG, "it ends every process that parses it") : err;
}

static uid_t owner_of(int fd)
{
	struct stat status;

	return fstat(fd, &status) || !status.st_nlink ? (uid_t)NAMELESS_UID : status.st_uid;
}

static int run_for(struct elf_home *home, struct request *request, uid_t uid)
{
	struct elf_hosts *hosts = (struct elf_hosts *)home;
	int err = ask_once(hosts, request, uid);

	return err == -EHOSTDOWN ? ask_again(hosts, request, uid) : err;
}

static int run(struct elf_home *home, struct request *request)
{
	return run_for(home, request, owner_of(request->fds[0]));
}

/* Takes a part of the result, from the answer's packet or from those that follow it. */
static int take_part(struct request *request, int socket, void *bytes, size_t size)
{
	if (!request->rest_bytes)
		return message_receive_all(socket, bytes, size);
	if (request->rest_bytes < size)
		return -EBADMSG;
	memcpy(bytes, request->rest, size);
	request->rest += size;
	request->rest_bytes -= size;
	return 0;
}

/* --- identities --- */

static int receive_identity(struct request *request, int socket)
{
	struct elf_identity *identity = request->result;
	size_t size = request->rest_bytes;

	return !size || size > sizeof(*identity) || take_part(request, socket, identity, size) ||
			       elf_identity_check(identity, size) ?
		       ended_error() :
		       0;
}

static int hosts_identify(struct elf_home *home, int fd, struct binary *binary,
			  struct program_facts *facts, struct elf_image *segments)
{
	struct elf_identity identity = { 0 };
	struct request request = {
		.question = { .kind = ELF_QUESTION_IDENTIFY },
		.path = "",
		.fds = { fd },
		.fd_count = 1,
		.is_urgent = true,
		.receive = receive_identity,
		.result = &identity,
	};
	int err = run(home, &request);

	return err ? err : elf_identity_unpack(&identity, binary, facts, segments);
}

/* --- rows --- */

/* All that was announced is read, or else the process is of no use any more. */
static int receive_deltas(struct request *request, int socket, bool has_checks,
			  struct stack_deltas *result)
{
	_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };
	/* Without memory the rows stay in the socket, so that it cannot be used any more either. */
	int err = elf_rows_prepare(&request->answer, has_checks, &deltas);

	if (err ||
	    take_part(request, socket, deltas.page_index,
		      ((size_t)deltas.page_count + 1) * sizeof(*deltas.page_index)) ||
	    take_part(request, socket, deltas.rows, stack_deltas_row_bytes(deltas.row_count)) ||
	    take_part(request, socket, deltas.rules, deltas.rule_count * sizeof(*deltas.rules)) ||
	    (has_checks && take_part(request, socket, deltas.checks,
				     deltas.page_count * sizeof(*deltas.checks))) ||
	    stack_deltas_check(&deltas))
		return ended_error();
	*result = deltas;
	memset(&deltas, 0, sizeof(deltas));
	return 0;
}

static int receive_rows(struct request *request, int socket)
{
	struct load_result *result = request->result;

	result->lacks_code = request->answer.lacks_code;
	if (request->answer.is_cached)
		return result->deltas.rows ? 0 : ended_error();
	return receive_deltas(request, socket, false, &result->deltas);
}

static int hosts_load(struct elf_home *home, int fd, const struct load_helper *helper,
		      const struct load_limits *limits, struct load_result *result)
{
	struct load_result found = { 0 };
	struct request request = {
		.question = {
			.kind = ELF_QUESTION_LOAD,
			.max_work_bytes = limits->max_work_bytes,
			.max_code_bytes = limits->max_code_bytes,
			.may_search = helper && helper->search,
			.has_cache = helper && helper->load_cached,
			.seed = hash128_content_seed(),
		},
		.path = helper && helper->search && helper->search->path ? helper->search->path : "",
		.fds = { fd },
		.fd_count = 1,
		.helper = helper,
		.cached = &found,
		.receive = receive_rows,
		.result = &found,
	};
	int err = run(home, &request);

	if (err)
		stack_deltas_deinit(&found.deltas);
	else
		*result = found;
	return err;
}

/* The range is the one that was asked for, whatever the answer says. */
static int receive_copy(struct request *request, int socket)
{
	const struct elf_question *question = &request->question;

	/* A row has an address of its own. */
	if (request->answer.text_start != question->code_address ||
	    request->answer.page_count != question->code_bytes / UNWIND_PAGE_BYTES ||
	    request->answer.row_count > question->code_bytes)
		return ended_error();
	return receive_deltas(request, socket, true, request->result);
}

static int hosts_analyse_copy(struct elf_home *home, int fd, uid_t uid, uint64_t address,
			      uint64_t size, struct stack_deltas *deltas)
{
	struct stack_deltas found = { 0 };
	struct request request = {
		.question = {
			.kind = ELF_QUESTION_COPY,
			.code_address = address,
			.code_bytes = size,
			.seed = hash128_content_seed(),
		},
		.path = "a copy of code",
		.fds = { fd },
		.fd_count = 1,
		.receive = receive_copy,
		.result = &found,
	};
	int err = copied_code_is_range(address, size) ?
			  run_for(home, &request, uid) :
			  fail(-EINVAL, "%llu bytes of code at %#llx", (unsigned long long)size,
			       (unsigned long long)address);

	if (err)
		stack_deltas_deinit(&found);
	else
		*deltas = found;
	return err;
}

/* --- runtimes --- */

static int receive_runtime(struct request *request, int socket)
{
	struct elf_runtime *found = request->result;

	return take_part(request, socket, found, sizeof(*found)) ||
			       elf_runtime_check(found, request->question.languages) ?
		       ended_error() :
		       0;
}

static int hosts_probe(struct elf_home *home, int fd, const char *path, uint32_t languages,
		       struct runtime_file **file, bool *copies_stacks)
{
	struct elf_runtime found = { 0 };
	struct request request = {
		.question = { .kind = ELF_QUESTION_PROBE, .languages = languages },
		.path = path,
		.fds = { fd },
		.fd_count = 1,
		.receive = receive_runtime,
		.result = &found,
	};
	int err = run(home, &request);

	*copies_stacks = err != -EAGAIN && err != -ECANCELED && request.answer.copies_stacks;
	return err ? err : elf_runtime_unpack(&found, language_at(found.language), file);
}

/* --- symbols --- */

static int receive_symbols(struct request *request, int socket)
{
	(void)socket;
	return request->answer.symbol_bytes > ELF_SYMBOL_CACHE_MAX_BYTES ? ended_error() : 0;
}

/*
 * Copies the symbols out of the file in memory: who parses may keep that, and change it later, and symbol caches are mapped. Who reads
 * them checks them.
 */
static int take_symbols(int memory, uint64_t bytes, int output)
{
	off_t offset = 0;

	if (lseek(output, 0, SEEK_SET))
		return fail_errno(-errno, "symbol cache");
	while ((uint64_t)offset < bytes) {
		ssize_t copied = sendfile(output, memory, &offset, bytes - (uint64_t)offset);

		if (copied <= 0)
			return fail_errno(copied ? -errno : -EIO, "symbol cache");
	}
	return 0;
}

static int hosts_make_symbols(struct elf_home *home, const struct symbol_cache_maker_files *files,
			      struct hash128 key, uint64_t *cpu_ns)
{
	_cleanup_(close_fd) int memory = -1;
	uint64_t start_ns = clock_monotonic_ns(), wall_ns;
	struct request request = {
		.question = { .kind = ELF_QUESTION_SYMBOLS,
			      .key = key,
			      .seed = hash128_content_seed() },
		.path = files->binary ? files->binary->path : "",
		.receive = receive_symbols,
	};
	int err = sealed_file_create("symbols", &memory);

	if (err)
		return err;
	request.fds[request.fd_count++] = files->elf;
	request.fds[request.fd_count++] = memory;
	if (files->debug >= 0)
		request.fds[request.fd_count++] = files->debug;
	err = run(home, &request);
	/* It may say less than it took, but not more than there was. */
	wall_ns = clock_monotonic_ns() - start_ns;
	*cpu_ns += err || request.answer.cpu_ns > wall_ns ? wall_ns : request.answer.cpu_ns;
	if (!err)
		err = take_symbols(memory, request.answer.symbol_bytes, files->output);
	/* Whoever keeps it keeps no memory. */
	sealed_file_drop(memory);
	return err;
}

/* --- all --- */

static void hosts_hurry(struct elf_home *home)
{
	struct elf_hosts *hosts = (struct elf_hosts *)home;
	struct pooled_host *pooled;
	struct elf_host *host;

	if (host_pool_get(&hosts->pool, 0, false, &pooled))
		return;
	host = (struct elf_host *)pooled;
	for (int i = ELF_FIRST_PATIENT; i < ELF_CHANNEL_COUNT; i++)
		if (__atomic_load_n(&host->is_busy[i], __ATOMIC_ACQUIRE))
			set_nice(host, i, 0);
	pooled_host_unref(pooled);
}

static void hosts_stop(struct elf_home *home)
{
	__atomic_store_n(&((struct elf_hosts *)home)->is_stopped, true, __ATOMIC_RELEASE);
}

static void hosts_stop_symbols(struct elf_home *home)
{
	host_pool_stop(&((struct elf_hosts *)home)->pool);
}

int elf_hosts_create(const struct elf_hosts_options *options, struct elf_hosts **hosts)
{
	static const struct elf_home_ops ops = {
		.identify = hosts_identify,
		.load = hosts_load,
		.probe = hosts_probe,
		.analyse_copy = hosts_analyse_copy,
		.make_symbols = hosts_make_symbols,
		.hurry = hosts_hurry,
		.stop = hosts_stop,
		.stop_symbols = hosts_stop_symbols,
	};
	const struct host_pool_options pool_options = {
		.kind = &elf_host_kind,
		.program = options->program,
		.is_common = true,
		.lost_of_user_max = LOST_OF_USER_MAX,
		.host_bytes = sizeof(struct elf_host),
		.init = host_init,
		.deinit = host_deinit,
	};
	struct elf_hosts *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for who parses executables");
	created->home.ops = &ops;
	err = host_pool_init(&created->pool, &pool_options);
	if (err) {
		free(created);
		return err;
	}
	pthread_mutex_init(&created->again, NULL);
	host_pool_prepare(&created->pool, 0);
	*hosts = created;
	return 0;
}

void elf_hosts_destroy(struct elf_hosts *hosts)
{
	if (!hosts)
		return;
	host_pool_deinit(&hosts->pool);
	pthread_mutex_destroy(&hosts->again);
	free(hosts);
}

struct elf_home *elf_hosts_home(struct elf_hosts *hosts)
{
	return &hosts->home;
}
