/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers come from a program of ours that has read hostile files, so nothing in them is trusted. While it parses, it
 * may ask for debug files, which are opened here: only ELF files below the roots of the search.
 */
#include "agent/runtimes/elf_hosts.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "agent/runtimes/elf_protocol.h"
#include "agent/runtimes/host_pool.h"
#include "interpreters/registry.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/model/metrics.h"
#include "stackdeltas/delta_builder.h"

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
#define HURRIED_NS (NS_PER_SECOND / 2)

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
	int fd;
	bool is_urgent;
	/* ELF_QUESTION_LOAD; NULL: none. */
	const struct load_helper *helper;
	/* Rows that were found by the last key. */
	struct load_result *cached;
	struct elf_answer answer;
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
				  request->answer.text, request->fd, &opened) ||
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
	return message_send(socket, packet, sizeof(request->question) + path_bytes, &request->fd,
			    1) ?
		       ended_error() :
		       0;
}

static int wait_for_answer(struct elf_hosts *hosts, const struct elf_host *host, int channel,
			   struct request *request)
{
	const struct host_patience patience = {
		.max_ns = request->is_urgent ? HANG_NS : ANSWER_MAX_NS,
		.hang_ns = request->is_urgent ? URGENT_HANG_NS : HANG_NS,
		.is_hurried = &hosts->pool.is_stopped,
		.hurried_ns = HURRIED_NS,
	};
	struct elf_answer *answer = &request->answer;
	ssize_t size;
	int err = host_process_wait(&host->pooled.process, channel, &patience, NULL);

