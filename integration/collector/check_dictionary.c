/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over everything that has an index counts the references; the checks use the counts. */

#include "integration/collector/check_dictionary.h"

#include "lib/base/hash_map.h"

enum table {
	TABLE_MAPPING,
	TABLE_LOCATION,
	TABLE_FUNCTION,
	TABLE_LINK,
	TABLE_STRING,
	TABLE_ATTRIBUTE,
	TABLE_STACK,
	TABLE_COUNT,
};

static const char *const table_names[TABLE_COUNT] = {
	[TABLE_MAPPING] = "mapping_table",   [TABLE_LOCATION] = "location_table",
	[TABLE_FUNCTION] = "function_table", [TABLE_LINK] = "link_table",
	[TABLE_STRING] = "string_table",     [TABLE_ATTRIBUTE] = "attribute_table",
	[TABLE_STACK] = "stack_table",
};

struct checker {
	const struct otlp_message *message;
	struct findings *findings;
	size_t counts[TABLE_COUNT];
	/* Number of references to each element. */
	uint32_t *uses[TABLE_COUNT];
	/* For each string: the number of the last list that had an attribute with this key. */
	uint32_t *last_lists;
	uint32_t list_count;
};

/* The encoded element. */
static struct span element_bytes(const struct otlp_message *message, enum table table, size_t index)
{
	switch (table) {
	case TABLE_MAPPING:
		return message->mappings.items[index].bytes;
	case TABLE_LOCATION:
		return message->locations.items[index].bytes;
	case TABLE_FUNCTION:
		return message->functions.items[index].bytes;
	case TABLE_LINK:
		return message->links.items[index].bytes;
	case TABLE_STRING:
		return message->strings.items[index];
	case TABLE_ATTRIBUTE:
		return message->attributes.items[index].bytes;
	default:
		return message->stacks.items[index].bytes;
	}
}

static bool use(struct checker *checker, enum table table, int32_t index, const char *where)
{
	if (index < 0 || (size_t)index >= checker->counts[table]) {
		/* A missing index is 0, and a missing table is a separate finding. */
		if (index)
			findings_add(checker->findings, RULE_RANGE, "%s: %d, and %s has %zu", where,
				     index, table_names[table], checker->counts[table]);
		return false;
	}
	checker->uses[table][index]++;
	return true;
}

static void use_attributes(struct checker *checker, struct range range, const char *where)
{
	const struct otlp_message *message = checker->message;

	checker->list_count++;
	for (size_t i = 0; i < range.count; i++) {
		int32_t index = message->numbers.items[range.first + i];
		int32_t key;

		if (!use(checker, TABLE_ATTRIBUTE, index, where))
			continue;
		if (!index)
			findings_add(checker->findings, RULE_ATTRIBUTES, "%s: 0, which is none",
				     where);
		key = message->attributes.items[index].key;
		if (key < 0 || (size_t)key >= checker->counts[TABLE_STRING])
			continue;
		if (checker->last_lists[key] == checker->list_count)
			findings_add(checker->findings, RULE_KEYS_ONCE, "%s: \"%.*s\"", where,
				     (int)message->strings.items[key].count,
				     (const char *)message->strings.items[key].bytes);
		checker->last_lists[key] = checker->list_count;
	}
}

static void use_value_type(struct checker *checker, const struct otlp_value_type *type)
{
	use(checker, TABLE_STRING, type->type, "ValueType.type_strindex");
	use(checker, TABLE_STRING, type->unit, "ValueType.unit_strindex");
}

static void count_uses_of_tables(struct checker *checker)
{
	const struct otlp_message *message = checker->message;

	for (size_t i = 0; i < message->mappings.count; i++) {
		const struct otlp_mapping *mapping = &message->mappings.items[i];

		use(checker, TABLE_STRING, mapping->filename, "Mapping.filename_strindex");
		use_attributes(checker, mapping->attributes, "Mapping.attribute_indices");
	}
	for (size_t i = 0; i < message->locations.count; i++) {
		const struct otlp_location *location = &message->locations.items[i];

		use(checker, TABLE_MAPPING, location->mapping, "Location.mapping_index");
		use_attributes(checker, location->attributes, "Location.attribute_indices");
	}
	for (size_t i = 0; i < message->lines.count; i++)
		use(checker, TABLE_FUNCTION, message->lines.items[i].function,
		    "Line.function_index");
	for (size_t i = 0; i < message->functions.count; i++) {
		const struct otlp_function *function = &message->functions.items[i];

		use(checker, TABLE_STRING, function->name, "Function.name_strindex");
		use(checker, TABLE_STRING, function->system_name, "Function.system_name_strindex");
		use(checker, TABLE_STRING, function->filename, "Function.filename_strindex");
	}
	for (size_t i = 0; i < message->attributes.count; i++) {
		use(checker, TABLE_STRING, message->attributes.items[i].key,
		    "KeyValueAndUnit.key_strindex");
		use(checker, TABLE_STRING, message->attributes.items[i].unit,
		    "KeyValueAndUnit.unit_strindex");
	}
	for (size_t i = 0; i < message->stacks.count; i++) {
		struct range locations = message->stacks.items[i].locations;

		for (size_t j = 0; j < locations.count; j++)
			use(checker, TABLE_LOCATION, message->numbers.items[locations.first + j],
			    "Stack.location_indices");
	}
}

