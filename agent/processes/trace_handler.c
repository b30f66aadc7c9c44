/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records come from the kernel side and are trusted, but their shape is checked, so that a damaged record
 * affects only itself. Data of processes in them (stack copies, registers, comms, labels) is passed on, never
 * trusted.
 */
#include "agent/processes/trace_handler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/processes/code_hits.h"
#include "agent/processes/executable_rows.h"
#include "agent/processes/frame_converter.h"
#include "agent/processes/kernel_symbols.h"
#include "agent/processes/perf_maps.h"
#include "lib/base/error.h"
#include "lib/base/hash128.h"
#include "lib/base/lru_cache.h"
#include "lib/base/text.h"
#include "lib/host/loaded_program.h"
#include "lib/model/metrics.h"
#include "lib/model/trace.h"

enum {
	/* Limit of executables whose rows one unwind may use. */
	LENT_ROWS_MAX = 256,
	/* About 14 MB if every sample has the largest stack copy; 12 MB if they are forks' with 3,000 frames. */
	DEFERRED_SAMPLES_MAX = 256,
	/* Limits of waiting samples whose unwind is to be continued, of all processes and of one. */
	RESUMED_SAMPLES_MAX = DEFERRED_SAMPLES_MAX / 2,
	RESUMED_OF_PROCESS_MAX = 16,
};

/* Traces that no sample had for this time are removed from the cache, and release their binaries. */
#define TRACE_AGE_NS (30 * NS_PER_SECOND)

/* Hashed together with the hash of the words. No padding. */
struct trace_identity {
	uint64_t words_hash;
	struct process_identity identity;
	uint64_t generation;
	uint64_t kernel_generation;
	uint64_t names_state;
	uint32_t pid;
	uint32_t flags;
};

_Static_assert(sizeof(struct trace_identity) == 56, "struct trace_identity has no padding");

/* Result of a pass over the words. */
struct stack_shape {
	/* Words before the first frame that cannot be trusted. */
	uint32_t trusted_words;
	/* The error at the end of the stack, and the executable of the frame before it. */
	uint8_t error;
	uint64_t last_executable_id;
	/* The last executable with a frame whose caller had to be guessed. */
	uint64_t lacking_executable_id;
	/* The stack has frames in anonymous code. */
	bool has_anonymous;
	/* The address of the first of them whose caller had to be guessed, or was not found; 0: none. */
	uint64_t lacking_code;
};

/*
 * The queue of waiting deferred samples, of whatever type. They arrive before the maps of their process have been
 * read, and wait here for a bounded time, in order, until they can be unwound or used. They are copied to the
 * heap, since they are rare, and of very different sizes. All bytes zero is an empty queue.
 */
struct deferred_samples {
	/* A ring of copies, the oldest at start. */
	struct waiting_sample {
		struct trace_record *record;
		/* Deadline for its process to be known, and deadline for everything else. */
		uint64_t known_by_ns;
		uint64_t deadline_ns;
		/* The executable whose rows the next try needs; 0: none. */
		uint64_t awaited_id;
	} waiting[DEFERRED_SAMPLES_MAX];
	uint32_t start;
	uint32_t count;
};

struct trace_handler {
	struct trace_handler_config config;
	struct frame_converter *converter;
	struct lru_cache traces;
	uint64_t kernel_generation;
	struct deferred_samples deferred;
	uint64_t now_ns;
	uint64_t next_age_ns;
	/* Time of the latest sample. All earlier events are known (events.h). */
	uint64_t newest_sample_ns;
	/* Words of deferred samples and of stacks that were cut. */
	uint64_t words[TRACE_MAX_WORDS + 1];
	/* Labels of the current sample, and the buffer for making them. */
	struct label_set labels;
	struct text_builder label_texts;
	/* Names for the stack that is converted. */
	struct stack_code code;
	/* Rows borrowed for the unwind of a deferred sample. */
	struct lent_rows {
		uint64_t executable_id;
		const struct stack_deltas *deltas;
		struct cached_rows *cached;
	} lent[LENT_ROWS_MAX];
	uint32_t lent_count;
	struct code_hits code_hits;
};

