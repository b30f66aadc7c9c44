/* SPDX-License-Identifier: Apache-2.0 */
/**
 * HotSpot's names for the routines within a block of stubs: "StubRoutines::sha256_implCompress". The JVM
 * keeps a list of them (StubCodeDesc) with the start and the end of each. No exported symbol has the address of the
 * list, so libjvm.so's variables are searched for a pointer to entries of the right form.
 *
 * Source: share/runtime/stubCodeGenerator.hpp of OpenJDK 8 to 27. The list is hostile, and grows while it
 * is read: invalid entries are skipped.
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
	/** Limit of names in a list; real lists have up to 400. */
	JAVA_STUB_NAMES_MAX = 2048,
	/** Longer texts are not accepted as names. */
	JAVA_STUB_NAME_BYTES = 96,
};

struct java_stub_name {
	/** [start, end), in the process. */
	uint64_t start;
	uint64_t end;
	/** Offset of the text in java_stub_names.texts. */
	size_t text;
};

VECTOR_DEFINE(java_stub_name_vector, struct java_stub_name)

/** Immutable once read. A zeroed struct has no names. */
struct java_stub_names {
	/** Sorted; no two overlap. */
	struct java_stub_name_vector names;
	struct text_builder texts;
};

/** The address ranges of libjvm.so and of its variables; ELF virtual addresses. */
struct java_library {
	/** [start, end) of its loaded segments. */
	uint64_t start;
	uint64_t end;
	struct java_data_ranges data;
};

void java_library_find(const struct elf_image *image, struct java_library *library);

/** Reads the names from the process that has @library at @bias. Finding none is no error. -ENOMEM. */
int java_stub_names_read(const struct java_layout *layout, const struct java_heaps *heaps,
			 const struct java_library *library, uint64_t bias,
			 struct remote_memory *memory, struct java_stub_names *names);
void java_stub_names_deinit(struct java_stub_names *names);

/** The name of the routine that contains @address, valid until deinit; NULL: it is not in the JVM's list. */
const char *java_stub_names_find(const struct java_stub_names *names, uint64_t address);

#endif
