/* SPDX-License-Identifier: Apache-2.0 */
/** The files for an oracle: those given to a test, and all below directories. */
#ifndef STACKDELTAS_TESTS_ORACLE_FILES_H
#define STACKDELTAS_TESTS_ORACLE_FILES_H

#include <ftw.h>
#include <sys/stat.h>

enum { ORACLE_OPEN_DIRECTORIES = 32 };

/* A global, since nftw() passes no context to its function. */
static void (*oracle_check_file)(const char *path);

static int oracle_visit(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)where;
	if (type == FTW_F && S_ISREG(status->st_mode) && status->st_size)
		oracle_check_file(path);
	return 0;
}

/* Calls @check for each of @paths that is a file, and each file below one, without following links. */
static void oracle_visit_files(char **paths, int count, void (*check)(const char *path))
{
	oracle_check_file = check;
	for (int i = 0; i < count; i++)
		nftw(paths[i], oracle_visit, ORACLE_OPEN_DIRECTORIES, FTW_PHYS);
}

#endif
