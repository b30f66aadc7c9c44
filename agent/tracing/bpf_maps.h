/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The map_writer (lib/model/map_writer.h) over the real BPF maps: lays unwind tables, mapping
 * tables and what is known of interpreters into the slabs, publishes and retires them in the orders
 * of ebpf/abi/slab.h and process.h. Slabs come into being when cells in them are first taken, and
 * go when they are empty.
 *
 * Trusts its callers: tables are copied as they are, since stackdeltas/ and processes/ check them.
 * Owned by one thread at a time; callers serialise.
 */
#ifndef AGENT_TRACING_BPF_MAPS_H
#define AGENT_TRACING_BPF_MAPS_H

#include "agent/tracing/bpf_loader.h"
#include "lib/model/map_writer.h"

struct bpf_maps;

/** @fds is copied; the descriptors stay the loader's and must outlive the maps. 0 or -errno. */
int bpf_maps_create(const struct bpf_fds *fds, struct bpf_maps **maps);
void bpf_maps_destroy(struct bpf_maps *maps);

/** Owned by @maps. */
struct map_writer *bpf_maps_writer(struct bpf_maps *maps);

#endif
