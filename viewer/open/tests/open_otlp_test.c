/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of a few bytes, and values that are not numbers of samples: hand-written messages. */
#include "viewer/open/open_otlp.h"

#include "lib/base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/vector.h"
#include "viewer/open/opened_identity.h"

enum {
	ROOM = 64 << 20,
	MAX_BYTES = 32 << 20,
	MAX_SAMPLES = 1000,
};

VECTOR_DEFINE(byte_vector, uint8_t)

static void put(struct byte_vector *to, const void *bytes, size_t count)
{
	assert_int_equal(byte_vector_reserve(to, to->count + count + 1), 0);
	if (count)
		memcpy(to->items + to->count, bytes, count);
	to->count += count;
}

static void put_varint(struct byte_vector *to, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		put(to, &(uint8_t){ (uint8_t)value | 0x80 }, 1);
	put(to, &(uint8_t){ (uint8_t)value }, 1);
}

static void put_number(struct byte_vector *to, uint32_t field, uint64_t value)
{
	put_varint(to, field << 3);
	put_varint(to, value);
}

static void put_bytes(struct byte_vector *to, uint32_t field, const void *bytes, size_t count)
{
	put_varint(to, field << 3 | 2);
	put_varint(to, count);
	put(to, bytes, count);
}

static void put_text(struct byte_vector *to, uint32_t field, const char *text)
{
	put_bytes(to, field, text, strlen(text));
}

/* Appends the message and frees it. */
static void put_message(struct byte_vector *to, uint32_t field, struct byte_vector *message)
{
	put_bytes(to, field, message->items, message->count);
	byte_vector_deinit(message);
}

/* Appends @value @count times as a packed field. */
static void put_many(struct byte_vector *to, uint32_t field, uint8_t value, size_t count)
{
	uint8_t *bytes = malloc(count + 1);

	memset(bytes, value, count);
	put_bytes(to, field, bytes, count);
	free(bytes);
}

/* Fields of the messages (proto/otlp_profiles.proto). */
enum {
	REQUEST_RESOURCES = 1,
	REQUEST_DICTIONARY = 2,
	RESOURCES_RESOURCE = 1,
	RESOURCES_SCOPES = 2,
	RESOURCE_ATTRIBUTES = 1,
	KEY_VALUE_KEY = 1,
	KEY_VALUE_VALUE = 2,
	VALUE_STRING = 1,
	VALUE_INT = 3,
	SCOPE_PROFILES = 2,
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	TYPE_UNIT = 2,
	SAMPLE_STACK = 1,
	SAMPLE_ATTRIBUTES = 2,
	SAMPLE_VALUES = 4,
	TABLE_MAPPINGS = 1,
	TABLE_LOCATIONS = 2,
	TABLE_FUNCTIONS = 3,
	TABLE_STRINGS = 5,
	TABLE_ATTRIBUTES = 6,
	TABLE_STACKS = 7,
	ATTRIBUTE_KEY = 1,
	ATTRIBUTE_VALUE = 2,
	STACK_LOCATIONS = 1,
	LOCATION_MAPPING = 1,
	LOCATION_ADDRESS = 2,
	LOCATION_LINES = 3,
	LOCATION_ATTRIBUTES = 4,
	LINE_FUNCTION = 1,
	LINE_NUMBER = 2,
	FUNCTION_NAME = 1,
	FUNCTION_FILE = 3,
	MAPPING_PATH = 4,
	MAPPING_ATTRIBUTES = 5,
};

/* A request that is being built: a dictionary, a resource, and one profile. */
struct request {
	struct byte_vector dictionary;
	struct byte_vector resource;
	struct byte_vector profile;
};

/* The strings are 0: "", 1: @text, and so on; each table has its zero entry. */
static void begin(struct request *request, const char *const *strings, size_t count)
{
	*request = (struct request){ 0 };
	put_text(&request->dictionary, TABLE_STRINGS, "");
	for (size_t i = 0; i < count; i++)
		put_text(&request->dictionary, TABLE_STRINGS, strings[i]);
	for (uint32_t table = TABLE_MAPPINGS; table <= TABLE_LOCATIONS; table++)
		put_bytes(&request->dictionary, table, "", 0);
	put_bytes(&request->dictionary, TABLE_ATTRIBUTES, "", 0);
	put_bytes(&request->dictionary, TABLE_STACKS, "", 0);
}

