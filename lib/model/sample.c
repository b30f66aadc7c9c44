/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/sample.h"

#include <stddef.h>
#include <string.h>

const struct sample_attribute sample_attributes[SAMPLE_ATTRIBUTE_COUNT] = {
#define X(NAME, field, kind, owner, unknown, otlp, pprof, selector)                                \
	{ offsetof(struct sample, field),                                                          \
	  ATTRIBUTE_##kind,                                                                        \
	  ATTRIBUTE_OF_##owner,                                                                    \
	  unknown,                                                                                 \
	  otlp,                                                                                    \
	  pprof,                                                                                   \
	  selector },
	SAMPLE_ATTRIBUTES(X)
#undef X
};

bool label_sets_equal(const struct label_set *a, const struct label_set *b)
{
	if (!a || !b)
		return a == b;
	return a->text_bytes == b->text_bytes && !memcmp(a, b, label_set_bytes(a));
}

bool sample_equal(const struct sample *a, const struct sample *b)
{
#define AND_EQUAL_TEXT(field) &&!strcmp(a->field, b->field)
#define AND_EQUAL_NUMBER(field) &&a->field == b->field
#define X(NAME, field, kind, ...) AND_EQUAL_##kind(field)
	return traces_equal(a->trace, b->trace) && process_info_equal(a->process, b->process) &&
	       label_sets_equal(a->labels, b->labels) &&
	       a->origin == b->origin SAMPLE_ATTRIBUTES(X);
#undef AND_EQUAL_TEXT
#undef AND_EQUAL_NUMBER
#undef X
}

uint64_t sample_hash(const struct sample *sample)
{
#define HASH_TEXT(field) hash64_bytes(sample->field, strlen(sample->field)),
#define HASH_NUMBER(field) sample->field,
#define X(NAME, field, kind, ...) HASH_##kind(field)
	const uint64_t hashes[] = {
		sample->trace->hash.high,
		sample->trace->hash.low,
		sample->trace->executables_hash,
		sample->process ? sample->process->hash + sample->process->pid : 0,
		sample->labels ? hash64_bytes(sample->labels, label_set_bytes(sample->labels)) : 0,
		SAMPLE_ATTRIBUTES(X) sample->origin,
	};
#undef HASH_TEXT
#undef HASH_NUMBER
#undef X

	return hash64_bytes(hashes, sizeof(hashes));
}
