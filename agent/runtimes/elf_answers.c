/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/elf_answers.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "stackdeltas/delta_builder.h"

static int unsound(const char *name)
{
	return fail(-EBADMSG, "an answer about %s that is not sound", name);
}

/* --- identities --- */

static bool is_sound_segment(const struct elf_segment *segment)
{
	return segment->offset + segment->file_bytes >= segment->offset &&
	       segment->address + segment->file_bytes >= segment->address &&
	       segment->address + segment->memory_bytes >= segment->address;
}

int elf_identity_check(const struct elf_identity *identity, size_t size)
{
	const size_t head_bytes = offsetof(struct elf_identity, segments);

	if (size < head_bytes || identity->segment_count > ELF_MAX_SEGMENTS ||
	    size != head_bytes + identity->segment_count * sizeof(identity->segments[0]) ||
	    identity->build_id_bytes > BUILD_ID_MAX_BYTES ||
	    identity->fact_count > PROGRAM_FACTS_MAX ||
	    (identity->machine != EM_X86_64 && identity->machine != EM_AARCH64))
		return unsound("a file");
	for (uint32_t i = 0; i < identity->segment_count; i++)
		if (!is_sound_segment(&identity->segments[i]))
			return unsound("a file's segments");
	return 0;
}

/* The text of the languages' own with these bytes, since keys are not freed; NULL: there is none. */
static const char *fact_key(const char key[ELF_FACT_KEY_BYTES])
{
	static const char *const keys[] = {
		"process.executable.build_id.go", "process.runtime.name",
		"process.runtime.version",	  "allframes.go.module.path",
		"allframes.go.module.version",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strncmp(keys[i], key, ELF_FACT_KEY_BYTES))
			return keys[i];
	return NULL;
}

static void unpack_facts(const struct elf_identity *identity, struct program_facts *facts)
{
	*facts = (struct program_facts){ .languages = identity->languages };
	for (uint32_t i = 0; i < identity->fact_count; i++) {
		const struct elf_fact *packed = &identity->facts[i];
		const char *key = fact_key(packed->key);

		if (key && memchr(packed->text, '\0', sizeof(packed->text)))
			program_facts_add(facts, key, packed->text, packed->is_of_binary);
	}
}

int elf_identity_unpack(const struct elf_identity *identity, struct binary *binary,
			struct program_facts *facts, struct elf_image *segments)
{
	struct elf_segment *copy = calloc(identity->segment_count + 1, sizeof(*copy));

	if (!copy)
		return fail(-ENOMEM, "no memory for the segments of a file");
	memcpy(copy, identity->segments, identity->segment_count * sizeof(*copy));
	*segments = (struct elf_image){
		.fd = -1,
		.machine = (uint16_t)identity->machine,
		.size = identity->size,
		.segments = copy,
		.segment_count = identity->segment_count,
	};
	*binary = (struct binary){
		.fd = -1,
		.file_id = identity->file_id,
		.build_id_bytes = identity->build_id_bytes,
		.memory_start = identity->memory_start,
		.memory_limit = identity->memory_limit,
		.file_offset = identity->file_offset,
	};
	memcpy(binary->build_id, identity->build_id, sizeof(binary->build_id));
	if (identity->has_facts) {
		unpack_facts(identity, facts);
		binary->facts = facts;
	}
	return 0;
}

/* --- rows --- */

int elf_rows_prepare(const struct elf_answer *answer, bool has_checks, struct stack_deltas *deltas)
{
	struct stack_deltas made = {
		.text_start = answer->text_start,
		.page_count = answer->page_count,
		.row_count = answer->row_count,
		.rule_count = answer->rule_count,
	};

	if (!made.page_count || made.page_count > UNWIND_MAX_PAGES || !made.row_count ||
	    made.row_count > DELTA_BUILDER_MAX_ROWS || !made.rule_count ||
	    made.rule_count > UNWIND_MAX_RULES)
		return unsound("a file's rows");
	made.page_index = calloc((size_t)made.page_count + 1, sizeof(*made.page_index));
	made.rows = calloc(1, stack_deltas_row_bytes(made.row_count));
	made.rules = calloc(made.rule_count, sizeof(*made.rules));
	if (has_checks)
		made.checks = calloc(made.page_count, sizeof(*made.checks));
	if (!made.page_index || !made.rows || !made.rules || (has_checks && !made.checks)) {
		stack_deltas_deinit(&made);
		return fail(-ENOMEM, "no memory for the rows of a file");
	}
	*deltas = made;
	return 0;
}

/* --- runtimes --- */

int elf_runtime_check(const struct elf_runtime *found, uint32_t languages)
{
	uint64_t last = 0;

	if (found->language >= LANGUAGE_COUNT || !(languages & 1U << found->language) ||
	    found->range_count > LOOP_RANGES_MAX || found->data_bytes > sizeof(found->data) ||
	    found->data_bytes % CELL_BYTES || (found->attaches_at_once && !found->data_bytes) ||
	    !memchr(found->version, '\0', sizeof(found->version)))
		return unsound("a runtime");
	for (uint32_t i = 0; i < found->range_count; i++) {
		if (found->ranges[i].start < last || found->ranges[i].end < found->ranges[i].start)
			return unsound("a runtime's code");
		last = found->ranges[i].end;
	}
	return 0;
}

int elf_runtime_unpack(const struct elf_runtime *found, const struct language *language,
		       struct runtime_file **file)
{
	const size_t head_bytes = (sizeof(**file) + CELL_BYTES - 1) / CELL_BYTES * CELL_BYTES;
	struct runtime_file *made = calloc(1, head_bytes + found->data_bytes);

	if (!made)
		return fail(-ENOMEM, "no memory for a runtime");
	*made = (struct runtime_file){
		.language = language,
		.range_count = found->range_count,
		.steps_without_rules = found->steps_without_rules,
		.attaches_at_once = found->attaches_at_once,
		.with_signatures = found->with_signatures,
		.is_copy = true,
		.data_bytes = found->data_bytes,
		.data = (char *)made + head_bytes,
	};
	memcpy(made->version, found->version, sizeof(made->version));
	memcpy(made->ranges, found->ranges, sizeof(made->ranges));
	memcpy((char *)made + head_bytes, found->data, found->data_bytes);
	*file = made;
	return 0;
}
