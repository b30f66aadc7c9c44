/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/symbol_cache_entry.h"

#include <errno.h>

#include "lib/base/clock.h"
#include "lib/host/binary_file.h"
#include "lib/model/metrics.h"

enum {
	/* How many further processes are tried for a root directory. */
	ROOT_TRIES_MAX = 8,
	WAIT_FACTOR = 4,
	TRIES_MAX = 7,
};

#define FIRST_WAIT_NS NS_PER_SECOND

static bool is_temporary(int err)
{
	switch (err) {
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -ENOSPC:
	case -EDQUOT:
	case -EIO:
	case -EINTR:
	case -EAGAIN:
		return true;
	default:
		return false;
	}
}

bool symbol_cache_retry_note(struct symbol_cache_retry *retry, int err)
{
	uint64_t wait_ns = FIRST_WAIT_NS;

	if (!is_temporary(err) || ++retry->tries == TRIES_MAX)
		return false;
	for (uint32_t i = 1; i < retry->tries; i++)
		wait_ns *= WAIT_FACTOR;
	retry->time_ns = clock_monotonic_ns() + wait_ns;
	return true;
}

bool symbol_cache_entry_is_to_be_made(const struct symbol_cache_entry *entry,
				      const struct binary *binary, enum symbol_depth depth)
{
	switch (entry->states[depth]) {
	case SYMBOL_CACHE_UNKNOWN:
		return true;
	case SYMBOL_CACHE_LATER:
		return clock_monotonic_ns() >= entry->retries[depth].time_ns;
	case SYMBOL_CACHE_STALE:
		return !binary_file_is_let_go(binary);
	default:
		return false;
	}
}

void symbol_cache_entry_note_process(struct symbol_cache_entry *entry, pid_t pid)
{
	if (!entry->is_rootless || entry->pid == pid ||
	    entry->states[SYMBOL_DEPTH_FULL] != SYMBOL_CACHE_NONE ||
	    entry->root_tries == ROOT_TRIES_MAX)
		return;
	entry->pid = pid;
	entry->is_rootless = false;
	entry->root_tries++;
	entry->states[SYMBOL_DEPTH_FULL] = SYMBOL_CACHE_UNKNOWN;
}

static void note_gone(struct symbol_cache_entry *entry)
{
	if (!entry->is_gone)
		metrics_add(METRIC_FILES_GONE, 1);
	entry->is_gone = true;
}

void symbol_cache_entry_note_failed(struct symbol_cache_entry *entry, enum symbol_depth depth,
				    int err, bool is_rootless)
{
	if (err == -ESTALE) {
		entry->states[depth] = SYMBOL_CACHE_STALE;
		if (depth == SYMBOL_DEPTH_SYMBOLS)
			note_gone(entry);
		return;
	}
	entry->states[depth] = symbol_cache_retry_note(&entry->retries[depth], err) ?
				       SYMBOL_CACHE_LATER :
				       SYMBOL_CACHE_NONE;
	entry->is_rootless |= is_rootless && depth == SYMBOL_DEPTH_FULL;
}
