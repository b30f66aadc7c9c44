/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `COLOUR MS [OTHER]`: busy for MS milliseconds, then ends, or becomes OTHER by exec, which then
 * becomes this program again, and so on. Not position-independent: all colours have their code at
 * the same addresses.
 */
#include "baited.h"
#include "target.h"

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (argc == 3)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	BAITED_NAME(_run)(strtoul(argv[1], NULL, 10));
	if (argc == 3) {
		char *arguments[] = { argv[2], argv[1], argv[0], NULL };

		execv(argv[2], arguments);
		return 1;
	}
	return 0;
}
