/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build/collector: takes OTLP profiles over gRPC, checks them by the rules of rules.h, reports the
 * received requests, and answers according to a schedule. It can also read requests from files and
 * process them in the same way.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "integration/collector/gunzip.h"
#include "integration/collector/print.h"
#include "integration/collector/received.h"
#include "integration/collector/server.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

enum {
	STEP_MS = 10,
	FILE_MAX_BYTES = 1 << 30,
	EXIT_BROKEN_RULES = 3,
};

static const char help[] =
	"usage: collector [OPTION...]\n"
	"       collector [OPTION...] FILE...\n"
	"\n"
	"Takes OTLP profiles and metrics over gRPC, or reads profiles from files that hold one request each\n"
	"(-output x.otlp of the agent, or -save), checks them by every rule that some receiver\n"
	"insists on, and shows what came. Options take one dash or two.\n"
	"\n"
	"  -listen ADDRESS:PORT   default 127.0.0.1:4317; port 0 takes a free one. The first line\n"
	"                         on standard output says which\n"
	"  -tls-cert FILE -tls-key FILE   speak TLS; PEM\n"
	"  -client-ca FILE        clients must have a certificate of this authority\n"
	"  -print                 what came, request by request, on standard output\n"
	"  -folded FILE           folded stacks, root first; samples of a repeated profile count\n"
	"                         once. Written at the end and on SIGUSR1\n"
	"  -report FILE           counts, broken rules and attributes as JSON; likewise\n"
	"  -save DIRECTORY        keep every request there, decompressed; made if it is missing\n"
	"  -names FILE            name native frames as in this request\n"
	"  -answers SCHEDULE      how to answer, default ok: a list, parted by commas, of\n"
	"                         ok, late=2s, status=N[:TEXT], retry-info=D[:N],\n"
	"                         partial=N[:TEXT], hang, reset, garbage, each with *TIMES behind\n"
	"                         it; or random:SEED:PERCENT for faults in some of them\n"
	"  -metrics-answers SCHEDULE   how to answer metrics; likewise, default ok\n"
	"  -rules                 print the rules and end\n"
	"  -help                  this text\n"
	"\n"
	"Ends on SIGINT or SIGTERM. Exit status: 0, or 3 if a rule was broken; 1 if something\n"
	"failed, 2 for a wrong option.\n";

struct options {
	struct server_options server;
	const char *certificate_path;
	const char *key_path;
	const char *client_ca_path;
	const char *folded_path;
	const char *report_path;
	const char *save_path;
	const char *names_path;
	const char *answers;
	const char *metrics_answers;
	bool prints;
};

struct collector {
	struct options options;
	struct received received;
	struct answers answers;
	struct answers metrics_answers;
	struct location_names names;
	uint64_t saved;
	int err;
};

static volatile sig_atomic_t stop_asked;
static volatile sig_atomic_t write_asked;

static void handle_signal(int number)
{
	if (number == SIGUSR1)
		write_asked = 1;
	else
		stop_asked = 1;
}

/* --- files --- */

/* Reads the whole file, and adds a NUL. */
static int read_file(const char *path, char **content, size_t *size)
{
	_cleanup_(close_file) FILE *file = fopen(path, "re");
	_cleanup_(free_pointer) char *bytes = NULL;
	struct stat status;

	if (!file || fstat(fileno(file), &status))
		return fail_errno(-errno, "%s", path);
	if (status.st_size > FILE_MAX_BYTES)
		return fail(-E2BIG, "%s is larger than %d bytes", path, FILE_MAX_BYTES);
	bytes = malloc(status.st_size + 1);
	if (!bytes)
		return fail(-ENOMEM, "no memory for %s", path);
	*size = fread(bytes, 1, status.st_size, file);
	if (ferror(file))
		return fail(-EIO, "cannot read %s", path);
	bytes[*size] = '\0';
	*content = take_pointer(bytes);
	return 0;
}

