/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Samples made by hand and the requests built from them, for the tests of OTLP. Include it after
 * cmocka.h.
 */
#ifndef REPORTER_TESTS_OTLP_SAMPLES_H
#define REPORTER_TESTS_OTLP_SAMPLES_H

#include "lib/base/vector.h"
#include "reporter/tests/fixture.h"
#include "reporter/tests/otlp_rules.h"

VECTOR_DEFINE(sample_vector, struct stored_sample)

enum {
	WINDOW_START_NS = 5000000000,
	WINDOW_END_NS = 10000000000,
};

/* Samples made by hand; this struct owns the memory that they point to. */
struct samples {
	struct fixture fixture;
	struct sample_vector vector;
	struct otlp_options options;
};

static const struct otlp_window window = {
	.start_ns = WINDOW_START_NS,
	.end_ns = WINDOW_END_NS,
	.realtime_offset_ns = 1700000000123456789,
};

static inline int samples_setup(void **state)
{
	struct samples *s = calloc(1, sizeof(*s));

	fixture_init(&s->fixture);
	sample_store_destroy(s->fixture.store);
	s->fixture.store =
		sample_store_create(&(struct sample_store_options){ .keeps_times = true });
	s->options = (struct otlp_options){
		.samples_per_second = 19,
		.agent_version = "1.2.3",
		.max_request_bytes = SIZE_MAX,
	};
	*state = s;
	return 0;
}

static inline int samples_teardown(void **state)
{
	struct samples *s = *state;

	for (size_t i = 0; i < s->vector.count; i++) {
		trace_unref(s->vector.items[i].sample.trace);
		process_info_unref(s->vector.items[i].sample.process);
		free((void *)s->vector.items[i].times_ns);
	}
	sample_vector_deinit(&s->vector);
	fixture_deinit(&s->fixture);
	free(s);
	return 0;
}

/* Takes over the trace; times are in the window, 10 ms apart. */
static inline struct stored_sample *add(struct samples *s, struct trace *trace, uint32_t pid,
					uint32_t tid, uint64_t count)
{
	uint64_t *times = malloc(count * sizeof(*times));
	struct stored_sample sample = {
		.sample.trace = trace,
		.sample.process_comm = "comm",
		.sample.thread_comm = "thread",
		.sample.pid = pid,
		.sample.tid = tid,
		.sample.cpu = SAMPLE_NO_NUMBER,
		.count = count,
		.times_ns = times,
	};

	assert_non_null(trace);
	for (uint64_t i = 0; i < count; i++)
		times[i] = WINDOW_START_NS + i * 10000000;
	assert_int_equal(sample_vector_push(&s->vector, sample), 0);
	return &s->vector.items[s->vector.count - 1];
}

static inline struct trace *trace_of(const struct frame *frames, uint32_t count)
{
	return trace_create(frames, count, true, false);
}

#define TRACE(...)                                                                                 \
	({                                                                                         \
		const struct frame frames[] = { __VA_ARGS__ };                                     \
		trace_of(frames, sizeof(frames) / sizeof(frames[0]));                              \
	})

static inline struct process_info *process(const char *path, const char *container,
					   const char *service)
{
	return process_info_create(&(struct process_info){
		.executable_path = path, .container_id = container, .service_name = service });
}

static inline struct requests *build(struct samples *s)
{
	struct sample_snapshot snapshot = { .samples = s->vector.items, .count = s->vector.count };

	return build_checked(&snapshot, &window, &s->options);
}

/* The only message. */
static inline const Data *only(const struct requests *requests)
{
	assert_int_equal(requests->count, 1);
	return requests->data[0];
}

static inline const Sample *only_sample(const Data *data)
{
	assert_int_equal(data->n_resource_profiles, 1);
	assert_int_equal(profile_of(data->resource_profiles[0])->n_samples, 1);
	return profile_of(data->resource_profiles[0])->samples[0];
}

#endif
