/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/opened_identity.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/model/languages.h"

#define LABEL_KEY_PREFIX "process.context.label."
#define UNKNOWN_SERVICE "unknown_service:"

static const struct {
	const char *key;
	size_t offset;
} texts[] = {
	{ "service.name", offsetof(struct opened_identity, service_name) },
	{ "container.id", offsetof(struct opened_identity, container_id) },
	{ "process.executable.name", offsetof(struct opened_identity, executable_name) },
	{ "process.executable.path", offsetof(struct opened_identity, executable_path) },
	{ "host.name", offsetof(struct opened_identity, host_name) },
	{ "process.owner", offsetof(struct opened_identity, user_name) },
	{ "process.command_line", offsetof(struct opened_identity, command_line) },
};

enum {
	/* The mark, the sign, the digits and the space of a number. */
	NUMBER_MAX_BYTES = 22,
};

_Static_assert(PROFILE_LABELS_MAX *(2 * (PROFILE_LABEL_TEXT_MAX_BYTES + 1) + NUMBER_MAX_BYTES) +
			       8 <=
		       UINT16_MAX,
	       "text_bytes of struct label_set");

void opened_labels_clear(struct opened_labels *labels)
{
	labels->count = 0;
	labels->task_language = 0;
	labels->task_id = 0;
	text_builder_clear(&labels->texts);
}

/* Appends the text as names are cleaned, cut to its limit, and a NUL. */
static void append_text(struct opened_labels *labels, const char *text)
{
	char cut[PROFILE_LABEL_TEXT_MAX_BYTES + 1];
	size_t length = text_cut_length(text, strnlen(text, sizeof(cut)), sizeof(cut) - 1);

	memcpy(cut, text, length);
	cut[length] = '\0';
	text_builder_append_name(&labels->texts, cut);
	text_builder_append_bytes(&labels->texts, "", 1);
}

static bool begin_label(struct opened_labels *labels, const char *key)
{
	if (!*key || labels->count == PROFILE_LABELS_MAX)
		return false;
	labels->labels[labels->count++] = labels->texts.length;
	append_text(labels, key);
	return true;
}

void opened_labels_add(struct opened_labels *labels, const char *key, const char *value)
{
	if (begin_label(labels, key))
		append_text(labels, value);
}

void opened_labels_add_number(struct opened_labels *labels, const char *key, int64_t number,
			      const char *unit)
{
	if (!begin_label(labels, key))
		return;
	text_builder_format(&labels->texts, "%c%" PRId64 "%s", LABEL_NUMBER_MARK, number,
			    *unit ? " " : "");
	append_text(labels, unit);
}

void opened_labels_set_task_id(struct opened_labels *labels, uint8_t kind, uint64_t id)
{
	labels->task_language = kind;
	labels->task_id = id;
}

/* By key, then by value. */
static int compare_labels(const void *a, const void *b, void *texts)
{
	const char *one = (const char *)texts + *(const size_t *)a;
	const char *other = (const char *)texts + *(const size_t *)b;
	int order = strcmp(one, other);

	return order ? order : strcmp(one + strlen(one) + 1, other + strlen(other) + 1);
}

/* Room for all texts and their padding. */
static bool reserve_set(struct opened_labels *labels)
{
	size_t needed = sizeof(struct label_set) + labels->texts.length + sizeof(uint64_t);
	struct label_set *grown;

	if (needed <= labels->set_capacity)
		return true;
	grown = realloc(labels->set, needed);
	if (!grown)
		return false;
	labels->set = grown;
	labels->set_capacity = needed;
	return true;
}

const struct label_set *opened_labels_finish(struct opened_labels *labels)
{
	char *texts, *end;
	size_t bytes;

	if ((!labels->count && !labels->task_language) || labels->texts.failed ||
	    !reserve_set(labels))
		return NULL;
	*labels->set = (struct label_set){
		.task_id = labels->task_id,
		.task_language = labels->task_language,
		.label_count = labels->count,
	};
	qsort_r(labels->labels, labels->count, sizeof(labels->labels[0]), compare_labels,
		labels->texts.text);
	end = texts = (char *)labels->set + offsetof(struct label_set, texts);
	for (uint32_t i = 0; i < labels->count; i++) {
		const char *key = labels->texts.text + labels->labels[i];

		bytes = strlen(key) + 1;
		bytes += strlen(key + bytes) + 1;
		memcpy(end, key, bytes);
		end += bytes;
	}
	while ((end - texts) % 8)
		*end++ = '\0';
	labels->set->text_bytes = (uint16_t)(end - texts);
	return labels->set;
}

void opened_labels_deinit(struct opened_labels *labels)
{
	text_builder_deinit(&labels->texts);
	free(labels->set);
}

static void drop_process(struct opened_identities *identities)
{
	process_info_unref(identities->process);
	identities->process = NULL;
}

void opened_identities_begin(struct opened_identities *identities)
{
	opened_labels_clear(&identities->labels);
}

/* True for the keys of texts that a language gives for a process (language_ops.describe). */
static bool is_of_process(const char *key)
{
	return text_starts_with(key, "process.runtime.") || text_starts_with(key, "allframes.");
}

