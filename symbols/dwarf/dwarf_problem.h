/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The reason why DWARF was not read, or not completely, as text for people; such a file still gets
 * a symbol cache. Stored per thread, for the last file that the thread has read, by itself or through
 * a process.
 */
#ifndef SYMBOLS_DWARF_DWARF_PROBLEM_H
#define SYMBOLS_DWARF_DWARF_PROBLEM_H

/** Call this before reading a file. */
void dwarf_problem_clear(void);

/** Only the first problem is kept: later ones follow from it. */
void dwarf_problem_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** "" if there is none. */
const char *dwarf_problem_text(void);

#endif
