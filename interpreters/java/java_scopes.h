/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which methods, inlined into each other, an instruction of compiled code is of, from HotSpot's debug
 * information. That has records only for places where the JVM may have to know: calls, polls, traps. A
 * return address to Java's code has one of its own. With -XX:+DebugNonSafepoints each instruction is
 * described, by the record behind it, which stands at the end of the part of the code that it is for. But
 * what C2 inserts last, such as spills, has none: the record behind that may be of another branch (of 35,000
 * samples of a target one had such methods; nothing tells them from others). And what collectors' barriers seldom
 * do, which C2 puts behind all that is described, is of the place that it goes back to.
 *
 * Else the place lies between two records, which may be of other inlined methods of the same compiled one.
 * What is inlined in the same way at both is taken; so are 9 of 10 inlined methods right that are taken,
 * where of those of the next record 4 are, and of those of the last one 8 (JavaLoad, C2 of 17 and 25, by
 * the records of DebugNonSafepoints).
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
	/** Deeper inlining is cut: the outermost scopes are left out, and the compiled method put last. */
	JAVA_MAX_SCOPES = 128,
	/** Before the first bytecode: in what a synchronized method does at its beginning. */
	JAVA_BCI_OF_ENTRY = -1,
};

struct java_scope {
	/** Of a Method. */
	uint64_t method;
	/** Of its bytecodes, or JAVA_BCI_OF_ENTRY. */
	int32_t bci;
};

struct java_scopes {
	/** Innermost first; the last one is that of the compiled method. */
	struct java_scope scopes[JAVA_MAX_SCOPES];
	uint32_t count;
	/** There is a record of just this place. Else methods may be missing, and places be nearby ones. */
	bool is_exact;
};

/**
 * The scopes of the place @offset behind the beginning of @blob's code, which is an nmethod's: of a
 * return address as it is. Where the debug information says nothing, the compiled method alone, which is
 * exact if it is a native one. @find_jump may be NULL. -EBADMSG, -EFAULT, -ESRCH.
 */
int java_scopes_read(const struct java_layout *layout, struct remote_memory *memory,
		     const struct java_blob *blob, uint32_t offset, bool is_return_address,
		     runtime_find_jump *find_jump, struct java_scopes *scopes);

#endif