/* --- deferred samples that wait --- */

static void deferred_samples_deinit(struct deferred_samples *samples)
{
	for (uint32_t i = 0; i < samples->count; i++)
		free(samples->waiting[(samples->start + i) % DEFERRED_SAMPLES_MAX].record);
	samples->count = 0;
}

/* Copies @sample and the @bytes bytes of its record. -ENOSPC if the room is full, -ENOMEM. */
static int deferred_samples_add(struct deferred_samples *samples,
				const struct waiting_sample *sample, size_t bytes)
{
	struct waiting_sample *slot;
	struct trace_record *copy;

	if (samples->count == DEFERRED_SAMPLES_MAX)
		return -ENOSPC;
	copy = malloc(bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, sample->record, bytes);
	slot = &samples->waiting[(samples->start + samples->count++) % DEFERRED_SAMPLES_MAX];
	*slot = *sample;
	slot->record = copy;
	return 0;
}

/* Number of waiting samples of @pid. */
static uint32_t deferred_samples_count_of(const struct deferred_samples *samples, uint32_t pid)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < samples->count; i++)
		count +=
			samples->waiting[(samples->start + i) % DEFERRED_SAMPLES_MAX].record->pid ==
			pid;
	return count;
}

/* Calls @try_sample for each sample, the oldest first, and removes those for which it returns true. */
static void deferred_samples_try(struct deferred_samples *samples, uint64_t now_ns,
				 bool (*try_sample)(void *context, struct waiting_sample *sample,
						    uint64_t now_ns),
				 void *context)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < samples->count; i++) {
		uint32_t index = (samples->start + i) % DEFERRED_SAMPLES_MAX;
		struct waiting_sample waiting = samples->waiting[index];

		if (try_sample(context, &waiting, now_ns)) {
			free(waiting.record);
			continue;
		}
		samples->waiting[(samples->start + kept++) % DEFERRED_SAMPLES_MAX] = waiting;
	}
	samples->count = kept;
}

/* --- the handler --- */

static void release_trace(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	trace_unref(value);
}

int trace_handler_create(const struct trace_handler_config *config, struct trace_handler **handler)
{
	const struct frame_converter_config converter_config = {
		.executables = config->executables,
		.kernel_symbols = config->kernel_symbols,
		.fold_runtime_frames = config->fold_runtime_frames,
	};
	struct trace_handler *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for the trace handler");
	created->config = *config;
	err = frame_converter_create(&converter_config, &created->converter);
	if (err) {
		free(created);
		return err;
	}
	lru_cache_init(&created->traces, sizeof(uint64_t), TRACE_CACHE_MAX_ENTRIES,
		       TRACE_CACHE_MAX_BYTES, release_trace, NULL);
	*handler = created;
	return 0;
}

void trace_handler_destroy(struct trace_handler *handler)
{
	if (!handler)
		return;
	deferred_samples_deinit(&handler->deferred);
	lru_cache_deinit(&handler->traces);
	text_builder_deinit(&handler->label_texts);
	stack_code_deinit(&handler->code);
	frame_converter_destroy(handler->converter);
	free(handler);
}

uint32_t trace_handler_waiting_count(const struct trace_handler *handler)
{
	return handler->deferred.count;
}

static bool frame_is_error(uint64_t word, enum unwind_error error)
{
	return frame_kind(word) == FRAME_ERROR && frame_flags(word) == error;
}

/* The address of the instruction of a frame of anonymous code; 0 for any other frame. */
static uint64_t anonymous_address(const uint64_t *words, uint32_t word)
{
	if (frame_kind(words[word]) != FRAME_NATIVE || words[word + 1] != EXECUTABLE_ID_ANONYMOUS)
		return 0;
	return frame_address(words[word]) -
	       ((frame_flags(words[word]) & FRAME_RETURN_ADDRESS) != 0);
}

/* -EBADMSG if the words are not whole frames of known kinds. */
static int look_at(const uint64_t *words, uint32_t count, const struct process_view *view,
		   struct stack_shape *shape)
{
	/* The address of the last frame if it is one of anonymous code. */
	uint64_t last_code = 0;

