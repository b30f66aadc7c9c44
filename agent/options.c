// SPDX-License-Identifier: Apache-2.0
#include "agent/options.h"

#include <ctype.h>
#include <errno.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "agent/option_values.h"
#include "ebpf/abi/config.h"
#include "ebpf/abi/slab.h"

enum {
	OUTPUT_MAX_COUNT = 16,
	TAG_MAX_COUNT = 64,
	TAG_KEY_MAX_BYTES = 63,
	TAG_VALUE_MAX_BYTES = 255,
	/* Linux's PID_MAX_LIMIT on 64-bit machines. */
	PID_MAX = 1 << 22,
	/* Bytes of a bad value that an error shows. */
	SHOWN_VALUE_BYTES = 64,
};

#define NS_PER_HOUR (3600 * NS_PER_SECOND)

struct option;

/* One value on its way into struct options. */
struct setting {
	const struct option *option;
	/* "-pid " or "ALLFRAMES_PID=": what stands before the value where the user wrote it. */
	const char *source;
	const char *text;
};

struct option {
	const char *name;
	/* What -help calls the value; NULL for a flag. */
	const char *value_name;
	/* Set, as if the user had given it, when nobody else does; NULL: nothing is set. */
	const char *initial;
	const char *meaning;
	int (*set)(struct options *options, const struct setting *setting);
	/* For the setters of plain numbers: where to, and what range. */
	size_t offset;
	uint64_t minimum;
	uint64_t maximum;
};

/* Fails with "SOURCE VALUE: what to do". */
#define refuse(setting, format, ...)                                                               \
	fail(-EINVAL, "%s%.*s: " format, (setting)->source, SHOWN_VALUE_BYTES,                     \
	     (setting)->text __VA_OPT__(, ) __VA_ARGS__)

static int out_of_memory(void)
{
	return fail(-ENOMEM, "out of memory while the options are read");
}

static void *field_of(struct options *options, const struct setting *setting)
{
	return (char *)options + setting->option->offset;
}

static int set_number(struct options *options, const struct setting *setting)
{
	const struct option *option = setting->option;
	uint64_t number;

	if (option_parse_number(setting->text, &number) || number < option->minimum ||
	    number > option->maximum)
		return refuse(setting, "give a number from %llu to %llu",
			      (unsigned long long)option->minimum,
			      (unsigned long long)option->maximum);
	*(uint32_t *)field_of(options, setting) = number;
	return 0;
}

static int set_duration(struct options *options, const struct setting *setting)
{
	const struct option *option = setting->option;
	uint64_t duration_ns;

	if (option_parse_duration(setting->text, &duration_ns))
		return refuse(setting, "give a duration such as 100ms, 5s, 2m30s or 1h");
	if (duration_ns < option->minimum || duration_ns > option->maximum)
		return refuse(setting, "give a duration from %llums to %lluh",
			      (unsigned long long)(option->minimum / NS_PER_MS),
			      (unsigned long long)(option->maximum / NS_PER_HOUR));
	*(uint64_t *)field_of(options, setting) = duration_ns;
	return 0;
}

static int set_size(struct options *options, const struct setting *setting)
{
	const struct option *option = setting->option;
	uint64_t bytes;

	if (option_parse_size(setting->text, &bytes) || bytes < option->minimum ||
	    bytes > option->maximum)
		return refuse(setting, "give a size from %lluM to %lluM, such as 256M",
			      (unsigned long long)(option->minimum >> 20),
			      (unsigned long long)(option->maximum >> 20));
	*(uint64_t *)field_of(options, setting) = bytes - bytes % SLAB_BYTES;
	return 0;
}

static int set_flag(const struct setting *setting, bool *flag)
{
	const char *text = setting->text;

	if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
		*flag = true;
	else if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
		*flag = false;
	else
		return refuse(setting, "give true or false, or the option without a value");
	return 0;
}

