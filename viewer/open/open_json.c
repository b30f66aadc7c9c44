/* SPDX-License-Identifier: Apache-2.0 */
/* Indices and ids in the file may be invalid; what refers to a missing entry is skipped. */
#include "viewer/open/open_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/text.h"
#include "reporter/profile_info.h"
#include "reporter/sequence_counts.h"
#include "viewer/open/open_firefox.h"
#include "viewer/open/opened_json.h"

enum {
	/* 512 MiB of index. */
	VALUES_MAX = 64 << 20,
	US_PER_SECOND = 1000000,
};

/* --- speedscope --- */

struct speedscope {
	struct json_reader *reader;
	struct json_function_vector frames;
	/* Indices of frames that are open, outermost first. */
	struct number_vector path;
	struct sample sample;
};

/* Pushes the frames of the path, innermost first. */
static int push_path(struct speedscope *file)
{
	struct json_reader *reader = file->reader;
	int err = 0;

	for (size_t i = file->path.count; i-- > 0 && !err && !opened_stack_is_full(&reader->stack);)
		err = json_reader_push(reader, &file->frames.items[file->path.items[i]]);
	return err;
}

static int put_path(struct speedscope *file, double value)
{
	int err = push_path(file);

	return err ? err :
		     json_reader_put(file->reader, &file->sample, file->reader->opened->start_ns,
				     value);
}

/* Adds an index of a frame to the path; a missing frame is skipped. */
static int push_index(struct speedscope *file, double index)
{
	if (!(index >= 0) || index >= (double)file->frames.count)
		return 0;
	return number_vector_push(&file->path, (uint32_t)index);
}

static int read_sampled(struct speedscope *file, uint32_t profile)
{
	struct json_index *index = &file->reader->index;
	uint32_t samples = json_member(index, profile, "samples");
	uint32_t weights = json_member(index, profile, "weights");
	uint32_t weight = json_first(index, weights);
	int err = 0;

	for (uint32_t i = json_first(index, samples); i != JSON_NONE && !err;
	     i = json_next(index, samples, i)) {
		file->path.count = 0;
		for (uint32_t frame = json_first(index, i); frame != JSON_NONE && !err;
		     frame = json_next(index, i, frame))
			err = push_index(file, json_number(index, frame, -1));
		if (!err)
			err = put_path(file, json_number(index, weight, 1));
		if (weight != JSON_NONE)
			weight = json_next(index, weights, weight);
	}
	return err;
}

static int read_evented(struct speedscope *file, uint32_t profile)
{
	struct json_reader *reader = file->reader;
	uint32_t events = json_member(&reader->index, profile, "events");
	double last = json_reader_number(reader, profile, "startValue", 0);
	int err = 0;

	file->path.count = 0;
	for (uint32_t i = json_first(&reader->index, events); i != JSON_NONE && !err;
	     i = json_next(&reader->index, events, i)) {
		double at = json_reader_number(reader, i, "at", last);

		if (at > last && file->path.count)
			err = put_path(file, at - last);
		last = at > last ? at : last;
		if (err)
			break;
		if (!strcmp(json_reader_text(reader, i, "type"), "O"))
			err = push_index(file, json_reader_number(reader, i, "frame", -1));
		else if (file->path.count)
			file->path.count--;
	}
	return err;
}

static int read_speedscope_profile(struct speedscope *file, uint32_t profile)
{
	struct json_reader *reader = file->reader;
	const char *unit = json_reader_text(reader, profile, "unit");
	bool is_evented = !strcmp(json_reader_text(reader, profile, "type"), "evented");
	bool has_fractions =
		is_evented ||
		json_has_fraction(&reader->index, json_member(&reader->index, profile, "weights"));
	bool is_count = !strcmp(unit, "none") || !*unit;
	int err = json_reader_set_type(reader, is_count ? "samples" : "weight",
				       is_count ? "count" : unit, has_fractions);

	if (err)
		return err;
	/* A file has a profile for each thread. */
	file->sample.thread_comm = json_reader_text(reader, profile, "name");
	return is_evented ? read_evented(file, profile) : read_sampled(file, profile);
}

static int list_frames(struct speedscope *file)
{
	struct json_reader *reader = file->reader;
	struct json_index *index = &reader->index;
	uint32_t frames = json_member(index, json_reader_root(reader, "shared"), "frames");
	int err = 0;

	for (uint32_t i = json_first(index, frames); i != JSON_NONE && !err;
	     i = json_next(index, frames, i)) {
		struct json_function function = {
			.name = json_reader_text(reader, i, "name"),
			.file = json_reader_text(reader, i, "file"),
			.line = json_reader_number(reader, i, "line", 0),
			.column = json_reader_number(reader, i, "col", 0),
		};

		/* The file has each text once: its marks are cut off in place. */
		function.marks = opened_name_parse((char *)function.name);
		function.kind = opened_kind_of_file(function.file);
		err = json_function_vector_push(&file->frames, function);
	}
	return err;
}

/* The length of the first of several facts: the next one has a known key. Other texts may have semicolons. */
static size_t fact_length(const char *facts)
{
	const char *end = facts;

	while ((end = strstr(end, "; ")) && !profile_info_key(end + 2))
		end += 2;
	return end ? (size_t)(end - facts) : strlen(facts);
}