/* Writes a temporary file beside @path and renames it, so that nobody reads an incomplete file. */
static int write_file(const char *path, void (*write)(struct collector *, FILE *),
		      struct collector *collector)
{
	_cleanup_(free_pointer) char *temporary = NULL;
	FILE *file;
	int err;

	if (asprintf(&temporary, "%s.tmp", path) < 0)
		return fail(-ENOMEM, "no memory for a path");
	file = fopen(temporary, "we");
	if (!file)
		return fail_errno(-errno, "%s", temporary);
	write(collector, file);
	err = ferror(file) ? -EIO : 0;
	if (fclose(file) || err || rename(temporary, path))
		return fail(-EIO, "cannot write %s", path);
	return 0;
}

static void write_folded(struct collector *collector, FILE *out)
{
	folded_stacks_write(&collector->received.folded, out);
}

static void write_report(struct collector *collector, FILE *out)
{
	received_write_report(&collector->received, out);
}

static int write_files(struct collector *collector)
{
	const struct options *options = &collector->options;
	int err = 0;

	if (options->folded_path)
		err = write_file(options->folded_path, write_folded, collector);
	if (options->report_path && !err)
		err = write_file(options->report_path, write_report, collector);
	return err;
}

static int save_request(struct collector *collector, struct span bytes)
{
	_cleanup_(free_pointer) char *path = NULL;
	FILE *file;
	size_t written;

	if (asprintf(&path, "%s/%06" PRIu64 ".otlp", collector->options.save_path,
		     ++collector->saved) < 0)
		return fail(-ENOMEM, "no memory for a path");
	file = fopen(path, "we");
	if (!file)
		return fail_errno(-errno, "%s", path);
	written = bytes.bytes ? fwrite(bytes.bytes, 1, bytes.count, file) : 0;
	if (fclose(file) || written != bytes.count)
		return fail(-EIO, "cannot write %s", path);
	return 0;
}

/* --- requests --- */

static void take_incoming(struct collector *collector, const struct incoming *incoming,
			  const char *source)
{
	struct findings findings = { 0 };
	struct request_entry entry;
	int err = received_add(&collector->received, incoming, &findings, &entry);

	if (!err && collector->options.save_path && incoming->is_readable && !incoming->is_metrics)
		err = save_request(collector, incoming->bytes);
	if (err && !collector->err)
		collector->err = err == -ENOMEM ? fail(err, "no memory for a request") : err;
	if (collector->options.prints)
		print_request(stdout, source, incoming, &entry, &findings);
}

static struct answer take_message(void *context, const struct server_message *message)
{
	_cleanup_(free_pointer) uint8_t *unpacked = NULL;
	struct collector *collector = context;
	struct incoming incoming = {
		.wire_bytes = message->bytes.count,
		.is_gzip = message->is_gzip,
		.time_ns = clock_realtime_ns(),
		.is_metrics = message->is_metrics,
	};
	int err = 0;

	incoming.answer = answers_next(message->is_metrics ? &collector->metrics_answers :
							     &collector->answers);
	if (message->is_gzip) {
		err = gunzip(message->bytes, RECEIVE_MAX_BYTES, &unpacked, &incoming.raw_bytes);
		incoming.bytes = (struct span){ unpacked, err ? 0 : incoming.raw_bytes };
	} else {
		incoming.raw_bytes = message->bytes.count;
		incoming.bytes = message->bytes;
		if (incoming.raw_bytes > RECEIVE_MAX_BYTES)
			err = -E2BIG;
	}
	incoming.is_readable = !err;
	/* A real collector answers like this too, whatever the schedule says. */
	if (err) {
		incoming.bytes = (struct span){ NULL, 0 };
		incoming.answer =
			(struct answer){ .kind = ANSWER_STATUS, .number = err == -E2BIG ? 8 : 13 };
		snprintf(incoming.answer.text, sizeof(incoming.answer.text), "%s",
			 err == -E2BIG ? "received message larger than max" :
					 "cannot decompress the message");
	}
	take_incoming(collector, &incoming, message->peer);
	return incoming.answer;
}

