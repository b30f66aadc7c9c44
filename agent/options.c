// SPDX-License-Identifier: Apache-2.0
#include "agent/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/option_collector.h"
#include "agent/option_table.h"
#include "agent/otel_environment.h"
#include "interpreters/languages.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

enum {
	HELP_INDENT = 8,
	HELP_COLUMNS = 80,
	OTHERWISE_BYTES = 256,
};

/* The option that @text names in its first @length bytes; NULL if there is none. */
static const struct option *find_option(const char *text, size_t length)
{
	for (size_t i = 0; i < option_count; i++) {
		const char *name = option_table[i].name;

		if (strlen(name) == length && memcmp(name, text, length) == 0)
			return &option_table[i];
	}
	return NULL;
}

/*
 * Sets the option of arguments[*index], moves *index on if the value is the next argument, and marks the option
 * in @is_set.
 */
static int parse_argument(struct options *options, int argument_count, char *const *arguments,
			  int *index, bool *is_set)
{
	const char *argument = arguments[*index];
	const char *name = argument + strspn(argument, "-");
	struct setting setting;
	const char *equals;
	size_t length;
	char source[64];
	int error;

	if (name == argument || !*name)
		return fail(-EINVAL,
			    "%.*s: not an option; options start with a dash, -help lists them",
			    SHOWN_VALUE_BYTES, argument);
	if (name > argument + 2)
		name = argument + 2;
	equals = strchr(name, '=');
	length = equals ? (size_t)(equals - name) : strlen(name);
	setting.option = find_option(name, length);
	if (!setting.option)
		return fail(-EINVAL, "%.*s: unknown option; -help lists all",
			    (int)(length > SHOWN_VALUE_BYTES ? SHOWN_VALUE_BYTES : length) +
				    (int)(name - argument),
			    argument);
	if (equals)
		setting.text = equals + 1;
	else if (!setting.option->value_name)
		setting.text = "true";
	else if (*index + 1 < argument_count)
		setting.text = arguments[++*index];
	else
		return fail(-EINVAL, "-%s: needs a value: -%s %s", setting.option->name,
			    setting.option->name, setting.option->value_name);

	snprintf(source, sizeof(source), "-%s ", setting.option->name);
	setting.source = source;
	is_set[setting.option - option_table] = true;
	error = setting.option->set(options, &setting);
	if (error || equals || !setting.option->has_two_values)
		return error;
	if (*index + 1 == argument_count)
		return fail(-EINVAL, "-%s: needs two values: -%s %s", setting.option->name,
			    setting.option->name, setting.option->value_name);
	setting.text = arguments[++*index];
	return setting.option->set(options, &setting);
}

/* Sets @option from the environment; *@is_set tells if there was a value. */
static int parse_environment(struct options *options, const struct option *option, bool *is_set)
{
	char name[64];
	char source[sizeof(name) + 1];
	struct setting setting = { .option = option, .source = source };

	snprintf(name, sizeof(name), "ALLFRAMES_%s", option->name);
	for (char *at = name; *at; at++)
		*at = *at == '-' ? '_' : toupper((unsigned char)*at);
	setting.text = getenv(name);
	if (!setting.text || !*setting.text)
		return 0;
	*is_set = true;
	snprintf(source, sizeof(source), "%s=", name);
	return option->set(options, &setting);
}

static int parse_initial(struct options *options, const struct option *option)
{
	struct setting setting = { .option = option, .source = "", .text = option->initial };

	return option->initial ? option->set(options, &setting) : 0;
}

/* The name of an option that is useless with -open, -doctor or -upload-symbols; NULL: there is none. */
static const char *useless_option(const struct options *options)
{
	if (!options->open_count && !options->doctor && !options->upload_count &&
	    !options->diff_count)
		return NULL;
	if (options->output_count)
		return "-output";
	if (options->collector.address && !options->upload_count)
		return "-collection-agent";
	if (options->receive.address)
		return "-receive";
	if (options->metrics.address)
		return "-metrics";
	if (!options->open_count && options->viewer.address)
		return "-viewer";
	if (options->doctor &&
	    (options->open_count || options->upload_count || options->diff_count))
		return "-doctor";
	if (options->open_count && options->diff_count)
		return "-open";
	return options->open_count && options->upload_count ? "-open" : NULL;
}

static const char *purpose_of(const struct options *options)
{
	if (options->upload_count)
		return "-upload-symbols sends symbols and samples nothing";
	if (options->diff_count)
		return "-diff compares two files and samples nothing";
	return options->open_count ? "-open shows a file and samples nothing" :
				     "-doctor writes to standard output alone";
}

static int check_purpose(const struct options *options)
{
	const char *useless = useless_option(options);

	if (options->upload_count && !options->collector.address)
		return fail(-EINVAL, "-upload-symbols needs somebody who receives them; give "
				     "-collection-agent HOST:PORT");
	return useless ? fail(-EINVAL, "%s; leave out %s", purpose_of(options), useless) : 0;
}

static int check_diff(const struct options *options)
{
	if (options->diff_count == 1)
		return fail(-EINVAL, "-diff: needs two profiles: -diff BEFORE AFTER");
	if (options->has_fail_above && !options->diff_count)
		return fail(-EINVAL, "-fail-above: nothing is compared without -diff BEFORE AFTER");
	return 0;
}

static int check_receive(const struct receive_options *receive)
{
	if (!receive->address && (receive->tls_cert || receive->tls_key || receive->token_file))
		return fail(-EINVAL,
			    "-receive-...: nothing is received without -receive ADDR:PORT");
	if (!receive->tls_cert != !receive->tls_key)
		return fail(-EINVAL,
			    "-receive-tls-cert and -receive-tls-key go together; give both");
	return 0;
}

