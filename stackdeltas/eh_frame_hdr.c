/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header is only a hint: at worst it points to bytes that are no .eh_frame, or to too few of them.
 */
#include "stackdeltas/eh_frame_hdr.h"

#include <errno.h>

#include "lib/base/byte_reader.h"
#include "lib/base/error.h"
#include "stackdeltas/eh_pointer.h"

enum { EH_FRAME_HDR_VERSION = 1 };

int eh_frame_hdr_read(const uint8_t *bytes, size_t size, uint64_t address,
		      struct eh_frame_hdr *header)
{
	struct eh_frame_hdr result = { 0 };
	struct byte_reader reader;
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	uint64_t count;

	byte_reader_init(&reader, bytes, size);
	version = byte_reader_u8(&reader);
	frame_encoding = byte_reader_u8(&reader);
	count_encoding = byte_reader_u8(&reader);
	table_encoding = byte_reader_u8(&reader);
	if (byte_reader_failed(&reader))
		return fail(-EBADMSG, ".eh_frame_hdr of %zu bytes", size);
	if (version != EH_FRAME_HDR_VERSION || !eh_pointer_is_known(frame_encoding))
		return fail(-EOPNOTSUPP, ".eh_frame_hdr: version %u, encoding %#x", version,
			    frame_encoding);
	result.eh_frame_address = eh_pointer_read(&reader, frame_encoding, address, address);
	if (byte_reader_failed(&reader))
		return fail(-EBADMSG, ".eh_frame_hdr: cut");
	if (eh_pointer_is_known(count_encoding) && eh_pointer_is_known(table_encoding)) {
		count = eh_pointer_read(&reader, count_encoding, address, address);
		while (count-- && !byte_reader_failed(&reader)) {
			uint64_t fde_address;

			eh_pointer_read(&reader, table_encoding, address, address);
			fde_address = eh_pointer_read(&reader, table_encoding, address, address);
			if (fde_address > result.last_fde_address)
				result.last_fde_address = fde_address;
		}
		if (byte_reader_failed(&reader))
			return fail(-EBADMSG, ".eh_frame_hdr: table cut");
	}
	*header = result;
	return 0;
}
