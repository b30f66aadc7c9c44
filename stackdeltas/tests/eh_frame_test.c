/* SPDX-License-Identifier: Apache-2.0 */
/* Entries, CIEs and FDEs written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "stackdeltas/eh_frame.h"
#include "stackdeltas/tests/eh_frame_bytes.h"

static struct eh_frame frame_of(const struct eh_frame_bytes *bytes)
{
	return (struct eh_frame){
		.bytes = bytes->bytes,
		.size = bytes->size,
		.address = SECTION_ADDRESS,
	};
}

static int read_first_cie(const struct eh_frame_bytes *bytes, struct cie *cie)
{
	struct eh_frame frame = frame_of(bytes);
	struct eh_frame_entry entry;

	assert_int_equal(eh_frame_entry_at(&frame, 0, &entry), 1);
	assert_true(entry.is_cie);
	return eh_frame_read_cie(&frame, &entry, cie);
}

static void entries_follow_each_other_over_terminators(void **state)
{
	struct eh_frame_bytes bytes = { .size = 0 };
	struct eh_frame frame;
	struct eh_frame_entry entry;
	struct cie cie;
	struct fde fde;
	size_t offset = 0;

	(void)state;
	put_x86_cie(&bytes);
	PUT_FDE(&bytes, TEXT_ADDRESS, 32, DW_CFA_nop);
	put_u32(&bytes, 0);
	PUT_FDE(&bytes, TEXT_ADDRESS + 64, 16, DW_CFA_nop);
	put_u32(&bytes, 0);
	frame = frame_of(&bytes);

	assert_int_equal(eh_frame_next(&frame, &offset, &entry), 1);
	assert_true(entry.is_cie);
	assert_int_equal(eh_frame_read_cie(&frame, &entry, &cie), 0);
	assert_int_equal(cie.code_alignment, 1);
	assert_int_equal(cie.data_alignment, -8);
	assert_int_equal(cie.return_address_register, DWARF_X86_RIP);
	assert_int_equal(cie.pointer_encoding, 0x1b);
	assert_false(cie.is_signal_frame);

	assert_int_equal(eh_frame_next(&frame, &offset, &entry), 1);
	assert_false(entry.is_cie);
	assert_int_equal(entry.cie_offset, 0);
	assert_int_equal(eh_frame_read_fde(&frame, &entry, &cie, &fde), 0);
	assert_int_equal(fde.start, TEXT_ADDRESS);
	assert_int_equal(fde.length, 32);

	assert_int_equal(eh_frame_next(&frame, &offset, &entry), 1);
	assert_int_equal(entry.cie_offset, 0);
	assert_int_equal(eh_frame_read_fde(&frame, &entry, &cie, &fde), 0);
	assert_int_equal(fde.start, TEXT_ADDRESS + 64);
	assert_int_equal(eh_frame_next(&frame, &offset, &entry), 0);
	assert_int_equal(offset, bytes.size);
}

static void lengths_of_64_bits_keep_the_cie_pointer_at_4_bytes(void **state)
{
	struct eh_frame_bytes bytes = { .size = 0 };
	struct eh_frame frame;
	struct eh_frame_entry entry;

	(void)state;
	put_u32(&bytes, 0xffffffff);
	put_u32(&bytes, 20);
	put_u32(&bytes, 0);
	put_u32(&bytes, 0x1234);
	bytes.size += 16;
	frame = frame_of(&bytes);
	assert_int_equal(eh_frame_entry_at(&frame, 0, &entry), 1);
	assert_int_equal(entry.content, 16);
	assert_int_equal(entry.end, 32);
	assert_false(entry.is_cie);
	assert_int_equal(entry.cie_offset, (size_t)12 - 0x1234);
}

static void entries_longer_than_the_section_are_malformed(void **state)
{
	const uint64_t huge = 1ULL << 63;
	struct eh_frame_bytes bytes = { .size = 0 };
	struct eh_frame frame;
	struct eh_frame_entry entry;
	size_t offset = 0;

	(void)state;
	put_u32(&bytes, 0xffffffff);
	put(&bytes, &huge, sizeof(huge));
	bytes.size += 16;
	frame = frame_of(&bytes);
	assert_int_equal(eh_frame_next(&frame, &offset, &entry), -EBADMSG);
	memcpy(bytes.bytes, (const uint8_t[]){ 0xf1, 0xff, 0xff, 0xff }, 4);
	assert_int_equal(eh_frame_next(&frame, &offset, &entry), -EBADMSG);
	memcpy(bytes.bytes, (const uint8_t[]){ 25, 0, 0, 0 }, 4);
	assert_int_equal(eh_frame_next(&frame, &offset, &entry), -EBADMSG);
	memcpy(bytes.bytes, (const uint8_t[]){ 24, 0, 0, 0 }, 4);
	assert_int_equal(eh_frame_next(&frame, &offset, &entry), 1);
	offset = 0;
	memcpy(bytes.bytes, (const uint8_t[]){ 3, 0, 0, 0 }, 4);
	assert_int_equal(eh_frame_next(&frame, &offset, &entry), -EBADMSG);
	frame.size = 2;
	assert_int_equal(eh_frame_next(&frame, &offset, &entry), -EBADMSG);
}

static void every_augmentation_letter_in_use_is_read(void **state)
{
	struct eh_frame_bytes bytes = { .size = 0 };
	struct cie cie;

	(void)state;
	begin_cie(&bytes, "zPLRSBG", DWARF_X86_RIP);
	/* personality: indirect pcrel sdata4; LSDA pcrel sdata4; FDE absolute udata8 */
	PUT(&bytes, 7, 0x9b, 1, 2, 3, 4, 0x1b, 0x04, DW_CFA_nop);
	end_entry(&bytes);
	assert_int_equal(read_first_cie(&bytes, &cie), 0);
	assert_int_equal(cie.pointer_encoding, 0x04);
	assert_true(cie.is_signal_frame);
	assert_int_equal(bytes.bytes[cie.instructions], DW_CFA_nop);
	assert_int_equal(cie.instructions_end, bytes.size);
}

