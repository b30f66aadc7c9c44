/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule, its parser, and the few messages that are sent. */

#include "integration/collector/answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"

enum {
	STATUS_RESOURCE_EXHAUSTED = 8,
	STATUS_UNAVAILABLE = 14,
	STATUS_MAX = 16,
	ITEM_MAX_BYTES = 400,
};

/* Parses `2s`, `100ms` at *@at, which advances. */
static int parse_duration(const char **at, uint64_t *ns)
{
	char *end;
	unsigned long value = strtoul(*at, &end, 10);
	uint64_t unit = NS_PER_SECOND;

	if (end == *at || value > 1000000)
		return -EINVAL;
	if (!strncmp(end, "ms", 2)) {
		unit = NS_PER_MS;
		end++;
	} else if (*end != 's') {
		return -EINVAL;
	}
	*ns = value * unit;
	*at = end + 1;
	return 0;
}

static int parse_number(const char **at, int64_t max, int64_t *number)
{
	char *end;
	long value = strtol(*at, &end, 10);

	if (end == *at || value < 0 || value > max)
		return -EINVAL;
	*number = value;
	*at = end;
	return 0;
}

/* Parses the values after `NAME=`, up to the text. */
static int parse_values(struct answer *answer, const char **at)
{
	int err;

	switch (answer->kind) {
	case ANSWER_LATE:
		return parse_duration(at, &answer->delay_ns);
	case ANSWER_STATUS:
		return parse_number(at, STATUS_MAX, &answer->number);
	case ANSWER_PARTIAL:
		return parse_number(at, INT32_MAX, &answer->number);
	case ANSWER_RETRY_INFO:
		answer->number = STATUS_RESOURCE_EXHAUSTED;
		err = parse_duration(at, &answer->delay_ns);
		if (err || **at != ':')
			return err;
		++*at;
		return parse_number(at, STATUS_MAX, &answer->number);
	case ANSWER_RANDOM:
		err = parse_number(at, UINT32_MAX, &answer->number);
		if (err || *(*at)++ != ':')
			return -EINVAL;
		answer->delay_ns = answer->number;
		return parse_number(at, 100, &answer->number);
	default:
		return 0;
	}
}

/* Parses the `*N` at the end of @item, and cuts it off. */
static int parse_repeat(char *item, uint64_t *repeat)
{
	char *star = strrchr(item, '*');
	const char *at;
	int64_t count;

	*repeat = 1;
	if (!star)
		return 0;
	*star = '\0';
	at = star + 1;
	*repeat = UINT64_MAX;
	if (!*at)
		return 0;
	if (parse_number(&at, INT32_MAX, &count) || *at)
		return -EINVAL;
	*repeat = count;
	return 0;
}

static int parse_answer(char *item, struct answer *answer)
{
	static const struct {
		const char *name;
		enum answer_kind kind;
	} names[] = {
		{ "late=", ANSWER_LATE },	{ "status=", ANSWER_STATUS },
		{ "partial=", ANSWER_PARTIAL }, { "retry-info=", ANSWER_RETRY_INFO },
		{ "random:", ANSWER_RANDOM },	{ "ok", ANSWER_OK },
		{ "hang", ANSWER_HANG },	{ "reset", ANSWER_RESET },
		{ "garbage", ANSWER_GARBAGE },
	};
	const char *at = NULL;

	memset(answer, 0, sizeof(*answer));
	if (parse_repeat(item, &answer->repeat))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !at; i++) {
		if (strncmp(item, names[i].name, strlen(names[i].name)) != 0)
			continue;
		at = item + strlen(names[i].name);
		answer->kind = names[i].kind;
	}
	if (!at || parse_values(answer, &at))
		return -EINVAL;
	if (*at == ':' && (answer->kind == ANSWER_STATUS || answer->kind == ANSWER_PARTIAL)) {
		snprintf(answer->text, sizeof(answer->text), "%s", at + 1);
		at += strlen(at);
	}
	if (answer->kind == ANSWER_RANDOM && answer->repeat == 1)
		answer->repeat = UINT64_MAX;
	return *at ? -EINVAL : 0;
}

int answers_init(struct answers *answers, const char *schedule)
{
	memset(answers, 0, sizeof(*answers));
	while (*schedule) {
		size_t length = strcspn(schedule, ",");
		char item[ITEM_MAX_BYTES];
		struct answer answer;
		int err;

		if (length >= sizeof(item))
			return fail(-EINVAL, "an answer is longer than %zu bytes",
				    sizeof(item) - 1);
		memcpy(item, schedule, length);
		item[length] = '\0';
		if (parse_answer(item, &answer))
			return fail(-EINVAL, "no answer is called \"%.*s\"", (int)length, schedule);
		err = answer_vector_push(&answers->list, answer);
		if (err)
			return fail(err, "no memory for the answers");
		schedule += length + (schedule[length] == ',');
	}
	return 0;
}

void answers_deinit(struct answers *answers)
{
	answer_vector_deinit(&answers->list);
}

/* splitmix64 (Vigna, public domain constants): equal seeds give equal answers everywhere. */
static uint32_t draw(uint64_t *state, uint32_t bound)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15ULL;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ULL;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebULL;
	mixed ^= mixed >> 31;
	return mixed % bound;
}

