/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build/replay_history [HISTORY_MIB [CPUS SECONDS STACKS]]
 *
 * Fills the page's history as a machine of 64 busy CPUs does in half an hour at 19 Hz: 2.2 million samples with 200,000 distinct
 * stacks of 30 frames in 40 processes. A call graph of 4,000 functions is walked by a fixed seed, and most samples are of few stacks.
 * Then it asks what a page asks, and prints the CPU time of each answer and the memory, as "NAME NUMBER" lines
 * (integration/viewer_replay_test.py). A machine of another size goes on: each second new samples come, as many old ones expire,
 * and an open page asks again for all that it shows ("refresh").
 *
 * Exit status: 0, 1 for what failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "viewer/api.h"
#include "viewer/http_server.h"
#include "viewer/listen_address.h"

enum {
	HZ = 19,
	DEPTH = 30,
	FUNCTIONS = 4000,
	FUNCTION_BYTES = 256,
	/* Callees of a function; the first is called half of the time. */
	WAYS_ON = 8,
	BINARIES = 16,
	PROCESSES = 40,
	PARAMETERS_MAX = 8,
	MEBIBYTE = 1 << 20,
	/* Answers of each kind, of which the slowest counts. */
	TURNS = 5,
	REFRESHES = 60,
};

/* The machine. */
static uint32_t cpus = 64, seconds = 1800, stacks = 200000;

static uint32_t sample_count(void)
{
	return cpus * HZ * seconds;
}

static void check(int error, const char *action)
{
	if (!error)
		return;
	fprintf(stderr, "replay_history: %s: %s (%d)\n", action, error_text(), error);
	exit(1);
}

/* --- samples --- */

/* xorshift64* */
static uint64_t random_number(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15ULL;

	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dULL;
}

static uint32_t resolve(struct symbol_lookup *lookup, struct binary *binary, uint64_t address,
			struct symbol *symbols, uint32_t capacity)
{
	static char name[64];

	(void)lookup;
	(void)binary;
	(void)capacity;
	snprintf(name, sizeof(name), "name_space::function_%lu(int, char)",
		 (unsigned long)(address / FUNCTION_BYTES));
	symbols[0] = (struct symbol){ .function = name };
	return 1;
}

static struct trace *make_trace(struct binary *const *binaries, uint32_t process)
{
	struct frame frames[DEPTH] = { 0 };
	uint32_t function = process;

	for (uint32_t i = 0; i < DEPTH; i++) {
		uint32_t way = 0;

		while (way < WAYS_ON - 1 && random_number() >> 63)
			way++;
		frames[DEPTH - 1 - i] = (struct frame){
			.kind = FRAME_NATIVE,
			.flags = i < DEPTH - 1 ? FRAME_RETURN_ADDRESS : 0,
			.address = (uint64_t)function * FUNCTION_BYTES + 16 * (way + 1),
			.binary = binaries[function * BINARIES / FUNCTIONS],
		};
		function = (function * 31 + way + 1) % FUNCTIONS;
	}
	return trace_create(frames, DEPTH, true, false);
}

struct replay {
	struct history *history;
	struct binary *binaries[BINARIES];
	struct process_info *processes[PROCESSES];
	char comms[PROCESSES][16];
	/* Distinct, each with a reference as long as it is reported. */
	struct trace **traces;
	struct hash_map seen;
};

/* A trace that was not there yet. */
static struct trace *make_new_trace(struct replay *replay, uint32_t process)
{
	uint64_t found;

	for (;;) {
		struct trace *trace = make_trace(replay->binaries, process);

		if (!trace)
			check(-1, "no memory for a trace");
		if (!hash_map_find_bytes(&replay->seen, &trace->hash, sizeof(trace->hash),
					 &found)) {
			check(hash_map_set_bytes(&replay->seen, &trace->hash, sizeof(trace->hash),
						 1),
			      "hash map");
			return trace;
		}
		trace_unref(trace);
	}
}

