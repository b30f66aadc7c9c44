/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of native code for the outputs: a symbol cache that all of them share, and a symbol store for each
 * thread that looks names up. It is one of the reporters: the binaries of new traces are queued, and their
 * debug data is read while the agent samples.
 */
#ifndef AGENT_NATIVE_NAMES_H
#define AGENT_NATIVE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/options.h"
#include "lib/model/symbol_lookup.h"
#include "reporter/reporter.h"

struct elf_home;
struct path_judge;
struct uploaded_symbol_caches;

/** Owner: struct agent. */
struct native_names;

/**
 * The symbols of small files are read by @parser, which is borrowed; NULL: here, as in tests. -EPERM and other errors of
 * file_cache_create(), if there is a cache directory.
 */
int native_names_create(const struct options *options, struct elf_home *parser,
			struct native_names **names);

/** Takes NULL. False: work that hangs in a file is abandoned, and may still use the parser. */
bool native_names_destroy(struct native_names *names);

/** Judges which files may be read by their paths when no process runs them any more. Borrowed. Any thread. */
const struct path_judge *native_names_judge(const struct native_names *names);

/** Symbol caches that others upload; NULL: uploads are not accepted. Borrowed. */
struct uploaded_symbol_caches *native_names_uploaded(struct native_names *names);

/** Lookup for the main thread, if there are local outputs. Borrowed. */
struct symbol_lookup *native_names_local(struct native_names *names);

/** Lookup for the viewer's thread, if there is a page. Borrowed. */
struct symbol_lookup *native_names_shown(struct native_names *names);

/** Lookup for the report thread; NULL if only names of Go are to be sent. Borrowed. */
struct symbol_lookup *native_names_sent(struct native_names *names);

/**
 * The reporter that queues the binaries of new traces; NULL if no names are wanted. It must come before the
 * reporters that keep samples. For the work thread. Borrowed.
 */
struct reporter *native_names_reporter(struct native_names *names);

/** To be called several times a second: starts making names for new binaries, and does housekeeping. Any thread. */
void native_names_tick(struct native_names *names);

/**
 * Starts making names for new binaries, and waits for their symbols, for one and a half seconds at most. For
 * the report thread.
 */
void native_names_wait_symbols(struct native_names *names);

/**
 * The number of binaries whose debug data is still to be read, and a number that grows when names may have
 * improved. Any thread.
 */
void native_names_progress(struct native_names *names, uint64_t *pending, uint64_t *changes);

/**
 * Waits until all reported binaries have names, until @deadline_ns (CLOCK_MONOTONIC) at most. Afterwards names
 * do not change any more.
 */
void native_names_wait(struct native_names *names, uint64_t deadline_ns);

#endif