	*shape = (struct stack_shape){ .trusted_words = count };
	for (uint32_t i = 0; i < count;) {
		uint32_t length = frame_word_count(words[i]);
		uint8_t kind = frame_kind(words[i]);

		if (!length || length > count - i)
			return -EBADMSG;
		if (!shape->lacking_code &&
		    (kind == FRAME_NATIVE ? frame_flags(words[i]) & FRAME_GUESS :
					    frame_is_error(words[i], UNWIND_ANONYMOUS)))
			shape->lacking_code = last_code;
		last_code = anonymous_address(words, i);
		if (kind == FRAME_NATIVE) {
			if (frame_flags(words[i]) & FRAME_GUESS)
				shape->lacking_executable_id = shape->last_executable_id;
			shape->last_executable_id = words[i + 1];
			if (words[i + 1] == EXECUTABLE_ID_ANONYMOUS)
				shape->has_anonymous = true;
			if (view->stale_count && shape->trusted_words == count &&
			    process_view_is_stale(view, words[i + 1]))
				shape->trusted_words = i;
		} else if (kind == FRAME_ERROR) {
			shape->error = frame_flags(words[i]);
			if (shape->error == UNWIND_NO_INFO)
				shape->lacking_executable_id = shape->last_executable_id;
		}
		i += length;
	}
	return 0;
}

/* No lock may be held here, since conversion may wait until memory of the process is read. */
static struct trace *convert(struct trace_handler *handler, const struct trace_record *record,
			     const struct raw_stack *stack, bool has_names, bool *is_lasting)
{
	struct raw_stack named = *stack;

	if (has_names) {
		perf_maps_copy(handler->config.perf_maps, record->pid, &record->identity,
			       stack->words, stack->word_count, &handler->code);
		named.code = &handler->code;
	}
	return frame_converter_convert(handler->converter, &named, is_lasting);
}

/* Returns a reference for the caller; NULL without memory. *@is_new is set if the trace was made now. */
static struct trace *find_trace(struct trace_handler *handler, const struct trace_record *record,
				const struct process_view *view, const struct raw_stack *stack,
				uint64_t names_state, bool is_lasting, bool *is_new)
{
	bool has_kernel = stack->word_count && frame_kind(stack->words[0]) == FRAME_KERNEL;
	const struct trace_identity identity = {
		.words_hash = hash64_bytes(stack->words, stack->word_count * sizeof(uint64_t)),
		.identity = record->identity,
		.generation = view->generation,
		.kernel_generation = has_kernel ? handler->kernel_generation : 0,
		.names_state = names_state,
		.pid = record->pid,
		.flags = stack->flags & (RECORD_KERNEL_THREAD | RECORD_REACHED_END),
	};
	uint64_t hash = hash64_bytes(&identity, sizeof(identity));
	bool is_named;
	struct trace *trace = lru_cache_get(&handler->traces, &hash);

	if (trace) {
		metrics_add(METRIC_TRACE_CACHE_HITS, 1);
		return trace_ref(trace);
	}
	trace = convert(handler, record, stack, names_state, &is_named);
	if (!trace)
		return NULL;
	metrics_add(METRIC_TRACES_CONVERTED, 1);
	*is_new = true;
	if (!is_lasting || !is_named)
		return trace;
	trace_ref(trace);
	if (lru_cache_put(&handler->traces, &hash, trace, trace->bytes))
		trace_unref(trace);
	return trace;
}

/*
 * Returns the labels; NULL if there are none. They were read at an address from the process's entry. If that
 * was a parent's by mistake, they are invalid.
 */
static const struct label_set *read_labels(struct trace_handler *handler,
					   const struct trace_record *record,
					   const struct process_view *view)
{
	const uint64_t *words = (const uint64_t *)(record + 1);
	const void *labels = words + record->word_count;

	if (record->type != RECORD_TRACE || !record->label_bytes ||
	    (record->flags & RECORD_PARENT_ENTRY && !view->has_parent_rows))
		return NULL;
	return label_set_fill(&handler->labels, labels,
			      record->label_bytes / sizeof(struct sample_label),
			      &handler->label_texts) ?
		       &handler->labels :
		       NULL;
}

