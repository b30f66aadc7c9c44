// SPDX-License-Identifier: Apache-2.0
#include "agent/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/option_collector.h"
#include "agent/option_names.h"
#include "agent/option_table.h"
#include "agent/otel_environment.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/model/origins.h"

enum {
	SAMPLES_PER_SECOND = 19,
	/* For commands, which are short, and -top, which shows a short time. */
	WATCHED_SAMPLES_PER_SECOND = 99,
};

/* @name: what stands behind the dashes of @argument, of @length bytes. */
static int unknown_option(const char *argument, const char *name, size_t length)
{
	const struct option *near = option_find_near(name, length);
	char shown[SHOWN_VALUE_BYTES + 4];

	/* The dashes, two at most, and the name. */
	if (length > SHOWN_VALUE_BYTES)
		length = SHOWN_VALUE_BYTES;
	snprintf(shown, sizeof(shown), "%.*s", (int)(name - argument + (ptrdiff_t)length),
		 argument);
	return near ? fail(-EINVAL, "%s: unknown option; did you mean -%s?", shown, near->name) :
		      fail(-EINVAL, "%s: unknown option; -help lists all", shown);
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
		return fail(
			-EINVAL,
			"%.*s: not an option; options start with a dash (-help lists them), and a "
			"command to profile stands behind --",
			SHOWN_VALUE_BYTES, argument);
	if (name > argument + 2)
		name = argument + 2;
	equals = strchr(name, '=');
	length = equals ? (size_t)(equals - name) : strlen(name);
	setting.option = option_find(name, length);
	if (!setting.option)
		return unknown_option(argument, name, length);
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
	char name[OPTION_VARIABLE_BYTES];
	char source[sizeof(name) + 1];
	struct setting setting = { .option = option, .source = source };

	option_variable(option, name);
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
	    !options->diff_count && !options->dump_count)
		return NULL;
	if (options->output_count)
		return "-output";
	if (options->report && !options->open_count)
		return "-report";
	if (options->report && options->viewer.address)
		return "-viewer";
	if (options->top)
		return "-top";
	if (options->weight)
		return "-weight";
	if (options->accounting)
		return "-accounting";
	if (options->collector.address && !options->upload_count)
		return "-collection-agent";
	if (options->receive.address)
		return "-receive";
	if (options->metrics.address)
		return "-metrics";
	if (!options->open_count && options->viewer.address)
		return "-viewer";
	if (options->doctor && (options->open_count || options->upload_count ||
				options->diff_count || options->dump_count))
		return "-doctor";
	if (options->dump_count && (options->upload_count || options->diff_count))
		return "-dump";
	if (options->dump_count && options->open_count)
		return "-open";
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
	if (options->dump_count)
		return "-dump prints stacks and samples nothing";
	return options->open_count ? "-open shows a file and samples nothing" :
				     "-doctor writes to standard output alone";
}

static int check_purpose(const struct options *options)
{
	const char *useless = useless_option(options);

	if (options->upload_count && !options->collector.address)
		return fail(-EINVAL, "-upload-symbols needs somebody who receives them; give "
				     "-collection-agent HOST:PORT");
	if (options->json && !options->dump_count && !options->report)
		return fail(-EINVAL, "-json: it is for -report and -dump; leave it out");
	if (options->value_type && !options->open_count && !options->diff_count && !options->weight)
		return fail(-EINVAL, "-type: it is for -open, -diff and -weight; leave it out");
	return useless ? fail(-EINVAL, "%s; leave out %s", purpose_of(options), useless) : 0;
}

static bool names_origin(const char *name, uint8_t origin)
{
	return value_type_is_called(sample_origins[origin].type, sample_origins[origin].unit, name);
}

bool options_show_weight(const struct options *options)
{
	return options->weight &&
	       !(options->value_type && names_origin(options->value_type, ORIGIN_CLOCK));
}

static int check_weight(const struct options *options)
{
	if (!options->weight || !options->value_type ||
	    names_origin(options->value_type, ORIGIN_CLOCK) ||
	    names_origin(options->value_type, options->weight))
		return 0;
	return fail(-EINVAL, "-type %.*s: with -weight there are samples and %s; give one of them",
		    SHOWN_VALUE_BYTES, options->value_type, sample_origins[options->weight].type);
}

