/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Offsets in the structs of each known version of Perl on x86-64; those in the interpreter are for Perl with threads. They come from offsetof() in a program that was
 * compiled with the headers in CORE/ of Debian's perl (5.32.1, 5.36.0, 5.40.1, 5.42.3). Offsets that are equal in all
 * versions are in ebpf/abi/perl.h.
 */
#ifndef INTERPRETERS_PERL_PERL_LAYOUT_H
#define INTERPRETERS_PERL_PERL_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/** Offsets in bytes. */
struct perl_layout {
	/** The second number of the version, 36 of 5.36. */
	uint16_t minor;
	/** PerlInterpreter: Iop, Icurcop, Icurstackinfo, Isavestack, Isavestack_ix, Irunops */
	uint16_t op;
	uint16_t cop;
	uint16_t stack;
	uint16_t saved;
	uint16_t saved_count;
	uint16_t run;
	/** SAVEt_OP */
	uint16_t saved_op_type;
	/** Perl_call_sv() leaves the op that calls the sub to the loop. */
	bool calls_in_loop;
	/** A hash's struct xpvhv_aux is behind its buckets, and not in its body. */
	bool has_stash_behind;
	/** Numbers of ops (opnames.h): entersub, leavesub, leavesublv, entertry, goto, enter, subst */
	uint16_t entersub;
	uint16_t leavesub;
	uint16_t leavesublv;
	uint16_t entertry;
	uint16_t goto_sub;
	uint16_t enter;
	uint16_t subst;
};

/** The layout of 5.@minor; NULL if it is unknown. */
const struct perl_layout *perl_layout_of(unsigned int minor);

#endif
