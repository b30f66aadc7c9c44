/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Decompression of whole buffers whose size is known beforehand, as ELF's compressed sections have
 * it. The input is hostile; the output never grows beyond what the caller made room for.
 */
#ifndef AGENT_HOST_DECOMPRESS_H
#define AGENT_HOST_DECOMPRESS_H

#include <stddef.h>

enum compression {
	COMPRESSION_ZLIB,
	COMPRESSION_ZSTD,
};

/**
 * Decompresses @input into @output, which must come out exactly @output_bytes long. -EBADMSG if the
 * input is damaged or its content has another length (@output then holds rubbish), -ENOMEM.
 */
int decompress(enum compression compression, const void *input, size_t input_bytes, void *output,
	       size_t output_bytes);

#endif
