// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/command.h"
#include "agent/diff_files.h"
#include "agent/dump/dump.h"
#include "agent/option_help.h"
#include "agent/options.h"
#include "agent/process_setup.h"
#include "agent/runtimes/elf_host.h"
#include "agent/runtimes/file_host.h"
#include "agent/runtimes/proc_host.h"
#include "agent/runtimes/runtime_host.h"
#include "agent/show_file.h"
#include "agent/upload_symbols.h"
#include "build/version.h"
#include "lib/base/child_process.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "reporter/grpc_library.h"
#include "symbols/build/symbol_cache_maker.h"

/* The output of -help and -version must be complete, or scripts would use a part of it. */
static int finish_output(void)
{
	if (fflush(stdout) || ferror(stdout)) {
		log_error("standard output cannot be written; check where it leads");
		return EXIT_STATUS_FAILED;
	}
	return EXIT_STATUS_DONE;
}

static int run(const struct options *options)
{
	_cleanup_(command_deinit) struct command command = { .pid_fd = -1, .connection = -1 };
	int error;

	if (options->upload_count)
		return upload_symbols(options);
	if (options->diff_count)
		return diff_files(options);
	if (options->open_count)
		return show_file(options);
	if (options->dump_count)
		return dump_run(options);
	error = command_init(&command, options);
	if (error) {
		log_error("%s", error_text());
		return error == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_FAILED;
	}
	return agent_run(options, &command);
}

int main(int argument_count, char **arguments)
{
	_cleanup_(options_deinit) struct options options = { 0 };
	int error, status;

	child_process_enter(argument_count, arguments);
	process_setup();
	symbol_cache_maker_enter(argument_count, arguments);
	runtime_host_enter(argument_count, arguments);
	file_host_enter(argument_count, arguments);
	elf_host_enter(argument_count, arguments);
	proc_host_enter(argument_count, arguments);
	error = options_parse(&options, argument_count, arguments);
	if (error) {
		log_error("%s", error_text());
		return error == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_FAILED;
	}
	switch (options.action) {
	case OPTIONS_SHOW_HELP:
		options_print_help(stdout, program_invocation_short_name);
		return finish_output();
	case OPTIONS_SHOW_VERSION:
		printf("%s %s\n", program_invocation_short_name, AGENT_VERSION);
		return finish_output();
	case OPTIONS_RUN:
		break;
	}
	log_set_level(options.log_level);
	if (options.collector.has_unused_endpoint)
		log_info("OTEL_EXPORTER_OTLP_ENDPOINT is not used, its protocol is not grpc; give "
			 "-collection-agent, or OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL=grpc and an "
			 "endpoint for it");
	status = run(&options);
	/* Threads that wait for a collector may use objects that exit() would destroy. */
	if (grpc_library_is_left()) {
		fflush(stdout);
		_exit(status);
	}
	return status;
}
