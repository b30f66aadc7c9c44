/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The map_writer (lib/model/map_writer.h) over the real BPF maps: writes unwind tables, mapping tables and data
 * of interpreters into the slabs, and publishes and retires them in the order that ebpf/abi/slab.h and
 * process.h demand. A slab is created when a cell in it is first used, and removed when it is empty.
 *
 * Callers are trusted: tables are copied unchecked, since stackdeltas/ and processes/ check them. Owned by one
 * thread at a time; callers serialise.
 */
#ifndef AGENT_TRACING_BPF_MAPS_H
#define AGENT_TRACING_BPF_MAPS_H

#include "agent/tracing/bpf_loader.h"
#include "lib/model/map_writer.h"

struct bpf_maps;

/** @fds is copied. The loader still owns the descriptors, which must outlive the maps. 0 or -errno. */
int bpf_maps_create(const struct bpf_fds *fds, struct bpf_maps **maps);
void bpf_maps_destroy(struct bpf_maps *maps);

/** Owned by @maps. */
struct map_writer *bpf_maps_writer(struct bpf_maps *maps);

#endif
