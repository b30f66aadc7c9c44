/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Decompression of whole buffers: of a size that is known beforehand, as ELF's compressed sections
 * have it, or of any size below a limit. The input is hostile; the output never grows beyond what
 * the caller allows, and of input that says nothing no more is read than an output of this size can
 * have, and so the time does not grow, either.
 */
#ifndef LIB_HOST_DECOMPRESS_H
#define LIB_HOST_DECOMPRESS_H

#include <stddef.h>

enum compression {
	COMPRESSION_ZLIB,
	COMPRESSION_ZSTD,
};

/** Before the first use in a process that may not open files any more: libraries look at the CPU. */
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