/* Adds a sample of @stack, with @attribute unless it is 0, and with @value. */
static void add_sample(struct request *request, uint8_t stack, uint8_t attribute, uint64_t value)
{
	struct byte_vector sample = { 0 };
	struct byte_vector values = { 0 };

	put_number(&sample, SAMPLE_STACK, stack);
	if (attribute)
		put_bytes(&sample, SAMPLE_ATTRIBUTES, &attribute, 1);
	put_varint(&values, value);
	put_message(&sample, SAMPLE_VALUES, &values);
	put_message(&request->profile, PROFILE_SAMPLES, &sample);
}

/*
 * Adds location 1 with @attributes attributes and @lines lines, and a stack that has it @references
 * times.
 */
static void add_stack(struct request *request, size_t attributes, size_t lines, size_t references)
{
	struct byte_vector location = { 0 }, stack = { 0 };

	put_number(&location, LOCATION_MAPPING, 1);
	for (size_t i = 0; i < lines; i++) {
		struct byte_vector line = { 0 };

		put_number(&line, LINE_NUMBER, i + 1);
		put_message(&location, LOCATION_LINES, &line);
	}
	put_many(&location, LOCATION_ATTRIBUTES, 1, attributes);
	put_message(&request->dictionary, TABLE_LOCATIONS, &location);
	put_many(&stack, STACK_LOCATIONS, 1, references);
	put_message(&request->dictionary, TABLE_STACKS, &stack);
}

static void set_type(struct request *request, uint32_t field, uint64_t unit)
{
	struct byte_vector type = { 0 };

	put_number(&type, TYPE_UNIT, unit);
	put_message(&request->profile, field, &type);
}

/* Opens the request, and frees it. */
static int open_request(struct request *request, struct opened_samples *opened)
{
	struct byte_vector bytes = { 0 }, scope = { 0 }, resources = { 0 };
	int err;

	put_message(&scope, SCOPE_PROFILES, &request->profile);
	put_message(&resources, RESOURCES_RESOURCE, &request->resource);
	put_message(&resources, RESOURCES_SCOPES, &scope);
	put_message(&bytes, REQUEST_RESOURCES, &resources);
	put_message(&bytes, REQUEST_DICTIONARY, &request->dictionary);
	err = open_otlp(bytes.items, bytes.count, ROOM, opened);
	byte_vector_deinit(&bytes);
	return err;
}

static const struct opened_samples receiving = {
	.max_bytes = MAX_BYTES,
	.max_samples = MAX_SAMPLES,
};

static double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* Adds attribute 1, whose key is the first text. */
static void add_frame_type(struct request *request, const char *type)
{
	struct byte_vector attribute = { 0 }, value = { 0 };

	put_number(&attribute, ATTRIBUTE_KEY, 1);
	put_text(&value, VALUE_STRING, type);
	put_message(&attribute, ATTRIBUTE_VALUE, &value);
	put_message(&request->dictionary, TABLE_ATTRIBUTES, &attribute);
}

static void a_location_is_read_once_however_often_stacks_refer_to_it(void **state)
{
	static const char *const strings[] = { "profile.frame.type" };
	struct opened_samples opened = receiving;
	struct request request;
	double before;

	(void)state;
	begin(&request, strings, 1);
	add_frame_type(&request, "cpython");
	/* 4096 references to 1,000,000 attributes would take minutes if each were read. */
	add_stack(&request, 1000000, 0, 10000);
	add_sample(&request, 1, 0, 1);
	before = cpu_seconds();
	assert_int_equal(open_request(&request, &opened), 0);
	assert_true(cpu_seconds() - before < 5);
	assert_int_equal(sample_table_at(opened.table.blocks.items, 0)->sample.trace->frame_count,
			 OPENED_FRAMES_MAX);
	assert_int_equal(
		trace_frame(sample_table_at(opened.table.blocks.items, 0)->sample.trace, 7).kind,
		FRAME_PYTHON);
	opened_samples_deinit(&opened);
}

