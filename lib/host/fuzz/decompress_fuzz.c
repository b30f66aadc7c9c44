/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed bytes of every kind, damaged by the fuzzer: the output never exceeds the limit, and all of its
 * bytes are readable. The first byte chooses the kind, the next two the stated size or the limit.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/byte_reader.h"
#include "lib/elf/debug_file.h"
#include "lib/host/decompress.h"

enum {
	KIND_ZLIB,
	KIND_ZSTD,
	KIND_XZ,
	KIND_DEBUG_LINK,
	KINDS,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

/* Reads every byte, so that a sanitizer detects invalid ones. */
static void touch(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sink ^= bytes[i];
}

static void check_stated_size(enum compression compression, struct byte_reader *reader)
{
	size_t size = byte_reader_u16(reader);
	uint8_t *output = malloc(size ? size : 1);
	size_t left = byte_reader_left(reader);

	if (output && !decompress(compression, byte_reader_bytes(reader, left), left, output, size))
		touch(output, size);
	free(output);
}

static void check_xz(struct byte_reader *reader)
{
	size_t limit = (size_t)byte_reader_u16(reader) * 16, size;
	size_t left = byte_reader_left(reader);
	void *output;

	if (decompress_xz(byte_reader_bytes(reader, left), left, limit, &output, &size))
		return;
	if (size > limit)
		abort();
	touch(output, size);
	free(output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_reader reader;
	const char *name;
	uint32_t crc;

	byte_reader_init(&reader, data, size);
	switch (byte_reader_u8(&reader) % KINDS) {
	case KIND_ZLIB:
		check_stated_size(COMPRESSION_ZLIB, &reader);
		break;
	case KIND_ZSTD:
		check_stated_size(COMPRESSION_ZSTD, &reader);
		break;
	case KIND_XZ:
		check_xz(&reader);
		break;
	default:
		if (size && !debug_link_parse(data + 1, size - 1, &name, &crc))
			sink ^= strlen(name);
		break;
	}
	return 0;
}
