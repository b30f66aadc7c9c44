/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What HotSpot calls the routines within a block of stubs: "StubRoutines::sha256_implCompress". The JVM
 * keeps a list of them (StubCodeDesc) with the first byte and the end of each. Nothing exported tells
 * where the list is: it is looked for among libjvm.so's variables, by what its entries have to be.
 *
 * Source: share/runtime/stubCodeGenerator.hpp of OpenJDK 8 to 27. The list is hostile, and grows while it
 * is read: entries that are not what they have to be are passed over.
 */
#ifndef INTERPRETERS_JAVA_JAVA_STUB_NAMES_H
#define INTERPRETERS_JAVA_JAVA_STUB_NAMES_H

#include "interpreters/java/java_code.h"
#include "interpreters/java/java_layout.h"
#include "interpreters/java/java_stubs.h"
#include "lib/base/text_builder.h"
#include "lib/base/vector.h"
#include "lib/elf/elf_image.h"

enum {
	/** Of a list; there are up to 400. */
	JAVA_STUB_NAMES_MAX = 2048,
	/** Longer texts are no names. */
	JAVA_STUB_NAME_BYTES = 96,
};

struct java_stub_name {
	/** [start, end), in the process. */
	uint64_t start;
	uint64_t end;
	/** Of the text. */
	size_t text;
};

VECTOR_DEFINE(java_stub_name_vector, struct java_stub_name)

/** Immutable once read. All bytes zero is none. */
struct java_stub_names {
	/** Sorted; no two overlap. */
	struct java_stub_name_vector names;
	struct text_builder texts;
};

/** Where libjvm.so is and its variables are; ELF virtual addresses. */
struct java_library {
	/** [start, end) of all that is loaded of it. */
	uint64_t start;
	uint64_t end;
	struct java_data_ranges data;
};

void java_library_find(const struct elf_image *image, struct java_library *library);

/** Reads them from the process that has @library at @bias. None is no error. -ENOMEM. */
int java_stub_names_read(const struct java_layout *layout, const struct java_heaps *heaps,
			 const struct java_library *library, uint64_t bias,
			 struct remote_memory *memory, struct java_stub_names *names);
void java_stub_names_deinit(struct java_stub_names *names);

/** The name of the routine that has @address, until deinit; NULL: the JVM does not tell. */
const char *java_stub_names_find(const struct java_stub_names *names, uint64_t address);

#endif
