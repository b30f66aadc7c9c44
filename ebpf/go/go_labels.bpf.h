/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Adds the labels of the goroutine that a sampled thread runs (runtime/pprof.Do()), and its id, behind
 * the frames of the record. For programs that set no labels nothing is read (go_process.g_labels is 0).
 *
 * Source: runtime/pprof/label.go of Go 1.16 to 1.27, and for the map up to 1.23 runtime/map.go. Labels
 * are never changed once a goroutine has them.
 */
#ifndef EBPF_GO_LABELS_BPF_H
#define EBPF_GO_LABELS_BPF_H

#include "ebpf/go/go_step.bpf.h"

enum {
	/* A bucket of a map of strings: a byte for each slot with its use, then keys, then values. */
	GO_BUCKET_SLOTS = 8,
	GO_BUCKET_KEYS = 8,
	GO_BUCKET_VALUES = GO_BUCKET_KEYS + GO_BUCKET_SLOTS * 16,
	GO_BUCKET_BYTES = GO_BUCKET_VALUES + GO_BUCKET_SLOTS * 16 + 8,
	GO_BUCKET_USED_FROM = 5,
	/* Limit of the buckets that are read; maps of more than GO_BUCKET_SLOTS labels have several. */
	GO_BUCKETS_MAX = 4,
	/* Offsets in the map's header. */
	GO_MAP_BUCKET_BITS = 9,
	GO_MAP_BUCKETS = 16,
	/* Size of an element in a slice of labels. */
	GO_LABEL_BYTES = 32,
};

/* Returns the next label in the record; NULL if there is no room. */
static __always_inline struct sample_label *next_label(struct unwind_state *state)
{
	__u32 index = state->record.word_count + state->record.label_bytes / sizeof(__u64);

	if (state->record.label_bytes >= LABEL_SLOTS_MAX * sizeof(struct sample_label) ||
	    index > TRACE_MAX_WORDS + LABELS_MAX * (sizeof(struct sample_label) / 8))
		return NULL;
	return (struct sample_label *)&state->record_words[RECORD_HEADER_WORDS + index];
}

/* Reads at most @max bytes of the string whose header is at @header, by way of the BPF stack. */
static __always_inline bool read_go_string(__u64 header, char *text, __u8 *text_bytes, __u32 max)
{
	char copy[LABEL_VALUE_MAX_BYTES] = {};
	__u64 address, bytes;

	if (read_word_pair(header, &address, &bytes))
		return false;
	if (bytes > max)
		bytes = max;
	/* The check is repeated at the use, since old verifiers lose the bounds of a value that the compiler has spilled. */
	if (bytes) {
		barrier_var(bytes);
		if (bytes > max || bpf_probe_read_user(copy, bytes, (const void *)address))
			return false;
	}
	__builtin_memcpy(text, copy, max);
	*text_bytes = bytes;
	return true;
}

/* Notes the label whose key and value have their string headers at these addresses. */
static __always_inline void note_label(struct unwind_state *state, __u64 key, __u64 value)
{
	__u32 count = state->go.label_count;

	if (count >= LABELS_MAX)
		return;
	state->go.labels[count].key = key;
	state->go.labels[count].value = value;
	state->go.label_count = count + 1;
}

/*
 * Adds the labels that were noted. So the verifier goes through the copies of strings once for each label that a record may
 * have, and not once for each slot of each bucket.
 */
static __always_inline void add_labels(struct unwind_state *state)
{
	for (__u32 i = 0; i < LABELS_MAX && i < state->go.label_count; i++) {
		const struct go_label *found = &state->go.labels[i];
		struct sample_label *label = next_label(state);

		if (label &&
		    read_go_string(found->key, label->key, &label->key_bytes,
				   LABEL_KEY_MAX_BYTES) &&
		    label->key_bytes &&
		    read_go_string(found->value, label->value, &label->value_bytes,
				   LABEL_VALUE_MAX_BYTES))
			state->record.label_bytes += sizeof(*label);
	}
}

/* From 1.24 on: a slice of keys and values. */
static __always_inline void note_label_slice(struct unwind_state *state, __u64 slice)
{
	__u64 list, count;

	if (read_word_pair(slice, &list, &count))
		return;
	for (__u32 i = 0; i < LABELS_MAX && i < count; i++)
		note_label(state, list + i * GO_LABEL_BYTES, list + i * GO_LABEL_BYTES + 16);
}

/* Up to 1.23: a map. */
static __always_inline void note_label_map(struct unwind_state *state, __u64 pointer)
{
	__u64 map, buckets, used, bits;

	if (read_word(pointer, &map) || !map ||
	    read_word(map + GO_MAP_BUCKET_BITS / 8 * 8, &bits) ||
	    read_word(map + GO_MAP_BUCKETS, &buckets))
		return;
	bits = bits >> GO_MAP_BUCKET_BITS % 8 * 8 & 0xff;
	for (__u32 i = 0; i < GO_BUCKETS_MAX; i++) {
		__u64 bucket = buckets + i * GO_BUCKET_BYTES;

		if (bits < 8 && i >> bits)
			return;
		if (read_word(bucket, &used))
			return;
		for (__u32 slot = 0; slot < GO_BUCKET_SLOTS; slot++)
			if ((used >> (8 * slot) & 0xff) >= GO_BUCKET_USED_FROM)
				note_label(state, bucket + GO_BUCKET_KEYS + slot * 16,
					   bucket + GO_BUCKET_VALUES + slot * 16);
	}
}

static __always_inline void add_goroutine_id(struct unwind_state *state)
{
	struct sample_label *label = next_label(state);
	__u64 id;

	if (!label || !state->go.process.g_id ||
	    read_word(state->go.curg + state->go.process.g_id, &id))
		return;
	label->key_bytes = 0;
	label->key[0] = FRAME_GO;
	label->value_bytes = sizeof(id);
	__builtin_memcpy(label->value, &id, sizeof(id));
	state->record.label_bytes += sizeof(*label);
}

/*
 * True if the process's first Go runtime may have labels or an id for the thread's goroutine, which is then
 * known. The unwind may have found it before.
 */
static __always_inline bool find_goroutine(struct unwind_state *state)
{
	const struct cell *row = find_language(state, FRAME_GO);
	bool is_known;

	if (!row)
		return false;
	state->left_executable = row->words[0];
	is_known = state->go.executable_id == state->left_executable;
	if (!is_known && !go_load_process(state))
		return false;
	if (!state->go.process.g_labels && !config.with_task_ids)
		return false;
	if (!is_known)
		go_find_thread(state);
	return state->go.curg;
}

/** Adds the labels of the thread's goroutine to the record, which must be complete but for the labels. */
static __always_inline void go_add_labels(struct unwind_state *state)
{
	__u64 labels;

	if (!state->runtime_cell || !find_goroutine(state))
		return;
	if (state->go.process.g_labels &&
	    !read_word(state->go.curg + state->go.process.g_labels, &labels) && labels) {
		state->go.label_count = 0;
		if (state->go.process.has_label_slice)
			note_label_slice(state, labels);
		else
			note_label_map(state, labels);
		add_labels(state);
	}
	if (config.with_task_ids)
		add_goroutine_id(state);
}

#endif
