/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts requests. Their contents are stored as received: all text is cut and escaped when it is
 * written.
 */

#include "integration/collector/received.h"

#include <inttypes.h>
#include <string.h>

#include "integration/collector/check_profiles.h"
#include "integration/collector/value_text.h"
#include "lib/base/hash128.h"

void received_deinit(struct received *received)
{
	for (size_t i = 0; i < received->attributes.count; i++)
		free(received->attributes.items[i].values);
	folded_stacks_deinit(&received->folded);
	hash_map_deinit(&received->profile_ids);
	hash_map_deinit(&received->taken_ids);
	hash_map_deinit(&received->attribute_indices);
	request_entry_vector_deinit(&received->log);
	attribute_use_vector_deinit(&received->attributes);
	received_metrics_deinit(&received->metrics);
}

static void cut_text(char *to, const void *bytes, size_t count)
{
	if (count >= ATTRIBUTE_TEXT_BYTES)
		count = ATTRIBUTE_TEXT_BYTES - 1;
	if (count)
		memcpy(to, bytes, count);
	to[count] = '\0';
}

/* Finds the entry of @key for @owner, or adds it; *@use is NULL if there is no room. */
static int find_use(struct received *received, const char *owner, struct span key,
		    struct attribute_use **use)
{
	struct attribute_use created = { .owner = owner };
	char text[ATTRIBUTE_TEXT_BYTES + 16];
	uint64_t found;
	int length, err;

	*use = NULL;
	cut_text(created.key, key.bytes, key.count);
	length = snprintf(text, sizeof(text), "%s %s", owner, created.key);
	if (!hash_map_find_bytes(&received->attribute_indices, text, length, &found)) {
		if (received->attributes.count == ATTRIBUTE_USES_MAX)
			return 0;
		found = received->attributes.count;
		err = attribute_use_vector_reserve(&received->attributes, found + 1);
		if (err)
			return err;
		created.values = calloc(ATTRIBUTE_VALUES_MAX, ATTRIBUTE_TEXT_BYTES);
		if (!created.values)
			return -ENOMEM;
		attribute_use_vector_push(&received->attributes, created);
		err = hash_map_set_bytes(&received->attribute_indices, text, length, found);
		if (err)
			return err;
	}
	*use = &received->attributes.items[found];
	return 0;
}

static int count_attribute(struct received *received, const char *owner, struct span key,
			   const char *value, size_t length)
{
	char text[ATTRIBUTE_TEXT_BYTES];
	struct attribute_use *use;
	int err = find_use(received, owner, key, &use);

	if (err || !use)
		return err;
	use->count++;
	cut_text(text, value, length);
	for (uint32_t i = 0; i < use->value_count; i++) {
		if (!strcmp(use->values[i], text))
			return 0;
	}
	if (use->value_count < ATTRIBUTE_VALUES_MAX)
		memcpy(use->values[use->value_count++], text, sizeof(text));
	return 0;
}

int received_add_header(struct received *received, struct span key, struct span value)
{
	return count_attribute(received, "header", key, (const char *)value.bytes, value.count);
}

static int count_key_values(struct received *received, const struct otlp_message *message,
			    const char *owner, struct range range)
{
	struct text_builder text = { 0 };
	int err = 0;

	for (size_t i = 0; i < range.count && !err; i++) {
		const struct key_value *one = &message->key_values.items[range.first + i];

		text_builder_clear(&text);
		append_value_text(&text, &one->value);
		err = count_attribute(received, owner, one->key, text_builder_text(&text),
				      text.length);
	}
	text_builder_deinit(&text);
	return err;
}

static int count_indices(struct received *received, const struct otlp_message *message,
			 const char *owner, struct range range)
{
	struct text_builder text = { 0 };
	int err = 0;

	for (size_t i = 0; i < range.count && !err; i++) {
		int32_t index = message->numbers.items[range.first + i];
		const struct otlp_attribute_entry *attribute;

		if (index <= 0 || (size_t)index >= message->attributes.count)
			continue;
		attribute = &message->attributes.items[index];
		text_builder_clear(&text);
		append_value_text(&text, &attribute->value);
		err = count_attribute(received, owner, otlp_message_string(message, attribute->key),
				      text_builder_text(&text), text.length);
	}
	text_builder_deinit(&text);
	return err;
}