static void set_attribute(struct opened_identity *identity, const char *key, const char *text)
{
	uint32_t i = 0;

	while (i < identity->attribute_count && strcmp(identity->attributes[i].key, key))
		i++;
	if (i == PROCESS_ATTRIBUTES_MAX)
		return;
	identity->attributes[i] = (struct attribute){ key, text };
	if (i == identity->attribute_count)
		identity->attribute_count++;
}

/* Ignores keys that are not attributes of samples. */
static void set_sample_attribute(struct sample *sample, const char *key, const char *text,
				 int64_t number)
{
	for (uint32_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++) {
		if (!*key || strcmp(key, sample_attributes[i].otlp))
			continue;
		if (sample_attributes[i].kind == ATTRIBUTE_NUMBER)
			sample_set_number(sample, i, (uint32_t)number);
		else if (text)
			sample_set_text(sample, i, text);
	}
}

void opened_identities_set(struct opened_identities *identities, struct opened_identity *identity,
			   const char *key, const struct opened_value *value)
{
	bool is_too_long = strnlen(value->text, OPENED_ATTRIBUTE_MAX_BYTES + 1) >
			   OPENED_ATTRIBUTE_MAX_BYTES;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(key, texts[i].key) && !is_too_long)
			*(const char **)((char *)identity + texts[i].offset) = value->text;
	if (!strcmp(key, "process.parent_pid") && value->is_number && value->number > 0 &&
	    value->number <= UINT32_MAX)
		identity->parent_pid = (uint32_t)value->number;
	set_sample_attribute(&identity->sample, key, is_too_long ? NULL : value->text,
			     value->number);
	for (uint32_t i = 0; i < LANGUAGE_MARK_COUNT; i++)
		if (!strcmp(key, language_marks[i].otlp))
			identity->mark = value->number ? language_marks[i].kind : 0;
	for (uint32_t i = 0; i < LANGUAGE_TASK_KEY_COUNT; i++)
		if (!strcmp(key, language_task_keys[i].otlp))
			opened_labels_set_task_id(&identities->labels, language_task_keys[i].kind,
						  (uint64_t)value->number);
	if (text_starts_with(key, LABEL_KEY_PREFIX) && value->is_number)
		opened_labels_add_number(&identities->labels, key + strlen(LABEL_KEY_PREFIX),
					 value->number, "");
	else if (text_starts_with(key, LABEL_KEY_PREFIX))
		opened_labels_add(&identities->labels, key + strlen(LABEL_KEY_PREFIX), value->text);
	else if (is_of_process(key) && *value->text && !is_too_long)
		set_attribute(identity, key, value->text);
}

static bool is_set(const char *text)
{
	return text && *text;
}

/* OTLP has no attribute for the comm: this is the closest one. */
static const char *comm_of(const struct opened_identity *identity, const struct trace *trace)
{
	const char *service = identity->service_name;

	if (is_set(identity->executable_name))
		return identity->executable_name;
	if (trace->is_kernel_thread && is_set(identity->sample.thread_comm))
		return identity->sample.thread_comm;
	if (!is_set(service))
		return "";
	return text_starts_with(service, UNKNOWN_SERVICE) ? service + strlen(UNKNOWN_SERVICE) :
							    service;
}

/* Makes the process of @identity; none if there are too many others. */
static int make_process(struct opened_identities *identities,
			const struct opened_identity *identity)
{
	const struct interner *known = &identities->opened->table.processes;
	const char *service = identity->service_name;
	const struct process_info values = {
		.pid = identity->sample.pid == SAMPLE_NO_NUMBER ? 0 : identity->sample.pid,
		.executable_path = identity->executable_path,
		.container_id = identity->container_id,
		.host_name = identity->host_name,
		.user_name = identity->user_name,
		.command_line = identity->command_line,
		.parent_pid = identity->parent_pid,
		.service_name = service && !text_starts_with(service, UNKNOWN_SERVICE) ? service :
											 NULL,
		.attributes = identity->attributes,
		.attribute_count = identity->attribute_count,
	};

	identities->process = process_info_create(&values);
	if (!identities->process)
		return -ENOMEM;
	if (interner_count(known) >= OPENED_PROCESSES_MAX &&
	    !interner_find(known, identities->process))
		drop_process(identities);
	return 0;
}

int opened_identities_sample(struct opened_identities *identities,
			     const struct opened_identity *identity, struct trace *trace,
			     struct sample *sample)
{
	int err = 0;

	drop_process(identities);
	/* For kernel threads only the host is known. */
	if (!trace->is_kernel_thread || is_set(identity->host_name))
		err = make_process(identities, identity);
	if (err)
		return err;
	*sample = identity->sample;
	sample->trace = trace;
	sample->process = identities->process;
	sample->labels = opened_labels_finish(&identities->labels);
	sample->process_comm = comm_of(identity, trace);
	if (identities->opened->max_samples && !is_set(sample->thread_comm))
		sample->thread_comm = sample->process_comm;
	return 0;
}

void opened_identities_deinit(struct opened_identities *identities)
{
	drop_process(identities);
	opened_labels_deinit(&identities->labels);
}