/* The error that is read of an abort-marker with @number and no text. */
static uint8_t error_of_number(uint64_t number)
{
	static const char *const strings[] = { "profile.frame.type" };
	struct opened_samples opened = receiving;
	struct byte_vector location = { 0 };
	struct request request;
	struct frame frame;

	begin(&request, strings, 1);
	add_frame_type(&request, "abort-marker");
	put_number(&location, LOCATION_ADDRESS, number);
	put_bytes(&location, LOCATION_ATTRIBUTES, "\1", 1);
	put_message(&request.dictionary, TABLE_LOCATIONS, &location);
	put_bytes(&request.dictionary, TABLE_STACKS, "\x0a\1\1", 3);
	add_sample(&request, 1, 0, 1);
	assert_int_equal(open_request(&request, &opened), 0);
	frame = trace_frame(sample_table_at(opened.table.blocks.items, 0)->sample.trace, 0);
	assert_int_equal(frame.kind, FRAME_ERROR);
	opened_samples_deinit(&opened);
	return frame.error;
}

static void an_error_of_another_tool_is_known_by_its_number(void **state)
{
	(void)state;
	assert_int_equal(error_of_number(2), UNWIND_TRUNCATED);
	assert_int_equal(error_of_number(4012), UNWIND_NO_MAPPING);
	assert_int_equal(error_of_number(1), UNWIND_NO_INFO);
}

static void equal_stacks_are_not_made_again_and_again(void **state)
{
	struct opened_samples opened = receiving;
	struct request request;

	(void)state;
	begin(&request, NULL, 0);
	/* 4096 frames from 1 byte. */
	add_stack(&request, 0, 5000, 1);
	for (int i = 0; i < 200; i++) {
		put_bytes(&request.dictionary, TABLE_STACKS, "\x0a\1\1", 3);
		for (int j = 0; j < 2; j++)
			add_sample(&request, 2 + i % 100, 0, 1);
	}
	assert_int_equal(open_request(&request, &opened), 0);
	/* All stacks are equal and share one trace. */
	assert_int_equal(interner_count(&opened.table.traces), 1);
	opened_samples_deinit(&opened);

	/* The work to make them is limited too. */
	opened = receiving;
	begin(&request, NULL, 0);
	add_stack(&request, 0, 5000, 1);
	for (int i = 0; i < 127; i++)
		put_bytes(&request.dictionary, TABLE_STACKS, "\x0a\1\1", 3);
	for (int i = 1; i < 128; i++)
		add_sample(&request, (uint8_t)i, 0, 1);
	opened.max_bytes = 4 << 20;
	assert_int_equal(open_request(&request, &opened), -E2BIG);
	assert_non_null(strstr(error_text(), "need more than 4 MiB"));
	opened_samples_deinit(&opened);
}

/* A few long names, with thousands in each stack; little is kept of a stack. */
static void stacks_of_long_names_cost_what_they_take_time(void **state)
{
	enum { NAMES = 15, STACKS = 2000, NAME_BYTES = 4096 };
	static char names[NAMES][NAME_BYTES + 1];
	struct opened_samples opened = receiving;
	struct byte_vector location = { 0 };
	const char *strings[NAMES];
	struct request request;
	double before;

	(void)state;
	for (int i = 0; i < NAMES; i++) {
		memset(names[i], 'x', NAME_BYTES - 1);
		names[i][NAME_BYTES - 1] = (char)('a' + i);
		strings[i] = names[i];
	}
	begin(&request, strings, NAMES);
	put_bytes(&request.dictionary, TABLE_FUNCTIONS, "", 0);
	for (uint64_t i = 1; i <= NAMES; i++) {
		struct byte_vector function = { 0 }, line = { 0 };

		put_number(&function, FUNCTION_NAME, i);
		put_number(&function, FUNCTION_FILE, 1 + i % NAMES);
		put_message(&request.dictionary, TABLE_FUNCTIONS, &function);
		put_number(&line, LINE_FUNCTION, i);
		put_message(&location, LOCATION_LINES, &line);
	}
	put_message(&request.dictionary, TABLE_LOCATIONS, &location);
	for (uint64_t i = 1; i <= STACKS; i++) {
		struct byte_vector stack = { 0 }, sample = { 0 };

		put_many(&stack, STACK_LOCATIONS, 1, 280);
		put_message(&request.dictionary, TABLE_STACKS, &stack);
		put_number(&sample, SAMPLE_STACK, i);
		put_message(&request.profile, PROFILE_SAMPLES, &sample);
	}
	before = cpu_seconds();
	assert_int_equal(open_request(&request, &opened), -E2BIG);
	assert_true(cpu_seconds() - before < 3);
	opened_samples_deinit(&opened);
}