static int check_energy(const struct options *options)
{
	return options->energy_file && !options->accounting && !options->weight ?
		       fail(-EINVAL, "-energy-file: no costs are counted without -accounting") :
		       0;
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

static int check_metrics(const struct options *options)
{
	const struct metrics_options *metrics = &options->metrics;

	if (options->collector.metrics_interval_ns && !options->collector.address)
		return fail(-EINVAL, "-metrics-interval: no metrics are sent without "
				     "-collection-agent HOST:PORT");
	return !metrics->address && metrics->token_file ?
		       fail(-EINVAL, "-metrics-token-file: no metrics are served without -metrics "
				     "ADDR:PORT") :
		       0;
}

/* Other than the page and the report, which are shown if there is none. */
static bool has_other_destination(const struct options *options)
{
	return options->doctor || options->top || options->output_count ||
	       options->collector.address;
}

/*
 * A run that ends by itself is reported where people read it. That of a command always is, but not among what the command
 * writes for others.
 */
static void choose_report(struct options *options)
{
	bool is_terminal = isatty(STDOUT_FILENO);

	options->accounting |= options->weight != 0;
	/* Costs are shown there. */
	if (options->accounting && !options->report)
		options->report = options->command && !is_terminal ? REPORT_TO_ERROR :
								     REPORT_TO_OUTPUT;
	if (options->report || has_other_destination(options) || options->viewer.address ||
	    options->receive.address || options->open_count || options->upload_count ||
	    options->diff_count || options->dump_count)
		return;
	if (options->command)
		options->report = is_terminal ? REPORT_TO_OUTPUT : REPORT_TO_ERROR;
	else if (options->duration_ns && is_terminal)
		options->report = REPORT_TO_OUTPUT;
}

static int check_command(const struct options *options)
{
	if (!options->command)
		return options->run_as ?
			       fail(-EINVAL,
				    "-run-as: there is no command; give one behind --, or leave it out") :
			       0;
	if (options->pid_count)
		return fail(-EINVAL, "-- %.*s: the command is what is profiled; leave out -pid",
			    SHOWN_VALUE_BYTES, options->command[0]);
	if (options->top)
		return fail(-EINVAL,
			    "-- %.*s: the command has the terminal that -top needs; leave out -top",
			    SHOWN_VALUE_BYTES, options->command[0]);
	if (options->open_count || options->upload_count || options->diff_count ||
	    options->dump_count)
		return fail(-EINVAL, "-- %.*s: %s; leave out the command", SHOWN_VALUE_BYTES,
			    options->command[0], purpose_of(options));
	return 0;
}

/* Parses the arguments up to a command, or up to -help or -version. */
static int parse_arguments(struct options *options, int argument_count, char *const *arguments,
			   bool *is_set)
{
	int error = 0;

	for (int i = 1; i < argument_count && options->action == OPTIONS_RUN && !error; i++) {
		if (strcmp(arguments[i], "--")) {
			error = parse_argument(options, argument_count, arguments, &i, is_set);
			continue;
		}
		if (i + 1 == argument_count || !*arguments[i + 1])
			return fail(-EINVAL, "--: needs a command: -- COMMAND [ARGUMENT...]");
		options->command = arguments + i + 1;
		break;
	}
	return error;
}

int options_parse(struct options *options, int argument_count, char *const *arguments)
{
	_cleanup_(options_deinit) struct options parsed = { .action = OPTIONS_RUN };
	bool is_set[OPTION_MAX_COUNT] = { false };
	int error = parse_arguments(&parsed, argument_count, arguments, is_set);

	if (error)
		return error;
	option_warn_of_variables();
	for (size_t i = 0; i < option_count && parsed.action == OPTIONS_RUN; i++) {
		error = 0;
		if (!is_set[i])
			error = parse_environment(&parsed, &option_table[i], &is_set[i]);
		if (!error && !is_set[i])
			error = parse_initial(&parsed, &option_table[i]);
		if (error)
			return error;
	}
	if (parsed.action == OPTIONS_RUN) {
		error = otel_environment_apply(&parsed.collector);
		if (!error)
			error = collector_options_check(&parsed.collector);
		if (!error)
			error = check_purpose(&parsed);
		if (!error)
			error = check_receive(&parsed.receive);
		if (!error)
			error = check_metrics(&parsed);
		if (!error)
			error = check_energy(&parsed);
		if (!error)
			error = check_diff(&parsed);
		if (!error)
			error = check_weight(&parsed);
		if (!error)
			error = check_command(&parsed);
		if (error)
			return error;
	}
	if (parsed.doctor && !parsed.duration_ns && !parsed.command)
		parsed.duration_ns = 5 * NS_PER_SECOND;
	if (!parsed.samples_per_second)
		parsed.samples_per_second = parsed.command || parsed.top ?
						    WATCHED_SAMPLES_PER_SECOND :
						    SAMPLES_PER_SECOND;
	choose_report(&parsed);
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
	free(options->comms);
	free(options->dumps);
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
	free(options->value_type);
	free(options->run_as);
	free(options->cgroup);
	free(options->cpus);
	options_free_tags(options);
	free(options->cache_dir);
	free(options->energy_file);
	*options = (struct options){ 0 };
}

bool options_have_page(const struct options *options)
{
	return options->viewer.address || options->receive.address ||
	       (!options->report && !has_other_destination(options));
}

bool options_are_selective(const struct options *options)
{
	return options->pid_count || options->comm_count || options->cgroup || options->has_user;
}
