/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of .eh_frame and .debug_frame. Every length comes from the file, so each is checked against what is left
 * of its entry or of the section before it is used.
 */
#include "stackdeltas/eh_frame.h"

#include <errno.h>
#include <string.h>

#include "lib/base/byte_reader.h"
#include "lib/base/error.h"
#include "stackdeltas/eh_pointer.h"

enum {
	LENGTH_IS_64_BIT = 0xffffffff,
	LENGTH_RESERVED = 0xfffffff0,
	POINTER_BYTES = 8,
};

static const char letters_without_data[] = "SBG";

static struct byte_reader reader_at(const struct eh_frame *frame, size_t start, size_t end)
{
	struct byte_reader reader;

	byte_reader_init(&reader, frame->bytes, end);
	byte_reader_seek(&reader, start);
	return reader;
}

int eh_frame_entry_at(const struct eh_frame *frame, size_t offset, struct eh_frame_entry *entry)
{
	struct byte_reader reader = reader_at(frame, offset, frame->size);
	uint64_t length = byte_reader_u32(&reader);
	bool has_wide_pointer = false;
	size_t content, pointer_bytes;
	uint64_t cie_pointer;

	if (byte_reader_failed(&reader))
		return offset >= frame->size ? 0 : fail(-EBADMSG, "frame table+%#zx: cut", offset);
	if (!length)
		return 0;
	if (length == LENGTH_IS_64_BIT) {
		length = byte_reader_u64(&reader);
		has_wide_pointer = frame->is_debug_frame;
	} else if (length >= LENGTH_RESERVED) {
		return fail(-EBADMSG, "frame table+%#zx: reserved length", offset);
	}
	content = byte_reader_offset(&reader);
	pointer_bytes = has_wide_pointer ? sizeof(uint64_t) : sizeof(uint32_t);
	if (byte_reader_failed(&reader) || length > byte_reader_left(&reader) ||
	    length < pointer_bytes)
		return fail(-EBADMSG, "frame table+%#zx: an entry of %#llx bytes", offset,
			    (unsigned long long)length);
	cie_pointer = has_wide_pointer ? byte_reader_u64(&reader) : byte_reader_u32(&reader);
	entry->offset = offset;
	entry->content = content + pointer_bytes;
	entry->end = content + length;
	if (frame->is_debug_frame) {
		entry->is_cie = cie_pointer == (has_wide_pointer ? UINT64_MAX : UINT32_MAX);
		entry->cie_offset = cie_pointer;
	} else {
		entry->is_cie = !cie_pointer;
		/* A distance to before the section becomes an offset beyond it, where there is no CIE. */
		entry->cie_offset = content - cie_pointer;
	}
	return 1;
}

int eh_frame_next(const struct eh_frame *frame, size_t *offset, struct eh_frame_entry *entry)
{
	size_t at = *offset;
	int found;

	for (;;) {
		found = eh_frame_entry_at(frame, at, entry);
		if (found || at >= frame->size)
			break;
		at += sizeof(uint32_t);
	}
	*offset = found > 0 ? entry->end : at;
	return found;
}

/* Reads the data of the letters behind z, or of letters without z, from the reader's position on. */
static int read_augmentation(struct byte_reader *reader, const struct eh_frame *frame,
			     const char *letters, struct cie *cie)
{
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			encoding = byte_reader_u8(reader);
			if (!eh_pointer_is_known(encoding) ||
			    (frame->is_debug_frame && encoding != EH_POINTER_ABSOLUTE))
				return fail(-EOPNOTSUPP, "pointer encoding %#x", encoding);
			cie->pointer_encoding = encoding;
			break;
		case 'L':
			byte_reader_skip(reader, 1);
			break;
		case 'P':
			/* The personality routine is often indirect; only its width matters here. */
			encoding = byte_reader_u8(reader);
			if (encoding == EH_POINTER_OMITTED)
				break;
			encoding &= ~(EH_POINTER_INDIRECT | EH_POINTER_PC_RELATIVE);
			eh_pointer_read(reader, encoding, frame->address, 0);
			break;
		case 'S':
			cie->is_signal_frame = true;
			break;
		case 'B':
		case 'G':
			break;
		default:
			return fail(-EOPNOTSUPP, "augmentation letter %#x",
				    (unsigned char)*letters);
		}
	}
	return byte_reader_failed(reader) ? fail(-EBADMSG, "augmentation data cut") : 0;
}