/* The agent's own files have in their name what pprof has as comments: "host: box; kernel: Linux 6.12". */
static int read_name(struct json_reader *reader)
{
	const char *name = json_reader_text(reader, 0, "name"), *colon;
	int err = 0;

	if (!text_starts_with(json_reader_text(reader, 0, "exporter"), "allframes"))
		return *name ? json_reader_add_fact(reader, "name", name) : 0;
	while (*name && !err) {
		char fact[FACT_MAX_BYTES];
		size_t length = fact_length(name);

		snprintf(fact, sizeof(fact), "%.*s", (int)length, name);
		colon = strstr(fact, ": ");
		if (colon) {
			fact[colon - fact] = '\0';
			err = json_reader_add_fact(reader, fact, colon + 2);
		}
		name += length;
		name += strspn(name, "; ");
	}
	return err;
}

static int open_speedscope(struct json_reader *reader)
{
	struct json_index *index = &reader->index;
	struct speedscope file = { .reader = reader, .sample = opened_sample_unknown() };
	uint32_t profiles = json_reader_root(reader, "profiles");
	int err = list_frames(&file);

	if (!err)
		err = read_name(reader);
	for (uint32_t i = json_first(index, profiles); i != JSON_NONE && !err;
	     i = json_next(index, profiles, i))
		err = read_speedscope_profile(&file, i);
	if (!err)
		opened_samples_choose_type(reader->opened, NULL);
	json_function_vector_deinit(&file.frames);
	number_vector_deinit(&file.path);
	return err;
}

/* --- .cpuprofile --- */

struct v8_node {
	uint32_t value;
	struct json_function function;
	/* Index of the caller; JSON_NONE for the root. */
	uint32_t parent;
	struct trace *trace;
};

VECTOR_DEFINE(v8_node_vector, struct v8_node)

struct v8_profile {
	struct json_reader *reader;
	struct v8_node_vector nodes;
	/* Maps a node's id to its index. */
	struct hash_map indexes;
	uint32_t count_type;
	uint32_t time_type;
};

static bool find_node(const struct v8_profile *profile, double id, uint32_t *index)
{
	uint64_t found;

	if (!(id >= 0) || id >= 0x1p53 || !hash_map_find(&profile->indexes, (uint64_t)id, &found))
		return false;
	*index = (uint32_t)found;
	return true;
}

static int list_nodes(struct v8_profile *profile, uint32_t nodes)
{
	struct json_index *json = &profile->reader->index;
	int err = 0;

	for (uint32_t i = json_first(json, nodes); i != JSON_NONE && !err;
	     i = json_next(json, nodes, i)) {
		double id = json_reader_number(profile->reader, i, "id", -1);
		uint32_t call = json_member(json, i, "callFrame");
		const char *url = json_reader_text(profile->reader, call, "url");

		err = v8_node_vector_push(
			&profile->nodes,
			(struct v8_node){
				.value = i,
				.parent = JSON_NONE,
				.function = {
					.name = json_reader_text(profile->reader, call, "functionName"),
					.file = url,
					/* Lines count from 0. */
					.line = json_reader_number(profile->reader, call, "lineNumber",
							      -1) + 1,
					.kind = *url ? FRAME_JAVASCRIPT : FRAME_NATIVE,
				},
			});
		if (!err && id >= 0 && id < 0x1p53)
			err = hash_map_set(&profile->indexes, (uint64_t)id,
					   profile->nodes.count - 1);
	}
	return err;
}

/* Nodes have their children's ids, or in traces their parent's. */
static void link_nodes(struct v8_profile *profile)
{
	struct json_index *json = &profile->reader->index;
	uint32_t index;

	for (uint32_t i = 0; i < profile->nodes.count; i++) {
		uint32_t value = profile->nodes.items[i].value;
		uint32_t children = json_member(json, value, "children");

		if (find_node(profile, json_reader_number(profile->reader, value, "parent", -1),
			      &index))
			profile->nodes.items[i].parent = index;
		for (uint32_t child = json_first(json, children); child != JSON_NONE;
		     child = json_next(json, children, child))
			if (find_node(profile, json_number(json, child, -1), &index) && index != i)
				profile->nodes.items[index].parent = i;
	}
}

/* Makes the node's trace, without the root; cyclic parents end at the limit of frames. */
static int make_trace(struct v8_profile *profile, struct v8_node *node)
{
	struct json_reader *reader = profile->reader;
	int err = 0;

	for (const struct v8_node *at = node;
	     !err && at->parent != JSON_NONE && !opened_stack_is_full(&reader->stack);
	     at = &profile->nodes.items[at->parent])
		err = json_reader_push(reader, &at->function);
	if (err)
		return err;
	node->trace = opened_stack_finish(&reader->stack);
	if (!node->trace)
		return -ENOMEM;
	/* Made once, but a hostile file can have many deep stacks. */
	return opened_samples_spend(reader->opened, node->trace->bytes);
}