static int set_path(struct options *options, const struct setting *setting)
{
	char **field = field_of(options, setting);
	char *path;

	if (!*setting->text)
		return refuse(setting, "give a path");
	path = strdup(setting->text);
	if (!path)
		return out_of_memory();
	free(*field);
	*field = path;
	return 0;
}

static int set_output(struct options *options, const struct setting *setting)
{
	char *path = NULL;
	char **outputs;

	for (uint32_t i = 0; i < options->output_count; i++) {
		if (strcmp(options->outputs[i], setting->text) == 0)
			return refuse(setting, "given twice; give each path once");
	}
	if (options->output_count == OUTPUT_MAX_COUNT)
		return refuse(setting, "give at most %d outputs", OUTPUT_MAX_COUNT);
	outputs = realloc(options->outputs, (options->output_count + 1) * sizeof(*outputs));
	if (!outputs)
		return out_of_memory();
	options->outputs = outputs;
	if (!*setting->text)
		return refuse(setting, "give a path ending in .pb.gz, .folded or .txt, or -");
	path = strdup(setting->text);
	if (!path)
		return out_of_memory();
	outputs[options->output_count++] = path;
	return 0;
}

static int set_pids(struct options *options, const struct setting *setting)
{
	_cleanup_(free_pointer) uint32_t *pids = NULL;
	uint32_t count;
	int error;

	error = option_parse_list(setting->text, false, 1, PID_MAX, SELECTED_PIDS_MAX, &pids,
				  &count);
	if (error == -ENOMEM)
		return out_of_memory();
	if (error == -E2BIG)
		return refuse(setting, "give at most %d pids", SELECTED_PIDS_MAX);
	if (error)
		return refuse(setting, "give pids with commas between, such as 12,345");
	for (uint32_t i = 0; i < count; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/proc/%u", pids[i]);
		if (access(path, F_OK))
			return refuse(setting, "there is no process %u; give pids of running ones",
				      pids[i]);
	}
	free(options->pids);
	options->pids = take_pointer(pids);
	options->pid_count = count;
	return 0;
}

static int set_comm(struct options *options, const struct setting *setting)
{
	size_t length = strlen(setting->text);

	if (length == 0 || length >= sizeof(options->comm))
		return refuse(setting, "give 1 to %zu bytes, as /proc/PID/comm shows them",
			      sizeof(options->comm) - 1);
	memcpy(options->comm, setting->text, length + 1);
	return 0;
}

static int set_cgroup(struct options *options, const struct setting *setting)
{
	struct statfs file_system;
	struct stat file;

	if (stat(setting->text, &file) || statfs(setting->text, &file_system))
		return refuse(setting, "%s; give a directory such as /sys/fs/cgroup/system.slice",
			      strerror(errno));
	if (!S_ISDIR(file.st_mode) || file_system.f_type != CGROUP2_SUPER_MAGIC)
		return refuse(setting, "not a cgroup; give a directory of a cgroup v2 file system");
	return set_path(options, setting);
}

static int set_cpus(struct options *options, const struct setting *setting)
{
	long possible_count = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t highest = possible_count > 0 ? possible_count - 1 : 0;
	uint32_t *cpus;
	uint32_t count;
	int error;

	error = option_parse_list(setting->text, true, 0, highest, highest + 1, &cpus, &count);
	if (error == -ENOMEM)
		return out_of_memory();
	if (error)
		return refuse(setting, "give CPUs such as 0-3,5; this machine has 0 to %u", highest);
	free(options->cpus);
	options->cpus = cpus;
	options->cpu_count = count;
	return 0;
}

static int set_seed(struct options *options, const struct setting *setting)
{
	if (option_parse_number(setting->text, &options->probabilistic_seed))
		return refuse(setting, "give a number from 0 to %llu",
			      (unsigned long long)UINT64_MAX);
	options->has_probabilistic_seed = true;
	return 0;
}

static void free_tags(struct options *options)
{
	for (uint32_t i = 0; i < options->tag_count; i++)
		free(options->tags[i].key);
	free(options->tags);
	options->tags = NULL;
	options->tag_count = 0;
}

