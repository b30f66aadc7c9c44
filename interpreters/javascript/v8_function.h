/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a function is called, and where it was written: from a JSFunction to its SharedFunctionInfo, name and Script.
 * Names are those of V8's own CPU profiler: the function's own name, else the one that was inferred from where it was
 * assigned to, else none. An accessor's name begins with "get " or "set " in V8 itself, a private method's with #.
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
 * Numbers that V8 gives out once: no two functions of an isolate have the same ones, dead ones included. They stay when
 * the collector moves objects. Other isolates begin from the start again.
 */
struct v8_function_ids {
	/** The script's number in its heap; 0: the function has no script. */
	int32_t script;
	/** The function's number in its script, in the order of the source; the script's own code has 0. */
	int32_t literal;
	/** The function's number in its isolate; 0: the version has none. */
	uint32_t unique;
};

/** The SharedFunctionInfo of the JSFunction at tagged @function. -EBADMSG: it is none; -EFAULT, -ESRCH. */
int v8_function_shared(const struct v8_heap *heap, uint64_t function, uint64_t *shared);

/** The name of the SharedFunctionInfo at tagged @shared, "" without one. -EBADMSG, -EFAULT, -ESRCH, -ENOMEM. */
int v8_shared_name(const struct v8_heap *heap, uint64_t shared, v8_text name);

/** The Script of @shared; -ENOENT: it has none, as a function of V8's own. -EBADMSG, -EFAULT, -ESRCH. */
int v8_shared_script(const struct v8_heap *heap, uint64_t shared, uint64_t *script);

/** The ids of @shared. -EBADMSG, -EFAULT, -ESRCH. */
int v8_shared_ids(const struct v8_heap *heap, uint64_t shared, struct v8_function_ids *ids);

/**
 * The BytecodeArray of @shared: its own, or that of the InterpreterData or Sparkplug code in its place. -ENOENT: it
 * is not compiled (any more), or not in JavaScript. -EBADMSG, -EFAULT, -ESRCH.
 */
int v8_shared_bytecodes(const struct v8_heap *heap, uint64_t shared, uint64_t *bytecodes);

/** The Code that Sparkplug has made of @shared; -ENOENT: there is none. -EBADMSG, -EFAULT, -ESRCH. */
int v8_shared_baseline(const struct v8_heap *heap, uint64_t shared, uint64_t *code);

/** What the Script at tagged @script is called: its name, else the source's own (sourceURL), else "". */
int v8_script_name(const struct v8_heap *heap, uint64_t script, v8_text name);

#endif
