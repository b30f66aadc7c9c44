/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages are built in an arena of a few large arrays and packed at once. The names of the
 * generated code contain the protocol's packages and are long: macros shorten them.
 */

#include "reporter/otlp_encode.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "build/proto/otlp_profiles.pb-c.h"
#include "lib/base/clock.h"
#include "lib/base/hash128.h"
#include "reporter/otlp_arena.h"

#define MESSAGE(name) Opentelemetry__Proto__Profiles__V1development__##name
#define DESCRIPTOR(name) (&opentelemetry__proto__profiles__v1development__##name##__descriptor)
#define COMMON(name) Opentelemetry__Proto__Common__V1__##name
#define COMMON_DESCRIPTOR(name) (&opentelemetry__proto__common__v1__##name##__descriptor)
#define COMMON_VALUE(name) OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_##name##_VALUE
#define RESOURCE_DESCRIPTOR (&opentelemetry__proto__resource__v1__resource__descriptor)

#define ProfilesDictionaryMessage MESSAGE(ProfilesDictionary)
#define MappingMessage MESSAGE(Mapping)
#define LocationMessage MESSAGE(Location)
#define StackMessage MESSAGE(Stack)
#define ProfileMessage MESSAGE(Profile)
#define SampleMessage MESSAGE(Sample)
#define ValueTypeMessage MESSAGE(ValueType)
#define ResourceProfilesMessage MESSAGE(ResourceProfiles)
#define ScopeProfilesMessage MESSAGE(ScopeProfiles)
#define ProfilesDataMessage MESSAGE(ProfilesData)
#define AnyValueMessage COMMON(AnyValue)
#define ArrayValueMessage COMMON(ArrayValue)
#define InstrumentationScopeMessage COMMON(InstrumentationScope)

/* --- state of an encoding --- */

struct encoder {
	const struct otlp_draft *draft;
	const struct otlp_dictionary *dictionary;
	struct otlp_arena arena;
};

static uint32_t index_of(const struct encoder *encoder, enum otlp_table table, uint32_t id)
{
	return otlp_index(encoder->dictionary, table, id);
}

static char *string_of(const struct encoder *encoder, uint32_t id)
{
	return otlp_string(encoder->dictionary, id)->bytes;
}

/* The indexes of @ids; *@count is 0 without memory. */
static int32_t *new_indexes(struct encoder *encoder, enum otlp_table table, const uint32_t *ids,
			    size_t *count)
{
	int32_t *indexes = otlp_arena_take(&encoder->arena, *count * sizeof(*indexes));

	if (!indexes)
		*count = 0;
	for (size_t i = 0; i < *count; i++)
		indexes[i] = (int32_t)index_of(encoder, table, ids[i]);
	return indexes;
}

static ArrayValueMessage *new_array(struct encoder *encoder,
				    const struct otlp_attribute_entry *attribute)
{
	ArrayValueMessage *array =
		otlp_arena_new_one(&encoder->arena, COMMON_DESCRIPTOR(array_value));

	if (!array)
		return NULL;
	array->values = otlp_arena_new(&encoder->arena, COMMON_DESCRIPTOR(any_value),
				       attribute->text_count);
	array->n_values = array->values ? attribute->text_count : 0;
	for (size_t i = 0; i < array->n_values; i++) {
		array->values[i]->value_case = COMMON_VALUE(STRING);
		array->values[i]->string_value = string_of(encoder, attribute->texts[i]);
	}
	return array;
}

static void fill_value(struct encoder *encoder, const struct otlp_attribute_entry *attribute,
		       AnyValueMessage *value)
{
	switch (attribute->kind) {
	case OTLP_VALUE_TEXT:
		value->value_case = COMMON_VALUE(STRING);
		value->string_value = string_of(encoder, attribute->value);
		break;
	case OTLP_VALUE_NUMBER:
		value->value_case = COMMON_VALUE(INT);
		value->int_value = attribute->value;
		break;
	case OTLP_VALUE_TRUE:
		value->value_case = COMMON_VALUE(BOOL);
		value->bool_value = true;
		break;
	case OTLP_VALUE_TEXTS:
		value->array_value = new_array(encoder, attribute);
		if (value->array_value)
			value->value_case = COMMON_VALUE(ARRAY);
		break;
	case OTLP_VALUE_NONE:
		break;
	}
}