/* Where a dynamic loader runs the program, the kernel's names are the loader's. The program's own is shown instead of them. */
static void replace_loader_names(const struct process_info *info, char process_comm[COMM_BYTES],
				 char thread_comm[COMM_BYTES])
{
	const char *slash = info ? strrchr(info->executable_path, '/') : NULL;
	char name[COMM_BYTES] = "";

	if (!is_dynamic_loader(process_comm) || !slash || is_dynamic_loader(slash + 1))
		return;
	memcpy(name, slash + 1, text_cut_length(slash + 1, strlen(slash + 1), COMM_BYTES - 1));
	if (!strcmp(thread_comm, process_comm))
		memcpy(thread_comm, name, sizeof(name));
	memcpy(process_comm, name, sizeof(name));
}

static void report(struct trace_handler *handler, const struct trace_record *record,
		   const struct process_view *view, struct trace *trace, bool is_new,
		   bool was_known)
{
	char thread_comm[COMM_BYTES], process_comm[COMM_BYTES];
	struct sample_event event = {
		.time_ns = record->time_ns,
		.value = record->value,
		.sample.trace = trace,
		.sample.pid = record->pid,
		.sample.tid = record->tid,
		.sample.cpu = record->cpu,
		.sample.origin = record->origin,
		.sample.process_comm = process_comm,
		.sample.thread_comm = thread_comm,
		.sample.process = view->info,
		.sample.labels = read_labels(handler, record, view),
		.was_known = was_known,
		.has_new_trace = is_new,
	};

	memcpy(thread_comm, record->comm, COMM_BYTES);
	thread_comm[COMM_BYTES - 1] = '\0';
	memcpy(process_comm, record->process_comm, COMM_BYTES);
	process_comm[COMM_BYTES - 1] = '\0';
	replace_loader_names(view->info, process_comm, thread_comm);
	handler->config.reporter->ops->report(handler->config.reporter, &event);
}

/* The error word that replaces the further frames, which were unwound with a file that is not mapped any more. */
static uint64_t replaced_word(void)
{
	metrics_add(METRIC_STACKS_REPLACED, 1);
	return frame_word(FRAME_ERROR, UNWIND_REPLACED, 0);
}

/*
 * Converts and reports @count words, which are in the record or, if they were cut, in handler->words.
 */
static void handle_stack(struct trace_handler *handler, const struct trace_record *record,
			 const struct process_view *view, const uint64_t *words, uint32_t count,
			 uint8_t flags)
{
	struct raw_stack stack = {
		.words = words,
		.word_count = count,
		.flags = flags,
		.runtimes = view->runtimes,
	};
	struct stack_shape shape;
	uint64_t names_state = 0;
	struct trace *trace;
	bool was_known, is_new = false;

	if (look_at(words, count, view, &shape)) {
		metrics_add(METRIC_SAMPLES_MALFORMED, 1);
		return;
	}
	was_known = (record->type == RECORD_TRACE || record->flags & RECORD_RESUMED) &&
		    shape.error != UNWIND_UNKNOWN_PROCESS;
	if (shape.trusted_words < count) {
		if (words != handler->words)
			memcpy(handler->words, words, shape.trusted_words * sizeof(*words));
		handler->words[shape.trusted_words] = replaced_word();
		stack.words = handler->words;
		stack.word_count = shape.trusted_words + 1;
		stack.flags &= ~RECORD_REACHED_END;
	} else if (shape.error == UNWIND_NOT_LOADED) {
		executable_rows_want(handler->config.executables, shape.last_executable_id);
	}
	if (shape.lacking_executable_id)
		executable_rows_note_lack(handler->config.executables, shape.lacking_executable_id);
	if (shape.lacking_code && handler->config.code_hit &&
	    code_hits_take(&handler->code_hits, record->pid, shape.lacking_code,
			   record->flags & RECORD_CODE_CHANGED, handler->now_ns))
		handler->config.code_hit(handler->config.context, record, shape.lacking_code);
	if (shape.has_anonymous && handler->config.perf_maps)
		names_state = perf_maps_ask(handler->config.perf_maps, record->pid,
					    &record->identity, handler->now_ns);
	/* Stacks that end because rows are not loaded yet are not cached, since they will soon be longer. */
	trace = find_trace(handler, record, view, &stack, names_state,
			   shape.error != UNWIND_NOT_LOADED, &is_new);
	if (!trace) {
		metrics_add(METRIC_SAMPLES_DROPPED, 1);
		return;
	}
	report(handler, record, view, trace, is_new, was_known);
	trace_unref(trace);
}

