/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The language of a command, by the name of its program or of the interpreter in its first line, so that the language's unwinder
 * is loaded before the command starts. What it starts later, or a wrong guess, has its unwinder loaded when it is found.
 */
#ifndef AGENT_COMMAND_LANGUAGE_H
#define AGENT_COMMAND_LANGUAGE_H

#include <stdint.h>

/** The set of languages (bit i is row i of LANGUAGES) that @command, a path or a name to be found in @path, probably needs. */
uint32_t command_languages(const char *command, const char *path);

#endif
