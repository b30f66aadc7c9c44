/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes a request again for its resources: this output is for people, and need not be fast. */

#include "integration/collector/print.h"

#include <inttypes.h>
#include <time.h>

#include "integration/collector/value_text.h"
#include "lib/base/clock.h"

static void print_clean(FILE *out, const struct text_builder *text)
{
	struct text_builder clean = { 0 };

	text_builder_append_name(&clean, text_builder_text(text));
	fputs(text_builder_text(&clean), out);
	text_builder_deinit(&clean);
}

static void print_attributes(FILE *out, const struct otlp_message *message, struct range range)
{
	struct text_builder text = { 0 };

	for (size_t i = 0; i < range.count; i++) {
		const struct key_value *one = &message->key_values.items[range.first + i];

		text_builder_clear(&text);
		text_builder_append_bytes(&text, (const char *)one->key.bytes, one->key.count);
		text_builder_append(&text, "=");
		append_value_text(&text, &one->value);
		fputc(' ', out);
		print_clean(out, &text);
	}
	text_builder_deinit(&text);
}

static uint64_t count_samples(const struct otlp_message *message,
			      const struct otlp_resource *resource)
{
	uint64_t count = 0;

	for (size_t i = 0; i < resource->scopes.count; i++) {
		struct range profiles = message->scopes.items[resource->scopes.first + i].profiles;

		for (size_t j = 0; j < profiles.count; j++) {
			struct range samples = message->profiles.items[profiles.first + j].samples;

			for (size_t k = 0; k < samples.count; k++) {
				const struct otlp_sample *sample =
					&message->samples.items[samples.first + k];

				count += sample->times.count ? sample->times.count :
							       sample->value_count;
			}
		}
	}
	return count;
}

static void print_resources(FILE *out, struct span bytes)
{
	struct otlp_message message = { 0 };
	struct findings ignored = { 0 };

	if (!otlp_message_decode(&message, bytes, &ignored)) {
		for (size_t i = 0; i < message.resources.count; i++) {
			const struct otlp_resource *resource = &message.resources.items[i];

			fprintf(out, "  resource: %" PRIu64 " samples,",
				count_samples(&message, resource));
			print_attributes(out, &message, resource->attributes);
			fputc('\n', out);
		}
		fprintf(out,
			"  tables: %zu stacks, %zu locations, %zu functions, %zu mappings, "
			"%zu attributes, %zu strings, %zu links\n",
			message.stacks.count, message.locations.count, message.functions.count,
			message.mappings.count, message.attributes.count, message.strings.count,
			message.links.count);
	}
	otlp_message_deinit(&message);
}

static void print_findings(FILE *out, const struct findings *findings)
{
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		struct text_builder text = { 0 };

		if (!findings->rules[rule].count)
			continue;
		text_builder_format(&text, "  rule %d broken %" PRIu64 " times: %s: %s", rule,
				    findings->rules[rule].count, rule_text(rule),
				    findings->rules[rule].example);
		print_clean(out, &text);
		fputc('\n', out);
		text_builder_deinit(&text);
	}
}

void print_request(FILE *out, const char *source, const struct incoming *incoming,
		   const struct request_entry *entry, const struct findings *findings)
{
	time_t seconds = incoming->time_ns / NS_PER_SECOND;
	struct tm parts;
	char time_text[16] = "";

	if (localtime_r(&seconds, &parts))
		strftime(time_text, sizeof(time_text), "%H:%M:%S", &parts);
	if (incoming->is_metrics) {
		fprintf(out, "%s %s: %zu bytes%s, %zu raw: metrics; answer: %s\n", time_text,
			source, entry->wire_bytes, incoming->is_gzip ? "" : " plain",
			entry->raw_bytes, entry->answer);
		print_findings(out, findings);
		fflush(out);
		return;
	}
	fprintf(out,
		"%s %s: %zu bytes%s, %zu raw: %" PRIu64 " samples, %" PRIu64 " profiles (%" PRIu64
		" repeated), %" PRIu64 " resources; answer: %s\n",
		time_text, source, entry->wire_bytes, incoming->is_gzip ? "" : " plain",
		entry->raw_bytes, entry->samples, entry->profiles, entry->repeated_profiles,
		entry->resources, entry->answer);
	print_resources(out, incoming->bytes);
	print_findings(out, findings);
	fflush(out);
}

void print_totals(FILE *out, const struct received *received)
{
	fprintf(out,
		"in all: %" PRIu64 " requests, %" PRIu64 " bytes, %" PRIu64 " raw; %" PRIu64
		" samples in %" PRIu64 " profiles, %zu distinct stacks; with repeats %" PRIu64
		" in %" PRIu64 "\n",
		received->requests, received->wire_bytes, received->raw_bytes,
		received->once.samples, received->once.profiles, received->folded.stacks.count,
		received->all.samples, received->all.profiles);
	if (!findings_count(&received->findings))
		fprintf(out, "no rule is broken\n");
	print_findings(out, &received->findings);
}
