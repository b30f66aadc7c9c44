/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Why DWARF was not read, or not all of it, for people: a file has a range file all the same. Of the calling thread,
 * and of the file that it had read last, by itself or by a process.
 */
#ifndef SYMBOLS_DWARF_DWARF_PROBLEM_H
#define SYMBOLS_DWARF_DWARF_PROBLEM_H

/** Before a file is read. */
void dwarf_problem_clear(void);

/** Of several the first one stays: others come of it. */
void dwarf_problem_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** "" if there is none. */
const char *dwarf_problem_text(void);

#endif