static int check_metrics(const struct metrics_options *metrics)
{
	return !metrics->address && metrics->token_file ?
		       fail(-EINVAL, "-metrics-token-file: no metrics are served without -metrics "
				     "ADDR:PORT") :
		       0;
}

int options_parse(struct options *options, int argument_count, char *const *arguments)
{
	_cleanup_(options_deinit) struct options parsed = { .action = OPTIONS_RUN };
	bool is_set[OPTION_MAX_COUNT] = { false };

	for (int i = 1; i < argument_count && parsed.action == OPTIONS_RUN; i++) {
		int error = parse_argument(&parsed, argument_count, arguments, &i, is_set);

		if (error)
			return error;
	}
	for (size_t i = 0; i < option_count && parsed.action == OPTIONS_RUN; i++) {
		int error = 0;

		if (!is_set[i])
			error = parse_environment(&parsed, &option_table[i], &is_set[i]);
		if (!error && !is_set[i])
			error = parse_initial(&parsed, &option_table[i]);
		if (error)
			return error;
	}
	if (parsed.action == OPTIONS_RUN) {
		int error = otel_environment_apply(&parsed.collector);

		if (!error)
			error = collector_options_check(&parsed.collector);
		if (!error)
			error = check_purpose(&parsed);
		if (!error)
			error = check_receive(&parsed.receive);
		if (!error)
			error = check_metrics(&parsed.metrics);
		if (!error)
			error = check_diff(&parsed);
		if (error)
			return error;
	}
	if (parsed.doctor && !parsed.duration_ns)
		parsed.duration_ns = 5 * NS_PER_SECOND;
	*options = parsed;
	parsed = (struct options){ 0 };
	return 0;
}

void options_free_tags(struct options *options)
{
	for (uint32_t i = 0; i < options->tag_count; i++)
		free(options->tags[i].key);
	free(options->tags);
}

void options_deinit(struct options *options)
{
	if (!options)
		return;
	for (uint32_t i = 0; i < options->output_count; i++)
		free(options->outputs[i]);
	free(options->outputs);
	for (uint32_t i = 0; i < options->upload_count; i++)
		free(options->uploads[i]);
	free(options->uploads);
	collector_options_deinit(&options->collector);
	free(options->pids);
	free(options->viewer.address);
	free(options->viewer.token_file);
	free(options->receive.address);
	free(options->receive.tls_cert);
	free(options->receive.tls_key);
	free(options->receive.token_file);
	free(options->metrics.address);
	free(options->metrics.token_file);
	for (uint32_t i = 0; i < options->open_count; i++)
		free(options->opens[i]);
	free(options->opens);
	for (uint32_t i = 0; i < options->diff_count; i++)
		free(options->diffs[i]);
	free(options->diffs);
	free(options->cgroup);
	free(options->cpus);
	options_free_tags(options);
	free(options->cache_dir);
	*options = (struct options){ 0 };
}

bool options_have_page(const struct options *options)
{
	return options->viewer.address || options->receive.address ||
	       (!options->doctor && !options->output_count && !options->collector.address);
}

/* Text of -help that is wrapped. */
struct paragraph {
	FILE *file;
	size_t indent;
	size_t column;
};

/* The columns of the first @length bytes of @text, whose marks of code are not shown. */
static size_t shown_length(const char *text, size_t length)
{
	size_t shown = 0;

	for (size_t i = 0; i < length; i++)
		shown += text[i] != '`';
	return shown;
}

static void paragraph_add(struct paragraph *paragraph, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, " ");
		size_t shown = shown_length(text, length);

		if (paragraph->column == 0 || paragraph->column + 1 + shown > HELP_COLUMNS) {
			fprintf(paragraph->file, "%s%*s", paragraph->column ? "\n" : "",
				(int)paragraph->indent, "");
			paragraph->column = paragraph->indent;
		} else {
			fputc(' ', paragraph->file);
			paragraph->column++;
		}
		for (size_t i = 0; i < length; i++) {
			if (text[i] != '`')
				fputc(text[i], paragraph->file);
		}
		paragraph->column += shown;
		text += length + strspn(text + length, " ");
	}
}

static void print_paragraph(FILE *file, const char *text)
{
	struct paragraph paragraph = { .file = file };

	paragraph_add(&paragraph, text);
	fputc('\n', file);
}

static void print_option(FILE *file, const struct option *option)
{
	struct paragraph paragraph = { .file = file, .indent = HELP_INDENT };
	char otherwise[OTHERWISE_BYTES];

	fprintf(file, "  -%s%s%s", option->name, option->value_name ? " " : "",
		option->value_name ? option->value_name : "");
	if (option->initial)
		fprintf(file, "  (%s)", option->initial);
	fputc('\n', file);
	paragraph_add(&paragraph, option->meaning);
	if (option->otherwise) {
		snprintf(otherwise, sizeof(otherwise), "Default: %s.", option->otherwise);
		paragraph_add(&paragraph, otherwise);
	}
	fputc('\n', file);
}

void options_print_help(FILE *file)
{
	fputs("Usage: agent [OPTION...]\n\n", file);
	print_paragraph(
		file,
		"Samples what every CPU of this machine runs, with frames of the kernel, native "
		"code" LANGUAGES_SHOWN " in one stack, without a change to the programs. Needs "
		"root. Stop it with Ctrl-C.");
	fputc('\n', file);
	print_paragraph(file, option_rules);
	fputc('\n', file);
	for (size_t i = 0; i < option_count; i++)
		print_option(file, &option_table[i]);
	fputc('\n', file);
	print_paragraph(file, option_statuses);
}
