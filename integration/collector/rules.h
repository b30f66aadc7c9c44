/* SPDX-License-Identifier: Apache-2.0 */
/**
 * integration/collector/ is a gRPC server for OTLP profiles and metrics that trusts nothing: it checks an
 * agent's requests by every rule that some receiver insists on, and reports the broken ones. It
 * shares no code with reporter/, which it checks, and decodes messages by the wire format alone.
 *
 * This header has the table of the rules. Their numbers are their names in every output, so a
 * removed rule leaves a gap, and a new one is added at the end.
 */
#ifndef INTEGRATION_COLLECTOR_RULES_H
#define INTEGRATION_COLLECTOR_RULES_H

#include <stddef.h>
#include <stdint.h>

/** X(number, name, text) */
#define RULE_TABLE(X)                                                                              \
	/* the call */                                                                             \
	X(1, RULE_METHOD, "the method is ProfilesService/Export or MetricsService/Export")         \
	X(2, RULE_GZIP, "the request is compressed by gzip")                                       \
	X(3, RULE_REQUEST_BYTES, "a request has less than 3.5 MiB uncompressed")                   \
	X(4, RULE_RECEIVE_LIMIT, "a request fits the 4 MiB that collectors take by default")       \
	/* the wire format */                                                                      \
	X(5, RULE_WIRE, "the bytes are well-formed: nothing cut off, nothing left over")           \
	X(6, RULE_FIELDS, "only fields that OTLP 1.10 has are there")                              \
	X(7, RULE_TYPES, "a field has its wire type, and repeated numbers are packed")             \
	X(8, RULE_ONCE, "a field that is not repeated, and a packed one, stands there once")       \
	X(9, RULE_DEFAULTS, "a number of 0 and an empty text or list are not written")             \
	X(10, RULE_VARINTS, "a number is no longer than it must be, and fits its type")            \
	X(11, RULE_UTF8, "a string is valid UTF-8")                                                \
	/* the dictionary */                                                                       \
	X(12, RULE_TABLES, "all seven tables are there, with an element 0")                        \
	X(13, RULE_ZERO, "element 0 of a table is the zero value, ids of a link included")         \
	X(14, RULE_LINK_IDS, "another link has 16 and 8 bytes of ids, not all zero")               \
	X(15, RULE_DUPLICATES, "no two elements of a table are equal")                             \
	X(16, RULE_ORPHANS, "every element but 0 is used")                                         \
	X(17, RULE_RANGE, "an index lies inside its table")                                        \
	X(18, RULE_KEYS_ONCE, "no key stands twice among the attributes of one thing")             \
	X(19, RULE_LITERALS, "keys and values of resources are literal, not *_strindex")           \
	X(20, RULE_ATTRIBUTES, "an attribute has a key and a value")                               \
	X(21, RULE_HOTTEST_FIRST, "the elements with most references come first in a table")       \
	/* stacks and frames */                                                                    \
	X(22, RULE_STACKS, "a sample has a stack, and a stack has locations, none of them 0")      \
	X(23, RULE_FRAME_TYPE, "every location has one profile.frame.type, a string")              \
	X(24, RULE_KNOWN_FRAME_TYPE, "profile.frame.type is one of the known ones")                \
	X(25, RULE_ABORT_MARKER, "an abort-marker has no mapping, and says why and its number")    \
	X(26, RULE_NATIVE_MAPPING, "a native location has a mapping")                              \
	X(27, RULE_NAMED, "kernel ([kernel] apart) and interpreted locations have a function")     \
	X(28, RULE_FUNCTIONS, "a line has a function, and a function a name")                      \
	X(29, RULE_HTLHASH, "a file's mapping has build_id.htlhash, 32 lower-case hex digits")     \
	X(30, RULE_GNU_BUILD_ID, "build_id.gnu, where there is one, is lower-case hex digits")     \
	X(31, RULE_MAPPING_RANGE, "a mapping's limit lies above its start, locations between")     \
	X(32, RULE_MEMORY_START, "memory_start is the ELF address of file_offset: same in a page") \
	/* profiles */                                                                             \
	X(33, RULE_PRESENT, "resource and scope are there, the scope with a name")                 \
	X(34, RULE_EMPTY, "no request, resource, scope or profile is empty")                       \
	X(35, RULE_SERVICE_NAME, "every resource has service.name, a string that is not empty")    \
	X(36, RULE_ONE_OWNER, "no key stands both on a resource and on its samples")               \
	X(37, RULE_RESOURCES_ONCE, "no two resources of a request are equal")                      \
	X(38, RULE_PROFILE_ID, "profile_id has 16 bytes that are not all zero")                    \
	X(39, RULE_PROFILE_ID_ONCE, "a profile_id comes again only with the very same request")    \
	X(40, RULE_ON_CPU, "on-CPU: samples/count, period_type cpu/nanoseconds, period 1e9/Hz")    \
	X(41, RULE_OFF_CPU, "off-CPU: off_cpu/nanoseconds, empty period_type, no period")          \
	X(42, RULE_OTHER_EVENTS, "other events: a sample_type, a period_type and a period")        \
	X(43, RULE_VALUES, "on-CPU samples have times and no values; others as many as times")     \
	X(44, RULE_TIMES, "every time lies inside [time_unix_nano, + duration_nano]")              \
	X(45, RULE_INTERVAL, "the interval of a profile is set, and not in the future")            \
	X(46, RULE_SAMPLES_ONCE, "no two samples of a profile have the same stack and attributes") \
	/* metrics */                                                                              \
	X(47, RULE_METRIC_NAME, "a metric has a name as instruments have it, once in a request")   \
	X(48, RULE_METRIC_UNIT, "a metric has a unit of printable ASCII, and a description")       \
	X(49, RULE_METRIC_DATA, "a metric is a gauge or a sum, with points")                       \
	X(50, RULE_SUM, "a sum is cumulative, and its points start at or before their time")       \
	X(51, RULE_POINT, "a point has a finite number, and a time that is not in the future")     \
	X(52, RULE_POINTS_ONCE, "no two points of a metric have the same attributes")              \
	X(53, RULE_FALLS, "a monotonic sum is at least 0, and never falls without a new start")    \
	X(54, RULE_ORDER, "points of a series come in the order of their times")                   \
	X(55, RULE_KEEPS_KIND, "a metric keeps its kind and its unit")

enum rule {
	RULE_NONE,
#define RULE_NUMBER(number, name, text) name = (number),
	RULE_TABLE(RULE_NUMBER)
#undef RULE_NUMBER
		RULE_COUNT,
};

enum { RULE_EXAMPLE_BYTES = 200 };

/** How often each rule was broken, and an example of the first time. Initialize with zeros. */
struct findings {
	struct {
		uint64_t count;
		char example[RULE_EXAMPLE_BYTES];
	} rules[RULE_COUNT];
};

/** The rule's text; "" for unknown numbers. */
const char *rule_text(enum rule rule);

/** Counts a violation of @rule. The text says where it is; the first text is kept as example. */
void findings_add(struct findings *findings, enum rule rule, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** Adds the counts of @more, and its examples of rules that had none. */
void findings_merge(struct findings *findings, const struct findings *more);

/** Sum of all counts. */
uint64_t findings_count(const struct findings *findings);

#endif