static void take_header(void *context, struct span key, struct span value)
{
	struct collector *collector = context;

	if (received_add_header(&collector->received, key, value) && !collector->err)
		collector->err = fail(-ENOMEM, "no memory for a header");
}

static void take_method(void *context, struct span method)
{
	struct collector *collector = context;

	if (!span_is(method, EXPORT_METHOD) && !span_is(method, METRICS_METHOD))
		findings_add(&collector->received.findings, RULE_METHOD, "%.*s", (int)method.count,
			     (const char *)method.bytes);
}

/* --- the two ways to run --- */

static int read_pem(const char *path, const char **content)
{
	char *text;
	size_t size;
	int err;

	if (!path)
		return 0;
	err = read_file(path, &text, &size);
	if (!err)
		*content = text;
	return err;
}

static int serve(struct collector *collector)
{
	struct server_handler handler = {
		.method = take_method,
		.header = take_header,
		.message = take_message,
		.context = collector,
	};
	struct server_options *options = &collector->options.server;
	size_t host_bytes = strrchr(options->listen, ':') ?
				    (size_t)(strrchr(options->listen, ':') - options->listen) :
				    strlen(options->listen);
	struct server *server;
	int port;
	int err = read_pem(collector->options.certificate_path, &options->certificate);

	if (!err)
		err = read_pem(collector->options.key_path, &options->key);
	if (!err)
		err = read_pem(collector->options.client_ca_path, &options->client_ca);
	if (!err)
		err = server_create(options, &handler, &server, &port);
	if (err)
		return err;
	printf("%.*s:%d\n", (int)host_bytes, options->listen, port);
	fflush(stdout);
	while (!stop_asked && !collector->err) {
		server_step(server, STEP_MS);
		if (write_asked) {
			write_asked = 0;
			collector->err = write_files(collector);
		}
	}
	server_destroy(server);
	return collector->err;
}

static int read_requests(struct collector *collector, char *const *paths)
{
	for (; *paths && !collector->err; paths++) {
		_cleanup_(free_pointer) char *content = NULL;
		size_t size = 0;
		int err = read_file(*paths, &content, &size);
		struct incoming incoming = {
			.is_gzip = true,
			.is_readable = true,
			.time_ns = clock_realtime_ns(),
		};

		if (err)
			return err;
		incoming.bytes = (struct span){ (const uint8_t *)content, size };
		incoming.wire_bytes = size;
		incoming.raw_bytes = size;
		take_incoming(collector, &incoming, *paths);
	}
	return collector->err;
}

static int read_names(struct collector *collector)
{
	_cleanup_(free_pointer) char *content = NULL;
	struct otlp_message message = { 0 };
	struct findings findings = { 0 };
	size_t size = 0;
	int err = read_file(collector->options.names_path, &content, &size);

	if (err)
		return err;
	err = otlp_message_decode(&message, (struct span){ (const uint8_t *)content, size },
				  &findings);
	if (!err)
		err = location_names_add(&collector->names, &message);
	otlp_message_deinit(&message);
	collector->received.names = &collector->names;
	return err ? fail(err, "no memory for the names") : 0;
}

/* --- options --- */

static void print_rules(void)
{
	for (int rule = 1; rule < RULE_COUNT; rule++) {
		if (*rule_text(rule))
			printf("%2d  %s\n", rule, rule_text(rule));
	}
}

enum option_number {
	OPTION_LISTEN = 1,
	OPTION_TLS_CERT,
	OPTION_TLS_KEY,
	OPTION_CLIENT_CA,
	OPTION_PRINT,
	OPTION_FOLDED,
	OPTION_REPORT,
	OPTION_SAVE,
	OPTION_NAMES,
	OPTION_ANSWERS,
	OPTION_METRICS_ANSWERS,
	OPTION_RULES,
	OPTION_HELP,
};