static bool is_tag_key(const char *key)
{
	size_t length = strlen(key);

	if (length > TAG_KEY_MAX_BYTES || !isalnum((unsigned char)key[0]))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)key[i]) && !strchr("._-/", key[i]))
			return false;
	}
	return true;
}

static bool is_tag_value(const char *value)
{
	size_t length = strlen(value);

	for (size_t i = 0; i < length; i++) {
		if (iscntrl((unsigned char)value[i]))
			return false;
	}
	return length > 0 && length <= TAG_VALUE_MAX_BYTES;
}

/* Adds `key:value`, which is cut in two in place. */
static int add_tag(struct options *options, const struct setting *setting, char *pair)
{
	char *colon = strchr(pair, ':');
	struct option_tag *tag = &options->tags[options->tag_count];

	if (!colon)
		return refuse(setting, "'%.32s' is not of the form key:value", pair);
	*colon = '\0';
	if (!is_tag_key(pair))
		return refuse(setting,
			      "give keys of letters, digits and ._-/ that start with a letter or "
			      "digit, %d bytes at most",
			      TAG_KEY_MAX_BYTES);
	if (!is_tag_value(colon + 1))
		return refuse(setting, "give values of 1 to %d bytes without control characters",
			      TAG_VALUE_MAX_BYTES);
	for (uint32_t i = 0; i < options->tag_count; i++) {
		if (strcmp(options->tags[i].key, pair) == 0)
			return refuse(setting, "key %s given twice; give each key once", pair);
	}
	/* One allocation for both; the key's start frees it. */
	tag->key = malloc(strlen(pair) + strlen(colon + 1) + 2);
	if (!tag->key)
		return out_of_memory();
	strcpy(tag->key, pair);
	tag->value = tag->key + strlen(pair) + 1;
	strcpy(tag->value, colon + 1);
	options->tag_count++;
	return 0;
}

static int set_tags(struct options *options, const struct setting *setting)
{
	_cleanup_(free_pointer) char *text = strdup(setting->text);
	char *rest = text;
	char *pair;

	free_tags(options);
	options->tags = calloc(TAG_MAX_COUNT, sizeof(*options->tags));
	if (!text || !options->tags)
		return out_of_memory();
	while ((pair = strsep(&rest, ","))) {
		int error;

		if (options->tag_count == TAG_MAX_COUNT)
			return refuse(setting, "give at most %d tags", TAG_MAX_COUNT);
		error = add_tag(options, setting, pair);
		if (error)
			return error;
	}
	return 0;
}

static int set_tracers(struct options *options, const struct setting *setting)
{
	/* There is one tracer, so that every list which is right means the same. */
	(void)options;
	if (strcmp(setting->text, "all") && strcmp(setting->text, "native"))
		return refuse(setting, "give all or native");
	return 0;
}

static int set_log_level(struct options *options, const struct setting *setting)
{
	static const char *const names[] = {
		[LOG_ERROR] = "error",
		[LOG_WARN] = "warn",
		[LOG_INFO] = "info",
		[LOG_DEBUG] = "debug",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(setting->text, names[i]) == 0) {
			options->log_level = i;
			return 0;
		}
	}
	return refuse(setting, "give error, warn, info or debug");
}

static int set_action(struct options *options, const struct setting *setting,
		      enum options_action action)
{
	bool flag;
	int error = set_flag(setting, &flag);

	if (!error && flag)
		options->action = action;
	return error;
}

static int set_version(struct options *options, const struct setting *setting)
{
	return set_action(options, setting, OPTIONS_SHOW_VERSION);
}

static int set_help(struct options *options, const struct setting *setting)
{
	return set_action(options, setting, OPTIONS_SHOW_HELP);
}

