/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which methods, inlined into each other, an instruction of compiled code is of, from HotSpot's debug
 * information. That has records only for places where the JVM may have to know: calls, polls, traps. A
 * return address has one of its own. For other instructions, where a thread was interrupted, the next
 * record is taken, which may be of other inlined methods of the same compiled one.
 *
 * Source: share/code/pcDesc.hpp, scopeDesc.cpp (ScopeDesc::decode_body), debugInfo.hpp and nmethod.hpp
 * of OpenJDK 8 to 27.
 */
#ifndef INTERPRETERS_JAVA_JAVA_SCOPES_H
#define INTERPRETERS_JAVA_JAVA_SCOPES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/host/remote_memory.h"
#include "interpreters/java/java_code.h"
#include "interpreters/java/java_layout.h"

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
	/** There is a record of just this place. */
	bool is_exact;
};

/**
 * The scopes of the place @offset behind the beginning of @blob's code, which is an nmethod's: of a
 * return address as it is. Where the debug information says nothing, the compiled method alone, not
 * exact. -EBADMSG, -EFAULT, -ESRCH.
 */
int java_scopes_read(const struct java_layout *layout, struct remote_memory *memory,
		     const struct java_blob *blob, uint32_t offset, struct java_scopes *scopes);

#endif