static const struct option long_options[] = {
	{ "listen", required_argument, NULL, OPTION_LISTEN },
	{ "tls-cert", required_argument, NULL, OPTION_TLS_CERT },
	{ "tls-key", required_argument, NULL, OPTION_TLS_KEY },
	{ "client-ca", required_argument, NULL, OPTION_CLIENT_CA },
	{ "print", no_argument, NULL, OPTION_PRINT },
	{ "folded", required_argument, NULL, OPTION_FOLDED },
	{ "report", required_argument, NULL, OPTION_REPORT },
	{ "save", required_argument, NULL, OPTION_SAVE },
	{ "names", required_argument, NULL, OPTION_NAMES },
	{ "answers", required_argument, NULL, OPTION_ANSWERS },
	{ "metrics-answers", required_argument, NULL, OPTION_METRICS_ANSWERS },
	{ "rules", no_argument, NULL, OPTION_RULES },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

/* Ends the program for -help, -rules and invalid options. */
static void parse_options(int count, char **words, struct options *options)
{
	const char **texts[] = {
		[OPTION_LISTEN] = &options->server.listen,
		[OPTION_TLS_CERT] = &options->certificate_path,
		[OPTION_TLS_KEY] = &options->key_path,
		[OPTION_CLIENT_CA] = &options->client_ca_path,
		[OPTION_FOLDED] = &options->folded_path,
		[OPTION_REPORT] = &options->report_path,
		[OPTION_SAVE] = &options->save_path,
		[OPTION_NAMES] = &options->names_path,
		[OPTION_ANSWERS] = &options->answers,
		[OPTION_METRICS_ANSWERS] = &options->metrics_answers,
	};
	int option;

	while ((option = getopt_long_only(count, words, "", long_options, NULL)) != -1) {
		if (option == OPTION_PRINT) {
			options->prints = true;
		} else if (option == OPTION_RULES) {
			print_rules();
			exit(0);
		} else if (option == OPTION_HELP) {
			fputs(help, stdout);
			exit(0);
		} else if (option == '?') {
			exit(2);
		} else {
			*texts[option] = optarg;
		}
	}
	if (!options->certificate_path != !options->key_path ||
	    (options->client_ca_path && !options->certificate_path)) {
		fputs("collector: -tls-cert and -tls-key go together, -client-ca with them\n",
		      stderr);
		exit(2);
	}
}

static void release(struct collector *collector)
{
	received_deinit(&collector->received);
	answers_deinit(&collector->answers);
	answers_deinit(&collector->metrics_answers);
	location_names_deinit(&collector->names);
	free((char *)collector->options.server.certificate);
	free((char *)collector->options.server.key);
	free((char *)collector->options.server.client_ca);
}

int main(int count, char **words)
{
	struct sigaction action = { .sa_handler = handle_signal };
	struct collector collector = {
		.options = { .server.listen = "127.0.0.1:4317",
			     .answers = "",
			     .metrics_answers = "" },
	};
	bool is_broken;
	int err;

	parse_options(count, words, &collector.options);
	err = answers_init(&collector.answers, collector.options.answers);
	if (!err)
		err = answers_init(&collector.metrics_answers, collector.options.metrics_answers);
	if (err) {
		fprintf(stderr, "collector: %s\n", error_text());
		release(&collector);
		return 2;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (collector.options.names_path)
		err = read_names(&collector);
	if (!err && collector.options.save_path && mkdir(collector.options.save_path, 0755) &&
	    errno != EEXIST)
		err = fail_errno(-errno, "%s", collector.options.save_path);
	if (!err)
		err = optind < count ? read_requests(&collector, words + optind) :
				       serve(&collector);
	if (!err)
		err = write_files(&collector);
	if (err)
		fprintf(stderr, "collector: %s\n", error_text());
	if (collector.options.prints)
		print_totals(stdout, &collector.received);
	is_broken = findings_count(&collector.received.findings);
	release(&collector);
	return err ? 1 : is_broken ? EXIT_BROKEN_RULES : 0;
}