static AnyValueMessage *new_value(struct encoder *encoder,
				  const struct otlp_attribute_entry *attribute)
{
	AnyValueMessage *value = otlp_arena_new_one(&encoder->arena, COMMON_DESCRIPTOR(any_value));

	if (value)
		fill_value(encoder, attribute, value);
	return value;
}

/* --- the dictionary --- */

/*
 * Messages for the zero entry and then the used entries of @table. *@ids are the entries' ids:
 * messages[i + 1] belongs to ids[i]. *@count is the number of messages, 0 without memory.
 */
static void *new_table(struct encoder *encoder, enum otlp_table table,
		       const ProtobufCMessageDescriptor *descriptor, const uint32_t **ids,
		       size_t *count)
{
	const struct number_vector *used = &encoder->dictionary->tables[table].used;
	void *messages = otlp_arena_new(&encoder->arena, descriptor, used->count + 1);

	*ids = used->items;
	*count = messages ? used->count + 1 : 0;
	return messages;
}

static void add_strings(struct encoder *encoder, ProfilesDictionaryMessage *tables)
{
	const struct number_vector *used = &encoder->dictionary->tables[OTLP_STRINGS].used;
	char **strings = otlp_arena_take(&encoder->arena, (used->count + 1) * sizeof(*strings));

	if (!strings)
		return;
	strings[0] = string_of(encoder, 0);
	for (size_t i = 0; i < used->count; i++)
		strings[i + 1] = string_of(encoder, used->items[i]);
	tables->n_string_table = used->count + 1;
	tables->string_table = strings;
}

static void add_attributes(struct encoder *encoder, ProfilesDictionaryMessage *tables)
{
	const uint32_t *ids;

	tables->attribute_table = new_table(encoder, OTLP_ATTRIBUTES,
					    DESCRIPTOR(key_value_and_unit), &ids,
					    &tables->n_attribute_table);
	for (size_t i = 1; i < tables->n_attribute_table; i++) {
		struct otlp_attribute_entry entry = otlp_attribute(encoder->dictionary, ids[i - 1]);

		tables->attribute_table[i]->key_strindex =
			(int32_t)index_of(encoder, OTLP_STRINGS, entry.key);
		tables->attribute_table[i]->value = new_value(encoder, &entry);
	}
}

static void add_mappings(struct encoder *encoder, ProfilesDictionaryMessage *tables)
{
	const uint32_t *ids;

	tables->mapping_table = new_table(encoder, OTLP_MAPPINGS, DESCRIPTOR(mapping), &ids,
					  &tables->n_mapping_table);
	for (size_t i = 1; i < tables->n_mapping_table; i++) {
		struct otlp_mapping_entry entry = otlp_mapping(encoder->dictionary, ids[i - 1]);
		MappingMessage *mapping = tables->mapping_table[i];

		mapping->memory_start = entry.memory_start;
		mapping->memory_limit = entry.memory_limit;
		mapping->file_offset = entry.file_offset;
		mapping->filename_strindex =
			(int32_t)index_of(encoder, OTLP_STRINGS, entry.filename);
		mapping->n_attribute_indices = entry.attribute_count;
		mapping->attribute_indices = new_indexes(encoder, OTLP_ATTRIBUTES, entry.attributes,
							 &mapping->n_attribute_indices);
	}
}