static const struct option option_table[] = {
	{
		.name = "output",
		.value_name = "PATH",
		.meaning = "Write the profile there at the end; may be repeated. By suffix: .pb.gz "
			   "pprof, .folded folded stacks, .txt stack table; - is folded stacks on "
			   "standard output. Without it: the stack table on standard output.",
		.set = set_output,
	},
	{
		.name = "pid",
		.value_name = "N,N",
		.meaning = "Profile these processes, all their threads. Default: all.",
		.set = set_pids,
	},
	{
		.name = "comm",
		.value_name = "NAME",
		.meaning = "Profile processes of this name (/proc/PID/comm).",
		.set = set_comm,
	},
	{
		.name = "cgroup",
		.value_name = "PATH",
		.meaning = "Profile the tasks at and below this cgroup v2 directory.",
		.set = set_cgroup,
		.offset = offsetof(struct options, cgroup),
	},
	{
		.name = "cpus",
		.value_name = "LIST",
		.meaning = "Profile these CPUs, such as 0-3,5. Default: all online ones.",
		.set = set_cpus,
	},
	{
		.name = "samples-per-second",
		.value_name = "N",
		.initial = "19",
		.meaning = "Samples taken per second on each CPU, 1 to 10000.",
		.set = set_number,
		.offset = offsetof(struct options, samples_per_second),
		.minimum = 1,
		.maximum = 10000,
	},
	{
		.name = "duration",
		.value_name = "D",
		.meaning = "Stop after this time, such as 2m30s. Default: until interrupted.",
		.set = set_duration,
		.offset = offsetof(struct options, duration_ns),
		.minimum = NS_PER_MS,
		.maximum = 8784 * NS_PER_HOUR,
	},
	{
		.name = "probabilistic-threshold",
		.value_name = "N",
		.initial = "100",
		.meaning = "Sample only in some intervals: in those for which a number drawn from 0 "
			   "to 99 is below N. 1 to 100; 100 is always.",
		.set = set_number,
		.offset = offsetof(struct options, probabilistic_threshold),
		.minimum = 1,
		.maximum = 100,
	},
	{
		.name = "probabilistic-interval",
		.value_name = "D",
		.initial = "1m",
		.meaning = "Length of these intervals, 10ms to 24h.",
		.set = set_duration,
		.offset = offsetof(struct options, probabilistic_interval_ns),
		.minimum = 10 * NS_PER_MS,
		.maximum = 24 * NS_PER_HOUR,
	},
	{
		.name = "probabilistic-seed",
		.value_name = "N",
		.meaning = "Draw the same numbers in every run. Default: different ones.",
		.set = set_seed,
	},
	{
		.name = "tags",
		.value_name = "K:V,K:V",
		.meaning = "Put these keys and values into the profile.",
		.set = set_tags,
	},
	{
		.name = "tracers",
		.value_name = "LIST",
		.initial = "all",
		.meaning = "Languages to unwind beside the kernel: native, or all.",
		.set = set_tracers,
	},
	{
		.name = "max-map-memory",
		.value_name = "SIZE",
		.initial = "256M",
		.meaning = "Bound on the kernel memory for unwind tables, 2M to 2048M; beyond it "
			   "those that were not used for longest go.",
		.set = set_size,
		.offset = offsetof(struct options, max_map_memory_bytes),
		.minimum = SLAB_BYTES,
		.maximum = (uint64_t)SLAB_MAX_COUNT * SLAB_BYTES,
	},
	{
		.name = "cache-dir",
		.value_name = "DIR",
		.meaning = "Keep unwind tables there for a quicker next start. Made if it is "
			   "missing; must be root's with mode 0700. Default: none are kept.",
		.set = set_path,
		.offset = offsetof(struct options, cache_dir),
	},
	{
		.name = "log-level",
		.value_name = "LEVEL",
		.initial = "info",
		.meaning = "What is logged on standard error: error, warn, info or debug.",
		.set = set_log_level,
	},
	{
		.name = "version",
		.meaning = "Print the version.",
		.set = set_version,
	},
	{
		.name = "help",
		.meaning = "Print this text.",
		.set = set_help,
	},
};