/* Samples without a value; each has a different number, whose key is the first text. */
static void add_distinct_samples(struct request *request, int count)
{
	for (int i = 0; i < count; i++) {
		struct byte_vector attribute = { 0 }, value = { 0 }, sample = { 0 }, index = { 0 };

		put_number(&value, VALUE_INT, (uint64_t)i + 1);
		put_number(&attribute, ATTRIBUTE_KEY, 1);
		put_message(&attribute, ATTRIBUTE_VALUE, &value);
		put_message(&request->dictionary, TABLE_ATTRIBUTES, &attribute);
		put_varint(&index, (uint64_t)i + 1);
		put_message(&sample, SAMPLE_ATTRIBUTES, &index);
		put_message(&request->profile, PROFILE_SAMPLES, &sample);
	}
}

static void put_resource_text(struct request *request, const char *key, const char *text)
{
	struct byte_vector attribute = { 0 }, value = { 0 };

	put_text(&value, VALUE_STRING, text);
	put_text(&attribute, KEY_VALUE_KEY, key);
	put_message(&attribute, KEY_VALUE_VALUE, &value);
	put_message(&request->resource, RESOURCE_ATTRIBUTES, &attribute);
}

/*
 * A resource with all the strings that are copied for each process, and samples of @pids processes.
 */
static void add_processes(struct request *request, int pids)
{
	static const char *const keys[] = {
		"service.name",
		"container.id",
		"process.executable.path",
		"process.runtime.name",
		"process.runtime.version",
		"allframes.go.module.path",
		"allframes.go.module.version",
	};
	char text[1001];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		put_resource_text(request, keys[i], text);
	add_distinct_samples(request, pids);
}

static void a_process_keeps_its_user_its_parent_and_its_command_line(void **state)
{
	static const char *const strings[] = { "process.parent_pid" };
	struct opened_samples opened = receiving;
	const struct process_info *process;
	struct request request;

	(void)state;
	begin(&request, strings, 1);
	put_resource_text(&request, "process.owner", "www");
	put_resource_text(&request, "process.command_line", "server -x");
	add_distinct_samples(&request, 1);
	assert_int_equal(open_request(&request, &opened), 0);
	process = sample_table_at(opened.table.blocks.items, 0)->sample.process;
	assert_string_equal(process->user_name, "www");
	assert_string_equal(process->command_line, "server -x");
	assert_int_equal(process->parent_pid, 1);
	opened_samples_deinit(&opened);
}

static void processes_count(void **state)
{
	static const char *const strings[] = { "process.pid" };
	struct opened_samples opened = receiving;
	struct request request;

	(void)state;
	begin(&request, strings, 1);
	add_processes(&request, 1000);
	assert_int_equal(open_request(&request, &opened), 0);
	assert_true(opened_samples_bytes(&opened) > 1000 * 7 * 1000);
	opened_samples_deinit(&opened);
	opened = receiving;
	begin(&request, strings, 1);
	add_processes(&request, 20000);
	assert_int_equal(open_request(&request, &opened), -E2BIG);
	opened_samples_deinit(&opened);
}

