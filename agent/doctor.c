/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/processes/runtimes/unsupported_runtime.h"
#include "agent/tracing/kernel_check.h"
#include "build/version.h"
#include "interpreters/languages.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/vector.h"
#include "lib/host/proc_info.h"
#include "lib/model/languages.h"
#include "viewer/quality_text.h"

enum {
	COMM_COLUMNS = 16,
	LINE_COLUMNS = 100,
	/* A longer path is shown by its end. */
	PATH_COLUMNS = 48,
	RUNTIMES_SHOWN = 40,
};

/* How well the frames of a runtime are found. */
enum support {
	SUPPORT_NONE,
	SUPPORT_NATIVE,
	SUPPORT_WHOLE,
};

static const char *const support_marks[] = {
	[SUPPORT_NONE] = "bad",
	[SUPPORT_NATIVE] = "part",
	[SUPPORT_WHOLE] = "ok",
};

struct found_runtime {
	uint32_t pid;
	/* "-" if the process is gone. */
	char comm[PROC_COMM_MAX_BYTES];
	enum support support;
	/* Text for the report; owned. */
	char *text;
};

VECTOR_DEFINE(found_runtime_vector, struct found_runtime)

struct doctor {
	struct history *history;
	struct api *api;
	struct found_runtime_vector runtimes;
	bool has_failed;
};

int doctor_create(const struct api_config *config, struct doctor **doctor)
{
	const struct history_options options = { .retention_ns = HISTORY_WITHOUT_END };
	struct doctor *made = calloc(1, sizeof(*made));
	struct api_config complete = *config;
	int err = -ENOMEM;

	if (made)
		made->history = history_create(&options);
	if (made && made->history) {
		complete.history = made->history;
		err = api_create(&complete, &made->api);
	}
	if (err) {
		doctor_destroy(made);
		return fail(err, "no memory for the doctor");
	}
	*doctor = made;
	return 0;
}

void doctor_destroy(struct doctor *doctor)
{
	if (!doctor)
		return;
	for (size_t i = 0; i < doctor->runtimes.count; i++)
		free(doctor->runtimes.items[i].text);
	found_runtime_vector_deinit(&doctor->runtimes);
	api_destroy(doctor->api);
	history_destroy(doctor->history);
	free(doctor);
}

struct history *doctor_history(struct doctor *doctor)
{
	return doctor->history;
}

/* --- text --- */

static void append_machine(struct text_builder *text)
{
	struct utsname machine;

	if (uname(&machine))
		return;
	text_builder_append(text, "Allframes " AGENT_VERSION " on ");
	text_builder_append_name(text, machine.nodename);
	text_builder_format(text, ": %s %s, %s, %ld CPUs\n\nKernel and privileges\n",
			    machine.sysname, machine.release, machine.machine,
			    sysconf(_SC_NPROCESSORS_ONLN));
}

static void append_check(void *context, bool is_good, const char *line)
{
	text_builder_format(context, "  %-4s  %s\n", is_good ? "ok" : "bad", line);
}

void doctor_append_kernel(struct text_builder *text, const char *features)
{
	append_machine(text);
	kernel_check_all(append_check, text);
	text_builder_format(text, "  ok    the kernel programs load %s\n", features);
}

void doctor_print_failure(void)
{
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };
	/* The checks have errors of their own. */
	_cleanup_(free_pointer) char *failure = strdup(error_text());

	append_machine(&text);
	kernel_check_all(append_check, &text);
	append_check(&text, false, failure ? failure : "no memory");
	/* Restores the error text, which the caller logs too. */
	if (failure)
		fail(0, "%s", failure);
	fputs(text_builder_text(&text), stdout);
	fflush(stdout);
}

static const char *supported_parts(const char *language)
{
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++)
		if (language && !strcmp(language, language_ids[i].name))
			return language_texts[i].parts;
	return "frames and names";
}

/* Where to cut off the beginning of a long path; *@mark stands for what is cut. */
static const char *end_of_path(const char *path, const char **mark)
{
	size_t length = strlen(path);

	*mark = length > PATH_COLUMNS ? "..." : "";
	return length > PATH_COLUMNS ? path + length - PATH_COLUMNS : path;
}

static int describe_unsupported(const struct listed_runtime *runtime, char **text)
{
	const char *option = unsupported_runtime_option(runtime->unsupported);
	const char *mark, *path = end_of_path(runtime->path, &mark);

	return asprintf(text, "%s (%s%s): native frames, and names from perf maps%s%s%s",
			runtime->unsupported, mark, path, option ? " (" : "", option ? option : "",
			option ? ")" : "");
}