/* --- deferred samples --- */

static const struct stack_deltas *lend_rows(void *context, uint64_t executable_id)
{
	struct trace_handler *handler = context;
	struct lent_rows lent = { .executable_id = executable_id };

	for (uint32_t i = 0; i < handler->lent_count; i++)
		if (handler->lent[i].executable_id == executable_id)
			return handler->lent[i].deltas;
	if (handler->lent_count == LENT_ROWS_MAX)
		return NULL;
	lent.deltas =
		executable_rows_borrow(handler->config.executables, executable_id, &lent.cached);
	if (lent.deltas)
		handler->lent[handler->lent_count++] = lent;
	return lent.deltas;
}

/*
 * Whether the continued unwind, which stopped at a frame without rows, begins with that frame, behind the words
 * so far.
 */
static bool goes_on_there(const struct deferred_sample *sample, const uint64_t *words,
			  uint32_t count)
{
	const __u64 *wanted = sample->words + sample->record.word_count;

	if (!(sample->record.flags & RECORD_RESUMED) || sample->unknown & DEFERRED_UNKNOWN_MAPPING)
		return true;
	return count >= RESUMED_FRAME_WORDS && frame_kind(words[0]) == frame_kind(wanted[0]) &&
	       frame_address(words[0]) == frame_address(wanted[0]) && words[1] == wanted[1];
}

/* Appends the user frames to the @count words in handler->words; returns the total number. */
static uint32_t unwind_deferred(struct trace_handler *handler, const struct deferred_sample *sample,
				const struct process_view *view, uint32_t count, uint8_t *flags)
{
	struct user_unwinder *unwinder = handler->config.user_unwinder;
	bool reached_end = false;
	uint32_t before = count;

	if (sample->record.flags & RECORD_KERNEL_THREAD)
		return count;
	if (view->has_lost_rows && (!view->rows || !view->rows->count)) {
		handler->words[count] = replaced_word();
		return count + 1;
	}
	if (unwinder && view->rows && view->state == PROCESS_SYNCED &&
	    (view->is_settled || !view->is_superseded)) {
		const struct user_tables tables = {
			.rows = view->rows->rows,
			.row_count = view->rows->count,
			.find_deltas = lend_rows,
			.context = handler,
		};

		count += unwinder->ops->unwind(unwinder, sample, &tables, handler->words + count,
					       TRACE_MAX_WORDS - count, &reached_end);
		while (handler->lent_count)
			executable_rows_return(handler->config.executables,
					       handler->lent[--handler->lent_count].cached);
		if (!goes_on_there(sample, handler->words + before, count - before)) {
			handler->words[before] = replaced_word();
			return before + 1;
		}
		/* A mapping that the process has no more, or has only since. */
		if (view->has_lost_rows && !reached_end && count > before &&
		    frame_kind(handler->words[count - 1]) == FRAME_ERROR &&
		    frame_flags(handler->words[count - 1]) == UNWIND_NO_MAPPING)
			handler->words[count - 1] = replaced_word();
		if (reached_end)
			*flags |= RECORD_REACHED_END;
		return count;
	}
	handler->words[count] = frame_word(FRAME_ERROR, UNWIND_UNKNOWN_PROCESS, 0);
	return count + 1;
}

/*
 * Whether the data of the process is final. Its maps may have been read after an exec that is not known yet;
 * then they are withdrawn when it becomes known.
 */