static void processes_over_the_limit_are_left_out(void **state)
{
	static const char *const strings[] = { "process.pid" };
	struct opened_samples opened = { 0 };
	struct byte_vector sample = { 0 };
	struct request request;

	(void)state;
	begin(&request, strings, 1);
	add_distinct_samples(&request, OPENED_PROCESSES_MAX + 1);
	/* The first process again in another sample: it is known. */
	put_number(&sample, SAMPLE_STACK, 1);
	put_bytes(&sample, SAMPLE_ATTRIBUTES, "\1", 1);
	add_stack(&request, 0, 1, 1);
	put_message(&request.profile, PROFILE_SAMPLES, &sample);
	assert_int_equal(open_request(&request, &opened), 0);
	assert_int_equal(interner_count(&opened.table.processes), OPENED_PROCESSES_MAX);
	assert_non_null(sample_table_at(opened.table.blocks.items, OPENED_PROCESSES_MAX - 1)
				->sample.process);
	assert_null(
		sample_table_at(opened.table.blocks.items, OPENED_PROCESSES_MAX)->sample.process);
	assert_ptr_equal(
		sample_table_at(opened.table.blocks.items, OPENED_PROCESSES_MAX + 1)->sample.process,
		sample_table_at(opened.table.blocks.items, 0)->sample.process);
	opened_samples_deinit(&opened);
}

static void binaries_count(void **state)
{
	char path[4001];
	const char *strings[] = { path };
	struct opened_samples opened = receiving;
	struct request request;

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	begin(&request, strings, 1);
	for (int i = 0; i < 20000; i++) {
		struct byte_vector mapping = { 0 };

		put_number(&mapping, MAPPING_PATH, 1);
		put_message(&request.dictionary, TABLE_MAPPINGS, &mapping);
	}
	assert_int_equal(open_request(&request, &opened), -E2BIG);
	opened_samples_deinit(&opened);
}

static void samples_and_their_moments_count(void **state)
{
	static const char *const strings[] = { "thread.id" };
	struct opened_samples opened = receiving;
	struct request request;

	(void)state;
	opened.max_bytes = 1 << 20;
	begin(&request, strings, 1);
	add_distinct_samples(&request, 20000);
	assert_int_equal(open_request(&request, &opened), -E2BIG);
	opened_samples_deinit(&opened);

	opened = (struct opened_samples){ .max_bytes = 1 << 20 };
	begin(&request, NULL, 0);
	{
		struct byte_vector sample = { 0 };

		put_many(&sample, SAMPLE_VALUES, 1, 100000);
		put_message(&request.profile, PROFILE_SAMPLES, &sample);
	}
	assert_int_equal(open_request(&request, &opened), -E2BIG);
	opened_samples_deinit(&opened);
}

static void a_text_is_not_measured_for_each_reference(void **state)
{
	static const char *const strings[] = { "process.executable.build_id.gnu",
					       "process.context.label.x" };
	enum { LONG = 4 << 20, REFERENCES = 1000000, SAMPLES = 200000 };
	char *text = malloc(LONG + 1);
	double before = cpu_seconds();

	(void)state;
	memset(text, 'a', LONG);
	text[LONG] = '\0';
	for (uint64_t key = 1; key <= 2; key++) {
		struct byte_vector attribute = { 0 }, value = { 0 }, user = { 0 };
		struct opened_samples opened = receiving;
		struct request request;

		begin(&request, strings, 2);
		put_number(&attribute, ATTRIBUTE_KEY, key);
		put_text(&value, VALUE_STRING, text);
		put_message(&attribute, ATTRIBUTE_VALUE, &value);
		put_message(&request.dictionary, TABLE_ATTRIBUTES, &attribute);
		put_many(&user, MAPPING_ATTRIBUTES, 1, key == 1 ? REFERENCES : 0);
		put_message(&request.dictionary, TABLE_MAPPINGS, &user);
		for (int i = 0; key == 2 && i < SAMPLES; i++)
			add_sample(&request, 0, 1, 0);
		assert_int_equal(open_request(&request, &opened), 0);
		opened_samples_deinit(&opened);
	}
	assert_true(cpu_seconds() - before < 8);
	free(text);
}

