/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the SharedFunctionInfo, the name and the Script of a JSFunction. Names are the same as in V8's own CPU
 * profiler: the function's own name, else the name that V8 inferred from an assignment, else none. V8 itself begins
 * the name of an accessor with "get " or "set ", and that of a private method with #.
 *
 * Source: objects/shared-function-info.cc (DebugNameCStr, Name, inferred_name), objects/scope-info.tq and .cc,
 * objects/script.tq, profiler/profiler-listener.cc @ V8 9.4 to 14.6.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_FUNCTION_H
#define INTERPRETERS_JAVASCRIPT_V8_FUNCTION_H

#include "interpreters/javascript/v8_heap.h"

enum { V8_NAME_BYTES = 4096 };

/** UTF-8 with its NUL; longer ones are cut. */
typedef char v8_text[V8_NAME_BYTES];

/**
 * Numbers that V8 never uses twice in an isolate, not even after the function is freed. They stay the same when the
 * collector moves objects. Each isolate counts from the start again.
 */
struct v8_function_ids {
	/** The script's number in its heap; 0: the function has no script. */
	int32_t script;
	/** The function's number in its script, in the order of the source; the script's own code has 0. */
	int32_t literal;
	/** The function's number in its isolate; 0: the version has none. */
	uint32_t unique;
};

/** The SharedFunctionInfo of the JSFunction at tagged @function. -EBADMSG: it is no JSFunction; -EFAULT, -ESRCH. */
int v8_function_shared(const struct v8_heap *heap, uint64_t function, uint64_t *shared);

/** The name of the SharedFunctionInfo at tagged @shared; "" if it has none. -EBADMSG, -EFAULT, -ESRCH, -ENOMEM. */
int v8_shared_name(const struct v8_heap *heap, uint64_t shared, v8_text name);

/**
 * The offset in the script at which the function begins: at its parameters, as in V8's own CPU profiler. -ENOENT: V8 does not
 * know it (any more). -EBADMSG, -EFAULT, -ESRCH.
 */
int v8_shared_start(const struct v8_heap *heap, uint64_t shared, uint32_t *offset);

/** The Script of @shared; -ENOENT: it has none, as V8's own functions. -EBADMSG, -EFAULT, -ESRCH. */
int v8_shared_script(const struct v8_heap *heap, uint64_t shared, uint64_t *script);

/** The ids of @shared. -EBADMSG, -EFAULT, -ESRCH. */
int v8_shared_ids(const struct v8_heap *heap, uint64_t shared, struct v8_function_ids *ids);

/**
 * The BytecodeArray of @shared: its own, or the one of its InterpreterData or Sparkplug code. -ENOENT: the function is
 * not compiled (any more), or is no JavaScript. -EBADMSG, -EFAULT, -ESRCH.
 */
int v8_shared_bytecodes(const struct v8_heap *heap, uint64_t shared, uint64_t *bytecodes);

/** The Code that Sparkplug has made for @shared; -ENOENT: there is none. -EBADMSG, -EFAULT, -ESRCH. */
int v8_shared_baseline(const struct v8_heap *heap, uint64_t shared, uint64_t *code);

/** The name of the Script at tagged @script: its own, else the sourceURL in the source, else "". */
int v8_script_name(const struct v8_heap *heap, uint64_t script, v8_text name);

#endif
