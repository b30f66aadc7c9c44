/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A folder in which new files are made, by those who may: the process itself, or its launcher (lib/base/launcher.h) once the process
 * may open no file for writing any more. Files get a temporary name and then their own, or none at all. Nothing that is
 * there already is opened, and links are not followed.
 */
#ifndef LIB_BASE_FILE_FOLDER_H
#define LIB_BASE_FILE_FOLDER_H

#include <stdint.h>

enum folder_kind {
	/** A folder with nothing but files of ours: any name may be given and removed. */
	FOLDER_CACHE,
	/** The folder of an output: one file may be replaced. */
	FOLDER_OUTPUT,
	/** A folder for files without a name. */
	FOLDER_SCRATCH,
};

enum {
	/** The bytes of a name in requests, with its NUL. */
	FOLDER_NAME_BYTES = 96,
};

/** Temporary names in the folder of an output begin and end so. */
#define FOLDER_TEMPORARY_PREFIX ".allframes-"
#define FOLDER_TEMPORARY_SUFFIX ".tmp"

struct file_folder {
	enum folder_kind kind;
	/** Path of the folder; of an output, the path of the file. Borrowed. */
	const char *path;
	/** -1: it is on the launcher's list. */
	int fd;
	uint32_t listed;
};

enum folder_request_kind {
	FOLDER_MAKE,
	FOLDER_MOVE,
	FOLDER_REMOVE,
	FOLDER_MAKE_UNNAMED,
};

/** A request, which may come from a process that has been taken over. */
struct folder_request {
	/** enum folder_request_kind */
	uint32_t kind;
	/** Index in the launcher's list. */
	uint32_t folder;
	char name[FOLDER_NAME_BYTES];
	/** Of FOLDER_MOVE in a cache; an output has its own name. */
	char new_name[FOLDER_NAME_BYTES];
};

/** Opens the folder, or finds it on the launcher's list. -errno. */
int file_folder_init(struct file_folder *folder, enum folder_kind kind, const char *path);
void file_folder_deinit(struct file_folder *folder);

/** Makes an empty file for reading and writing, which must not be there yet. The caller owns *@fd. -errno. */
int file_folder_make(const struct file_folder *folder, const char *name, int *fd);
/** Renames a file: to @new_name in a cache, else to the output. It replaces what is there. -errno. */
int file_folder_move(const struct file_folder *folder, const char *name, const char *new_name);
int file_folder_remove(const struct file_folder *folder, const char *name);
/** Makes a file without a name. The caller owns *@fd. -errno. */
int file_folder_make_unnamed(const struct file_folder *folder, int *fd);

/** The launcher's side: opens a folder of its list, */
int file_folder_open(struct file_folder *folder);
/** and does what is asked. *@fd stays -1 if no file is made. -EPERM: the request is not for this kind of folder. */
int file_folder_do(const struct file_folder *folder, const struct folder_request *request, int *fd);

#endif