static void what_is_no_number_of_samples_is_left_out(void **state)
{
	static const char *const strings[] = { "count", "nanoseconds", "bytes" };
	static const struct {
		uint8_t unit, period_unit, period;
		uint64_t value, total, skipped;
	} profiles[] = {
		{ 1, 2, 50, 7, 7, 0 },	{ 2, 2, 50, 350, 7, 0 }, { 2, 0, 0, 350, 0, 1 },
		{ 2, 2, 0, 350, 0, 1 }, { 3, 2, 50, 350, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		/* An opened file is shown in its own unit, whatever is in it. */
		for (int is_file = 0; is_file < 2; is_file++) {
			struct opened_samples opened = receiving;
			struct request request;

			if (is_file)
				opened = (struct opened_samples){ 0 };
			begin(&request, strings, 3);
			set_type(&request, PROFILE_SAMPLE_TYPE, profiles[i].unit);
			set_type(&request, PROFILE_PERIOD_TYPE, profiles[i].period_unit);
			put_number(&request.profile, PROFILE_PERIOD, profiles[i].period);
			add_sample(&request, 0, 0, profiles[i].value);
			assert_int_equal(open_request(&request, &opened), 0);
			assert_int_equal(opened.skipped_profiles,
					 is_file ? 0 : profiles[i].skipped);
			assert_int_equal(opened.total,
					 is_file ? profiles[i].value : profiles[i].total);
			if (is_file)
				assert_string_equal(opened.facts.types[0].unit,
						    strings[profiles[i].unit - 1]);
			opened_samples_deinit(&opened);
		}
	}
}

static void more_samples_than_may_be_are_refused(void **state)
{
	struct opened_samples opened = receiving;
	struct request request;

	(void)state;
	begin(&request, NULL, 0);
	add_sample(&request, 0, 0, MAX_SAMPLES);
	assert_int_equal(open_request(&request, &opened), 0);
	opened_samples_deinit(&opened);
	opened = receiving;
	begin(&request, NULL, 0);
	add_sample(&request, 0, 0, MAX_SAMPLES);
	add_sample(&request, 0, 0, 1);
	assert_int_equal(open_request(&request, &opened), -E2BIG);
	assert_non_null(strstr(error_text(), "more than 1000 samples"));
	opened_samples_deinit(&opened);
}

/* A repeated message is merged into the previous one, whose contents are copied each time. */
static void what_is_merged_again_and_again_is_refused(void **state)
{
	enum { TIMES = 512 << 10 };
	/* dictionary { string_table: "" } */
	static const uint8_t one[] = { 0x12, 2, 0x2a, 0 };
	struct opened_samples opened = receiving;
	struct byte_vector bytes = { 0 };
	double start = cpu_seconds();

	(void)state;
	for (int i = 0; i < TIMES; i++)
		put(&bytes, one, sizeof(one));
	assert_int_equal(open_otlp(bytes.items, bytes.count, ROOM, &opened), -EBADMSG);
	/* Merging everything would take minutes. */
	assert_true(cpu_seconds() - start < 10);
	byte_vector_deinit(&bytes);
	opened_samples_deinit(&opened);
}

static void reading_ends_when_it_is_to(void **state)
{
	atomic_bool is_cancelled = true;
	struct opened_samples opened = receiving;
	struct request request;

	(void)state;
	opened.is_cancelled = &is_cancelled;
	begin(&request, NULL, 0);
	add_sample(&request, 0, 0, 1);
	assert_int_equal(open_request(&request, &opened), -ECANCELED);
	opened_samples_deinit(&opened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_location_is_read_once_however_often_stacks_refer_to_it),
		cmocka_unit_test(an_error_of_another_tool_is_known_by_its_number),
		cmocka_unit_test(equal_stacks_are_not_made_again_and_again),
		cmocka_unit_test(stacks_of_long_names_cost_what_they_take_time),
		cmocka_unit_test(processes_count),
		cmocka_unit_test(a_process_keeps_its_user_its_parent_and_its_command_line),
		cmocka_unit_test(processes_over_the_limit_are_left_out),
		cmocka_unit_test(binaries_count),
		cmocka_unit_test(samples_and_their_moments_count),
		cmocka_unit_test(a_text_is_not_measured_for_each_reference),
		cmocka_unit_test(what_is_no_number_of_samples_is_left_out),
		cmocka_unit_test(more_samples_than_may_be_are_refused),
		cmocka_unit_test(what_is_merged_again_and_again_is_refused),
		cmocka_unit_test(reading_ends_when_it_is_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
