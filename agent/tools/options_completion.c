// SPDX-License-Identifier: Apache-2.0
/*
 * build/options_completion bash|zsh|fish
 *
 * Prints what the shell needs to complete options, their values and the command behind `--`, from the table of options
 * (agent/option_table.h). `make install` installs it.
 *
 * Exit status: 0, 1 if it could not be written, 2 wrong usage.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/option_table.h"

static bool is_directory(const struct option *option)
{
	return option->value_name && !strcmp(option->value_name, "DIR");
}

static bool is_path(const struct option *option)
{
	return option->value_name &&
	       (!strcmp(option->value_name, "FILE") || !strcmp(option->value_name, "PATH"));
}

/* Prints @text as it stands between single quotes: a backslash before each of @special, and @quote for a quote. */
static void put_quoted(const char *text, const char *special, const char *quote)
{
	for (; *text; text++) {
		if (strchr(special, *text))
			putchar('\\');
		if (*text == '\'')
			fputs(quote, stdout);
		else
			putchar(*text);
	}
}

/* --- bash --- */

static void put_bash_value(const struct option *option)
{
	printf("\t-%s | --%s", option->name, option->name);
	if (option->letter)
		printf(" | -%c", option->letter);
	fputs(")\n\t\t", stdout);
	if (option->choices)
		printf("COMPREPLY=($(compgen -W '%s' -- \"$value\"))", option->choices);
	else if (is_directory(option))
		fputs("COMPREPLY=($(compgen -d -- \"$value\"))", stdout);
	else if (is_path(option))
		fputs("COMPREPLY=($(compgen -f -- \"$value\"))", stdout);
	else
		fputs("COMPREPLY=()", stdout);
	puts("\n\t\treturn\n\t\t;;");
}

static void put_bash(void)
{
	puts("# Completion of allframes for bash, made from its table of options.\n"
	     "_allframes()\n{\n"
	     "\tlocal option=${COMP_WORDS[COMP_CWORD - 1]} value=${COMP_WORDS[COMP_CWORD]} i\n"
	     "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	     "\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	     "\t\t\tif declare -F _command_offset >/dev/null; then\n"
	     "\t\t\t\t_command_offset $((i + 1))\n"
	     "\t\t\telif ((i + 1 == COMP_CWORD)); then\n"
	     "\t\t\t\tCOMPREPLY=($(compgen -c -- \"$value\"))\n"
	     "\t\t\telse\n"
	     "\t\t\t\tCOMPREPLY=($(compgen -f -- \"$value\"))\n"
	     "\t\t\tfi\n"
	     "\t\t\treturn\n"
	     "\t\tfi\n"
	     "\tdone\n"
	     "\t# -name=value is three words to bash.\n"
	     "\tif [[ $value == = ]]; then\n"
	     "\t\tvalue=\n"
	     "\telif [[ $option == = ]]; then\n"
	     "\t\toption=${COMP_WORDS[COMP_CWORD - 2]}\n"
	     "\tfi\n"
	     "\tcase $option in");
	for (size_t i = 0; i < option_count; i++) {
		if (option_table[i].value_name)
			put_bash_value(&option_table[i]);
	}
	fputs("\tesac\n\tCOMPREPLY=($(compgen -W '--", stdout);
	for (size_t i = 0; i < option_count; i++)
		printf(" -%s", option_table[i].name);
	puts("' -- \"$value\"))\n}\ncomplete -F _allframes allframes allframes-agent");
}

/* --- zsh --- */

static void put_zsh_option(const struct option *option, const char *dashes, const char *name)
{
	printf("\t'*%s%s", dashes, name);
	if (option->value_name)
		putchar('=');
	putchar('[');
	put_quoted(option->brief, "[]\\", "'\\''");
	putchar(']');
	if (option->value_name) {
		putchar(':');
		put_quoted(option->value_name, ":[]\\", "'\\''");
		putchar(':');
		if (option->choices)
			printf("(%s)", option->choices);
		else if (is_directory(option))
			fputs("_files -/", stdout);
		else if (is_path(option))
			fputs("_files", stdout);
	}
	puts("' \\");
}

static void put_zsh(void)
{
	puts("#compdef allframes allframes-agent\n"
	     "# Completion of allframes for zsh, made from its table of options.\n"
	     "_arguments \\");
	for (size_t i = 0; i < option_count; i++) {
		const struct option *option = &option_table[i];
		const char letter[] = { option->letter, '\0' };

		put_zsh_option(option, "-", option->name);
		if (option->letter)
			put_zsh_option(option, "-", letter);
	}
	puts("\t'(-)*:::command:_normal'");
}

/* --- fish --- */

static void put_fish(void)
{
	puts("# Completion of allframes for fish, made from its table of options.");
	for (size_t i = 0; i < option_count; i++) {
		const struct option *option = &option_table[i];

		printf("complete -c allframes -o %s -l %s", option->name, option->name);
		if (option->letter)
			printf(" -s %c", option->letter);
		if (option->choices)
			printf(" -x -a '%s'", option->choices);
		else if (is_directory(option))
			fputs(" -x -a '(__fish_complete_directories)'", stdout);
		else if (is_path(option))
			fputs(" -r -F", stdout);
		else if (option->value_name)
			fputs(" -x", stdout);
		fputs(" -d '", stdout);
		put_quoted(option->brief, "\\", "\\'");
		puts("'");
	}
	puts("complete -c allframes -n 'contains -- -- (commandline -opc)' -x -a "
	     "'(__fish_complete_subcommand)'\n"
	     "complete -c allframes-agent -w allframes");
}

int main(int argument_count, char **arguments)
{
	static const struct {
		const char *shell;
		void (*put)(void);
	} shells[] = { { "bash", put_bash }, { "zsh", put_zsh }, { "fish", put_fish } };

	for (size_t i = 0; argument_count == 2 && i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(arguments[1], shells[i].shell))
			continue;
		shells[i].put();
		return fflush(stdout) || ferror(stdout) ? 1 : 0;
	}
	fputs("usage: options_completion bash|zsh|fish\n", stderr);
	return 2;
}
