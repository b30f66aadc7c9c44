/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/java/tests/made_code.h"

enum {
	METHOD_AT = 0xd000,
	CONST_METHOD_AT = 0xd040,
	CONSTANTS_AT = 0xd100,
	KLASS_AT = 0xd200,
	SYMBOLS_AT = 0xd300,
	NAME_INDEX = 3,
	SIGNATURE_INDEX = 4,
	CONSTANT_COUNT = 5,
};

static struct made_vm vm;
static uint32_t symbols_end;

static uint64_t make_symbol(const char *text)
{
	uint64_t address = MADE_VM_BASE + symbols_end;

	made_vm_put(&vm, symbols_end + 4, strlen(text), 2);
	memcpy(vm.bytes + symbols_end + 6, text, strlen(text));
	symbols_end += 6 + (uint32_t)strlen(text);
	return address;
}

static void make_method(const char *class_name, const char *name, const char *signature)
{
	made_code_init(&vm);
	symbols_end = SYMBOLS_AT;
	made_vm_put(&vm, METHOD_AT + 8, MADE_VM_BASE + CONST_METHOD_AT, 8);
	made_vm_put(&vm, CONST_METHOD_AT + 8, MADE_VM_BASE + CONSTANTS_AT, 8);
	made_vm_put(&vm, CONST_METHOD_AT + 18, NAME_INDEX, 2);
	made_vm_put(&vm, CONST_METHOD_AT + 20, SIGNATURE_INDEX, 2);
	made_vm_put(&vm, CONSTANTS_AT + 8, MADE_VM_BASE + KLASS_AT, 8);
	made_vm_put(&vm, CONSTANTS_AT + 16, CONSTANT_COUNT, 4);
	made_vm_put(&vm, CONSTANTS_AT + 24 + 8 * NAME_INDEX, make_symbol(name), 8);
	made_vm_put(&vm, CONSTANTS_AT + 24 + 8 * SIGNATURE_INDEX, make_symbol(signature), 8);
	made_vm_put(&vm, KLASS_AT + 16, make_symbol(class_name), 8);
}

static int read_name(bool has_signature, java_text text)
{
	const struct java_layout layout = made_code_layout();

	return java_method_name(&layout, &vm.memory, MADE_VM_BASE + METHOD_AT, has_signature, text);
}

static void check_class(const char *class_name, const char *expected)
{
	java_text text;

	make_method(class_name, "f", "()V");
	assert_int_equal(read_name(false, text), 0);
	assert_string_equal(text, expected);
}

static void names_are_as_stack_traces_have_them(void **state)
{
	java_text text;

	(void)state;
	make_method("java/util/HashMap$Node", "put", "(ILjava/lang/String;)V");
	assert_int_equal(read_name(false, text), 0);
	assert_string_equal(text, "java.util.HashMap$Node.put");
	assert_int_equal(read_name(true, text), 0);
	assert_string_equal(text, "java.util.HashMap$Node.put(ILjava/lang/String;)V");
}

static void addresses_are_cut_off_names_of_hidden_classes(void **state)
{
	(void)state;
	check_class("a/B$$Lambda+0x00007f3c2c000a00", "a.B$$Lambda.f");
	check_class("a/B$$Lambda$17+0x800000025", "a.B$$Lambda$17.f");
	/* Names that only look like those of hidden classes. */
	check_class("a/B+0x", "a.B+0x.f");
	check_class("a/B+0x12g", "a.B+0x12g.f");
	check_class("a/B0x12", "a.B0x12.f");
	check_class("+0x12", "+0x12.f");
	check_class("abc", "abc.f");
	check_class("", ".f");
}

static void check_decoded(const char *bytes, const char *expected)
{
	char text[32] = { 0 };

	assert_int_equal(java_decode_text((const uint8_t *)bytes, strlen(bytes), text,
					  sizeof(text) - 1),
			 strlen(expected));
	assert_string_equal(text, expected);
}

static void modified_utf8_becomes_utf8(void **state)
{
	(void)state;
	check_decoded("gr\xc3\xb6\xc3\x9f\x65", "gr\xc3\xb6\xc3\x9f\x65");
	check_decoded("\xe2\x82\xac", "\xe2\x82\xac");
	/* U+1F600 as two surrogates of three bytes. */
	check_decoded("\xed\xa0\xbd\xed\xb8\x80", "\xf0\x9f\x98\x80");
	/* A NUL as two bytes, which no name may have. */
	check_decoded("a\xc0\x80z", "a\xef\xbf\xbdz");
	/* Single surrogates, UTF-8 of four bytes, and parts of characters. */
	check_decoded("\xed\xa0\xbdx", "\xef\xbf\xbdx");
	check_decoded("\xed\xb8\x80x", "\xef\xbf\xbdx");
	check_decoded("\x80\xff", "\xef\xbf\xbd\xef\xbf\xbd");
	check_decoded("\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd");
}

static void long_names_are_cut_between_characters(void **state)
{
	char text[8] = "xxxxxxx";
	static char name[FRAME_NAME_MAX_BYTES + 100];
	java_text cut;

	(void)state;
	assert_int_equal(java_decode_text((const uint8_t *)"ab\xe2\x82\xac", 5, text, 4), 2);
	assert_string_equal(text, "abxxxxx");
	memset(name, 'n', sizeof(name) - 1);
	make_method("C", name, "()V");
	assert_int_equal(read_name(true, cut), 0);
	assert_int_equal(strlen(cut), FRAME_NAME_MAX_BYTES);
}

static void constants_that_are_not_there_are_refused(void **state)
{
	java_text text;

	(void)state;
	make_method("C", "f", "()V");
	made_vm_put(&vm, CONST_METHOD_AT + 18, CONSTANT_COUNT, 2);
	assert_int_equal(read_name(false, text), -EBADMSG);
	made_vm_put(&vm, CONST_METHOD_AT + 18, 0, 2);
	assert_int_equal(read_name(false, text), -EBADMSG);
	make_method("C", "f", "()V");
	made_vm_put(&vm, KLASS_AT + 16, 8, 8);
	assert_int_equal(read_name(false, text), -EFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_as_stack_traces_have_them),
		cmocka_unit_test(addresses_are_cut_off_names_of_hidden_classes),
		cmocka_unit_test(modified_utf8_becomes_utf8),
		cmocka_unit_test(long_names_are_cut_between_characters),
		cmocka_unit_test(constants_that_are_not_there_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
