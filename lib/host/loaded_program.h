/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Programs that were started through the dynamic loader (`/lib64/ld-linux-x86-64.so.2 ./prog`): the kernel takes the loader for
 * the program. The name is in the command line, which the process can change, so it is for outputs only.
 */
#ifndef LIB_HOST_LOADED_PROGRAM_H
#define LIB_HOST_LOADED_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { LOADED_PROGRAM_MAX_BYTES = 4096 };

/** Whether the executable at @path is a dynamic loader, by its name. */
bool is_dynamic_loader(const char *path);

/**
 * Finds the program in the command line of a loader, @size bytes with a NUL behind each argument, and sets @path to its
 * path as it is there; false if there is none. Options as in ld.so(8), glibc 2.42, and musl 1.2.
 */
bool loaded_program_parse(const char *arguments, size_t size, char path[LOADED_PROGRAM_MAX_BYTES]);

/** Reads it from the process @pid. */
bool loaded_program_read(const char *proc_root, pid_t pid, char path[LOADED_PROGRAM_MAX_BYTES]);

#endif
