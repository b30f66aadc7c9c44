/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process controls its mappings and when its runtime is ready, so numbers are limited here, and tries become
 * ever rarer. The languages check the content of its memory.
 */
#include "agent/processes/runtimes/attachments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/processes/runtimes/attach_pace.h"
#include "agent/processes/runtimes/executable_runtime.h"
#include "agent/processes/runtimes/unsupported_runtime.h"
#include "lib/base/clock.h"
#include "lib/model/metrics.h"

/* Pause after which a request is repeated: load_remote can hang, and then no answer comes. */
#define ASK_AGAIN_NS (60 * NS_PER_SECOND)
/* Pause after a change of the mappings: the runtime loads modules while it initializes itself. */
#define CHANGED_PAUSE_NS (5 * NS_PER_MS)
/* Pause before a runtime that was released over the limit is attached to again. */
#define LET_GO_NS (60 * NS_PER_SECOND)

/* --- the state of a process --- */

static void note_due(struct attachments *attachments, const struct process *process,
		     uint64_t due_ns)
{
	const struct scheduled_sync entry = {
		.pid = process->pid,
		.reasons = SYNC_ATTACH,
		.due_ns = due_ns,
		.touched_start = UINT64_MAX,
	};

	/* Without memory, the next change of the mappings causes the same. */
	sync_schedule_add(&attachments->due, &entry);
}

static void set_state(struct attachments *attachments, struct attachment *attachment,
		      enum attachment_state state)
{
	uint32_t asked = attachments->asked_count;

	if (attachment->state == ATTACHMENT_ASKED)
		asked--;
	if (state == ATTACHMENT_ASKED)
		asked++;
	attachment->state = state;
	__atomic_store_n(&attachments->asked_count, asked, __ATOMIC_RELEASE);
}

static void count_attached(struct attachments *attachments, int change)
{
	attachments->attached_count += change;
	metrics_set(METRIC_INTERPRETERS_ATTACHED, attachments->attached_count);
}

static void set_runtime(struct attachments *attachments, struct attachment *attachment,
			struct process_runtime *runtime)
{
	attachment->runtime = runtime;
	set_state(attachments, attachment, ATTACHMENT_ATTACHED);
	count_attached(attachments, 1);
}

/* Releases the runtime of an attachment. */
static void drop_runtime(struct attachments *attachments, struct attachment *attachment)
{
	if (!attachment->runtime)
		return;
	process_runtime_unref(attachment->runtime);
	attachment->runtime = NULL;
	count_attached(attachments, -1);
}

static void wait_until(struct attachments *attachments, struct process *process,
		       struct attachment *attachment, uint64_t due_ns)
{
	set_state(attachments, attachment, ATTACHMENT_WAITING);
	attachment->due_ns = due_ns;
	note_due(attachments, process, due_ns);
}

/* Whether memory that makes no sense may do so soon. Of a file that was refused once, other processes are refused at once. */
static bool is_early(const struct attachment *attachment)
{
	return attachment->try_count < ATTACH_EARLY_TRIES &&
	       !__atomic_load_n(&attachment->executable->is_refusal_logged, __ATOMIC_RELAXED);
}

static void ask(struct attachments *attachments, struct process *process,
		struct attachment *attachment, uint64_t now_ns)
{
	struct attach_request *request = attach_request_create(
		attachments->executables, process, attachment->executable, attachment->bias);

	attachment->tried_ns = now_ns;
	if (!request) {
		wait_until(attachments, process, attachment, now_ns + NS_PER_SECOND);
		return;
	}
	request->is_early = is_early(attachment);
	set_state(attachments, attachment, ATTACHMENT_ASKED);
	attachment->due_ns = now_ns + ASK_AGAIN_NS;
	note_due(attachments, process, attachment->due_ns);
	attachments->request(attachments->context, request);
}

/* Whether its runtime was lost and has to be attached to again. */
static bool is_lost(const struct attachment *attachment)
{
	return attachment->runtime && process_runtime_is_lost(attachment->runtime);
}