static bool is_settled(struct trace_handler *handler, const struct deferred_sample *sample,
		       struct process_view *view)
{
	if (!view->process || view->state == PROCESS_NEW)
		return false;
	if (!handler->config.user_unwinder || view->state == PROCESS_UNREADABLE)
		return true;
	/* The kernel side has requested another read of its maps. */
	if (sample->unknown & DEFERRED_UNKNOWN_MAPPING && view->read_ns < sample->record.time_ns)
		return false;
	if (view->is_outdated)
		return false;
	if (!view->is_settled && !view->is_superseded &&
	    handler->newest_sample_ns > view->synced_ns) {
		process_table_settle(handler->config.table, view);
		view->is_settled = true;
	}
	return view->is_settled;
}

/* The executable at which the unwind ended and whose rows are being loaded; 0: none. */
static uint64_t find_loading(struct trace_handler *handler, const struct process_view *view,
			     uint32_t count)
{
	struct stack_shape shape;
	bool is_loading =
		!look_at(handler->words, count, view, &shape) && shape.error == UNWIND_NOT_LOADED &&
		executable_rows_are_loading(handler->config.executables, shape.last_executable_id);

	return is_loading ? shape.last_executable_id : 0;
}

/* Returns false if a later try may be better, when the rows of *@awaited_id are there. */
static bool handle_first(struct trace_handler *handler, const struct deferred_sample *sample,
			 const struct process_view *view, bool is_last_try, uint64_t *awaited_id)
{
	uint32_t count = sample->record.word_count;
	uint8_t flags = sample->record.flags;

	memcpy(handler->words, sample->words, count * sizeof(uint64_t));
	count = unwind_deferred(handler, sample, view, count, &flags);
	if (!is_last_try && (*awaited_id = find_loading(handler, view, count)))
		return false;
	handle_stack(handler, &sample->record, view, handler->words, count, flags);
	return true;
}

/*
 * Handles a sample of a fork that the kernel side unwound with the parent's table. The stack is right if the
 * fork's own table turns out to be the same. Names wait for that as well.
 */
static bool handle_fork(struct trace_handler *handler, const struct trace_record *record,
			const struct process_view *view, bool is_last_try)
{
	const uint64_t *words = (const uint64_t *)(record + 1);
	uint32_t count = record->word_count;
	uint8_t flags = record->flags;

	if (!is_last_try && view->state == PROCESS_NEW)
		return false;
	if (!view->has_parent_rows) {
		count = record->kernel_word_count;
		memcpy(handler->words, words, count * sizeof(*words));
		handler->words[count++] = frame_word(FRAME_ERROR, UNWIND_UNKNOWN_PROCESS, 0);
		words = handler->words;
		flags &= ~RECORD_REACHED_END;
	}
	handle_stack(handler, record, view, words, count, flags);
	return true;
}

static bool try_waiting(void *context, struct waiting_sample *waiting, uint64_t now_ns)
{
	const struct trace_record *record = waiting->record;
	const struct deferred_sample *first = (const struct deferred_sample *)record;
	struct trace_handler *handler = context;
	bool is_done, is_last_try = now_ns >= waiting->deadline_ns;
	struct process_view view;

	if (!is_last_try && waiting->awaited_id &&
	    executable_rows_are_loading(handler->config.executables, waiting->awaited_id))
		return false;
	process_table_view(handler->config.table, record->pid, &record->identity, record->time_ns,
			   &view);
	if (record->type == RECORD_TRACE) {
		is_done = handle_fork(handler, record, &view, is_last_try);
	} else if (is_settled(handler, first, &view)) {
		is_done = handle_first(handler, first, &view, is_last_try, &waiting->awaited_id);
	} else {
		is_done = now_ns >= waiting->known_by_ns &&
			  handle_first(handler, first, &view, true, &waiting->awaited_id);
	}
	process_view_release(handler->config.table, &view);
	return is_done;
}

/* Limits the samples of one process, so that it does not take the slots of others. */
static bool may_wait(const struct trace_handler *handler, const struct trace_record *record)
{
	return !(record->flags & RECORD_RESUMED) ||
	       (handler->deferred.count < RESUMED_SAMPLES_MAX &&
		deferred_samples_count_of(&handler->deferred, record->pid) <
			RESUMED_OF_PROCESS_MAX);
}