static void add_functions(struct encoder *encoder, ProfilesDictionaryMessage *tables)
{
	const uint32_t *ids;

	tables->function_table = new_table(encoder, OTLP_FUNCTIONS, DESCRIPTOR(function), &ids,
					   &tables->n_function_table);
	for (size_t i = 1; i < tables->n_function_table; i++) {
		struct otlp_function_entry entry = otlp_function(encoder->dictionary, ids[i - 1]);

		tables->function_table[i]->name_strindex =
			(int32_t)index_of(encoder, OTLP_STRINGS, entry.name);
		tables->function_table[i]->filename_strindex =
			(int32_t)index_of(encoder, OTLP_STRINGS, entry.filename);
		tables->function_table[i]->start_line = entry.start_line;
	}
}

static void add_lines(struct encoder *encoder, const struct otlp_location_entry *entry,
		      LocationMessage *location)
{
	if (!entry->line_count)
		return;
	location->lines = otlp_arena_new(&encoder->arena, DESCRIPTOR(line), entry->line_count);
	location->n_lines = location->lines ? entry->line_count : 0;
	for (size_t i = 0; i < location->n_lines; i++) {
		const uint32_t *line = entry->lines + i * OTLP_LINE_WORDS;

		location->lines[i]->function_index =
			(int32_t)index_of(encoder, OTLP_FUNCTIONS, line[0]);
		location->lines[i]->line = line[1];
		location->lines[i]->column = line[2];
	}
}

static void add_locations(struct encoder *encoder, ProfilesDictionaryMessage *tables)
{
	const uint32_t *ids;

	tables->location_table = new_table(encoder, OTLP_LOCATIONS, DESCRIPTOR(location), &ids,
					   &tables->n_location_table);
	for (size_t i = 1; i < tables->n_location_table; i++) {
		struct otlp_location_entry entry = otlp_location(encoder->dictionary, ids[i - 1]);
		LocationMessage *location = tables->location_table[i];

		location->mapping_index = (int32_t)index_of(encoder, OTLP_MAPPINGS, entry.mapping);
		location->address = entry.address;
		location->n_attribute_indices = entry.attribute_count;
		location->attribute_indices = new_indexes(
			encoder, OTLP_ATTRIBUTES, entry.attributes, &location->n_attribute_indices);
		add_lines(encoder, &entry, location);
	}
}

static void add_stacks(struct encoder *encoder, ProfilesDictionaryMessage *tables)
{
	const uint32_t *ids;

	tables->stack_table =
		new_table(encoder, OTLP_STACKS, DESCRIPTOR(stack), &ids, &tables->n_stack_table);
	for (size_t i = 1; i < tables->n_stack_table; i++) {
		StackMessage *stack = tables->stack_table[i];
		const uint32_t *locations;

		stack->n_location_indices = otlp_stack(encoder->dictionary, ids[i - 1], &locations);
		stack->location_indices =
			new_indexes(encoder, OTLP_LOCATIONS, locations, &stack->n_location_indices);
	}
}

static ProfilesDictionaryMessage *new_dictionary(struct encoder *encoder)
{
	ProfilesDictionaryMessage *tables =
		otlp_arena_new_one(&encoder->arena, DESCRIPTOR(profiles_dictionary));

	if (!tables)
		return NULL;
	add_strings(encoder, tables);
	add_attributes(encoder, tables);
	add_mappings(encoder, tables);
	add_functions(encoder, tables);
	add_locations(encoder, tables);
	add_stacks(encoder, tables);
	/* The link table has only its zero value, with empty ids: our samples have no trace. */
	tables->link_table = otlp_arena_new(&encoder->arena, DESCRIPTOR(link), 1);
	tables->n_link_table = tables->link_table ? 1 : 0;
	return tables;
}

/* --- profiles --- */