static int count_attributes(struct received *received, const struct otlp_message *message)
{
	int err = 0;

	for (size_t i = 0; i < message->resources.count && !err; i++)
		err = count_key_values(received, message, "resource",
				       message->resources.items[i].attributes);
	for (size_t i = 0; i < message->scopes.count && !err; i++)
		err = count_key_values(received, message, "scope",
				       message->scopes.items[i].attributes);
	for (size_t i = 0; i < message->profiles.count && !err; i++)
		err = count_indices(received, message, "profile",
				    message->profiles.items[i].attributes);
	for (size_t i = 0; i < message->samples.count && !err; i++)
		err = count_indices(received, message, "sample",
				    message->samples.items[i].attributes);
	for (size_t i = 0; i < message->locations.count && !err; i++)
		err = count_indices(received, message, "location",
				    message->locations.items[i].attributes);
	for (size_t i = 0; i < message->mappings.count && !err; i++)
		err = count_indices(received, message, "mapping",
				    message->mappings.items[i].attributes);
	return err;
}

/* The number of samples in an entry of the message. */
static uint64_t count_of(const struct otlp_sample *sample)
{
	return sample->times.count ? sample->times.count : sample->value_count;
}

static void note_times(struct received *received, const struct otlp_message *message,
		       const struct otlp_sample *sample)
{
	for (size_t i = 0; i < sample->times.count; i++) {
		uint64_t time = message->times.items[sample->times.first + i];

		if (!received->first_time_ns || time < received->first_time_ns)
			received->first_time_ns = time;
		if (time > received->last_time_ns)
			received->last_time_ns = time;
	}
}

static int fold_profile(struct received *received, const struct otlp_message *message,
			const struct otlp_profile *profile)
{
	struct text_builder text = { 0 };
	int err = 0;

	for (size_t i = 0; i < profile->samples.count && !err; i++) {
		const struct otlp_sample *sample =
			&message->samples.items[profile->samples.first + i];

		text_builder_clear(&text);
		append_stack_text(&text, message, sample->stack, received->names);
		if (text.failed)
			err = -ENOMEM;
		else
			err = folded_stacks_add(&received->folded, text_builder_text(&text),
						count_of(sample));
		note_times(received, message, sample);
	}
	text_builder_deinit(&text);
	return err;
}

static void add_sums(struct sample_sums *sums, uint64_t samples)
{
	sums->profiles++;
	sums->samples += samples;
}

/*
 * Adds @id to @ids; *@first is true if it was not there. Profiles without an id are never repeats.
 */
static int is_first(struct hash_map *ids, struct span id, uint64_t hash, bool *first)
{
	*first = !id.count || !hash_map_find_bytes(ids, id.bytes, id.count, NULL);
	return *first && id.count ? hash_map_set_bytes(ids, id.bytes, id.count, hash) : 0;
}

static int count_profile(struct received *received, const struct otlp_message *message,
			 const struct otlp_profile *profile, struct findings *findings,
			 struct request_entry *entry)
{
	struct span id = profile->profile_id;
	uint64_t samples = 0, hash;
	bool first;
	int err;

	for (size_t i = 0; i < profile->samples.count; i++)
		samples += count_of(&message->samples.items[profile->samples.first + i]);
	entry->profiles++;
	entry->samples += samples;
	add_sums(&received->all, samples);
	if (id.count && hash_map_find_bytes(&received->profile_ids, id.bytes, id.count, &hash) &&
	    hash != entry->hash)
		findings_add(findings, RULE_PROFILE_ID_ONCE, "in another request");
	err = is_first(&received->profile_ids, id, entry->hash, &first);
	if (!err && first) {
		add_sums(&received->once, samples);
		err = fold_profile(received, message, profile);
	} else {
		entry->repeated_profiles++;
	}
	if (err || !entry->is_taken)
		return err;
	err = is_first(&received->taken_ids, id, entry->hash, &first);
	if (!err && first)
		add_sums(&received->taken, samples);
	return err;
}

static int add_message(struct received *received, const struct incoming *incoming,
		       struct findings *findings, struct request_entry *entry)
{
	struct otlp_message message = { 0 };
	int err = otlp_message_decode(&message, incoming->bytes, findings);

	if (!err)
		err = check_message(&message, incoming->time_ns, findings);
	entry->resources = message.resources.count;
	for (size_t i = 0; i < message.profiles.count && !err; i++)
		err = count_profile(received, &message, &message.profiles.items[i], findings,
				    entry);
	if (!err)
		err = count_attributes(received, &message);
	otlp_message_deinit(&message);
	return err;
}

int received_add(struct received *received, const struct incoming *incoming,
		 struct findings *findings, struct request_entry *entry)
{
	int err = 0;