	if (err)
		return err;
	size = message_receive(host->pooled.process.channels[channel].socket, answer,
			       sizeof(*answer), NULL);
	if (size <= (ssize_t)offsetof(struct elf_answer, text) || ((char *)answer)[size - 1])
		return ended_error();
	return 0;
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

/* Locks a channel: the urgent one, or one that is free. */
static int take_channel(struct elf_host *host, bool is_urgent)
{
	for (int i = ELF_FIRST_PATIENT; !is_urgent && i < ELF_CHANNEL_COUNT; i++)
		if (!pthread_mutex_trylock(&host->pooled.asking[i]))
			return i;
	pthread_mutex_lock(&host->pooled.asking[is_urgent ? ELF_URGENT : ELF_FIRST_PATIENT]);
	return is_urgent ? ELF_URGENT : ELF_FIRST_PATIENT;
}

/* Gives the other side the nice value @nice. With a lock, or to hurry. */
static void set_nice(struct elf_host *host, int channel, int nice)
{
	int32_t tid = host->pooled.process.channels[channel].tid;

	if (__atomic_exchange_n(&host->nices[channel], nice, __ATOMIC_RELAXED) != nice && tid > 0)
		setpriority(PRIO_PROCESS, tid, nice);
}

static int ask(struct elf_hosts *hosts, struct elf_host *host, struct request *request, uid_t uid)
{
	int channel = take_channel(host, request->is_urgent), err;

	if (channel != ELF_URGENT)
		set_nice(host, channel, getpriority(PRIO_PROCESS, 0));
	__atomic_store_n(&host->uids[channel], uid, __ATOMIC_RELAXED);
	__atomic_store_n(&host->is_busy[channel], true, __ATOMIC_RELEASE);
	err = ask_host(hosts, host, channel, request);
	if (err == -EHOSTDOWN || err == -ECANCELED)
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

static int run(struct elf_home *home, struct request *request)
{
	struct elf_hosts *hosts = (struct elf_hosts *)home;
	uid_t uid = owner_of(request->fd);
	int err = ask_once(hosts, request, uid);

	return err == -EHOSTDOWN ? ask_again(hosts, request, uid) : err;
}

/* --- identities --- */

/* The keys are texts of the languages' own, which are not freed. */
static const char *fact_key(const char *key)
{
	static const char *const keys[] = {
		"process.executable.build_id.go", "process.runtime.name",
		"process.runtime.version",	  "allframes.go.module.path",
		"allframes.go.module.version",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(keys[i], key))
			return keys[i];
	return NULL;
}

static void unpack_facts(struct elf_identity *identity, struct program_facts *facts)
{
	*facts = (struct program_facts){ .languages = identity->languages };
	for (uint32_t i = 0; i < identity->fact_count; i++) {
		struct elf_fact *packed = &identity->facts[i];
		const char *key;

		packed->key[sizeof(packed->key) - 1] = '\0';
		packed->text[sizeof(packed->text) - 1] = '\0';
		key = fact_key(packed->key);
		if (key)
			program_facts_add(facts, key, packed->text, packed->is_of_binary);
	}
}

static bool is_sound(const struct elf_identity *identity, ssize_t size)
{
	if (size < (ssize_t)offsetof(struct elf_identity, segments) ||
	    identity->segment_count > ELF_MAX_SEGMENTS ||
	    size != (ssize_t)(offsetof(struct elf_identity, segments) +
			      identity->segment_count * sizeof(identity->segments[0])) ||
	    identity->build_id_bytes > BUILD_ID_MAX_BYTES ||
	    identity->fact_count > PROGRAM_FACTS_MAX ||
	    (identity->machine != EM_X86_64 && identity->machine != EM_AARCH64))
		return false;
	for (uint32_t i = 0; i < identity->segment_count; i++) {
		const struct elf_segment *segment = &identity->segments[i];

		if (segment->offset + segment->file_bytes < segment->offset ||
		    segment->address + segment->memory_bytes < segment->address)
			return false;
	}
	return true;
}

static int receive_identity(struct request *request, int socket)
{
	struct elf_identity *identity = request->result;

	return is_sound(identity, message_receive(socket, identity, sizeof(*identity), NULL)) ?
		       0 :
		       ended_error();
}

static int hosts_identify(struct elf_home *home, int fd, struct binary *binary,
			  struct program_facts *facts, struct elf_image *segments)
{
	struct elf_identity identity = { 0 };
	struct request request = {
		.question = { .kind = ELF_QUESTION_IDENTIFY },
		.path = "",
		.fd = fd,
		.is_urgent = true,
		.receive = receive_identity,
		.result = &identity,
	};
	struct elf_segment *copy;
	int err = run(home, &request);

	if (err)
		return err;
	copy = calloc(identity.segment_count + 1, sizeof(*copy));
	if (!copy)
		return fail(-ENOMEM, "no memory for the segments of a file");
	memcpy(copy, identity.segments, identity.segment_count * sizeof(*copy));
	*segments = (struct elf_image){
		.fd = -1,
		.machine = (uint16_t)identity.machine,
		.size = identity.size,
		.segments = copy,
		.segment_count = identity.segment_count,
	};
	*binary = (struct binary){
		.fd = -1,
		.file_id = identity.file_id,
		.build_id_bytes = identity.build_id_bytes,
		.memory_start = identity.memory_start,
		.memory_limit = identity.memory_limit,
		.file_offset = identity.file_offset,
	};
	memcpy(binary->build_id, identity.build_id, sizeof(binary->build_id));
	if (identity.has_facts) {
		unpack_facts(&identity, facts);
		binary->facts = facts;
	}
	return 0;
}

/* --- rows --- */

static int receive_array(int socket, void *array, size_t bytes)
{
	return !array ? fail(-ENOMEM, "no memory for the rows of a file") :
			message_receive_all(socket, array, bytes);
}

/* All that was announced is read, or else the process is of no use any more. */
static int receive_rows(struct request *request, int socket)
{
	_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };
	const struct elf_answer *answer = &request->answer;
	struct load_result *result = request->result;
	size_t page_bytes, row_bytes, rule_bytes;

	result->lacks_code = answer->lacks_code;
	if (answer->is_cached)
		return result->deltas.rows ? 0 : ended_error();
	if (!answer->page_count || answer->page_count > UNWIND_MAX_PAGES || !answer->row_count ||
	    answer->row_count > DELTA_BUILDER_MAX_ROWS || !answer->rule_count ||
	    answer->rule_count > UNWIND_MAX_RULES)
		return ended_error();
	deltas.text_start = answer->text_start;
	deltas.page_count = answer->page_count;
	deltas.row_count = answer->row_count;
	deltas.rule_count = answer->rule_count;
	page_bytes = ((size_t)deltas.page_count + 1) * sizeof(*deltas.page_index);
	row_bytes = stack_deltas_row_bytes(deltas.row_count);
	rule_bytes = deltas.rule_count * sizeof(*deltas.rules);
	deltas.page_index = malloc(page_bytes);
	deltas.rows = malloc(row_bytes);
	deltas.rules = malloc(rule_bytes);
	if (receive_array(socket, deltas.page_index, page_bytes) ||
	    receive_array(socket, deltas.rows, row_bytes) ||
	    receive_array(socket, deltas.rules, rule_bytes) || stack_deltas_check(&deltas))
		return ended_error();
	result->deltas = deltas;
	memset(&deltas, 0, sizeof(deltas));
	return 0;
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
		.fd = fd,
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

/* --- runtimes --- */

static bool is_sound_runtime(const struct elf_runtime *found, uint32_t languages)
{
	uint64_t last = 0;

	if (found->language >= LANGUAGE_COUNT || !(languages & 1U << found->language) ||
	    found->range_count > LOOP_RANGES_MAX || found->data_bytes > sizeof(found->data) ||
	    found->data_bytes % CELL_BYTES || (found->attaches_at_once && !found->data_bytes) ||
	    !memchr(found->version, '\0', sizeof(found->version)))
		return false;
	for (uint32_t i = 0; i < found->range_count; i++) {
		if (found->ranges[i].start < last || found->ranges[i].end < found->ranges[i].start)
			return false;
		last = found->ranges[i].end;
	}
	return true;
}

static int receive_runtime(struct request *request, int socket)
{
	struct elf_runtime *found = request->result;

	return message_receive_all(socket, found, sizeof(*found)) ||
			       !is_sound_runtime(found, request->question.languages) ?
		       ended_error() :
		       0;
}

/* A copy, with the data behind it. NULL without memory. */
static struct runtime_file *unpack_runtime(const struct elf_runtime *found)
{
	struct runtime_file *file = calloc(1, sizeof(*file) + CELL_BYTES + found->data_bytes);
	char *data = (char *)file + (sizeof(*file) + CELL_BYTES - 1) / CELL_BYTES * CELL_BYTES;

	if (!file)
		return NULL;
	*file = (struct runtime_file){
		.language = language_at(found->language),
		.range_count = found->range_count,
		.steps_without_rules = found->steps_without_rules,
		.attaches_at_once = found->attaches_at_once,
		.with_signatures = found->with_signatures,
		.is_copy = true,
		.data_bytes = found->data_bytes,
		.data = data,
	};
	memcpy(file->version, found->version, sizeof(file->version));
	memcpy(file->ranges, found->ranges, sizeof(file->ranges));
	memcpy(data, found->data, found->data_bytes);
	return file;
}

static int hosts_probe(struct elf_home *home, int fd, const char *path, uint32_t languages,
		       struct runtime_file **file, bool *copies_stacks)
{
	struct elf_runtime found;
	struct request request = {
		.question = { .kind = ELF_QUESTION_PROBE, .languages = languages },
		.path = path,
		.fd = fd,
		.receive = receive_runtime,
		.result = &found,
	};
	int err = run(home, &request);

	*copies_stacks = err != -EAGAIN && err != -ECANCELED && request.answer.copies_stacks;
	if (err)
		return err;
	*file = unpack_runtime(&found);
	return *file ? 0 : fail(-ENOMEM, "no memory for a runtime");
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
	host_pool_stop(&((struct elf_hosts *)home)->pool);
}

int elf_hosts_create(const struct elf_hosts_options *options, struct elf_hosts **hosts)
{
	static const struct elf_home_ops ops = {
		.identify = hosts_identify,
		.load = hosts_load,
		.probe = hosts_probe,
		.hurry = hosts_hurry,
		.stop = hosts_stop,
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
