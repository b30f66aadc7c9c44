/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a Method of HotSpot is called: "java.util.HashMap.put", as a stack trace of Java has it. Of
 * hidden classes the place in memory that the JVM adds to their names is left out: it is another
 * one in each run, and the same class would never meet itself.
 *
 * Source: share/oops/method.hpp, constMethod.hpp, constantPool.hpp, symbol.hpp, klass.cpp
 * (Klass::external_name) of OpenJDK 8 to 27; names are in "modified UTF-8" (Java Virtual Machine
 * Specification, 4.4.7).
 */
#ifndef INTERPRETERS_JAVA_JAVA_NAMES_H
#define INTERPRETERS_JAVA_JAVA_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpreters/java/java_layout.h"
#include "interpreters/language.h"
#include "lib/host/remote_memory.h"

/** A name with its NUL. */
typedef char java_text[FRAME_NAME_MAX_BYTES + 1];

/**
 * Reads the name of the Method at @method as UTF-8, cut at a character; if @has_signature, with types
 * of arguments and result as the class file has them, "(ILjava/lang/String;)V". -EBADMSG if there
 * is none, -EFAULT, -ESRCH.
 */
int java_method_name(const struct java_layout *layout, struct remote_memory *memory,
		     uint64_t method, bool has_signature, java_text text);

/** Reads the text that is entry @index of the ConstantPool at @constants; errors as above. */
int java_constant_text(const struct java_layout *layout, struct remote_memory *memory,
		       uint64_t constants, uint64_t index, java_text text);

/**
 * Writes @size bytes of modified UTF-8 as UTF-8 to @to, which has room for @capacity; the length, without
 * a NUL. What is no character becomes U+FFFD.
 */
size_t java_decode_text(const uint8_t *bytes, size_t size, char *to, size_t capacity);

#endif
