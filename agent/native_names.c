// SPDX-License-Identifier: Apache-2.0
#include "agent/native_names.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/new_binaries.h"
#include "agent/processes/local_devices.h"
#include "agent/runtimes/elf_home.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "symbols/debuginfod.h"
#include "symbols/symbol_caches.h"
#include "symbols/symbol_store.h"
#include "symbols/uploaded_symbol_caches.h"

enum {
	SYMBOL_TABLES_MAX_BYTES = 128 << 20,
	/* For as long as the agent runs. */
	SHOWN_TABLES_MAX_BYTES = 24 << 20,
};

/* How long the report thread waits for symbols, and how long it does not wait after that was not enough. */
#define SYMBOLS_WAIT_NS (1500 * NS_PER_MS)
#define NO_WAIT_NS (20 * NS_PER_SECOND)
#define FETCH_TIMEOUT_NS (300 * NS_PER_SECOND)
struct native_names {
	struct elf_home *parser;
	/* NULL: no names are wanted. */
	struct symbol_caches *caches;
	/* Binaries that need symbol caches; zeroed without them. */
	struct new_binaries binaries;
	/* NULL: nothing is fetched. */
	struct debuginfod *debuginfod;
	char fetched[PATH_MAX];
	/* NULL: uploads are not received, or there is no cache directory. */
	struct uploaded_symbol_caches *uploaded;
	enum symbol_depth depth;
	struct symbol_store *local;
	struct symbol_store *shown;
	struct symbol_store *sent;
	/* The report thread does not wait for symbols before this time. */
	uint64_t no_wait_ns;
	/* Judges whether files that no process runs any more may be read by their paths. */
	struct path_judge judge;
	pthread_mutex_t devices_lock;
	struct local_devices devices;
};

static bool is_local(void *context, pid_t pid, uint32_t major, uint32_t minor)
{
	struct native_names *names = context;
	bool is_known;

	pthread_mutex_lock(&names->devices_lock);
	is_known = local_devices_contain(&names->devices, "/proc", pid, major, minor,
					 clock_monotonic_ns());
	pthread_mutex_unlock(&names->devices_lock);
	return is_known;
}

static void fetch_debug_file(void *context, struct binary *binary)
{
	struct native_names *names = context;

	debuginfod_want(names->debuginfod, binary);
}

static void look_again(void *context, struct binary *binary)
{
	struct native_names *names = context;

	symbol_caches_retry(names->caches, binary);
}

static bool is_in_path(const char *program)
{
	const char *variable = getenv("PATH");
	_cleanup_(free_pointer) char *folders = variable ? strdup(variable) : NULL;
	char *rest = folders, *folder;
	char path[PATH_MAX];

	while (rest && (folder = strsep(&rest, ":"))) {
		if (snprintf(path, sizeof(path), "%s/%s", folder, program) < (int)sizeof(path) &&
		    !access(path, X_OK))
			return true;
	}
	return false;
}

/* To be called before the store of symbol caches exists, since that may request files. */
static int create_debuginfod(struct native_names *names)
{
	const struct debuginfod_options options = {
		.program = DEBUGINFOD_PROGRAM,
		.timeout_ns = FETCH_TIMEOUT_NS,
		.came = look_again,
		.context = names,
	};
	const char *servers = getenv("DEBUGINFOD_URLS");

	if (!servers || !*servers)
		return fail(-EINVAL, "-debuginfod: DEBUGINFOD_URLS names no server");
	if (!is_in_path(options.program))
		return fail(-EINVAL, "-debuginfod: there is no debuginfod-find; install elfutils' "
				     "client (Debian: debuginfod)");
	if (debuginfod_directory(names->fetched, sizeof(names->fetched)))
		return fail(-EINVAL, "-debuginfod: set HOME or DEBUGINFOD_CACHE_PATH, where files "
				     "are to be kept");
	return debuginfod_create(&options, &names->debuginfod);
}

static int make_small_cache(void *context, const struct symbol_cache_maker_files *files,
			    struct hash128 key, uint64_t *cpu_ns)
{
	struct elf_home *parser = context;

	return parser->ops->make_symbols(parser, files, key, cpu_ns);
}

static int create_caches(const struct options *options, struct native_names *names)
{
	struct symbol_caches_options cache_options;
	bool fetches = options->debuginfod && names->depth == SYMBOL_DEPTH_FULL;
	int error = fetches ? create_debuginfod(names) : 0;

	if (!error)
		error = symbol_caches_options_init(&cache_options, options->cache_dir);
	if (error)
		return error;
	cache_options.work.judge = names->judge;
	if (names->parser)
		cache_options.work.small =
			(struct small_symbol_cache_maker){ make_small_cache, names->parser };
	if (fetches) {
		cache_options.work.fetched = names->fetched;
		cache_options.no_dwarf = fetch_debug_file;
		cache_options.no_dwarf_context = names;
	}
	return symbol_caches_create(&cache_options, &names->caches);
}

/* Makes a symbol store; every thread that looks names up has its own. */
static int create_full(struct native_names *names, size_t table_limit_bytes,
		       struct symbol_store **store)
{
	const struct symbol_store_options options = {
		.caches = symbol_caches_source(names->caches),
		.uploaded = names->uploaded ? uploaded_symbol_caches_source(names->uploaded) : NULL,
		.depth = SYMBOL_DEPTH_FULL,
		.table_limit_bytes = table_limit_bytes,
		.reads_remote = true,
		.judge = &names->judge,
		.names_starts = true,
		.demangles = true,
	};

