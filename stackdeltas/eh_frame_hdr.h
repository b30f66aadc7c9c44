/* SPDX-License-Identifier: Apache-2.0 */
/**
 * .eh_frame_hdr, to which PT_GNU_EH_FRAME points. It has the address of .eh_frame, for files whose
 * section headers were stripped (LSB Core 5.0, 10.6.2 "The .eh_frame_hdr section").
 */
#ifndef STACKDELTAS_EH_FRAME_HDR_H
#define STACKDELTAS_EH_FRAME_HDR_H

#include <stddef.h>
#include <stdint.h>

struct eh_frame_hdr {
	/** ELF virtual address of .eh_frame. */
	uint64_t eh_frame_address;
	/** The highest address of an FDE in the search table; 0 if there is no table. */
	uint64_t last_fde_address;
};

/**
 * Reads the @size bytes at ELF virtual address @address. -EBADMSG if they are damaged, -EOPNOTSUPP
 * for another version or an encoding that is not known.
 */
int eh_frame_hdr_read(const uint8_t *bytes, size_t size, uint64_t address,
		      struct eh_frame_hdr *header);

#endif
