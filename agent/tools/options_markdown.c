// SPDX-License-Identifier: Apache-2.0
/*
 * build/options_markdown
 *
 * Prints the table of options (agent/option_table.h) as docs/options.md: `make docs` writes it, and
 * agent/tests/options_document_test.py compares.
 *
 * Exit status: 0, 1 if it could not be written, 2 wrong usage.
 */
#include <stdio.h>

#include "agent/option_table.h"

/* A bar would end the cell, also between marks of code. */
static void print_cell(const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			putchar('\\');
		putchar(*text);
	}
}

static void print_row(const struct option *option)
{
	printf("| `-%s", option->name);
	if (option->value_name) {
		putchar(' ');
		print_cell(option->value_name);
	}
	putchar('`');
	if (option->letter)
		printf(", `-%c`", option->letter);
	fputs(" | ", stdout);
	if (option->initial || option->otherwise) {
		print_cell(option->initial ? option->initial : option->otherwise);
		putchar(' ');
	}
	fputs("| ", stdout);
	print_cell(option->meaning);
	if (option->details) {
		putchar(' ');
		print_cell(option->details);
	}
	puts(" |");
}

int main(int argument_count, char **arguments)
{
	(void)arguments;
	if (argument_count > 1) {
		fputs("usage: options_markdown\n", stderr);
		return 2;
	}
	puts("# Options\n");
	printf("%s\n\n", option_rules);
	printf("%s\n\n", option_command_text);
	puts("| option | default | |\n|---|---|---|");
	for (size_t i = 0; i < option_count; i++)
		print_row(&option_table[i]);
	puts("");
	printf("%s\n\n", option_signals);
	printf("%s\n\n", option_statuses);
	puts("`build/agent -help` prints the same in short. `make docs` makes this page of the table of options in\n"
	     "`agent/option_table.c`.");
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