static struct answer draw_answer(struct answer *random)
{
	static const struct answer faults[] = {
		{ .kind = ANSWER_LATE, .delay_ns = 300 * NS_PER_MS },
		{ .kind = ANSWER_STATUS, .number = STATUS_UNAVAILABLE, .text = "try again" },
		{ .kind = ANSWER_STATUS, .number = STATUS_RESOURCE_EXHAUSTED, .text = "full" },
		{ .kind = ANSWER_STATUS, .number = 3, .text = "not wanted" },
		{ .kind = ANSWER_STATUS, .number = 4, .text = "too late" },
		{ .kind = ANSWER_RETRY_INFO,
		  .number = STATUS_RESOURCE_EXHAUSTED,
		  .delay_ns = 100 * NS_PER_MS },
		{ .kind = ANSWER_PARTIAL, .number = 1, .text = "one is bad" },
		{ .kind = ANSWER_PARTIAL, .text = "a warning" },
		{ .kind = ANSWER_RESET },
		{ .kind = ANSWER_GARBAGE },
	};

	if (draw(&random->delay_ns, 100) >= random->number)
		return (struct answer){ .kind = ANSWER_OK };
	return faults[draw(&random->delay_ns, sizeof(faults) / sizeof(faults[0]))];
}

struct answer answers_next(struct answers *answers)
{
	while (answers->next < answers->list.count) {
		struct answer *answer = &answers->list.items[answers->next];

		if (answers->given < answer->repeat) {
			answers->given++;
			return answer->kind == ANSWER_RANDOM ? draw_answer(answer) : *answer;
		}
		answers->next++;
		answers->given = 0;
	}
	return (struct answer){ .kind = ANSWER_OK };
}

void answer_describe(const struct answer *answer, char *text, size_t size)
{
	switch (answer->kind) {
	case ANSWER_LATE:
		snprintf(text, size, "late %llu ms", answer->delay_ns / NS_PER_MS);
		break;
	case ANSWER_STATUS:
		snprintf(text, size, "status %" PRId64, answer->number);
		break;
	case ANSWER_RETRY_INFO:
		snprintf(text, size, "status %" PRId64 ", retry in %llu ms", answer->number,
			 answer->delay_ns / NS_PER_MS);
		break;
	case ANSWER_PARTIAL:
		snprintf(text, size, "partial %" PRId64, answer->number);
		break;
	default:
		snprintf(text, size, "%s",
			 answer->kind == ANSWER_HANG	? "hang" :
			 answer->kind == ANSWER_RESET	? "reset" :
			 answer->kind == ANSWER_GARBAGE ? "garbage" :
							  "ok");
	}
}

bool answer_is_taken(const struct answer *answer)
{
	/* Status 0 counts, even if the response is garbage. */
	return answer->kind == ANSWER_OK || answer->kind == ANSWER_LATE ||
	       answer->kind == ANSWER_PARTIAL || answer->kind == ANSWER_GARBAGE;
}

/* --- messages, innermost first --- */

static size_t put_varint(uint8_t *bytes, uint64_t value)
{
	size_t count = 0;

	while (value >= 0x80) {
		bytes[count++] = value | 0x80;
		value >>= 7;
	}
	bytes[count++] = value;
	return count;
}

static size_t put_number(uint8_t *bytes, unsigned int field, uint64_t value)
{
	size_t count = put_varint(bytes, field << 3);

	return value ? count + put_varint(bytes + count, value) : 0;
}

static size_t put_bytes(uint8_t *bytes, unsigned int field, const void *content, size_t length)
{
	size_t count = put_varint(bytes, field << 3 | 2);

	count += put_varint(bytes + count, length);
	memcpy(bytes + count, content, length);
	return count + length;
}

size_t answer_response(const struct answer *answer, uint8_t *bytes)
{
	uint8_t partial[ANSWER_MESSAGE_MAX_BYTES];
	size_t count;

	if (answer->kind == ANSWER_GARBAGE) {
		/* A length far beyond the end. */
		static const char garbage[] = "\x0a\xff\xff\xff\x7f no response";

		memcpy(bytes, garbage, sizeof(garbage));
		return sizeof(garbage);
	}
	if (answer->kind != ANSWER_PARTIAL)
		return 0;
	count = put_number(partial, 1, answer->number);
	if (*answer->text)
		count += put_bytes(partial + count, 2, answer->text, strlen(answer->text));
	return put_bytes(bytes, 1, partial, count);
}

size_t answer_status_details(const struct answer *answer, uint8_t *bytes)
{
	static const char type[] = "type.googleapis.com/google.rpc.RetryInfo";
	uint8_t duration[32], retry_info[64], any[160];
	size_t count, retry_count, any_count;

	if (answer->kind != ANSWER_RETRY_INFO)
		return 0;
	count = put_number(duration, 1, answer->delay_ns / NS_PER_SECOND);
	count += put_number(duration + count, 2, answer->delay_ns % NS_PER_SECOND);
	retry_count = put_bytes(retry_info, 1, duration, count);
	count = put_bytes(any, 1, type, strlen(type));
	any_count = count + put_bytes(any + count, 2, retry_info, retry_count);
	count = put_number(bytes, 1, answer->number);
	return count + put_bytes(bytes + count, 3, any, any_count);
}