static void add_samples(struct encoder *encoder, const struct otlp_draft_profile *from,
			ProfileMessage *profile)
{
	const struct otlp_draft *draft = encoder->draft;
	const struct otlp_draft_sample *samples = draft->samples.items + from->first_sample;

	profile->samples = otlp_arena_new(&encoder->arena, DESCRIPTOR(sample), from->sample_count);
	profile->n_samples = profile->samples ? from->sample_count : 0;
	for (size_t i = 0; i < profile->n_samples; i++) {
		SampleMessage *sample = profile->samples[i];

		sample->stack_index = (int32_t)index_of(encoder, OTLP_STACKS, samples[i].stack);
		sample->n_attribute_indices = samples[i].attribute_count;
		sample->attribute_indices = new_indexes(encoder, OTLP_ATTRIBUTES,
							samples[i].attributes,
							&sample->n_attribute_indices);
		sample->n_timestamps_unix_nano = samples[i].time_count;
		sample->timestamps_unix_nano = encoder->draft->times.items + samples[i].first_time;
		if (draft->options->facts || sample_origins[from->origin].has_values) {
			sample->n_values = samples[i].time_count;
			sample->values =
				(int64_t *)encoder->draft->values.items + samples[i].first_value;
		}
	}
}

static ValueTypeMessage *new_type(struct encoder *encoder, uint32_t type, uint32_t unit)
{
	ValueTypeMessage *value_type = otlp_arena_new_one(&encoder->arena, DESCRIPTOR(value_type));

	if (value_type) {
		value_type->type_strindex = (int32_t)index_of(encoder, OTLP_STRINGS, type);
		value_type->unit_strindex = (int32_t)index_of(encoder, OTLP_STRINGS, unit);
	}
	return value_type;
}

/* Random, so that ids are unique over all hosts. */
static void fill_profile_id(struct encoder *encoder, ProfileMessage *profile)
{
	uint8_t *id = otlp_arena_take(&encoder->arena, OTLP_PROFILE_ID_BYTES);
	uint64_t numbers[3];
	struct hash128 hash;

	if (!id)
		return;
	/*
	 * The kernel's random pool may not be ready when the agent starts with the host: never
	 * wait.
	 */
	if (getrandom(id, OTLP_PROFILE_ID_BYTES, GRND_NONBLOCK) != OTLP_PROFILE_ID_BYTES) {
		numbers[0] = clock_realtime_ns();
		numbers[1] = clock_monotonic_ns();
		numbers[2] = (uint64_t)getpid();
		hash = hash128_bytes(numbers, sizeof(numbers));
		memcpy(id, &hash, OTLP_PROFILE_ID_BYTES);
	}
	profile->profile_id.len = OTLP_PROFILE_ID_BYTES;
	profile->profile_id.data = id;
}

static void fill_profile(struct encoder *encoder, const struct otlp_draft_profile *from,
			 ProfileMessage *profile)
{
	const struct otlp_draft *draft = encoder->draft;
	const struct otlp_draft_types *types = &draft->types[from->origin];
	uint64_t rate = draft->options->samples_per_second ? draft->options->samples_per_second : 1;

	profile->sample_type = new_type(encoder, types->type, types->unit);
	profile->period_type = new_type(encoder, types->period_type, types->period_unit);
	if (draft->options->facts)
		profile->period = draft->options->facts->period;
	else if (types->period_type)
		profile->period = (int64_t)((NS_PER_SECOND + rate / 2) / rate);
	profile->time_unix_nano = from->start;
	profile->duration_nano = from->end - from->start;
	fill_profile_id(encoder, profile);
	if (draft->comments) {
		profile->n_attribute_indices = 1;
		profile->attribute_indices = new_indexes(encoder, OTLP_ATTRIBUTES, &draft->comments,
							 &profile->n_attribute_indices);
	}
	add_samples(encoder, from, profile);
}

static InstrumentationScopeMessage *new_scope(struct encoder *encoder)
{
	InstrumentationScopeMessage *scope =
		otlp_arena_new_one(&encoder->arena, COMMON_DESCRIPTOR(instrumentation_scope));

	if (scope) {
		scope->name = OTLP_SCOPE_NAME;
		scope->version = (char *)encoder->draft->agent_version;
	}
	return scope;
}

