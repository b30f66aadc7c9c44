/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** perl_push(): adds a frame of Perl, with the line and the fingerprint of its sub and file (abi/perl.h). */
#ifndef EBPF_PERL_FRAME_BPF_H
#define EBPF_PERL_FRAME_BPF_H

#include "ebpf/abi/perl.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"

/* Reads what the fingerprint includes of the sub at @cv; 0 if that cannot be read. *@glob: the glob of its name, or 0. */
static __always_inline __u64 perl_read_sub(__u64 cv, __u64 *glob)
{
	__u64 body = 0, stash = 0, name = 0, flags = 0, words[PERL_NAME_WORDS], sum = 0;

	*glob = 0;
	if (read_word(cv + PERL_BODY, &body) ||
	    bpf_probe_read_user(&flags, sizeof(__u32), (const void *)(body + PERL_CV_FLAGS)) ||
	    read_word(body + PERL_CV_GLOB, &name) || !name)
		return 0;
	if (flags & PERL_CV_IS_NAMED) {
		if (read_word(body + PERL_CV_STASH, &stash))
			return 0;
	} else {
		*glob = name;
		if (read_word(name + PERL_BODY, &body) ||
		    read_word_pair(body + PERL_GLOB_NAME, &name, &stash))
			return 0;
	}
	if (bpf_probe_read_user(words, sizeof(words), (const void *)name))
		return 0;
	sum = fingerprint_mix(sum, stash);
	sum = fingerprint_mix(sum, name);
	for (int i = 0; i < PERL_NAME_WORDS; i++)
		sum = fingerprint_mix(sum, words[i]);
	return sum | 1;
}

/* The same for the name of a file at @file. */
static __always_inline __u64 perl_read_file(struct perl_unwind *unwind, __u64 file)
{
	__u64 *words = unwind->text, sum = 0;
	int has_end = 0;

	/* Only its end may be unreadable, at the end of a page. */
	bool is_whole = !bpf_probe_read_user(words, PERL_FILE_BYTES, (const void *)file);

	for (int i = 0; i < PERL_FILE_WORDS && !has_end; i++) {
		if (!is_whole && read_word(file + 8 * i, &words[i]))
			return 0;
		sum = fingerprint_mix(sum, perl_text_word(words[i], &has_end));
	}
	return sum | 1;
}

static __always_inline __u64 perl_known_sub(struct perl_unwind *unwind, __u64 cv, __u64 *glob)
{
	__u32 index = (__u32)(cv >> 3 ^ cv >> 9) % PERL_KNOWN_SUBS;
	struct perl_known *known = &unwind->subs[index];

	if (known->address != cv) {
		known->address = cv;
		known->sum = perl_read_sub(cv, &known->glob);
	}
	*glob = known->glob;
	return known->sum;
}

static __always_inline __u64 perl_known_file(struct perl_unwind *unwind, __u64 file)
{
	__u32 index = (__u32)(file >> 4 ^ file >> 9) % PERL_KNOWN_FILES;
	struct perl_known *known = &unwind->files[index];

	if (known->address != file) {
		known->address = file;
		known->sum = perl_read_file(unwind, file);
	}
	return known->sum;
}

/* Returns the COP that the innermost sub begins with, if that is about to be executed; else 0. */
static __always_inline __u64 perl_first_cop(struct unwind_state *state, __u64 cv)
{
	struct perl_unwind *unwind = &state->perl;
	__u64 body = 0, start = 0, op = 0, first = 0, current = 0;

	if (read_word(unwind->interpreter + unwind->process.op, &op) ||
	    read_word(cv + PERL_BODY, &body) || read_word(body + PERL_CV_START, &start) ||
	    op != start || read_word(start + PERL_OP_FUNCTION, &first) ||
	    read_word(unwind->cop + PERL_OP_FUNCTION, &current) || first != current)
		return 0;
	return start;
}

/* Returns the address of the file's name that the glob at @glob has; 0: it cannot be read. */
static __always_inline __u64 perl_file_of_glob(__u64 glob)
{
	__u64 body = 0, name = 0;

	if (!glob || read_word(glob + PERL_BODY, &body) || read_word(body + PERL_GLOB_NAME, &name))
		return 0;
	return name ? frame_address(name + PERL_GLOB_FILE) : 0;
}

/* Adds a frame at the COP that it has come to. */
static __always_inline enum unwind_error perl_push(struct unwind_state *state, __u32 code, __u64 cv)
{
	struct perl_unwind *unwind = &state->perl;
	__u64 words[PERL_COP_WORDS], position = (__u64)code << PERL_CODE_SHIFT, file = 0;
	__u64 sum = fingerprint_mix(0, code), part = 0, glob = 0;
	__u32 fingerprint = 0;

	if (unwind->cop && !bpf_probe_read_user(words, sizeof(words),
						(const void *)(unwind->cop + PERL_COP_READ))) {
		file = frame_address(words[2]);
		if (unwind->process.has_file_globs)
			file = perl_file_of_glob(file);
		position |= words[0] >> 32 & PERL_LINE_MASK;
	}
	if (file) {
		part = perl_known_file(unwind, file);
		sum = fingerprint_mix(sum, part);
		if (!part)
			file = 0;
	}
	if (code != PERL_CODE_SUB) {
		cv = 0;
		fingerprint = fingerprint_end(sum);
	} else {
		part = perl_known_sub(unwind, cv, &glob);
		if (part)
			fingerprint = fingerprint_end(fingerprint_mix(sum, part));
		if (part && glob) {
			cv = glob;
			position |= PERL_HAS_GLOB;
		}
		file |= perl_mark(part) << PERL_MARK_SHIFT;
	}
	return push_owned_frame(state, frame_word(FRAME_PERL, 0, cv), position << 32 | fingerprint,
				file);
}

#endif