static void count_uses_of_profiles(struct checker *checker)
{
	const struct otlp_message *message = checker->message;

	for (size_t i = 0; i < message->samples.count; i++) {
		const struct otlp_sample *sample = &message->samples.items[i];

		use(checker, TABLE_STACK, sample->stack, "Sample.stack_index");
		use(checker, TABLE_LINK, sample->link, "Sample.link_index");
		use_attributes(checker, sample->attributes, "Sample.attribute_indices");
	}
	for (size_t i = 0; i < message->profiles.count; i++) {
		const struct otlp_profile *profile = &message->profiles.items[i];

		use_value_type(checker, &profile->sample_type);
		use_value_type(checker, &profile->period_type);
		use_attributes(checker, profile->attributes, "Profile.attribute_indices");
	}
}

static void check_uses(struct checker *checker, enum table table)
{
	const uint32_t *uses = checker->uses[table];

	for (size_t i = 1; i < checker->counts[table]; i++) {
		struct span bytes = element_bytes(checker->message, table, i);
		bool is_text = table == TABLE_STRING;

		if (!uses[i])
			findings_add(checker->findings, RULE_ORPHANS, "%s[%zu]%s%.*s",
				     table_names[table], i, is_text ? " " : "",
				     is_text ? (int)bytes.count : 0, (const char *)bytes.bytes);
		if (i + 1 < checker->counts[table] && uses[i] < uses[i + 1])
			findings_add(checker->findings, RULE_HOTTEST_FIRST,
				     "%s[%zu] has %u references, the next one %u",
				     table_names[table], i, uses[i], uses[i + 1]);
	}
}

static int check_duplicates(struct checker *checker, enum table table)
{
	struct hash_map indices = { 0 };
	int err = 0;

	for (size_t i = 0; i < checker->counts[table] && !err; i++) {
		struct span bytes = element_bytes(checker->message, table, i);
		const void *key = bytes.count ? (const void *)bytes.bytes : "";
		uint64_t first;

		if (hash_map_find_bytes(&indices, key, bytes.count, &first))
			findings_add(checker->findings, RULE_DUPLICATES, "%s: %zu equals %zu",
				     table_names[table], i, (size_t)first);
		else
			err = hash_map_set_bytes(&indices, key, bytes.count, i);
	}
	hash_map_deinit(&indices);
	return err;
}

static bool is_zero(struct span bytes)
{
	for (size_t i = 0; i < bytes.count; i++) {
		if (bytes.bytes[i])
			return false;
	}
	return true;
}

static void check_links(struct checker *checker)
{
	for (size_t i = 1; i < checker->counts[TABLE_LINK]; i++) {
		const struct otlp_link *link = &checker->message->links.items[i];

		if (link->trace_id.count != 16 || link->span_id.count != 8 ||
		    is_zero(link->trace_id) || is_zero(link->span_id))
			findings_add(checker->findings, RULE_LINK_IDS,
				     "link_table[%zu]: %zu and %zu bytes", i, link->trace_id.count,
				     link->span_id.count);
	}
}

static void check_attributes(struct checker *checker)
{
	const struct otlp_message *message = checker->message;

	for (size_t i = 1; i < message->attributes.count; i++) {
		const struct otlp_attribute_entry *attribute = &message->attributes.items[i];

		if (!otlp_message_string(message, attribute->key).count || !attribute->value.kind)
			findings_add(checker->findings, RULE_ATTRIBUTES,
				     "attribute_table[%zu] has no %s", i,
				     attribute->value.kind ? "key" : "value");
		if (attribute->value.kind == VALUE_STRING_INDEX)
			findings_add(checker->findings, RULE_LITERALS,
				     "attribute_table[%zu] has a string_value_strindex", i);
	}
}

static int check_table(struct checker *checker, enum table table)
{
	if (!checker->counts[table]) {
		findings_add(checker->findings, RULE_TABLES, "%s is %s", table_names[table],
			     checker->message->has_dictionary ? "empty" : "missing");
		return 0;
	}
	if (element_bytes(checker->message, table, 0).count)
		findings_add(checker->findings, RULE_ZERO, "%s[0] has %zu bytes",
			     table_names[table], element_bytes(checker->message, table, 0).count);
	check_uses(checker, table);
	return check_duplicates(checker, table);
}

int check_dictionary(const struct otlp_message *message, struct findings *findings)
{
	struct checker checker = {
		.message = message,
		.findings = findings,
		.counts = {
			[TABLE_MAPPING] = message->mappings.count,
			[TABLE_LOCATION] = message->locations.count,
			[TABLE_FUNCTION] = message->functions.count,
			[TABLE_LINK] = message->links.count,
			[TABLE_STRING] = message->strings.count,
			[TABLE_ATTRIBUTE] = message->attributes.count,
			[TABLE_STACK] = message->stacks.count,
		},
	};
	int err = 0;

	for (int table = 0; table < TABLE_COUNT; table++) {
		checker.uses[table] = calloc(checker.counts[table] + 1, sizeof(uint32_t));
		if (!checker.uses[table])
			err = -ENOMEM;
	}
	checker.last_lists = calloc(message->strings.count + 1, sizeof(uint32_t));
	if (!checker.last_lists)
		err = -ENOMEM;
	if (!err) {
		count_uses_of_tables(&checker);
		count_uses_of_profiles(&checker);
		check_links(&checker);
		check_attributes(&checker);
	}
	for (int table = 0; table < TABLE_COUNT && !err; table++)
		err = check_table(&checker, table);
	for (int table = 0; table < TABLE_COUNT; table++)
		free(checker.uses[table]);
	free(checker.last_lists);
	return err;
}