static void make_traces(struct replay *replay)
{
	replay->traces = calloc(stacks, sizeof(struct trace *));
	for (uint32_t i = 0; i < stacks; i++)
		replay->traces[i] = make_new_trace(replay, i % PROCESSES);
}

/* Each stack once, evenly over the time; of the others most samples. */
static uint32_t pick_stack(uint32_t sample)
{
	uint64_t few = random_number() % stacks, fewer = random_number() % stacks;
	uint32_t each = sample_count() / stacks;

	if (sample % each == 0)
		return sample / each % stacks;
	return (uint32_t)(few * fewer / stacks * (random_number() % stacks) / stacks);
}

/* Samples from number @from until before @to. After the first half hour each stack comes new where it came first. */
static void report_samples(struct replay *replay, uint32_t from, uint32_t to)
{
	struct reporter *reporter = history_reporter(replay->history);
	uint32_t each = sample_count() / stacks;

	for (uint32_t i = from; i < to; i++) {
		uint32_t stack = pick_stack(i), process = stack % PROCESSES;
		const struct sample_event event = {
			.sample.trace = replay->traces[stack],
			.time_ns = NS_PER_SECOND + (uint64_t)(i / cpus) * (NS_PER_SECOND / HZ) +
				   i % cpus * 1000,
			.sample.pid = 1000 + process,
			.sample.tid = 1000 + process,
			.sample.cpu = i % cpus,
			.sample.process_comm = replay->comms[process],
			.sample.thread_comm = replay->comms[process],
			.sample.process = replay->processes[process],
			.was_known = true,
		};

		reporter->ops->report(reporter, &event);
		if (i < sample_count() || i % each)
			continue;
		trace_unref(replay->traces[stack]);
		replay->traces[stack] = make_new_trace(replay, process);
	}
}

static void replay_init(struct replay *replay, size_t max_bytes)
{
	const struct history_options options = { .retention_ns = (uint64_t)seconds * NS_PER_SECOND,
						 .max_bytes = max_bytes,
						 .time_unit_ns = 1000 };

	replay->history = history_create(&options);
	if (!replay->history)
		check(-1, "no history");
	for (uint32_t i = 0; i < BINARIES; i++)
		replay->binaries[i] = binary_create(&(struct binary){
			.fd = -1,
			.executable_id = EXECUTABLE_ID_FIRST + i,
			.file_id.bytes[0] = (uint8_t)(i + 1),
			.path = "/usr/lib/x86_64-linux-gnu/libsomething.so.1",
		});
	for (uint32_t i = 0; i < PROCESSES; i++) {
		snprintf(replay->comms[i], sizeof(replay->comms[i]), "program%u", i);
		replay->processes[i] = process_info_create(&(struct process_info){
			.pid = 1000 + i, .executable_path = "/opt/prog", .container_id = "" });
	}
	make_traces(replay);
}

/* From here on only the history has the stacks. */
static void release_traces(struct replay *replay)
{
	for (uint32_t i = 0; replay->traces && i < stacks; i++)
		trace_unref(replay->traces[i]);
	free(replay->traces);
	replay->traces = NULL;
	hash_map_deinit(&replay->seen);
}

static void replay_deinit(struct replay *replay)
{
	history_destroy(replay->history);
	release_traces(replay);
	for (uint32_t i = 0; i < PROCESSES; i++)
		process_info_unref(replay->processes[i]);
	for (uint32_t i = 0; i < BINARIES; i++)
		binary_unref(replay->binaries[i]);
}

/* --- questions --- */

/* Milliseconds for the answer to "path?name=value&...", which is returned. */
static double ask(struct api *api, const char *question, struct api_answer *answer)
{
	struct api_parameter parameters[PARAMETERS_MAX];
	char text[4096], *rest = text, *pair;
	struct api_request request = { .parameters = parameters };
	uint64_t start;

	snprintf(text, sizeof(text), "%s", question);
	request.path = strsep(&rest, "?");
	while (rest && request.parameter_count < PARAMETERS_MAX && (pair = strsep(&rest, "&"))) {
		parameters[request.parameter_count].name = strsep(&pair, "=");
		parameters[request.parameter_count++].value = pair;
	}
	start = clock_thread_cpu_ns();
	api_answer(api, &request, answer);
	if (answer->status != 200)
		check(-1, answer->body ? answer->body : question);
	return (double)(clock_thread_cpu_ns() - start) / 1e6;
}