/* Notes that the runtime is attached to, and schedules another attach if it may grow or was lost. */
static void look_again(struct attachments *attachments, struct process *process,
		       struct attachment *attachment, uint64_t now_ns)
{
	set_state(attachments, attachment, ATTACHMENT_ATTACHED);
	attachment->due_ns = 0;
	/* The runtime was lost before its answer was handled. */
	if (is_lost(attachment)) {
		wait_until(attachments, process, attachment, now_ns + attach_pace_pause_ns(0));
		return;
	}
	if (!process_runtime_data(attachment->runtime)->may_grow ||
	    attachment->growth_count == ATTACH_GROWTH_MAX)
		return;
	attachment->due_ns = now_ns + attach_pace_growth_ns(attachment->growth_count++);
	note_due(attachments, process, attachment->due_ns);
}

/* Publishes the runtimes that are attached to now to the work thread. */
static void share_runtimes(struct attachments *attachments, struct process *process)
{
	struct process_runtime *runtimes[RUNTIMES_MAX];
	struct runtime_set *set = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; process->attachments && i < process->attachments->count; i++)
		if (process->attachments->items[i].runtime)
			runtimes[count++] = process->attachments->items[i].runtime;
	if (count)
		set = runtime_set_create(runtimes, count);
	process_table_set_runtimes(attachments->table, process, set);
}

static void remove_attachment(struct attachments *attachments, struct process_attachments *list,
			      uint32_t index)
{
	struct attachment *attachment = &list->items[index];

	drop_runtime(attachments, attachment);
	set_state(attachments, attachment, ATTACHMENT_REFUSED);
	executable_unref(attachments->executables, attachment->executable);
	list->count--;
	memmove(attachment, attachment + 1, (list->count - index) * sizeof(*attachment));
}

static bool is_runtime(const struct process_mapping *mapping)
{
	return mapping->executable && mapping->executable_id >= EXECUTABLE_ID_FIRST &&
	       mapping->executable_id == mapping->executable->id &&
	       executable_runtime(mapping->executable);
}

static bool is_mapped(const struct process *process, const struct attachment *attachment)
{
	for (uint32_t i = 0; i < process->mapping_count; i++) {
		const struct process_mapping *mapping = &process->mappings[i];

		if (mapping->executable == attachment->executable &&
		    mapping->bias == attachment->bias && is_runtime(mapping))
			return true;
	}
	return false;
}

/* Adds an attachment; NULL if there is no free slot, or it exists already. */
static struct attachment *add_attachment(struct attachments *attachments, struct process *process,
					 struct executable *executable, uint64_t bias)
{
	struct process_attachments *list = process->attachments;
	struct attachment *attachment;

	if (!list)
		list = process->attachments = calloc(1, sizeof(*list));
	for (uint32_t i = 0; list && i < list->count; i++)
		if (list->items[i].executable == executable)
			return NULL;
	if (!list || list->count == RUNTIMES_MAX)
		return NULL;
	attachment = &list->items[list->count++];
	*attachment = (struct attachment){
		.executable = executable_ref(attachments->executables, executable),
		.bias = bias,
	};
	return attachment;
}

static void free_if_empty(struct process *process)
{
	if (!process->attachments || process->attachments->count)
		return;
	free(process->attachments);
	process->attachments = NULL;
}

static bool drop_unmapped(struct attachments *attachments, struct process *process)
{
	struct process_attachments *list = process->attachments;
	bool has_dropped = false;

	for (uint32_t i = list ? list->count : 0; i-- > 0;) {
		if (is_mapped(process, &list->items[i]))
			continue;
		has_dropped = has_dropped || list->items[i].runtime;
		remove_attachment(attachments, list, i);
	}
	return has_dropped;
}

/* Tries waiting attachments soon, since their runtime may be ready. */
static void hasten(struct attachments *attachments, struct process *process, uint64_t now_ns)
{
	struct process_attachments *list = process->attachments;

	for (uint32_t i = 0; list && i < list->count; i++) {
		struct attachment *attachment = &list->items[i];
		uint64_t due_ns = now_ns + CHANGED_PAUSE_NS;
		uint64_t least_ns =
			attachment->tried_ns + attach_pace_least_ns(attachment->try_count);

		if (due_ns < least_ns)
			due_ns = least_ns;
		if (attachment->state == ATTACHMENT_WAITING && due_ns < attachment->due_ns)
			wait_until(attachments, process, attachment, due_ns);
	}
}

/* Attaches without a load thread; false: a load thread is needed. */
static bool attach_at_once(struct attachments *attachments, const struct process *process,
			   struct attachment *attachment)
{
	struct attach_request request = {
		.pid = process->pid,
		.executable = attachment->executable,
		.bias = attachment->bias,
	};
	struct process_runtime *runtime;

