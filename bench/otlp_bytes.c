/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the size of requests. Each FILE has the bytes of an ExportProfilesServiceRequest. Prints one
 * JSON object with their samples, their bytes, and the bytes after gzip as gRPC does it. With
 * -attributes it also has for each attribute key the bytes after gzip without that attribute, where
 * samples that differ in nothing else are merged.
 *
 *	otlp_bytes [-attributes] FILE...
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "build/proto/otlp_profiles.pb-c.h"

#define packed_size opentelemetry__proto__profiles__v1development__profiles_data__get_packed_size
#define pack opentelemetry__proto__profiles__v1development__profiles_data__pack

typedef Opentelemetry__Proto__Profiles__V1development__ProfilesData Data;
typedef Opentelemetry__Proto__Profiles__V1development__ProfilesDictionary Dictionary;
typedef Opentelemetry__Proto__Profiles__V1development__ResourceProfiles ResourceProfiles;
typedef Opentelemetry__Proto__Profiles__V1development__Profile Profile;
typedef Opentelemetry__Proto__Profiles__V1development__Sample Sample;
typedef Opentelemetry__Proto__Profiles__V1development__KeyValueAndUnit Attribute;
typedef Opentelemetry__Proto__Common__V1__KeyValue KeyValue;

enum { MAX_KEYS = 64, MAX_FILES = 4096 };

/* windowBits of zlib: the largest window, with a gzip header. */
enum { GZIP_WINDOW_BITS = 15 + 16, ZLIB_MEMORY_LEVEL = 8 };

struct weight {
	uint64_t bytes;
	uint64_t gzip_bytes;
	uint64_t samples;
	uint64_t distinct;
};

struct file {
	uint8_t *bytes;
	size_t count;
};

static void die(const char *what, const char *name)
{
	fprintf(stderr, "otlp_bytes: %s %s\n", what, name);
	exit(1);
}

static void *allocate(size_t count, size_t bytes)
{
	void *memory = calloc(count ? count : 1, bytes);

	if (!memory)
		die("no memory for", "a request");
	return memory;
}

static struct file read_file(const char *path)
{
	FILE *stream = fopen(path, "re");
	struct file file = { 0 };

	if (!stream || fseek(stream, 0, SEEK_END))
		die("cannot read", path);
	file.count = ftell(stream);
	rewind(stream);
	file.bytes = allocate(file.count, 1);
	if (fread(file.bytes, 1, file.count, stream) != file.count)
		die("cannot read", path);
	fclose(stream);
	return file;
}

static uint64_t gzip_size(const uint8_t *bytes, size_t count)
{
	z_stream stream = { 0 };
	uint64_t size;
	uint8_t *out;

	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS,
			 ZLIB_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		die("no memory for", "zlib");
	stream.avail_out = deflateBound(&stream, count);
	out = allocate(stream.avail_out, 1);
	stream.next_out = out;
	stream.next_in = (uint8_t *)bytes;
	stream.avail_in = count;
	if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
		die("cannot compress", "a request");
	size = stream.total_out;
	deflateEnd(&stream);
	free(out);
	return size;
}

/* --- a request without one attribute --- */

static const char *key_of(const Dictionary *dictionary, int32_t attribute)
{
	return dictionary->string_table[dictionary->attribute_table[attribute]->key_strindex];
}

/* Removes the attributes of @key from a list of attributes. */
static void strip_list(const Dictionary *dictionary, const char *key, int32_t *list, size_t *count)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++) {
		if (strcmp(key_of(dictionary, list[i]), key))
			list[kept++] = list[i];
	}
	*count = kept;
}

static int compare_numbers(const void *left, const void *right)
{
	int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;

	return a < b ? -1 : a > b;
}