/* The slowest of some answers. */
static void measure(struct api *api, const char *name, const char *question, int turns)
{
	double slowest = 0;

	for (int i = 0; i < turns; i++) {
		struct api_answer answer;
		double ms = ask(api, question, &answer);

		slowest = ms > slowest ? ms : slowest;
		free(answer.body);
	}
	printf("%s_ms %.1f\n", name, slowest);
}

/* Ids of functions from below the root inwards, as far as @steps, along the first of their callees. */
static void make_zoom(struct api *api, int steps, char *question, size_t bytes)
{
	struct api_answer answer;
	const char *ids;
	size_t length = (size_t)snprintf(question, bytes, "flame?max_nodes=10000&zoom=");

	ask(api, "flame?max_nodes=100", &answer);
	ids = strstr(answer.body, "\"ids\"");
	ids = ids ? strchr(ids, '[') : NULL;
	for (int i = 0; ids && i < steps; i++) {
		const char *end;

		ids = strchr(ids, '"');
		end = ids ? strchr(ids + 1, '"') : NULL;
		if (!end)
			break;
		length += (size_t)snprintf(question + length, bytes - length, "%s%.*s",
					   i ? "." : "", (int)(end - ids - 1), ids + 1);
		ids = end + 1;
	}
	free(answer.body);
}

static int compare_ms(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

/* --- an open page --- */

/* The questions of each round (viewer/page/src/rounds.js). */
static const char *const round_questions[] = {
	"status",
	"flame?max_nodes=10000&root=process",
	"timeline?buckets=480",
	"heatmap?rows=19&columns=1120",
	"facets",
};

enum { ROUND_QUESTIONS = sizeof(round_questions) / sizeof(round_questions[0]) };

static void answer_page(void *context, const struct api_request *request, struct api_answer *answer)
{
	api_answer(context, request, answer);
}

static struct http_server *serve(struct api *api, struct listen_address *address)
{
	struct http_server_options options = {
		.site = { .name = "viewer",
			  .prefix = "/api/",
			  .answer = answer_page,
			  .context = api },
	};
	struct http_server *server;

	options.fd = listen_address_open_option("-viewer", "127.0.0.1:0", false, address);
	options.port = listen_address_port(address);
	check(options.fd < 0 ? options.fd : 0, "cannot listen");
	check(http_server_start(&options, &server), "cannot serve");
	return server;
}

/* Asks the server as a browser does, and returns the milliseconds of CPU time that it says it has taken since its start. */
static double ask_server(const struct listen_address *address, const char *question)
{
	static const char header[] = "X-Allframes-CPU-us: ";
	static char text[MEBIBYTE];
	_cleanup_(close_fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char host[LISTEN_ADDRESS_TEXT_BYTES];
	ssize_t length, count;
	const char *found;

	listen_address_text(address, host);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address->socket, address->bytes))
		check(-1, "cannot connect");
	length = snprintf(text, sizeof(text),
			  "GET /api/%s HTTP/1.1\r\nHost: %s\r\nAccept-Encoding: gzip\r\n"
			  "Connection: close\r\n\r\n",
			  question, host);
	if (write(fd, text, (size_t)length) != length)
		check(-1, "cannot ask");
	for (length = 0; length < (ssize_t)sizeof(text) - 1; length += count) {
		count = read(fd, text + length, sizeof(text) - 1 - (size_t)length);
		if (count <= 0)
			break;
	}
	text[length] = '\0';
	found = strstr(text, header);
	if (strncmp(text, "HTTP/1.1 200", 12) || !found)
		check(-1, text);
	return (double)strtoull(found + strlen(header), NULL, 10) / 1000;
}

/*
 * The median and the slowest round, and the mean of each of its questions, which includes that the one before was compressed and
 * sent.
 */
