/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/otlp_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <unistd.h>

#include "reporter/tests/fixture.h"
#include "reporter/tests/otlp_rules.h"

static const struct otlp_window window = { .end_ns = 5000000000 };

static int setup(void **state)
{
	fixture_setup(state);
	sample_store_destroy(((struct fixture *)*state)->store);
	((struct fixture *)*state)->store =
		sample_store_create(&(struct sample_store_options){ .keeps_times = true });
	return 0;
}

/* The file's bytes; the caller frees them. */
static uint8_t *write_file_of(struct fixture *f, const struct profile_info *info, size_t *bytes)
{
	const struct otlp_options options = {
		.samples_per_second = 19,
		.lookup = &f->lookup,
		/* No limit for the file. */
		.max_request_bytes = 1,
		.info = info,
	};
	char *file = NULL;
	FILE *out = open_memstream(&file, bytes);

	assert_int_equal(otlp_file_write(out, fixture_snapshot(f), &window, &options), 0);
	fclose(out);
	return (uint8_t *)file;
}

static uint8_t *write_file(struct fixture *f, size_t *bytes)
{
	return write_file_of(f, NULL, bytes);
}

static void the_file_is_one_message_that_has_names(void **state)
{
	struct fixture *f = *state;
	struct hash_map profile_ids = { 0 };
	bool has_name = false;
	uint8_t *file;
	size_t bytes;
	Data *data;

	fixture_report_all_kinds(f);
	file = write_file(f, &bytes);
	data = opentelemetry__proto__profiles__v1development__profiles_data__unpack(NULL, bytes,
										    file);
	assert_non_null(data);
	check_message(data, 19, &profile_ids);
	assert_int_equal(count_times(data), 17);
	for (size_t i = 0; i < data->dictionary->n_string_table; i++)
		has_name |= !strcmp(data->dictionary->string_table[i], "middle");
	assert_true(has_name);
	hash_map_deinit(&profile_ids);
	opentelemetry__proto__profiles__v1development__profiles_data__free_unpacked(data, NULL);
	free(file);
}

/* The text of a resource's attribute; NULL: there is none. */
static const char *resource_text(const Data *data, const char *key)
{
	const Opentelemetry__Proto__Resource__V1__Resource *resource =
		data->resource_profiles[0]->resource;

	for (size_t i = 0; i < resource->n_attributes; i++)
		if (!strcmp(resource->attributes[i]->key, key))
			return resource->attributes[i]->value->string_value;
	return NULL;
}

static void it_states_where_the_samples_come_from(void **state)
{
	static const struct profile_info info = {
		.samples_per_second = 19,
		.host = "box",
		.kernel = "6.1",
		.selection = "-pid 7",
	};
	static const char *const wanted[] = {
		"host: box",
		"kernel: Linux 6.1",
		"start: 1970-01-01T00:00:00Z",
		"duration: 0.000 s",
		"rate: 19 samples per second and CPU",
		"selection: -pid 7",
		"quality: 1 of 1 stacks are complete",
	};
	const size_t count = sizeof(wanted) / sizeof(wanted[0]);
	struct fixture *f = *state;
	struct hash_map profile_ids = { 0 };
	const AnyValue *comments;
	const Profile *profile;
	uint8_t *file;
	size_t bytes;
	Data *data;

	REPORT(f, "prog", 1, 1, native_frame(f->prog, 0x1000, 0));
	file = write_file_of(f, &info, &bytes);
	data = opentelemetry__proto__profiles__v1development__profiles_data__unpack(NULL, bytes,
										    file);
	assert_non_null(data);
	check_message(data, 19, &profile_ids);
	assert_string_equal(resource_text(data, "os.description"), "Linux 6.1");
	profile = profile_of(data->resource_profiles[0]);
	assert_int_equal(profile->n_attribute_indices, 1);
	comments = value_of(data->dictionary, profile->attribute_indices,
			    profile->n_attribute_indices, "pprof.profile.comment");
	assert_non_null(comments);
	assert_int_equal(comments->value_case, VALUE_CASE(ARRAY));
	assert_int_equal(comments->array_value->n_values, count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(comments->array_value->values[i]->string_value, wanted[i]);
	hash_map_deinit(&profile_ids);
	opentelemetry__proto__profiles__v1development__profiles_data__free_unpacked(data, NULL);
	free(file);
}

static void without_samples_it_is_empty(void **state)
{
	size_t bytes = 1;

	free(write_file(*state, &bytes));
	assert_int_equal(bytes, 0);
}

/*
 * protoc, another implementation of protocol buffers, decodes the message with the same .proto
 * files.
 */
static void protoc_decodes_it(void **state)
{
	static const char command[] =
		"protoc --proto_path=proto "
		"--decode=opentelemetry.proto.profiles.v1development.ProfilesData "
		"otlp_profiles.proto <%s 2>&1";
	char path[] = "/tmp/otlp_file_test.XXXXXX", line[1024], shell[256];
	struct fixture *f = *state;
	int times = 0, unknown = 0;
	uint8_t *file;
	FILE *decoder;
	size_t bytes;
	int fd;

	if (access("proto/otlp_profiles.proto", R_OK) ||
	    system("protoc --version >/dev/null 2>&1")) {
		print_message("# no protoc, or not started in the tree\n");
		skip();
	}
	fixture_report_all_kinds(f);
	file = write_file(f, &bytes);
	fd = mkstemp(path);
	assert_int_equal(write(fd, file, bytes), bytes);
	close(fd);
	snprintf(shell, sizeof(shell), command, path);
	decoder = popen(shell, "r");
	while (fgets(line, sizeof(line), decoder)) {
		times += strstr(line, "timestamps_unix_nano: ") != NULL;
		/* protoc prints the number of a field that the .proto files do not have. */
		unknown += strspn(line + strspn(line, " "), "0123456789") > 0;
	}
	assert_int_equal(pclose(decoder), 0);
	assert_int_equal(times, 17);
	assert_int_equal(unknown, 0);
	unlink(path);
	free(file);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_file_is_one_message_that_has_names),
		TEST(it_states_where_the_samples_come_from),
		TEST(without_samples_it_is_empty),
		TEST(protoc_decodes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
