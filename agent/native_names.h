/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of native code for the outputs: the ranges that all of them share, and a symbol store for each
 * thread that looks names up. It is one of the reporters: the binaries of a trace that is new are queued, and their
 * debug data is read while the agent samples.
 */
#ifndef AGENT_NATIVE_NAMES_H
#define AGENT_NATIVE_NAMES_H

#include <stdint.h>

#include "agent/options.h"
#include "lib/model/symbol_lookup.h"
#include "reporter/reporter.h"

struct path_judge;
struct uploaded_ranges;

/** Owner: struct agent. */
struct native_names;

/** -EPERM and others as of file_cache_create(), if there is a directory for it. */
int native_names_create(const struct options *options, struct native_names **names);

/** Takes NULL. What a file holds up is left behind. */
void native_names_destroy(struct native_names *names);

/** It says which files may be read by their paths when no process runs them any more. Borrowed. Any thread. */
const struct path_judge *native_names_judge(const struct native_names *names);

/** Of files that others upload; NULL: none are taken. Borrowed. */
struct uploaded_ranges *native_names_uploaded(struct native_names *names);

/** For the main thread, if there are local outputs. Borrowed. */
struct symbol_lookup *native_names_local(struct native_names *names);

/** For the viewer's thread, if there is a page. Borrowed. */
struct symbol_lookup *native_names_shown(struct native_names *names);

/** For the report thread; NULL if nothing is to be sent but names of Go. Borrowed. */
struct symbol_lookup *native_names_sent(struct native_names *names);

/**
 * The reporter that queues the binaries of new traces; NULL if nobody wants names. It has to come before the reporters
 * that keep samples. For the work thread. Borrowed.
 */
struct reporter *native_names_reporter(struct native_names *names);

/** Several times a second: has names made for the binaries that came since, and housekeeping. Any thread. */
void native_names_tick(struct native_names *names);

/**
 * Has names made for the binaries that came since, and waits for symbols of those that are new, for one second and a
 * half at most. For the report thread.
 */
void native_names_wait_symbols(struct native_names *names);

/**
 * How many binaries' debug data is still to be read, and a number that grows when names may have got better. Any
 * thread.
 */
void native_names_progress(struct native_names *names, uint64_t *pending, uint64_t *changes);

/**
 * Waits until names are there for all that was reported, until @deadline_ns (CLOCK_MONOTONIC) at most. From
 * then on they stay as they are.
 */
void native_names_wait(struct native_names *names, uint64_t deadline_ns);

#endif
