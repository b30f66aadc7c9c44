/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/message_socket.h"

static int pair[2];

static int set_up(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int tear_down(void **state)
{
	(void)state;
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static void descriptors_come_with_a_packet_and_are_closed_if_nobody_takes_them(void **state)
{
	struct message_fds fds = { 0 };
	int sent[2] = { open("/dev/null", O_RDONLY | O_CLOEXEC), STDERR_FILENO };
	char bytes[8];
	int kept, dropped;

	(void)state;
	assert_int_equal(message_send(pair[0], "text", 5, sent, 2), 0);
	close(sent[0]);
	assert_int_equal(message_receive(pair[1], bytes, sizeof(bytes), &fds), 5);
	assert_string_equal(bytes, "text");
	assert_int_equal(fds.count, 2);
	kept = fds.fds[0];
	dropped = fds.fds[1];
	fds.fds[0] = -1;
	message_fds_deinit(&fds);
	assert_int_equal(fcntl(dropped, F_GETFD), -1);
	assert_int_equal(fcntl(kept, F_GETFD), FD_CLOEXEC);
	close(kept);
}

static void descriptors_that_nobody_expects_are_an_error(void **state)
{
	char bytes[8];
	int fd = STDERR_FILENO;

	(void)state;
	assert_int_equal(message_send(pair[0], "text", 5, &fd, 1), 0);
	assert_int_equal(message_receive(pair[1], bytes, sizeof(bytes), NULL), -EBADMSG);
}

static void a_packet_that_is_too_long_is_an_error(void **state)
{
	char bytes[4];

	(void)state;
	assert_int_equal(message_send(pair[0], "text", 5, NULL, 0), 0);
	assert_int_equal(message_receive(pair[1], bytes, sizeof(bytes), NULL), -EBADMSG);
}

static void the_end_of_the_other_side_is_told(void **state)
{
	char bytes[4];

	(void)state;
	shutdown(pair[1], SHUT_RDWR);
	assert_int_equal(message_receive(pair[0], bytes, sizeof(bytes), NULL), -EPIPE);
	assert_int_equal(message_send(pair[0], "text", 5, NULL, 0), -EPIPE);
}

static void many_bytes_come_in_several_packets(void **state)
{
	size_t size = 3 * MESSAGE_MAX_BYTES + 100;
	char *sent = malloc(size), *received = malloc(size);

	(void)state;
	for (size_t i = 0; i < size; i++)
		sent[i] = (char)(i * 31);
	assert_int_equal(message_send_all(pair[0], sent, size), 0);
	assert_int_equal(message_receive_all(pair[1], received, size), 0);
	assert_memory_equal(sent, received, size);
	assert_int_equal(message_send_all(pair[0], sent, 0), 0);
	assert_int_equal(message_receive_all(pair[1], received, 0), 0);
	free(sent);
	free(received);
}

static void trying_to_send_never_waits(void **state)
{
	int err = 0, count = 0;

	(void)state;
	while (!err && count++ < 100000)
		err = message_try_send(pair[0], "text", 5, NULL, 0);
	assert_int_equal(err, -EAGAIN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(descriptors_come_with_a_packet_and_are_closed_if_nobody_takes_them),
		TEST(descriptors_that_nobody_expects_are_an_error),
		TEST(a_packet_that_is_too_long_is_an_error),
		TEST(the_end_of_the_other_side_is_told),
		TEST(many_bytes_come_in_several_packets),
		TEST(trying_to_send_never_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
