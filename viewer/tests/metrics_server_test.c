/* SPDX-License-Identifier: Apache-2.0 */
/* The state of an agent that stalls; integration/metrics_test.py tests the rest. */
#include "viewer/metrics_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/error.h"

#include <cmocka.h>

static void fill(void *context, struct metric_table *table)
{
	const struct sample_totals samples = { .samples = 42 };
	const struct process_usage usage = { 0 };
	struct metrics_snapshot metrics;
	const struct metric_table_input input = {
		.metrics = &metrics,
		.samples = &samples,
		.usage = &usage,
		.version = "v1",
	};

	(void)context;
	metrics_take_snapshot(&metrics);
	metric_table_fill(table, &input);
}

static uint64_t age_ms;

static uint64_t read_age(void *context)
{
	(void)context;
	return age_ms;
}

static int create(const char *address, struct metrics_server **server)
{
	const struct metrics_server_options options = {
		.address = address,
		.host = "box",
		.fill = fill,
		.age_ms = read_age,
	};

	return metrics_server_create(&options, server);
}

static void ask(const struct metrics_server *server, const char *path, char answer[1 << 16])
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int port = atoi(strrchr(metrics_server_url(server), ':') + 1);
	size_t count = 0;
	char request[128];
	ssize_t more;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((uint16_t)port);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\nHost: 127.0.0.1:%d\r\n\r\n", path,
		 port);
	assert_int_equal(write(fd, request, strlen(request)), strlen(request));
	while ((more = read(fd, answer + count, (1 << 16) - 1 - count)) > 0)
		count += (size_t)more;
	answer[count] = '\0';
	close(fd);
}

static void an_agent_that_stalls_is_not_healthy(void **state)
{
	static char answer[1 << 16];
	struct metrics_server *server;

	(void)state;
	metrics_reset();
	assert_int_equal(create("127.0.0.1:0", &server), 0);
	assert_int_equal(metrics_server_start(server), 0);
	ask(server, "/healthz", answer);
	assert_non_null(strstr(answer, " 200 "));
	metrics_set(METRIC_OLDEST_EVENT_AGE, 61000);
	ask(server, "/healthz", answer);
	assert_non_null(strstr(answer, " 503 "));
	assert_non_null(strstr(answer, "the oldest event 61000 ms"));
	ask(server, "/metrics", answer);
	assert_non_null(strstr(answer, "\nallframes_oldest_event_age_seconds 61\n"));
	assert_non_null(strstr(answer, "\nallframes_ticks_total{class=\"busy\"} 42\n"));
	/* Old numbers say nothing. */
	metrics_reset();
	age_ms = 59000;
	ask(server, "/healthz", answer);
	assert_non_null(strstr(answer, " 200 "));
	age_ms = 61000;
	ask(server, "/healthz", answer);
	assert_non_null(strstr(answer, " 503 "));
	assert_non_null(strstr(answer, "as seen 61000 ms ago"));
	age_ms = 0;
	metrics_server_destroy(server);
}

static void others_than_this_machine_need_a_token(void **state)
{
	struct metrics_server *server = NULL;

	(void)state;
	assert_int_equal(create("0.0.0.0:0", &server), -EINVAL);
	assert_null(server);
	assert_non_null(strstr(error_text(), "-metrics-token-file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_that_stalls_is_not_healthy),
		cmocka_unit_test(others_than_this_machine_need_a_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