	return symbol_store_create(&options, store);
}

/* Makes the report thread's store. It reads no files but Go's; frames without a symbol cache have no name. */
static int create_sent(struct native_names *names, enum symbolize symbolize)
{
	const struct symbol_store_options options = {
		.caches = symbol_caches_source(names->caches),
		.depth = symbolize == SYMBOLIZE_FULL ? SYMBOL_DEPTH_FULL : SYMBOL_DEPTH_SYMBOLS,
		.judge = &names->judge,
		.demangles = true,
	};

	return symbol_store_create(&options, &names->sent);
}

static int create_stores(const struct options *options, struct native_names *names)
{
	const struct collector_options *collector = &options->collector;
	bool has_local = options->output_count || options->report || options->top,
	     has_page = options_have_page(options) || options->doctor;
	bool has_sent = collector->address && collector->symbolize != SYMBOLIZE_NONE;
	int error;

	if (!has_local && !has_page && !has_sent)
		return 0;
	names->depth = has_local || has_page || collector->symbolize == SYMBOLIZE_FULL ?
			       SYMBOL_DEPTH_FULL :
			       SYMBOL_DEPTH_SYMBOLS;
	error = create_caches(options, names);
	if (!error)
		error = new_binaries_init(&names->binaries, SYMBOL_CACHES_MAX_WAITING);
	if (!error && options->receive.address && options->cache_dir)
		error = uploaded_symbol_caches_create(options->cache_dir, &names->uploaded);
	if (!error && has_local)
		error = create_full(names, SYMBOL_TABLES_MAX_BYTES, &names->local);
	if (!error && has_page)
		error = create_full(names, SHOWN_TABLES_MAX_BYTES, &names->shown);
	if (!error && has_sent)
		error = create_sent(names, collector->symbolize);
	return error;
}

const struct path_judge *native_names_judge(const struct native_names *names)
{
	return &names->judge;
}

int native_names_create(const struct options *options, struct elf_home *parser,
			struct native_names **names)
{
	struct native_names *created = calloc(1, sizeof(*created));
	int error;

	if (!created)
		return fail(-ENOMEM, "no memory for names");
	created->parser = parser;
	local_devices_init(&created->devices);
	pthread_mutex_init(&created->devices_lock, NULL);
	created->judge = (struct path_judge){ .may_read = is_local, .context = created };
	error = create_stores(options, created);
	if (error) {
		native_names_destroy(created);
		return error;
	}
	*names = created;
	return 0;
}

bool native_names_destroy(struct native_names *names)
{
	if (!names)
		return true;
	if (names->parser)
		names->parser->ops->stop_symbols(names->parser);
	symbol_store_destroy(names->local);
	symbol_store_destroy(names->shown);
	symbol_store_destroy(names->sent);
	uploaded_symbol_caches_destroy(names->uploaded);
	new_binaries_deinit(&names->binaries);
	/* The two refer to each other. */
	debuginfod_stop(names->debuginfod);
	/* An abandoned thread may still use the devices and request debug files. */
	if (!symbol_caches_destroy(names->caches))
		return false;
	debuginfod_destroy(names->debuginfod);
	local_devices_deinit(&names->devices);
	pthread_mutex_destroy(&names->devices_lock);
	free(names);
	return true;
}

struct uploaded_symbol_caches *native_names_uploaded(struct native_names *names)
{
	return names->uploaded;
}

struct symbol_lookup *native_names_local(struct native_names *names)
{
	return names->local ? symbol_store_lookup(names->local) : NULL;
}

struct symbol_lookup *native_names_shown(struct native_names *names)
{
	return names->shown ? symbol_store_lookup(names->shown) : NULL;
}

struct symbol_lookup *native_names_sent(struct native_names *names)
{
	return names->sent ? symbol_store_lookup(names->sent) : NULL;
}

struct reporter *native_names_reporter(struct native_names *names)
{
	return names->caches ? &names->binaries.reporter : NULL;
}

static void want_new(struct native_names *names)
{
	struct new_binary item;

	while (new_binaries_take(&names->binaries, &item)) {
		symbol_caches_want(names->caches, item.binary, (pid_t)item.pid, names->depth);
		binary_unref(item.binary);
	}
}

void native_names_tick(struct native_names *names)
{
	if (!names->caches)
		return;
	want_new(names);
	symbol_caches_tick(names->caches);
}

/*
 * Without the wait, a binary's first samples would be sent without names and later ones with names: different
 * stacks for a collector. On a host where symbols take longer, the wait is skipped for a while.
 */
void native_names_wait_symbols(struct native_names *names)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!names->caches)
		return;
	want_new(names);
	if (now_ns >= names->no_wait_ns &&
	    !symbol_caches_wait_symbols(names->caches, now_ns + SYMBOLS_WAIT_NS))
		names->no_wait_ns = now_ns + NO_WAIT_NS;
}

void native_names_progress(struct native_names *names, uint64_t *pending, uint64_t *changes)
{
	size_t waiting = 0;

	*changes = 0;
	if (names->caches)
		symbol_caches_progress(names->caches, &waiting, changes);
	if (names->uploaded)
		*changes += uploaded_symbol_caches_changes(names->uploaded);
	*pending = waiting;
}

void native_names_wait(struct native_names *names, uint64_t deadline_ns)
{
	if (!names->caches)
		return;
	want_new(names);
	if (!symbol_caches_wait(names->caches, deadline_ns))
		log_warn(
			"the stop came before the debug data of all files was read; some functions "
			"have no lines");
	symbol_caches_freeze(names->caches);
}
