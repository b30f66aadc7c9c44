/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/sample.h"

#include <string.h>

bool label_sets_equal(const struct label_set *a, const struct label_set *b)
{
	if (!a || !b)
		return a == b;
	return a->text_bytes == b->text_bytes && !memcmp(a, b, label_set_bytes(a));
}

bool sample_equal(const struct sample *a, const struct sample *b)
{
	bool is_equal = traces_equal(a->trace, b->trace) &&
			process_info_equal(a->process, b->process) &&
			label_sets_equal(a->labels, b->labels);

#define COMPARE_NUMBER(field) is_equal = is_equal && a->field == b->field;
#define COMPARE_TEXT(field) is_equal = is_equal && !strcmp(a->field, b->field);
	SAMPLE_NUMBERS(COMPARE_NUMBER)
	SAMPLE_TEXTS(COMPARE_TEXT)
#undef COMPARE_NUMBER
#undef COMPARE_TEXT
	return is_equal;
}

uint64_t sample_hash(const struct sample *sample)
{
#define TEXT_HASH(field) hash64_bytes(sample->field, strlen(sample->field)),
#define NUMBER_HASH(field) sample->field,
	const uint64_t hashes[] = {
		sample->trace->hash.high,
		sample->trace->hash.low,
		sample->trace->executables_hash,
		sample->process ? sample->process->hash + sample->process->pid : 0,
		sample->labels ? hash64_bytes(sample->labels, label_set_bytes(sample->labels)) : 0,
		SAMPLE_TEXTS(TEXT_HASH) SAMPLE_NUMBERS(NUMBER_HASH)
	};
#undef TEXT_HASH
#undef NUMBER_HASH

	return hash64_bytes(hashes, sizeof(hashes));
}