enum { OPTION_COUNT = sizeof(option_table) / sizeof(option_table[0]) };

/* The option that @text names in its first @length bytes; NULL if there is none. */
static const struct option *find_option(const char *text, size_t length)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const char *name = option_table[i].name;

		if (strlen(name) == length && memcmp(name, text, length) == 0)
			return &option_table[i];
	}
	return NULL;
}

/*
 * Sets what arguments[*index] says, moves *index on if the value is the next argument, and marks
 * the option in @is_set.
 */
static int parse_argument(struct options *options, int argument_count, char *const *arguments,
			  int *index, bool *is_set)
{
	const char *argument = arguments[*index];
	const char *name = argument;
	struct setting setting;
	const char *equals;
	size_t length;
	char source[64];

	name += name[0] == '-';
	if (name == argument || !*name)
		return fail(-EINVAL,
			    "%.*s: not an option; options start with a dash, -help lists them",
			    SHOWN_VALUE_BYTES, argument);
	name += name[0] == '-';
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

int options_parse(struct options *options, int argument_count, char *const *arguments)
{
	_cleanup_(options_deinit) struct options parsed = { .action = OPTIONS_RUN };
	bool is_set[OPTION_COUNT] = { false };

	for (int i = 1; i < argument_count && parsed.action == OPTIONS_RUN; i++) {
		int error = parse_argument(&parsed, argument_count, arguments, &i, is_set);

		if (error)
			return error;
	}
	for (size_t i = 0; i < OPTION_COUNT && parsed.action == OPTIONS_RUN; i++) {
		int error = 0;

		if (!is_set[i])
			error = parse_environment(&parsed, &option_table[i], &is_set[i]);
		if (!error && !is_set[i])
			error = parse_initial(&parsed, &option_table[i]);
		if (error)
			return error;
	}
	*options = parsed;
	parsed = (struct options){ 0 };
	return 0;
}

void options_deinit(struct options *options)
{
	if (!options)
		return;
	for (uint32_t i = 0; i < options->output_count; i++)
		free(options->outputs[i]);
	free(options->outputs);
	free(options->pids);
	free(options->cgroup);
	free(options->cpus);
	free_tags(options);
	free(options->cache_dir);
	*options = (struct options){ 0 };
}

enum {
	HELP_INDENT = 8,
	HELP_COLUMNS = 80,
};

static void print_wrapped(FILE *file, const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (column == 0 || column + 1 + length > HELP_COLUMNS) {
			fprintf(file, "%s%*s", column ? "\n" : "", HELP_INDENT, "");
			column = HELP_INDENT;
		} else {
			fputc(' ', file);
			column++;
		}
		fprintf(file, "%.*s", (int)length, text);
		column += length;
		text += length + strspn(text + length, " ");
	}
	fputc('\n', file);
}

void options_print_help(FILE *file)
{
	fputs("Usage: agent [OPTION...]\n"
	      "\n"
	      "Samples what every CPU of this machine runs, kernel and native frames together,\n"
	      "without a change to the programs. Needs root. Stop it with Ctrl-C.\n"
	      "\n"
	      "Options take one dash or two, `-name=value` or `-name value`. Each can also come\n"
	      "from the environment as ALLFRAMES_NAME (upper case, _ for -); the command line\n"
	      "wins. Durations: 100ms, 5s, 2m30s, 1h. Sizes: K, M, G.\n"
	      "\n",
	      file);
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct option *option = &option_table[i];

		fprintf(file, "  -%s%s%s", option->name, option->value_name ? " " : "",
			option->value_name ? option->value_name : "");
		if (option->initial)
			fprintf(file, "  (%s)", option->initial);
		fputc('\n', file);
		print_wrapped(file, option->meaning);
	}
	fputs("\nExit status: 0 done, 1 failed while running, 2 wrong usage, 3 missing privilege or\n"
	      "kernel feature.\n",
	      file);
}
