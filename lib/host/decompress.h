/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Decompression of whole buffers: to a size that is known beforehand, as for ELF's compressed sections, or to
 * any size below a limit. The input is hostile. The output never exceeds the caller's limit. Input that
 * produces no output is read only up to an amount that fits the output's size, so the time is bounded too.
 */
#ifndef LIB_HOST_DECOMPRESS_H
#define LIB_HOST_DECOMPRESS_H

#include <stddef.h>

enum compression {
	COMPRESSION_ZLIB,
	COMPRESSION_ZSTD,
};

/** To be called before a process gives up opening files, since the libraries detect the CPU at first use. */
void decompress_prepare(void);

/**
 * Decompresses @input into @output, which must come out exactly @output_bytes long. -EBADMSG if the
 * input is damaged or its content has another length (@output then holds rubbish), -ENOMEM.
 */
int decompress(enum compression compression, const void *input, size_t input_bytes, void *output,
	       size_t output_bytes);

/**
 * Decompresses one or more .xz streams into fresh memory, which the caller frees. -E2BIG over
 * @output_max or when the streams want a dictionary larger than any preset of xz has, -EBADMSG if
 * they are damaged, -ENOMEM.
 */
int decompress_xz(const void *input, size_t input_bytes, size_t output_max, void **output,
		  size_t *output_bytes);

#endif