static void refresh(struct replay *replay, struct api *api)
{
	double rounds[REFRESHES] = { 0 }, parts[ROUND_QUESTIONS] = { 0 };
	struct listen_address address = { 0 };
	struct http_server *server = serve(api, &address);

	for (uint32_t i = 0; i < REFRESHES; i++) {
		uint32_t first = sample_count() + i * cpus * HZ;
		double start_ms = ask_server(&address, "status"), before_ms = start_ms;

		report_samples(replay, first, first + cpus * HZ);
		for (uint32_t q = 0; q < ROUND_QUESTIONS; q++) {
			double ms = ask_server(&address, round_questions[q]);

			parts[q] += (ms - before_ms) / REFRESHES;
			before_ms = ms;
		}
		rounds[i] = before_ms - start_ms;
	}
	http_server_stop(server);
	for (uint32_t q = 0; q < ROUND_QUESTIONS; q++)
		printf("refresh_%.*s_ms %.1f\n", (int)strcspn(round_questions[q], "?"),
		       round_questions[q], parts[q]);
	qsort(rounds, REFRESHES, sizeof(rounds[0]), compare_ms);
	printf("refresh_ms %.1f\nrefresh_slowest_ms %.1f\n", rounds[REFRESHES / 2],
	       rounds[REFRESHES - 1]);
}

/* --- all of it --- */

static uint64_t anonymous_kib(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	uint64_t kib = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "RssAnon: %lu", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib;
}

static void ask_all(struct replay *replay)
{
	static const struct symbol_lookup_ops ops = { .resolve = resolve };
	struct symbol_lookup lookup = { .ops = &ops };
	const struct api_config config = {
		.history = replay->history,
		.lookup = &lookup,
		.version = "v1",
		.host = "box",
		.kernel = "6.1",
		.source = "this machine",
		.samples_per_second = HZ,
		.cpu_count = cpus,
		.epoch_monotonic_ns = NS_PER_SECOND,
	};
	char zoom[4096];
	struct api *api;

	check(api_create(&config, &api), "no api");
	measure(api, "first_graph", "flame?max_nodes=10000", 1);
	make_zoom(api, 2, zoom, sizeof(zoom));
	measure(api, "graph", "flame?max_nodes=10000", TURNS);
	measure(api, "zoom", zoom, TURNS);
	measure(api, "search", "search?text=function_12", TURNS);
	measure(api, "search_expression", "search?text=/function_[0-9]+7\\(/", TURNS);
	measure(api, "functions", "top?limit=500", TURNS);
	measure(api, "by_binary", "flame?max_nodes=10000&frames=binary", TURNS);
	measure(api, "recursion", "flame?max_nodes=10000&fold=recursion", TURNS);
	printf("rss_anon_mib %.1f\n", (double)anonymous_kib() / 1024);
	if (replay->traces)
		refresh(replay, api);
	api_destroy(api);
}

int main(int argc, char **argv)
{
	size_t mebibytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	struct replay replay = { 0 };
	struct history_facts facts;
	uint64_t start_ns;

	if (argc > 4) {
		cpus = (uint32_t)strtoul(argv[2], NULL, 10);
		seconds = (uint32_t)strtoul(argv[3], NULL, 10);
		stacks = (uint32_t)strtoul(argv[4], NULL, 10);
	}
	if (!cpus || !seconds || !stacks || stacks > sample_count())
		check(-1, "there is no such machine");
	replay_init(&replay, mebibytes * MEBIBYTE);
	start_ns = clock_thread_cpu_ns();
	report_samples(&replay, 0, sample_count());
	printf("add_us %.2f\n", (double)(clock_thread_cpu_ns() - start_ns) / 1000 / sample_count());
	if (argc <= 4)
		release_traces(&replay);
	history_facts(replay.history, &facts);
	printf("samples %lu\nkept %lu\nhistory_mib %.1f\n", (unsigned long)sample_count(),
	       (unsigned long)facts.samples, (double)facts.bytes / MEBIBYTE);
	ask_all(&replay);
	replay_deinit(&replay);
	return 0;
}