static void wait_for_process(struct trace_handler *handler, const struct trace_record *record,
			     size_t bytes)
{
	uint64_t known_by_ns = handler->now_ns + DEFERRED_SAMPLE_WAIT_NS;
	struct waiting_sample waiting = {
		/* The record is copied. */
		.record = (struct trace_record *)record,
		.known_by_ns = known_by_ns,
		.deadline_ns = record->type == RECORD_TRACE ? known_by_ns :
							      handler->now_ns + ROWS_WAIT_NS,
	};

	if (!may_wait(handler, record) || deferred_samples_add(&handler->deferred, &waiting, bytes))
		try_waiting(handler, &waiting, UINT64_MAX);
}

static bool first_is_malformed(const struct deferred_sample *sample, size_t bytes)
{
	const size_t head_bytes = offsetof(struct deferred_sample, stack);

	return bytes < head_bytes || sample->stack_bytes > bytes - head_bytes ||
	       sample->stack_bytes > DEFERRED_STACK_MAX_BYTES ||
	       sample->record.kernel_word_count > sample->record.word_count ||
	       sample->record.word_count > DEFERRED_MAX_WORDS - RESUMED_FRAME_WORDS;
}

static void take_first(struct trace_handler *handler, const struct deferred_sample *sample,
		       size_t bytes)
{
	if (first_is_malformed(sample, bytes)) {
		metrics_add(METRIC_SAMPLES_MALFORMED, 1);
		return;
	}
	wait_for_process(handler, &sample->record, bytes);
}

static bool trace_is_malformed(const struct trace_record *record, size_t bytes)
{
	const size_t labels_at = sizeof(*record) + record->word_count * sizeof(uint64_t);

	return record->word_count > TRACE_MAX_WORDS ||
	       record->kernel_word_count > record->word_count ||
	       bytes < labels_at + record->label_bytes ||
	       !labels_are_well_formed((const char *)record + labels_at, record->label_bytes);
}

static void take_trace(struct trace_handler *handler, const struct trace_record *record,
		       size_t bytes)
{
	struct process_view view;

	if (trace_is_malformed(record, bytes)) {
		metrics_add(METRIC_SAMPLES_MALFORMED, 1);
		return;
	}
	if (record->flags & RECORD_PARENT_ENTRY) {
		wait_for_process(handler, record, bytes);
		return;
	}
	process_table_view(handler->config.table, record->pid, &record->identity, record->time_ns,
			   &view);
	handle_stack(handler, record, &view, (const uint64_t *)(record + 1), record->word_count,
		     record->flags);
	process_view_release(handler->config.table, &view);
}

void trace_handler_handle(struct trace_handler *handler, const struct trace_record *record,
			  size_t bytes, uint64_t now_ns)
{
	handler->now_ns = now_ns;
	if (bytes >= sizeof(*record) && record->time_ns > handler->newest_sample_ns)
		handler->newest_sample_ns = record->time_ns;
	if (bytes < sizeof(*record))
		metrics_add(METRIC_SAMPLES_MALFORMED, 1);
	else if (record->type == RECORD_TRACE)
		take_trace(handler, record, bytes);
	else if (record->type == RECORD_DEFERRED)
		take_first(handler, (const struct deferred_sample *)record, bytes);
	else
		metrics_add(METRIC_SAMPLES_MALFORMED, 1);
}

void trace_handler_finish(struct trace_handler *handler)
{
	deferred_samples_try(&handler->deferred, UINT64_MAX, try_waiting, handler);
}

void trace_handler_tick(struct trace_handler *handler, uint64_t now_ns)
{
	struct kernel_symbols *symbols = handler->config.kernel_symbols;
	uint64_t generation;

	handler->now_ns = now_ns;
	/* On errors the symbols keep their old names, and the generation stays. */
	if (symbols && !kernel_symbols_refresh(symbols, now_ns, &generation))
		handler->kernel_generation = generation;
	deferred_samples_try(&handler->deferred, now_ns, try_waiting, handler);
	if (now_ns < handler->next_age_ns)
		return;
	handler->next_age_ns = now_ns + TRACE_AGE_NS;
	lru_cache_age(&handler->traces);
	frame_converter_age(handler->converter);
	if (handler->config.perf_maps)
		perf_maps_expire(handler->config.perf_maps, now_ns);
}