static void an_absent_personality_takes_no_bytes(void **state)
{
	struct eh_frame_bytes bytes = { .size = 0 };
	struct cie cie;

	(void)state;
	begin_cie(&bytes, "zPR", DWARF_X86_RIP);
	PUT(&bytes, 2, 0xff, 0x1b);
	end_entry(&bytes);
	assert_int_equal(read_first_cie(&bytes, &cie), 0);
	assert_int_equal(cie.pointer_encoding, 0x1b);
}

static void unknown_letters_versions_and_encodings_are_refused(void **state)
{
	static const struct {
		const char *letters;
		uint8_t version;
		uint8_t encoding;
		int error;
	} cases[] = {
		{ "zR", 1, 0x1b, 0 },		{ "zR", 3, 0x1b, 0 },
		{ "zR", 2, 0x1b, -EOPNOTSUPP }, { "zR", 5, 0x1b, -EOPNOTSUPP },
		{ "zX", 1, 0x1b, -EOPNOTSUPP }, { "eh", 1, 0x1b, -EOPNOTSUPP },
		{ "zR", 1, 0x9b, -EOPNOTSUPP }, { "zR", 1, 0x50, -EOPNOTSUPP },
		{ "zR", 1, 0x0f, -EOPNOTSUPP },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct eh_frame_bytes bytes = { .size = 0 };
		struct cie cie;

		begin_cie(&bytes, cases[i].letters, DWARF_X86_RIP);
		bytes.bytes[8] = cases[i].version;
		PUT(&bytes, 1, cases[i].encoding, DW_CFA_nop);
		end_entry(&bytes);
		assert_int_equal(read_first_cie(&bytes, &cie), cases[i].error);
	}
}

static void augmentation_data_beyond_its_length_is_malformed(void **state)
{
	struct eh_frame_bytes bytes = { .size = 0 };
	struct cie cie;

	(void)state;
	begin_cie(&bytes, "zR", DWARF_X86_RIP);
	PUT(&bytes, 0, 0x1b);
	end_entry(&bytes);
	assert_int_equal(read_first_cie(&bytes, &cie), -EBADMSG);
	bytes.size = 0;
	begin_cie(&bytes, "zR", DWARF_X86_RIP);
	PUT(&bytes, 0x70, 0x1b);
	end_entry(&bytes);
	assert_int_equal(read_first_cie(&bytes, &cie), -EBADMSG);
}

static void functions_that_wrap_around_are_malformed(void **state)
{
	struct eh_frame_bytes bytes = { .size = 0 };
	const uint64_t start = UINT64_MAX - 15, length = 32;
	struct eh_frame frame;
	struct eh_frame_entry entry;
	struct cie cie;
	struct fde fde;
	size_t offset = 0;

	(void)state;
	begin_cie(&bytes, "", DWARF_X86_RIP);
	end_entry(&bytes);
	bytes.entry = bytes.size;
	put_u32(&bytes, 0);
	put_u32(&bytes, bytes.size);
	put(&bytes, &start, sizeof(start));
	put(&bytes, &length, sizeof(length));
	end_entry(&bytes);
	frame = frame_of(&bytes);
	assert_int_equal(eh_frame_next(&frame, &offset, &entry), 1);
	assert_int_equal(eh_frame_read_cie(&frame, &entry, &cie), 0);
	assert_int_equal(eh_frame_next(&frame, &offset, &entry), 1);
	assert_int_equal(eh_frame_read_fde(&frame, &entry, &cie, &fde), -EBADMSG);
}

