/* SPDX-License-Identifier: Apache-2.0 */
/**
 * HotSpot's stubs: code in its code cache that is of no method, made while the JVM starts and kept as long
 * as it lives. For the kernel side rows by their instructions, for people their names.
 *
 * Where stubs start within a block is told by the JVM's own variables: what in libjvm.so's data points
 * into code. Source: share/code/{codeBlob,vtableStubs}.hpp, share/runtime/stubRoutines.hpp,
 * share/runtime/sharedRuntime.cpp of OpenJDK 8 to 27.
 */
#ifndef INTERPRETERS_JAVA_JAVA_STUBS_H
#define INTERPRETERS_JAVA_JAVA_STUBS_H

#include "ebpf/abi/java.h"
#include "interpreters/java/java_code.h"
#include "interpreters/java/java_layout.h"
#include "interpreters/java/java_names.h"
#include "interpreters/language.h"
#include "lib/elf/elf_image.h"

enum {
	/** Segments of libjvm.so that can be written; it has one or two. */
	JAVA_MAX_DATA_RANGES = 4,
	/** Of all of them; they have less than one MiB. */
	JAVA_MAX_DATA_BYTES = 4 << 20,
};

/** libjvm.so's variables; ELF virtual addresses. */
struct java_data_ranges {
	struct {
		uint64_t address;
		uint64_t bytes;
	} ranges[JAVA_MAX_DATA_RANGES];
	uint32_t count;
};

/** Those of @image, without what is over the limits. */
void java_data_ranges_find(const struct elf_image *image, struct java_data_ranges *ranges);

/**
 * Makes the data for the kernel side: @process with rows of the stubs that are there now. *@data is fresh
 * memory of *@bytes bytes, whole cells. Where rows cannot be made, nor memory be read, there are none,
 * which is no error. -ENOMEM.
 */
int java_stubs_read(const struct java_layout *layout, const struct java_heaps *heaps,
		    const struct java_data_ranges *ranges, const struct attach_target *target,
		    const struct java_process *process, void **data, uint32_t *bytes);

/**
 * What the block of the stub at @address is called: "[stub: slow_subtype_check Runtime1 stub]"; of those
 * that have many, java_stub_names.h knows more. -ENOENT: there is none; -EBADMSG, -EFAULT, -ESRCH.
 */
int java_stub_name(const struct java_layout *layout, const struct java_heaps *heaps,
		   struct remote_memory *memory, uint64_t address, java_text text);

#endif