	*entry = (struct request_entry){
		.time_ns = incoming->time_ns,
		.wire_bytes = incoming->wire_bytes,
		.raw_bytes = incoming->raw_bytes,
		.hash = hash64_bytes(incoming->bytes.count ? (const void *)incoming->bytes.bytes :
							     "",
				     incoming->bytes.count),
		.is_taken = incoming->is_readable && answer_is_taken(&incoming->answer),
	};
	answer_describe(&incoming->answer, entry->answer, sizeof(entry->answer));
	if (!incoming->is_gzip)
		findings_add(findings, RULE_GZIP, "%zu bytes plain", incoming->wire_bytes);
	if (incoming->raw_bytes >= REQUEST_MAX_BYTES)
		findings_add(findings, RULE_REQUEST_BYTES, "%zu bytes", incoming->raw_bytes);
	if (incoming->raw_bytes > RECEIVE_MAX_BYTES)
		findings_add(findings, RULE_RECEIVE_LIMIT, "over %d bytes", RECEIVE_MAX_BYTES);
	else if (!incoming->is_readable)
		findings_add(findings, RULE_GZIP, "%zu bytes cannot be decompressed",
			     incoming->wire_bytes);
	if (incoming->is_readable && incoming->is_metrics)
		err = received_metrics_add(&received->metrics, incoming->bytes, incoming->time_ns,
					   entry->is_taken, findings);
	else if (incoming->is_readable)
		err = add_message(received, incoming, findings, entry);
	entry->broken_rules = findings_count(findings);
	findings_merge(&received->findings, findings);
	if (incoming->is_metrics)
		return err;
	received->requests++;
	received->wire_bytes += incoming->wire_bytes;
	received->raw_bytes += incoming->raw_bytes;
	if (!err && received->log.count < REQUEST_LOG_MAX)
		err = request_entry_vector_push(&received->log, *entry);
	return err;
}

/* --- the report --- */

static void write_rules(const struct findings *findings, FILE *out)
{
	const char *comma = "";

	fprintf(out, "\"broken_rules\": {");
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		if (!findings->rules[rule].count)
			continue;
		fprintf(out, "%s\n\"%d\": {\"count\": %" PRIu64 ", \"rule\": ", comma, rule,
			findings->rules[rule].count);
		write_json_text(out, rule_text(rule));
		fprintf(out, ", \"example\": ");
		write_json_text(out, findings->rules[rule].example);
		fputc('}', out);
		comma = ",";
	}
	fprintf(out, "},\n");
}

static void write_attributes(const struct received *received, FILE *out)
{
	fprintf(out, "\"attributes\": [");
	for (size_t i = 0; i < received->attributes.count; i++) {
		const struct attribute_use *use = &received->attributes.items[i];

		fprintf(out, "%s\n{\"owner\": \"%s\", \"key\": ", i ? "," : "", use->owner);
		write_json_text(out, use->key);
		fprintf(out, ", \"count\": %" PRIu64 ", \"values\": [", use->count);
		for (uint32_t j = 0; j < use->value_count; j++) {
			fprintf(out, j ? ", " : "");
			write_json_text(out, use->values[j]);
		}
		fprintf(out, "]}");
	}
	fprintf(out, "],\n");
}

static void write_requests(const struct received *received, FILE *out)
{
	fprintf(out, "\"request_log\": [");
	for (size_t i = 0; i < received->log.count; i++) {
		const struct request_entry *entry = &received->log.items[i];

		fprintf(out,
			"%s\n{\"time_ns\": %" PRIu64
			", \"wire_bytes\": %zu, \"raw_bytes\": %zu, \"hash\": \"%016" PRIx64
			"\", \"resources\": %" PRIu64 ", \"profiles\": %" PRIu64
			", \"repeated_profiles\": %" PRIu64 ", \"samples\": %" PRIu64
			", \"broken_rules\": %" PRIu64 ", \"taken\": %s, \"answer\": ",
			i ? "," : "", entry->time_ns, entry->wire_bytes, entry->raw_bytes,
			entry->hash, entry->resources, entry->profiles, entry->repeated_profiles,
			entry->samples, entry->broken_rules, entry->is_taken ? "true" : "false");
		write_json_text(out, entry->answer);
		fputc('}', out);
	}
	fprintf(out, "]\n");
}

static void write_sums(const char *name, const struct sample_sums *sums, FILE *out)
{
	fprintf(out, "\"profiles_%s\": %" PRIu64 ", \"samples_%s\": %" PRIu64 ",\n", name,
		sums->profiles, name, sums->samples);
}

void received_write_report(const struct received *received, FILE *out)
{
	fprintf(out,
		"{\"requests\": %" PRIu64 ", \"wire_bytes\": %" PRIu64 ", \"raw_bytes\": %" PRIu64
		",\n",
		received->requests, received->wire_bytes, received->raw_bytes);
	write_sums("all", &received->all, out);
	write_sums("once", &received->once, out);
	write_sums("taken", &received->taken, out);
	fprintf(out,
		"\"stacks\": %zu, \"first_time_ns\": %" PRIu64 ", \"last_time_ns\": %" PRIu64 ",\n",
		received->folded.stacks.count, received->first_time_ns, received->last_time_ns);
	write_rules(&received->findings, out);
	write_attributes(received, out);
	received_metrics_write_report(&received->metrics, out);
	write_requests(received, out);
	fprintf(out, "}\n");
}