static int put_node(struct v8_profile *profile, uint32_t index, uint64_t time_ns, double hits,
		    double microseconds)
{
	struct v8_node *node = &profile->nodes.items[index];
	struct sample sample = opened_sample_unknown();
	int err = node->trace ? 0 : make_trace(profile, node);

	if (err)
		return err;
	sample.trace = node->trace;
	err = opened_samples_put(profile->reader->opened, &sample, profile->count_type, time_ns,
				 json_whole(hits));
	return err ? err :
		     opened_samples_put(profile->reader->opened, &sample, profile->time_type,
					time_ns, json_whole(microseconds));
}

/* A sample lasts until the next one, and the last one until the end. */
static int put_v8_samples(struct v8_profile *profile, uint32_t samples)
{
	struct json_reader *reader = profile->reader;
	uint32_t deltas = json_reader_root(reader, "timeDeltas");
	uint32_t delta = json_first(&reader->index, deltas);
	double start = json_reader_number(reader, 0, "startTime", 0), at = start, lasts;
	double end = json_reader_number(reader, 0, "endTime", 0);
	int err = 0;

	for (uint32_t i = json_first(&reader->index, samples); i != JSON_NONE && !err;
	     i = json_next(&reader->index, samples, i)) {
		double offset;
		uint32_t node;

		at += json_number(&reader->index, delta, 0);
		if (delta != JSON_NONE)
			delta = json_next(&reader->index, deltas, delta);
		lasts = delta != JSON_NONE ? json_number(&reader->index, delta, 0) : end - at;
		offset = at - start > 0 && at - start < 0x1p40 ? at - start : 0;
		if (find_node(profile, json_number(&reader->index, i, -1), &node))
			err = put_node(profile, node,
				       reader->opened->start_ns +
					       (uint64_t)offset * (NS_PER_SECOND / US_PER_SECOND),
				       1, lasts > 0 ? lasts : 0);
	}
	return err;
}

static int put_hits(struct v8_profile *profile)
{
	int err = 0;

	for (uint32_t i = 0; i < profile->nodes.count && !err; i++)
		err = put_node(profile, i, profile->reader->opened->start_ns,
			       json_reader_number(profile->reader, profile->nodes.items[i].value,
						  "hitCount", 0),
			       0);
	return err;
}

static int open_v8_profile(struct json_reader *reader)
{
	struct v8_profile profile = { .reader = reader };
	struct profile_facts *facts = &reader->opened->facts;
	uint32_t samples = json_reader_root(reader, "samples");
	double lasted = json_reader_number(reader, 0, "endTime", 0) -
			json_reader_number(reader, 0, "startTime", 0);
	int err = profile_facts_add_type(facts, "samples", "count", &profile.count_type);

	if (!err)
		err = profile_facts_add_type(facts, "time", "microseconds", &profile.time_type);
	if (lasted > 0 && lasted < 0x1p50)
		facts->duration_ns = (uint64_t)lasted * (NS_PER_SECOND / US_PER_SECOND);
	if (!err)
		err = list_nodes(&profile, json_reader_root(reader, "nodes"));
	if (!err) {
		link_nodes(&profile);
		err = json_first(&reader->index, samples) != JSON_NONE ?
			      put_v8_samples(&profile, samples) :
			      put_hits(&profile);
	}
	if (!err)
		opened_samples_choose_type(reader->opened, NULL);
	for (size_t i = 0; i < profile.nodes.count; i++)
		if (profile.nodes.items[i].trace)
			trace_unref(profile.nodes.items[i].trace);
	v8_node_vector_deinit(&profile.nodes);
	hash_map_deinit(&profile.indexes);
	return err;
}

/* --- the formats --- */

static int open_kind(struct json_reader *reader)
{
	struct json_index *index = &reader->index;

	if (json_is_array(index, json_reader_root(reader, "profiles")) &&
	    json_is_object(index, json_reader_root(reader, "shared")))
		return open_speedscope(reader);
	if (json_is_array(index, json_reader_root(reader, "nodes")))
		return open_v8_profile(reader);
	if (json_is_array(index, json_reader_root(reader, "traceEvents")) ||
	    json_is_array(index, 0))
		return fail(
			-EOPNOTSUPP,
			"it is a trace of Chrome, which this page cannot show: ui.perfetto.dev opens it");
	if (json_is_array(index, json_reader_root(reader, "threads")) &&
	    json_is_object(index, json_reader_root(reader, "meta")))
		return open_firefox(reader);
	return fail(
		-EBADMSG,
		"it is JSON, but neither of speedscope nor of the Firefox profiler, nor a .cpuprofile of Chrome or Node");
}

int open_json(char *text, size_t count, struct opened_samples *opened)
{
	struct json_reader reader = { .opened = opened, .scale = 1 };
	int err;

	opened_samples_init(opened);
	err = json_index_init(&reader.index, text, count, VALUES_MAX);
	if (!err)
		err = opened_mapping_init_nowhere(&reader.nowhere, opened);
	if (!err)
		err = open_kind(&reader);
	json_index_deinit(&reader.index);
	opened_mapping_deinit(&reader.nowhere);
	opened_stack_deinit(&reader.stack);
	return err;
}