int eh_frame_read_cie(const struct eh_frame *frame, const struct eh_frame_entry *entry,
		      struct cie *cie)
{
	struct byte_reader reader = reader_at(frame, entry->content, entry->end);
	struct cie result = { .pointer_encoding = EH_POINTER_ABSOLUTE };
	uint8_t version = byte_reader_u8(&reader);
	const char *letters = byte_reader_string(&reader);
	int error;

	if (!letters)
		return fail(-EBADMSG, "CIE at %#zx: cut", entry->offset);
	if (version != 1 && version != 3 && version != 4)
		return fail(-EOPNOTSUPP, "CIE at %#zx: version %u", entry->offset, version);
	if (version == 4) {
		uint8_t address_bytes = byte_reader_u8(&reader);
		uint8_t segment_bytes = byte_reader_u8(&reader);

		if (address_bytes != POINTER_BYTES || segment_bytes)
			return fail(-EOPNOTSUPP, "CIE at %#zx: %u-byte addresses", entry->offset,
				    address_bytes);
	}
	result.code_alignment = byte_reader_uleb128(&reader);
	result.data_alignment = byte_reader_sleb128(&reader);
	result.return_address_register = version == 1 ? byte_reader_u8(&reader) :
							byte_reader_uleb128(&reader);
	if (!result.code_alignment)
		result.code_alignment = 1;
	if (*letters == 'z') {
		uint64_t length = byte_reader_uleb128(&reader);
		size_t start = byte_reader_offset(&reader);

		if (byte_reader_failed(&reader) || length > byte_reader_left(&reader))
			return fail(-EBADMSG, "CIE at %#zx: augmentation of %#llx bytes",
				    entry->offset, (unsigned long long)length);
		result.has_augmentation_data = true;
		error = read_augmentation(&reader, frame, letters + 1, &result);
		if (error)
			return error;
		if (byte_reader_offset(&reader) > start + length)
			return fail(-EBADMSG, "CIE at %#zx: augmentation data too long",
				    entry->offset);
		byte_reader_seek(&reader, start + length);
	} else if (letters[strspn(letters, letters_without_data)]) {
		return fail(-EOPNOTSUPP, "CIE at %#zx: augmentation without z", entry->offset);
	} else if (*letters) {
		error = read_augmentation(&reader, frame, letters, &result);
		if (error)
			return error;
	}
	if (byte_reader_failed(&reader))
		return fail(-EBADMSG, "CIE at %#zx: cut", entry->offset);
	result.instructions = byte_reader_offset(&reader);
	result.instructions_end = entry->end;
	*cie = result;
	return 0;
}

int eh_frame_read_fde(const struct eh_frame *frame, const struct eh_frame_entry *entry,
		      const struct cie *cie, struct fde *fde)
{
	struct byte_reader reader = reader_at(frame, entry->content, entry->end);
	uint8_t format = cie->pointer_encoding & EH_POINTER_FORMAT_MASK;
	struct fde result;

	result.start = eh_pointer_read(&reader, cie->pointer_encoding, frame->address, 0);
	result.length = eh_pointer_read(&reader, format, frame->address, 0);
	if (cie->has_augmentation_data) {
		uint64_t length = byte_reader_uleb128(&reader);

		byte_reader_skip(&reader, length);
	}
	if (byte_reader_failed(&reader))
		return fail(-EBADMSG, "FDE at %#zx: cut", entry->offset);
	if (result.start + result.length < result.start)
		return fail(-EBADMSG, "FDE at %#zx: addresses wrap around", entry->offset);
	result.instructions = byte_reader_offset(&reader);
	result.instructions_end = entry->end;
	*fde = result;
	return 0;
}
