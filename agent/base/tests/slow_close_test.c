/* SPDX-License-Identifier: Apache-2.0 */
/* A socket with unsent bytes that lingers stands for a file whose server does not answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/binary.h"
#include "agent/base/slow_close.h"

static int listener = -1;

/* *@fd hangs in close() until *@peer is closed. */
static void make_hanging(int *fd, int *peer)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = 3600 };
	struct sockaddr_in address;
	socklen_t length = sizeof(address);
	char bytes[4096];

	memset(bytes, 'x', sizeof(bytes));
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(*fd, (struct sockaddr *)&address, length), 0);
	*peer = accept(listener, NULL, NULL);
	assert_true(*peer >= 0);
	assert_int_equal(setsockopt(*fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	while (send(*fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static int set_up(void **state)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr = { .s_addr = htonl(INADDR_LOOPBACK) },
	};

	(void)state;
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return listener < 0 || bind(listener, (const struct sockaddr *)&address, sizeof(address)) ||
	       listen(listener, 1);
}

static int tear_down(void **state)
{
	(void)state;
	return close(listener);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void who_lets_a_file_go_does_not_wait_for_its_server(void **state)
{
	struct binary *binary;
	int fd, peer, plain = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	make_hanging(&fd, &peer);
	binary = binary_create(&(struct binary){ .fd = fd, .may_hang = true });
	binary_unref(binary);
	binary = binary_create(&(struct binary){ .fd = plain, .may_hang = true });
	binary_unref(binary);
	while (is_open(plain))
		usleep(1000);
	close(peer);
	while (is_open(fd))
		usleep(1000);
}

static void when_too_many_hang_the_next_stay_open_until_they_come_back(void **state)
{
	int fds[SLOW_CLOSE_MAX], peers[SLOW_CLOSE_MAX];
	int plain = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	for (int i = 0; i < SLOW_CLOSE_MAX; i++) {
		assert_false(slow_close_is_stuck());
		make_hanging(&fds[i], &peers[i]);
		slow_close(fds[i]);
	}
	assert_true(slow_close_is_stuck());
	slow_close(plain);
	assert_true(slow_close_is_stuck());
	for (int i = 0; i < SLOW_CLOSE_MAX; i++)
		close(peers[i]);
	while (slow_close_is_stuck())
		usleep(1000);
	assert_true(is_open(plain));
	slow_close(plain);
	while (is_open(plain))
		usleep(1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_lets_a_file_go_does_not_wait_for_its_server),
		cmocka_unit_test(when_too_many_hang_the_next_stay_open_until_they_come_back),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
