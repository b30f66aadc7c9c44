/* SPDX-License-Identifier: GPL-2.0-only */
/** The end of an unwind: the record is completed, counted and put on the ring `samples`. */
#ifndef EBPF_SEND_BPF_H
#define EBPF_SEND_BPF_H

#include "ebpf/maps.bpf.h"
#include "ebpf/state.bpf.h"

enum {
	/** The ring wakes user space if it is fuller than 1/WAKE_UP_FRACTION. */
	WAKE_UP_FRACTION = 4,
};

/** Adds the end of the unwind to the record. */
static __always_inline void finish_record(struct unwind_state *state)
{
	struct trace_record *record = &state->record;
	__u32 user_words = record->word_count - record->kernel_word_count;

	if (record->type == RECORD_DEFERRED)
		return;
	count_more(COUNTER_USER_FRAMES, user_words / 2);
	if (state->interpreter_error)
		count(COUNTER_ERRORS + state->interpreter_error);
	if (state->error) {
		count(COUNTER_ERRORS + state->error);
		push_error(state, state->error);
	} else if (!(record->flags & RECORD_KERNEL_THREAD)) {
		count(COUNTER_REACHED_END);
		record->flags |= RECORD_REACHED_END;
	}
	state->record_bytes = sizeof(*record) + record->word_count * sizeof(__u64);
}

/*
 * User space empties the ring at its own pace, several times a second; waking it for every sample
 * would cost more than the sample. It is woken when the ring fills faster than that.
 */
static __always_inline __u64 ring_flags(void)
{
	__u64 size = bpf_ringbuf_query(&samples, BPF_RB_RING_SIZE);
	__u64 used = bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA);

	return used > size / WAKE_UP_FRACTION ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* Counts the time since begin_record(); idle ticks end before that. In an NMI the clock may step back a little. */
static __always_inline void count_time(__u64 begin_ns)
{
	__u64 now_ns = bpf_ktime_get_ns();

	if (now_ns > begin_ns)
		count_more(COUNTER_TIME, now_ns - begin_ns);
}

static __always_inline void send_record(struct unwind_state *state)
{
	/* Labels, if any, follow the words that finish_record() has counted. */
	__u32 bytes = state->record_bytes + state->record.label_bytes;

	count_time(state->record.time_ns);
	if (bytes > sizeof(state->record_words))
		return;
	if (bpf_ringbuf_output(&samples, &state->record, bytes, ring_flags()))
		count(COUNTER_LOST_RING_FULL);
	else
		count(COUNTER_SAMPLES);
}

_Static_assert(sizeof(struct deferred_sample) <= (RECORD_HEADER_WORDS + TRACE_MAX_WORDS) * 8,
	       "the longest record is a trace");

#endif