	if (!executable_runtime(attachment->executable)->attaches_at_once ||
	    attachments->attached_count >= ATTACHMENTS_MAX ||
	    attach_request_run(&request, attachments->proc_root, attachments->home, &runtime))
		return false;
	set_runtime(attachments, attachment, runtime);
	return true;
}

static void update(struct attachments *attachments, struct process *process, bool is_published_next,
		   uint64_t now_ns)
{
	bool has_changed;

	if (!attachments->request)
		return;
	has_changed = drop_unmapped(attachments, process);
	hasten(attachments, process, now_ns);
	for (uint32_t i = 0; i < process->mapping_count; i++) {
		const struct process_mapping *mapping = &process->mappings[i];
		struct attachment *added;

		if (!is_runtime(mapping))
			continue;
		added = add_attachment(attachments, process, mapping->executable, mapping->bias);
		if (added && is_published_next && attach_at_once(attachments, process, added))
			has_changed = true;
		else if (added)
			ask(attachments, process, added, now_ns);
	}
	if (has_changed)
		share_runtimes(attachments, process);
	free_if_empty(process);
}

void attachments_update(struct attachments *attachments, struct process *process, uint64_t now_ns)
{
	update(attachments, process, true, now_ns);
}

void attachments_inherit(struct attachments *attachments, struct process *process,
			 const struct process *parent)
{
	const struct process_attachments *list = parent->attachments;

	for (uint32_t i = 0; list && i < list->count; i++) {
		const struct attachment *model = &list->items[i];
		struct process_runtime *runtime;
		struct attachment *added;

		if (!model->runtime || attachments->attached_count >= ATTACHMENTS_MAX ||
		    !is_mapped(process, model) ||
		    process_runtime_fork(model->runtime, attachments->proc_root, process->pid,
					 &runtime))
			continue;
		added = add_attachment(attachments, process, model->executable, model->bias);
		if (added)
			set_runtime(attachments, added, runtime);
		else
			process_runtime_unref(runtime);
	}
	if (process->attachments)
		share_runtimes(attachments, process);
	free_if_empty(process);
}

void attachments_lend(struct attachments *attachments, struct process *process,
		      const struct process *parent)
{
	if (parent->runtimes)
		process_table_set_runtimes(attachments->table, process,
					   runtime_set_ref(parent->runtimes));
}

/* Iterates over the processes that have not ended; NULL at the end. *@cursor is 0 at first. */
static struct process *next_process(struct attachments *attachments, size_t *cursor)
{
	struct process_table *table = attachments->table;
	struct process *process;
	uint64_t value;
	bool is_there;

	/* Only this thread adds and removes processes, so the lock is needed for one step at a time only. */
	do {
		pthread_mutex_lock(&table->lock);
		is_there = hash_map_next(&table->processes, cursor, NULL, &value);
		pthread_mutex_unlock(&table->lock);
		process = is_there ? (void *)(uintptr_t)value : NULL;
	} while (process && process->ended_ns);
	return process;
}

void attachments_update_all(struct attachments *attachments, uint64_t now_ns)
{
	struct process *process;
	size_t cursor = 0;

	while (attachments->request && (process = next_process(attachments, &cursor)))
		update(attachments, process, false, now_ns);
}

/* --- answers --- */

static struct attachment *find_attachment(const struct process *process, uint64_t executable_id)
{
	struct process_attachments *list = process ? process->attachments : NULL;

	for (uint32_t i = 0; list && i < list->count; i++)
		if (list->items[i].executable->id == executable_id)
			return &list->items[i];
	return NULL;
}

bool attachments_have(const struct process *process, const struct executable *executable)
{
	const struct attachment *attachment = find_attachment(process, executable->id);

	return attachment && attachment->runtime;
}

static uint64_t last_needed_ns(const struct process *process)
{
	return process->last_sample_ns > process->published_ns ? process->last_sample_ns :
								 process->published_ns;
}

