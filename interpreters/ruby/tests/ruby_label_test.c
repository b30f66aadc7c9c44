/* SPDX-License-Identifier: Apache-2.0 */
/* Nested sequences of Ruby 3.4 that are made here; the expected names come from caller_locations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "ebpf/abi/ruby.h"
#include "interpreters/ruby/ruby_label.h"

enum {
	SEQUENCES = 0x1000,
	BODIES = 0x2000,
	LABELS = 0x6000,
	END = 0x8000,
	STEP = 0x20,
	BODY_STEP = 0x100,
	STRING = 5,
	/** enum rb_iseq_type */
	TOP = 0,
	METHOD = 1,
	BLOCK = 2,
	CLASS = 3,
	RESCUE = 4,
	ENSURE = 5,
	EVAL = 6,
	NOBODY = -1,
};

struct fake {
	struct remote_memory memory;
	uint8_t bytes[END];
	const struct ruby_layout *layout;
	struct ruby_owner owner;
};

static void put(struct fake *fake, uint64_t address, uint64_t word)
{
	memcpy(fake->bytes + address, &word, sizeof(word));
}

static int read_fake(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct fake *fake = (struct fake *)memory;

	if (address >= END || bytes > END - address)
		return -EFAULT;
	memcpy(buffer, fake->bytes + address, bytes);
	return 0;
}

/* Writes the sequence @number with the parent @parent and the local sequence @local. */
static void put_sequence(struct fake *fake, int number, int type, int parent, int local,
			 const char *label)
{
	uint64_t address = SEQUENCES + STEP * (uint64_t)number;
	uint64_t body = BODIES + BODY_STEP * (uint64_t)number;
	uint64_t text = LABELS + 2 * STEP * (uint64_t)number;

	put(fake, address, RUBY_IMEMO_SEQUENCE);
	put(fake, address + fake->layout->sequence_body, body);
	put(fake, body, (uint64_t)type);
	put(fake, body + fake->layout->body_label, text);
	put(fake, body + fake->layout->body_parent,
	    parent == NOBODY ? 0 : SEQUENCES + STEP * (uint64_t)parent);
	put(fake, body + fake->layout->body_local, SEQUENCES + STEP * (uint64_t)local);
	put(fake, text, STRING);
	put(fake, text + 16, strlen(label));
	memcpy(fake->bytes + text + 24, label, strlen(label));
}

static int set_up(void **state)
{
	static const struct remote_memory_ops ops = { .read = read_fake };
	static struct fake fake;

	memset(&fake, 0, sizeof(fake));
	fake.memory.ops = &ops;
	fake.layout = ruby_layout_of(RUBY_VERSION(3, 4));
	strcpy(fake.owner.path, "A::B");
	fake.owner.length = 4;
	fake.owner.separator = '#';
	*state = &fake;
	return 0;
}

static int read_label(struct fake *fake, int number, ruby_text label)
{
	size_t length = 0;
	int err = ruby_label_read(&fake->memory, fake->layout, SEQUENCES + STEP * (uint64_t)number,
				  &fake->owner, label, &length);

	if (!err)
		assert_int_equal(length, strlen(label));
	return err;
}

static void a_label_has_the_owner_before_the_name_of_the_method(void **state)
{
	static const char *const expected[] = {
		"A::B#foo",
		"block in A::B#foo",
		"block (2 levels) in A::B#foo",
		"block (2 levels) in A::B#foo",
		"A::B#foo",
		"A::B#foo",
		"block in A::B#foo",
		"block (2 levels) in A::B#foo",
	};
	struct fake *fake = *state;
	ruby_text label;

	put_sequence(fake, 0, METHOD, NOBODY, 0, "foo");
	put_sequence(fake, 1, BLOCK, 0, 0, "block in foo");
	put_sequence(fake, 2, BLOCK, 1, 0, "block (2 levels) in foo");
	put_sequence(fake, 3, RESCUE, 2, 0, "rescue in block (2 levels) in foo");
	put_sequence(fake, 4, ENSURE, 0, 0, "ensure in foo");
	/* Text that is evaluated in the ensure, and blocks in that text. */
	put_sequence(fake, 5, EVAL, 4, 0, "<compiled>");
	put_sequence(fake, 6, BLOCK, 5, 0, "block in <compiled>");
	put_sequence(fake, 7, BLOCK, 6, 0, "block (2 levels) in <compiled>");
	for (int i = 0; i < 8; i++) {
		assert_int_equal(read_label(fake, i, label), 0);
		assert_string_equal(label, expected[i]);
	}
}

static void what_is_no_method_has_no_owner(void **state)
{
	struct fake *fake = *state;
	ruby_text label;

	put_sequence(fake, 0, TOP, NOBODY, 0, "<main>");
	put_sequence(fake, 1, BLOCK, 0, 0, "block in <main>");
	put_sequence(fake, 2, CLASS, 0, 2, "<class:X>");
	put_sequence(fake, 3, BLOCK, 2, 2, "block in <class:X>");
	assert_int_equal(read_label(fake, 0, label), 0);
	assert_string_equal(label, "<main>");
	assert_int_equal(read_label(fake, 1, label), 0);
	assert_string_equal(label, "block in <main>");
	assert_int_equal(read_label(fake, 3, label), 0);
	assert_string_equal(label, "block in <class:X>");
}

static void sequences_that_do_not_belong_together_are_refused(void **state)
{
	struct fake *fake = *state;
	ruby_text label;

	/* The parent was replaced by a sequence of another method. */
	put_sequence(fake, 0, METHOD, NOBODY, 0, "foo");
	put_sequence(fake, 1, BLOCK, 2, 0, "block in foo");
	put_sequence(fake, 2, BLOCK, 0, 3, "block in bar");
	assert_int_equal(read_label(fake, 1, label), -EBADMSG);
	/* Two sequences that are each other's parent. */
	put_sequence(fake, 1, BLOCK, 2, 0, "block in foo");
	put_sequence(fake, 2, BLOCK, 1, 0, "block in foo");
	assert_int_equal(read_label(fake, 1, label), -EBADMSG);
	put_sequence(fake, 2, RESCUE, 2, 0, "rescue in foo");
	assert_int_equal(read_label(fake, 2, label), -EBADMSG);
	put(fake, SEQUENCES, RUBY_IMEMO_METHOD);
	assert_int_equal(read_label(fake, 0, label), -EBADMSG);
	put_sequence(fake, 1, BLOCK, END, 0, "block in foo");
	assert_int_equal(read_label(fake, 1, label), -EFAULT);
}

static void a_name_that_would_be_too_long_stays(void **state)
{
	size_t length = FRAME_NAME_MAX_BYTES - 5;
	struct fake *fake = *state;
	static ruby_text name;

	memset(name, 'x', length);
	ruby_owner_add(&fake->owner, name, &length);
	assert_int_equal(length, FRAME_NAME_MAX_BYTES);
	assert_memory_equal(name, "A::B#x", 6);
	assert_int_equal(strlen(name), length);
	ruby_owner_add(&fake->owner, name, &length);
	assert_int_equal(strlen(name), FRAME_NAME_MAX_BYTES);
	assert_memory_equal(name, "A::B#x", 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_label_has_the_owner_before_the_name_of_the_method, set_up),
		cmocka_unit_test_setup(what_is_no_method_has_no_owner, set_up),
		cmocka_unit_test_setup(sequences_that_do_not_belong_together_are_refused, set_up),
		cmocka_unit_test_setup(a_name_that_would_be_too_long_stays, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