static int compare_times(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static int compare_samples(const void *left, const void *right)
{
	const Sample *a = *(Sample *const *)left, *b = *(Sample *const *)right;

	if (a->stack_index != b->stack_index)
		return a->stack_index < b->stack_index ? -1 : 1;
	if (a->n_attribute_indices != b->n_attribute_indices)
		return a->n_attribute_indices < b->n_attribute_indices ? -1 : 1;
	return memcmp(a->attribute_indices, b->attribute_indices,
		      a->n_attribute_indices * sizeof(*a->attribute_indices));
}

/* Appends the timestamps of @from to those of @to, in order. */
static void merge(Sample *to, Sample *from)
{
	size_t count = to->n_timestamps_unix_nano + from->n_timestamps_unix_nano;
	uint64_t *times = realloc(to->timestamps_unix_nano, count * sizeof(*times));

	if (!times)
		die("no memory for", "a sample");
	memcpy(times + to->n_timestamps_unix_nano, from->timestamps_unix_nano,
	       from->n_timestamps_unix_nano * sizeof(*times));
	qsort(times, count, sizeof(*times), compare_times);
	to->timestamps_unix_nano = times;
	to->n_timestamps_unix_nano = count;
}

static void strip_profile(const Dictionary *dictionary, const char *key, Profile *profile)
{
	size_t kept = 0;

	for (size_t i = 0; i < profile->n_samples; i++) {
		Sample *sample = profile->samples[i];

		strip_list(dictionary, key, sample->attribute_indices,
			   &sample->n_attribute_indices);
		qsort(sample->attribute_indices, sample->n_attribute_indices,
		      sizeof(*sample->attribute_indices), compare_numbers);
	}
	qsort(profile->samples, profile->n_samples, sizeof(*profile->samples), compare_samples);
	for (size_t i = 0; i < profile->n_samples; i++) {
		Sample *sample = profile->samples[i];

		if (kept && !compare_samples(&profile->samples[kept - 1], &sample)) {
			merge(profile->samples[kept - 1], sample);
			protobuf_c_message_free_unpacked(&sample->base, NULL);
		} else {
			profile->samples[kept++] = sample;
		}
	}
	profile->n_samples = kept;
}

static void strip_resource(const char *key, ResourceProfiles *profiles)
{
	size_t kept = 0;

	for (size_t i = 0; i < profiles->resource->n_attributes; i++) {
		KeyValue *attribute = profiles->resource->attributes[i];

		if (strcmp(attribute->key, key))
			profiles->resource->attributes[kept++] = attribute;
		else
			protobuf_c_message_free_unpacked(&attribute->base, NULL);
	}
	profiles->resource->n_attributes = kept;
}

static void renumber(const int32_t *numbers, int32_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		list[i] = numbers[list[i]];
}

/* Removes the attributes of @key from the table, and renumbers the others. */
static void strip_table(Data *data, const char *key)
{
	Dictionary *dictionary = data->dictionary;
	int32_t *numbers = allocate(dictionary->n_attribute_table, sizeof(*numbers));
	size_t kept = 0;

	for (size_t i = 0; i < dictionary->n_attribute_table; i++) {
		Attribute *attribute = dictionary->attribute_table[i];

		if (i && !strcmp(key_of(dictionary, i), key)) {
			protobuf_c_message_free_unpacked(&attribute->base, NULL);
			dictionary->attribute_table[i] = dictionary->attribute_table[0];
			continue;
		}
		numbers[i] = (int32_t)kept;
		dictionary->attribute_table[kept++] = attribute;
	}
	dictionary->n_attribute_table = kept;
	for (size_t i = 0; i < dictionary->n_mapping_table; i++)
		renumber(numbers, dictionary->mapping_table[i]->attribute_indices,
			 dictionary->mapping_table[i]->n_attribute_indices);
	for (size_t i = 0; i < dictionary->n_location_table; i++)
		renumber(numbers, dictionary->location_table[i]->attribute_indices,
			 dictionary->location_table[i]->n_attribute_indices);
	for (size_t i = 0; i < data->n_resource_profiles; i++) {
		for (size_t j = 0; j < data->resource_profiles[i]->n_scope_profiles; j++) {
			Profile *profile =
				data->resource_profiles[i]->scope_profiles[j]->profiles[0];

			for (size_t k = 0; k < profile->n_samples; k++)
				renumber(numbers, profile->samples[k]->attribute_indices,
					 profile->samples[k]->n_attribute_indices);
		}
	}
	free(numbers);
}

static void strip(Data *data, const char *key)
{
	Dictionary *dictionary = data->dictionary;

	for (size_t i = 0; i < data->n_resource_profiles; i++) {
		ResourceProfiles *profiles = data->resource_profiles[i];

		strip_resource(key, profiles);
		for (size_t j = 0; j < profiles->n_scope_profiles; j++)
			strip_profile(dictionary, key, profiles->scope_profiles[j]->profiles[0]);
	}
	for (size_t i = 0; i < dictionary->n_mapping_table; i++)
		strip_list(dictionary, key, dictionary->mapping_table[i]->attribute_indices,
			   &dictionary->mapping_table[i]->n_attribute_indices);
	for (size_t i = 0; i < dictionary->n_location_table; i++)
		strip_list(dictionary, key, dictionary->location_table[i]->attribute_indices,
			   &dictionary->location_table[i]->n_attribute_indices);
	strip_table(data, key);
}

/* --- sizes --- */

static Data *unpack(const struct file *file)
{
	Data *data = opentelemetry__proto__profiles__v1development__profiles_data__unpack(
		NULL, file->count, file->bytes);

	if (!data || !data->dictionary)
		die("cannot decode", "a request");
	for (size_t i = 0; i < data->n_resource_profiles; i++) {
		for (size_t j = 0; j < data->resource_profiles[i]->n_scope_profiles; j++) {
			if (data->resource_profiles[i]->scope_profiles[j]->n_profiles != 1)
				die("more than one profile in", "a scope");
		}
	}
	return data;
}

static void add_weight(struct weight *weight, const Data *data)
{
	size_t count = packed_size(data);
	uint8_t *bytes = allocate(count, 1);

	pack(data, bytes);
	weight->bytes += count;
	weight->gzip_bytes += gzip_size(bytes, count);
	free(bytes);
	for (size_t i = 0; i < data->n_resource_profiles; i++) {
		for (size_t j = 0; j < data->resource_profiles[i]->n_scope_profiles; j++) {
			const Profile *profile =
				data->resource_profiles[i]->scope_profiles[j]->profiles[0];

			weight->distinct += profile->n_samples;
			for (size_t k = 0; k < profile->n_samples; k++)
				weight->samples += profile->samples[k]->n_timestamps_unix_nano;
		}
	}
}

/* Measures all requests, without attribute @key unless that is NULL. */
static struct weight weigh(const struct file *files, size_t count, const char *key)
{
	struct weight weight = { 0 };

	for (size_t i = 0; i < count; i++) {
		Data *data = unpack(&files[i]);

		if (key)
			strip(data, key);
		add_weight(&weight, data);
		protobuf_c_message_free_unpacked(&data->base, NULL);
	}
	return weight;
}

static void add_key(const char *key, char **keys, size_t *count)
{
	for (size_t i = 0; i < *count; i++) {
		if (!strcmp(keys[i], key))
			return;
	}
	if (*count == MAX_KEYS)
		die("too many attributes:", key);
	keys[(*count)++] = strdup(key);
}

static size_t find_keys(const struct file *files, size_t file_count, char **keys)
{
	size_t count = 0;

	for (size_t i = 0; i < file_count; i++) {
		Data *data = unpack(&files[i]);

		for (size_t j = 1; j < data->dictionary->n_attribute_table; j++)
			add_key(key_of(data->dictionary, (int32_t)j), keys, &count);
		for (size_t j = 0; j < data->n_resource_profiles; j++) {
			const ResourceProfiles *profiles = data->resource_profiles[j];

			for (size_t k = 0; k < profiles->resource->n_attributes; k++)
				add_key(profiles->resource->attributes[k]->key, keys, &count);
		}
		protobuf_c_message_free_unpacked(&data->base, NULL);
	}
	return count;
}

int main(int argument_count, char **arguments)
{
	static struct file files[MAX_FILES];
	char *keys[MAX_KEYS];
	bool has_attributes = argument_count > 1 && !strcmp(arguments[1], "-attributes");
	int first = has_attributes ? 2 : 1;
	size_t file_count = argument_count - first, key_count = 0;
	struct weight weight;

	if (argument_count <= first || file_count > MAX_FILES)
		die("usage:", "otlp_bytes [-attributes] FILE...");
	for (size_t i = 0; i < file_count; i++)
		files[i] = read_file(arguments[first + i]);
	weight = weigh(files, file_count, NULL);
	printf("{\"requests\": %zu, \"samples\": %llu, \"distinct\": %llu, \"bytes\": %llu, "
	       "\"gzip_bytes\": %llu, \"gzip_bytes_without\": {",
	       file_count, (unsigned long long)weight.samples, (unsigned long long)weight.distinct,
	       (unsigned long long)weight.bytes, (unsigned long long)weight.gzip_bytes);
	if (has_attributes)
		key_count = find_keys(files, file_count, keys);
	for (size_t i = 0; i < key_count; i++) {
		weight = weigh(files, file_count, keys[i]);
		printf("%s\"%s\": %llu", i ? ", " : "", keys[i],
		       (unsigned long long)weight.gzip_bytes);
		free(keys[i]);
	}
	printf("}}\n");
	for (size_t i = 0; i < file_count; i++)
		free(files[i].bytes);
	return 0;
}