/* Releases the runtimes of the process that was not needed for longest; NULL: there is none. */
static struct process *let_go(struct attachments *attachments, const struct process *except,
			      uint64_t now_ns)
{
	struct process_table *table = attachments->table;
	struct process *least = NULL;
	size_t cursor = 0;
	uint64_t value;

	pthread_mutex_lock(&table->lock);
	while (hash_map_next(&table->processes, &cursor, NULL, &value)) {
		struct process *process = (void *)(uintptr_t)value;

		if (process != except && process->runtimes && process->attachments &&
		    (!least || last_needed_ns(process) < last_needed_ns(least)))
			least = process;
	}
	pthread_mutex_unlock(&table->lock);
	for (uint32_t i = 0; least && i < least->attachments->count; i++) {
		struct attachment *attachment = &least->attachments->items[i];

		if (!attachment->runtime)
			continue;
		drop_runtime(attachments, attachment);
		wait_until(attachments, least, attachment, now_ns + LET_GO_NS);
		metrics_add(METRIC_INTERPRETERS_DETACHED, 1);
	}
	if (least)
		share_runtimes(attachments, least);
	return least;
}

static bool has_same_data(const struct process_runtime *first, const struct process_runtime *second)
{
	const struct runtime *one = process_runtime_data(first);
	const struct runtime *other = process_runtime_data(second);

	return one->data_bytes == other->data_bytes &&
	       !memcmp(one->data, other->data, one->data_bytes);
}

/* Notes that a read of the process's memory hangs, which several answers may tell. */
static void note_hanging(struct process *process, uint64_t now_ns)
{
	if (process->hanging_until_ns <= now_ns)
		process->hanging_until_ns = now_ns + attach_pace_hanging_ns(++process->hang_count);
}

/* Schedules the next try after an error, or gives up. */
static void answer_error(struct attachments *attachments, struct process *process,
			 struct attachment *attachment, int err, uint64_t now_ns)
{
	if (err == -EBADMSG && is_early(attachment))
		err = -EAGAIN;
	switch (err) {
	case -EOPNOTSUPP:
	case -EBADMSG:
	case -ESRCH:
		/* It cannot succeed, or the process has ended. */
		set_state(attachments, attachment, ATTACHMENT_REFUSED);
		break;
	case -EHOSTDOWN:
		if (attachment->runtime)
			process_runtime_note_hanging(attachment->runtime);
		note_hanging(process, now_ns);
		wait_until(attachments, process, attachment, process->hanging_until_ns);
		break;
	default:
		/* The runtime was not ready, or changed while it was read. */
		wait_until(attachments, process, attachment,
			   now_ns + attach_pace_pause_ns(attachment->try_count++));
		break;
	}
}

/*
 * Handles the answer for a runtime that was attached to before, which stays unless the answer has a new one.
 * True if it was replaced.
 */
static bool answer_again(struct attachments *attachments, struct process *process,
			 struct attachment *attachment, const struct attach_answer *answer,
			 uint64_t now_ns)
{
	bool was_lost = is_lost(attachment);
	bool is_new = !answer->err &&
		      (was_lost || !has_same_data(attachment->runtime, answer->runtime));

	if (is_new) {
		drop_runtime(attachments, attachment);
		set_runtime(attachments, attachment, answer->runtime);
		share_runtimes(attachments, process);
	} else {
		process_runtime_unref(answer->runtime);
	}
	if (answer->err && (was_lost || answer->err == -EHOSTDOWN))
		answer_error(attachments, process, attachment, answer->err, now_ns);
	else
		look_again(attachments, process, attachment, now_ns);
	return is_new;
}

uint32_t attachments_answer(struct attachments *attachments, const struct attach_answer *answer,
			    uint64_t now_ns, struct process *changed[ATTACH_MAX_CHANGED])
{
	struct process *process =
		process_table_find(attachments->table, answer->pid, &answer->identity);
	struct attachment *attachment = find_attachment(process, answer->executable_id);
	uint32_t count = 0;

	/* The process ended or unmapped the file, or another answer was faster. */
	if (!attachment || attachment->state != ATTACHMENT_ASKED || process->ended_ns) {
		process_runtime_unref(answer->runtime);
		return 0;
	}
	if (attachment->runtime) {
		changed[0] = process;
		return answer_again(attachments, process, attachment, answer, now_ns);
	}
	if (answer->err) {
		answer_error(attachments, process, attachment, answer->err, now_ns);
		return 0;
	}
	if (attachments->attached_count >= ATTACHMENTS_MAX) {
		changed[count] = let_go(attachments, process, now_ns);
		if (changed[count])
			count++;
	}
	set_runtime(attachments, attachment, answer->runtime);
	look_again(attachments, process, attachment, now_ns);
	share_runtimes(attachments, process);
	changed[count++] = process;
	return count;
}

