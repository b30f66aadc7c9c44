/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Real BPF maps, without programs, for the live tests of this folder.
 */
#ifndef AGENT_TRACING_TESTS_LIVE_MAPS_H
#define AGENT_TRACING_TESTS_LIVE_MAPS_H

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <unistd.h>

#include "ebpf/abi/slab.h"

/** As ebpf/maps.bpf.h has them; -1 where bpf() is refused. */
static inline int live_array(uint32_t value_bytes, uint32_t count, uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = flags);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "test_array", sizeof(uint32_t), value_bytes,
			      count, &options);
}

static inline int live_slabs(uint32_t slab_count)
{
	int template = live_array(CELL_BYTES, SLAB_CELLS, BPF_F_MMAPABLE), slabs;
	LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = (uint32_t) template);

	if (template <0)
		return -1;
	slabs = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "test_slabs", sizeof(uint32_t),
			       sizeof(uint32_t), slab_count, &options);
	close(template);
	return slabs;
}

static inline int live_hash(uint32_t value_bytes, uint32_t count)
{
	return bpf_map_create(BPF_MAP_TYPE_HASH, "test_hash", sizeof(uint32_t), value_bytes, count,
			      NULL);
}

static inline int live_ring(uint32_t bytes)
{
	return bpf_map_create(BPF_MAP_TYPE_RINGBUF, "test_ring", 0, 0, bytes, NULL);
}

#endif