/* An entry of .debug_frame with @id, whose length and id are 8 bytes wide if @is_wide. */
static void begin_debug_entry(struct eh_frame_bytes *out, bool is_wide, uint64_t id)
{
	out->entry = out->size;
	if (is_wide)
		put_u32(out, 0xffffffff);
	put(out, &(uint64_t){ 0 }, is_wide ? 8 : 4);
	put(out, &id, is_wide ? 8 : 4);
}

static void end_debug_entry(struct eh_frame_bytes *out, bool is_wide)
{
	size_t head = is_wide ? 12 : 4;
	uint64_t length = out->size - out->entry - head;

	memcpy(out->bytes + out->entry + head - (is_wide ? 8 : 4), &length, is_wide ? 8 : 4);
}

static void debug_frame_finds_cies_by_offset_in_both_widths(void **state)
{
	const uint64_t range[] = { 0x401000, 0x20 };

	(void)state;
	for (int is_wide = 0; is_wide <= 1; is_wide++) {
		struct eh_frame_bytes bytes = { .size = 0 };
		struct eh_frame frame;
		struct eh_frame_entry entry;
		size_t offset = 0, cie_offset;
		struct cie cie;
		struct fde fde;

		/* An FDE of length 0 before it moves the CIE away from offset 0. */
		put_u32(&bytes, 0);
		cie_offset = bytes.size;
		begin_debug_entry(&bytes, is_wide, UINT64_MAX);
		PUT(&bytes, 4, 0, 8, 0, 1, 0x78, 16, DW_CFA_def_cfa, 7, 8);
		end_debug_entry(&bytes, is_wide);
		begin_debug_entry(&bytes, is_wide, cie_offset);
		put(&bytes, range, sizeof(range));
		PUT(&bytes, DW_CFA_nop, DW_CFA_nop);
		end_debug_entry(&bytes, is_wide);
		frame = frame_of(&bytes);
		frame.is_debug_frame = true;
		assert_int_equal(eh_frame_next(&frame, &offset, &entry), 1);
		assert_true(entry.is_cie);
		assert_int_equal(entry.offset, cie_offset);
		assert_int_equal(eh_frame_read_cie(&frame, &entry, &cie), 0);
		assert_int_equal(cie.return_address_register, 16);
		assert_int_equal(cie.data_alignment, -8);
		assert_int_equal(cie.instructions_end - cie.instructions, 3);
		assert_int_equal(eh_frame_next(&frame, &offset, &entry), 1);
		assert_false(entry.is_cie);
		assert_int_equal(entry.cie_offset, cie_offset);
		assert_int_equal(eh_frame_read_fde(&frame, &entry, &cie, &fde), 0);
		assert_int_equal(fde.start, range[0]);
		assert_int_equal(fde.length, range[1]);
		assert_int_equal(fde.instructions_end - fde.instructions, 2);
		assert_int_equal(eh_frame_next(&frame, &offset, &entry), 0);
	}
}

static void letters_without_data_need_no_z(void **state)
{
	static const struct {
		const char *letters;
		int error;
	} cases[] = {
		{ "S", 0 }, { "B", 0 }, { "SG", 0 }, { "eh", -EOPNOTSUPP }, { "R", -EOPNOTSUPP }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct eh_frame_bytes bytes = { .size = 0 };
		struct eh_frame frame;
		struct eh_frame_entry entry;
		size_t offset = 0;
		struct cie cie;

		begin_debug_entry(&bytes, false, UINT64_MAX);
		put_u8(&bytes, 1);
		put(&bytes, cases[i].letters, strlen(cases[i].letters) + 1);
		PUT(&bytes, 1, 0x78, 16, DW_CFA_nop);
		end_debug_entry(&bytes, false);
		frame = frame_of(&bytes);
		frame.is_debug_frame = true;
		assert_int_equal(eh_frame_next(&frame, &offset, &entry), 1);
		assert_int_equal(eh_frame_read_cie(&frame, &entry, &cie), cases[i].error);
		if (!cases[i].error)
			assert_int_equal(cie.is_signal_frame, cases[i].letters[0] == 'S');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_follow_each_other_over_terminators),
		cmocka_unit_test(lengths_of_64_bits_keep_the_cie_pointer_at_4_bytes),
		cmocka_unit_test(entries_longer_than_the_section_are_malformed),
		cmocka_unit_test(every_augmentation_letter_in_use_is_read),
		cmocka_unit_test(an_absent_personality_takes_no_bytes),
		cmocka_unit_test(unknown_letters_versions_and_encodings_are_refused),
		cmocka_unit_test(augmentation_data_beyond_its_length_is_malformed),
		cmocka_unit_test(functions_that_wrap_around_are_malformed),
		cmocka_unit_test(debug_frame_finds_cies_by_offset_in_both_widths),
		cmocka_unit_test(letters_without_data_need_no_z),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