/* Requests lost runtimes again, unless a request is pending already. */
static void replace_lost(struct attachments *attachments, struct process *process, bool is_hanging,
			 uint64_t now_ns)
{
	struct process_attachments *list = process->attachments;

	for (uint32_t i = 0; list && i < list->count; i++) {
		struct attachment *attachment = &list->items[i];

		if (!is_lost(attachment))
			continue;
		if (is_hanging)
			answer_error(attachments, process, attachment, -EHOSTDOWN, now_ns);
		else if (attachment->state == ATTACHMENT_ATTACHED)
			ask(attachments, process, attachment, now_ns);
	}
}

void attachments_note_lost(struct attachments *attachments, uint32_t pid, uint64_t now_ns)
{
	struct process *process;
	size_t cursor = 0;

	while ((process = next_process(attachments, &cursor))) {
		if (process->pid == pid)
			note_hanging(process, now_ns);
		replace_lost(attachments, process, process->pid == pid, now_ns);
	}
}

void attachments_run_due(struct attachments *attachments, uint64_t now_ns)
{
	struct scheduled_sync entry;

	while (sync_schedule_pop(&attachments->due, now_ns, &entry)) {
		struct process *process = process_table_current(attachments->table, entry.pid);
		struct process_attachments *list = process ? process->attachments : NULL;

		if (!list || process->ended_ns)
			continue;
		for (uint32_t i = 0; i < list->count; i++) {
			struct attachment *attachment = &list->items[i];

			if (attachment->state == ATTACHMENT_REFUSED || !attachment->due_ns)
				continue;
			if (attachment->due_ns <= now_ns)
				ask(attachments, process, attachment, now_ns);
			else
				note_due(attachments, process, attachment->due_ns);
		}
	}
}

uint64_t attachments_next_due(const struct attachments *attachments)
{
	return sync_schedule_next_due(&attachments->due);
}

uint32_t attachments_list(const struct process *process,
			  struct published_runtime list[RUNTIMES_MAX])
{
	const struct process_attachments *attached = process->attachments;
	uint32_t count = 0;

	for (uint32_t i = 0; attached && i < attached->count; i++) {
		const struct runtime *data;

		if (!attached->items[i].runtime)
			continue;
		data = process_runtime_data(attached->items[i].runtime);
		list[count++] = (struct published_runtime){
			.executable_id = attached->items[i].executable->id,
			.language = data->language->id->kind,
			.data_bytes = data->data_bytes,
			.data = data->data,
		};
	}
	return count;
}

/* Whether programs with this file may have code that a language's unwinder knows, or none does. */
static bool makes_code(const struct executable *executable)
{
	const struct runtime_file *file = executable_runtime(executable);

	if (file)
		return runtime_flags_of(file->language->id->frames) & RUNTIME_HAS_CODE;
	if (executable_runtime_refusal(executable))
		return true;
	if (!executable->binary)
		return false;
	/* With -tracers the JVM may not be looked for. */
	return unsupported_runtime_name(executable->binary->path) ||
	       !strcmp(binary_name(executable->binary), "libjvm.so");
}

bool attachments_may_have_code(const struct process *process)
{
	const struct executable *last = NULL;

	for (uint32_t i = 0; i < process->mapping_count; i++) {
		const struct executable *executable = process->mappings[i].executable;

		if (executable && executable != last && makes_code(executable))
			return true;
		last = executable;
	}
	return false;
}

uint64_t attachments_map_bytes(const struct published_runtime *list, uint32_t count)
{
	uint64_t bytes = count ? RUNTIMES_MAX * sizeof(struct runtime_row) : 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += list[i].data_bytes;
	return bytes;
}

bool attachments_are_pending(const struct attachments *attachments)
{
	return __atomic_load_n(&attachments->asked_count, __ATOMIC_ACQUIRE);
}

void attachments_release(struct attachments *attachments, struct process *process)
{
	struct process_attachments *list = process->attachments;

	while (list && list->count)
		remove_attachment(attachments, list, list->count - 1);
	free_if_empty(process);
	if (process->runtimes)
		process_table_set_runtimes(attachments->table, process, NULL);
}

void attachments_deinit(struct attachments *attachments)
{
	sync_schedule_deinit(&attachments->due);
}