static void add_resource(struct encoder *encoder, uint32_t index, ResourceProfilesMessage *profiles)
{
	const uint32_t *ids;
	uint32_t count = otlp_resource_attributes(encoder->draft->attributes, index, &ids);

	profiles->resource = otlp_arena_new_one(&encoder->arena, RESOURCE_DESCRIPTOR);
	if (!profiles->resource)
		return;
	profiles->resource->attributes =
		otlp_arena_new(&encoder->arena, COMMON_DESCRIPTOR(key_value), count);
	profiles->resource->n_attributes = profiles->resource->attributes ? count : 0;
	for (size_t i = 0; i < profiles->resource->n_attributes; i++) {
		struct otlp_attribute_entry entry = otlp_attribute(encoder->dictionary, ids[i]);

		profiles->resource->attributes[i]->key = string_of(encoder, entry.key);
		profiles->resource->attributes[i]->value = new_value(encoder, &entry);
	}
}

/* The index of the first profile at or after @first that has another resource. */
static size_t end_of_resource(const struct otlp_draft_profile_vector *profiles, size_t first)
{
	size_t end = first + 1;

	while (end < profiles->count &&
	       profiles->items[end].resource == profiles->items[first].resource)
		end++;
	return end;
}

static size_t count_resources(const struct otlp_draft_profile_vector *profiles)
{
	size_t count = 0;

	for (size_t i = 0; i < profiles->count; i = end_of_resource(profiles, i))
		count++;
	return count;
}

/*
 * @from and the profiles after it, @count in all, have one resource: one profile for each origin.
 */
static void fill_resource_profiles(struct encoder *encoder, const struct otlp_draft_profile *from,
				   size_t count, ResourceProfilesMessage *profiles)
{
	ScopeProfilesMessage *scope;

	add_resource(encoder, from->resource, profiles);
	profiles->scope_profiles = otlp_arena_new(&encoder->arena, DESCRIPTOR(scope_profiles), 1);
	if (!profiles->scope_profiles)
		return;
	profiles->n_scope_profiles = 1;
	scope = profiles->scope_profiles[0];
	scope->scope = new_scope(encoder);
	scope->profiles = otlp_arena_new(&encoder->arena, DESCRIPTOR(profile), count);
	if (!scope->profiles)
		return;
	scope->n_profiles = count;
	for (size_t i = 0; i < count; i++)
		fill_profile(encoder, &from[i], scope->profiles[i]);
}

/* Missing memory leaves parts out; the arena's `failed` records it. */
static void build_message(struct encoder *encoder, ProfilesDataMessage *data)
{
	const struct otlp_draft_profile_vector *profiles = &encoder->draft->profiles;
	size_t count = count_resources(profiles), first = 0;

	data->resource_profiles =
		otlp_arena_new(&encoder->arena, DESCRIPTOR(resource_profiles), count);
	data->n_resource_profiles = data->resource_profiles ? count : 0;
	for (size_t i = 0; i < data->n_resource_profiles; i++) {
		size_t end = end_of_resource(profiles, first);

		fill_resource_profiles(encoder, &profiles->items[first], end - first,
				       data->resource_profiles[i]);
		first = end;
	}
	data->dictionary = new_dictionary(encoder);
}

int otlp_encode(const struct otlp_draft *draft, struct otlp_request *request)
{
	struct encoder encoder = { .draft = draft, .dictionary = draft->dictionary };
	ProfilesDataMessage data;
	uint8_t *bytes = NULL;
	size_t byte_count = 0;

	protobuf_c_message_init(DESCRIPTOR(profiles_data), &data);
	build_message(&encoder, &data);
	if (!encoder.arena.failed) {
		byte_count = protobuf_c_message_get_packed_size(&data.base);
		bytes = malloc(byte_count);
	}
	if (bytes)
		protobuf_c_message_pack(&data.base, bytes);
	otlp_arena_deinit(&encoder.arena);
	if (!bytes)
		return -ENOMEM;
	*request = (struct otlp_request){
		.bytes = bytes,
		.byte_count = byte_count,
		.sample_count = draft->times.count - draft->weight_count,
	};
	return 0;
}
