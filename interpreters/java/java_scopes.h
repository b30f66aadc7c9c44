/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the inlined methods that an instruction of compiled code belongs to, from HotSpot's debug information. It
 * has records only for pcs that the JVM needs: calls, polls, traps. Every return address in Java code has a record
 * of its own. With -XX:+DebugNonSafepoints every instruction is described: a record stands at the end of the part
 * of the code that it describes, so the next record is the right one. There are two exceptions. Instructions that
 * C2 inserts last, such as spills, have no record, and the next one may belong to another branch; such samples are
 * rare and cannot be recognized. The slow paths of the collectors' barriers follow all described code; the record
 * of the pc that such a path jumps back to is used.
 *
 * Without that option the pc lies between two records, which may have different inlined methods. Only the inlining
 * that both have in common is used. 9 of 10 inlined methods are right then; with the next record alone it would be
 * 4 of 10, and with the last one 8 of 10 (JavaLoad, C2 of 17 and 25, compared with the records of
 * DebugNonSafepoints).
 *
 * Source: share/code/pcDesc.hpp, scopeDesc.cpp (ScopeDesc::decode_body), debugInfoRec.cpp (add_safepoint(),
 * add_non_safepoint()), nmethod.hpp and share/prims/forte.cpp (is_decipherable_compiled_frame()) of
 * OpenJDK 8 to 27.
 */
#ifndef INTERPRETERS_JAVA_JAVA_SCOPES_H
#define INTERPRETERS_JAVA_JAVA_SCOPES_H

#include <stdbool.h>
#include <stdint.h>

#include "interpreters/java/java_code.h"
#include "interpreters/java/java_layout.h"
#include "interpreters/language.h"
#include "lib/host/remote_memory.h"

enum {
	/** Limit of inlining. Beyond it the outermost scopes are left out; the compiled method is still the last. */
	JAVA_MAX_SCOPES = 128,
	/** Before the first bytecode, in the entry code of a synchronized method. */
	JAVA_BCI_OF_ENTRY = -1,
};

struct java_scope {
	/** Address of a Method. */
	uint64_t method;
	/** Bytecode index in the method, or JAVA_BCI_OF_ENTRY. */
	int32_t bci;
};

struct java_scopes {
	/** Innermost first; the last one is the compiled method. */
	struct java_scope scopes[JAVA_MAX_SCOPES];
	uint32_t count;
	/** There is a record for exactly this pc. Else methods may be missing, and bytecode indexes be approximate. */
	bool is_exact;
};

/**
 * Reads the scopes of the pc at @offset in the code of @blob, which is an nmethod; a return address is passed as it
 * is. Without debug information the result is the compiled method alone, which is exact for a native method.
 * @find_jump may be NULL. -EBADMSG, -EFAULT, -ESRCH.
 */
int java_scopes_read(const struct java_layout *layout, struct remote_memory *memory,
		     const struct java_blob *blob, uint32_t offset, bool is_return_address,
		     runtime_find_jump *find_jump, struct java_scopes *scopes);

#endif