static int describe_refused(const struct listed_runtime *runtime, char **text)
{
	const char *mark, *path = end_of_path(runtime->path, &mark);

	return asprintf(text, "%s%s: %s; native frames only", mark, path, runtime->refusal);
}

static char *describe(const struct listed_runtime *runtime)
{
	char *text = NULL;
	int length;

	if (runtime->unsupported)
		length = describe_unsupported(runtime, &text);
	else if (runtime->is_attached)
		length = asprintf(&text, "%s: %s", runtime->version,
				  supported_parts(runtime->language));
	else if (runtime->refusal)
		length = describe_refused(runtime, &text);
	else
		length = asprintf(&text, "%s: was not ready yet", runtime->version);
	return length < 0 ? NULL : text;
}

void doctor_take_runtime(void *context, const struct listed_runtime *runtime)
{
	struct found_runtime found = {
		.pid = runtime->pid,
		.support = runtime->unsupported ? SUPPORT_NATIVE :
			   runtime->is_attached ? SUPPORT_WHOLE :
						  SUPPORT_NONE,
		.text = describe(runtime),
	};
	struct doctor *doctor = context;

	if (!found.text ||
	    found_runtime_vector_reserve(&doctor->runtimes, doctor->runtimes.count + 1)) {
		free(found.text);
		doctor->has_failed = true;
		return;
	}
	if (proc_comm("/proc", (pid_t)runtime->pid, found.comm))
		snprintf(found.comm, sizeof(found.comm), "-");
	found_runtime_vector_push(&doctor->runtimes, found);
}

/* Refused runtimes come first. */
static int compare_runtimes(const void *a, const void *b)
{
	const struct found_runtime *one = a, *other = b;

	if (one->support != other->support)
		return one->support < other->support ? -1 : 1;
	return one->pid < other->pid ? -1 : 1;
}

static void append_runtimes(struct doctor *doctor, struct text_builder *text)
{
	struct found_runtime_vector *runtimes = &doctor->runtimes;

	text_builder_append(text, "\nRuntimes of languages\n");
	if (!runtimes->count)
		text_builder_append(text, "  none found; native code needs none\n");
	else
		qsort(runtimes->items, runtimes->count, sizeof(*runtimes->items), compare_runtimes);
	for (size_t i = 0; i < runtimes->count && i < RUNTIMES_SHOWN; i++) {
		const struct found_runtime *found = &runtimes->items[i];

		text_builder_format(text, "  %-4s  %7u  ", support_marks[found->support],
				    found->pid);
		text_builder_append_name(text, found->comm);
		text_builder_format(text, "%*s  ",
				    (int)(COMM_COLUMNS - strnlen(found->comm, COMM_COLUMNS)), "");
		text_builder_append_name(text, found->text);
		text_builder_append(text, "\n");
	}
	if (runtimes->count > RUNTIMES_SHOWN)
		text_builder_format(text, "  ... and %zu more\n", runtimes->count - RUNTIMES_SHOWN);
}

/* Appends @line in lines of LINE_COLUMNS, wrapped after commas. */
static void append_wrapped(struct text_builder *text, const char *line)
{
	size_t column = 0;

	while (*line) {
		const char *comma = strstr(line, ", ");
		size_t length = comma ? (size_t)(comma - line) + 1 : strlen(line);

		if (!column || column + 1 + length > LINE_COLUMNS) {
			text_builder_append(text, column ? "\n  " : "  ");
			column = 2;
		} else {
			text_builder_append(text, " ");
			column++;
		}
		text_builder_append_bytes(text, line, length);
		column += length;
		line += length + (comma ? 1 : 0);
	}
	text_builder_append(text, "\n");
}

void doctor_append_sampling(struct text_builder *text, const struct run_summary *summary)
{
	_cleanup_(text_builder_deinit) struct text_builder line = { 0 };

	run_summary_append(summary, &line);
	text_builder_append(text, "\nSampling\n");
	append_wrapped(text, text_builder_text(&line));
}

int doctor_append_findings(struct doctor *doctor, struct text_builder *text)
{
	int err;

	append_runtimes(doctor, text);
	err = quality_text_append(doctor->api, text);
	return err || doctor->has_failed ? fail(-ENOMEM, "no memory for the doctor") : 0;
}
