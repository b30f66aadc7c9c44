/* SPDX-License-Identifier: Apache-2.0 */
/**
 * HotSpot's stubs: code in the code cache that belongs to no method. It is made while the JVM starts and kept until
 * the JVM ends. The kernel side gets unwind rows that are made from the instructions; users get names.
 *
 * The starts of stubs within a block come from the JVM's own variables: pointers into code in libjvm.so's data.
 * Source: share/code/{codeBlob,vtableStubs}.hpp, share/runtime/stubRoutines.hpp, share/runtime/sharedRuntime.cpp
 * of OpenJDK 8 to 27.
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
	/** Limit of writable segments of libjvm.so; it has one or two. */
	JAVA_MAX_DATA_RANGES = 4,
	/** Limit of their total size; they have less than one MiB. */
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

/** Finds the writable ranges of @image, up to the limits. */
void java_data_ranges_find(const struct elf_image *image, struct java_data_ranges *ranges);

/**
 * Makes the data for the kernel side: @process with unwind rows of the stubs that exist now. *@data is newly
 * allocated and has *@bytes bytes, a multiple of the cell size. If rows cannot be made or memory cannot be read,
 * there are no rows, which is no error. -ENOMEM.
 */
int java_stubs_read(const struct java_layout *layout, const struct java_heaps *heaps,
		    const struct java_data_ranges *ranges, const struct attach_target *target,
		    const struct java_process *process, void **data, uint32_t *bytes);

/**
 * Reads the name of the block of the stub at @address: "[stub: slow_subtype_check Runtime1 stub]". For a block with
 * many stubs java_stub_names.h has their names. -ENOENT: there is no stub; -EBADMSG, -EFAULT, -ESRCH.
 */
int java_stub_name(const struct java_layout *layout, const struct java_heaps *heaps,
		   struct remote_memory *memory, uint64_t address, java_text text);

#endif
