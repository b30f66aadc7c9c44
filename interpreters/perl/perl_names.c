/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process runs while it is read. The fingerprint is read before and after the names; the result is used only if both are
 * equal. All pointers are hostile; they are only used to read memory of the process.
 */
#include "interpreters/perl/perl_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/hash128.h"
#include "lib/base/text.h"

enum {
	/* A name (HEK): its hash, its length, its bytes, a NUL, and flags. */
	NAME_LENGTH = 4,
	NAME_BYTES = 8,
	NAME_IS_UTF8 = 1,
	/* A hash: body, flags, buckets; in its body the index of the last bucket, and from 5.36 on the auxiliary struct. */
	HASH_FLAGS = 12,
	HASH_BUCKETS = 16,
	HASH_HAS_AUX = 0x2000000,
	HASH_LAST_BUCKET = 24,
	HASH_AUX = 32,
	/* In the auxiliary struct: a name or an array of names, and their number if it is an array (xhv_name_count). */
	AUX_NAME = 0,
	AUX_NAME_COUNT = 28,
	/* Limit of the buckets of a package. */
	BUCKETS_MAX = 1 << 24,
	FILE_CHUNK_BYTES = 64,
	/* CVf_LEXICAL: `my sub`, whose name has no package. */
	CV_IS_LEXICAL = 0x10000,
	/* CVf_ISXSUB: a sub in C. */
	CV_IS_XSUB = 0x8,
	/* In a glob: its values (struct gp). In these: its sub. */
	GLOB_VALUES = 16,
	VALUES_SUB = 16,
	/* Between the numbers of these ops, in all versions. */
	FROM_NEXTSTATE_TO_ENTER = 3,
};

/** Names of code without a sub, indexed by enum perl_code. */
static const char *const code_names[PERL_CODE_MASK + 1] = {
	[PERL_CODE_EVAL] = "(eval)",
	[PERL_CODE_FILE] = "(require)",
	[PERL_CODE_MAIN] = "(main)",
};

/** A cached name. It is one block of memory. */
struct perl_name {
	/** The line of the sub's first statement; 0: unknown. */
	uint32_t start_line;
	/** Offset of the file in the text. */
	uint32_t file;
	uint32_t text_bytes;
	char text[];
};

struct name_key {
	/** Address of the sub, or of its glob. */
	uint64_t sub;
	/** Word 2 of the frame: the sub's mark and the address of the file's name. */
	uint64_t file;
	uint32_t fingerprint;
	/** hash_name(); 0: not computed yet. */
	uint32_t object;
	uint32_t code;
	uint32_t has_glob;
};

/** The fields that were read of a sub. */
struct sub {
	uint64_t stash;
	uint64_t name;
	bool is_lexical;
};

static size_t name_bytes(const struct perl_name *name)
{
	return sizeof(*name) + name->text_bytes;
}

void perl_names_init(struct perl_names *names, const struct perl_layout *layout,
		     bool has_file_globs)
{
	names->layout = layout;
	names->has_file_globs = has_file_globs;
	object_cache_init(&names->cache, sizeof(struct name_key), PERL_NAMES_MAX_ENTRIES,
			  PERL_NAMES_MAX_BYTES);
	object_cache_init(&names->freed, sizeof(uint32_t), PERL_NAMES_MAX_ENTRIES,
			  PERL_NAMES_MAX_BYTES);
}

void perl_names_deinit(struct perl_names *names)
{
	object_cache_deinit(&names->cache);
	object_cache_deinit(&names->freed);
}

static int read_word(struct remote_memory *memory, uint64_t address, uint64_t *word)
{
	return remote_memory_read(memory, address, word, sizeof(*word));
}

/* Reads the name and the package of the glob at @address. */
static int read_glob(struct remote_memory *memory, uint64_t address, struct sub *sub)
{
	uint64_t body;
	int err = read_word(memory, address + PERL_BODY, &body);

	sub->is_lexical = false;
	if (!err)
		err = read_word(memory, body + PERL_GLOB_NAME, &sub->name);
	return err ? err : read_word(memory, body + PERL_GLOB_STASH, &sub->stash);
}

/* Reads the name and the package of the sub at @address. */
static int read_cv(struct remote_memory *memory, uint64_t address, struct sub *sub)
{
	uint64_t body;
	uint32_t flags = 0;
	int err = read_word(memory, address + PERL_BODY, &body);

	if (!err)
		err = remote_memory_read(memory, body + PERL_CV_FLAGS, &flags, sizeof(flags));
	if (!err)
		err = read_word(memory, body + PERL_CV_GLOB, &sub->name);
	if (err)
		return err;
	if (!(flags & PERL_CV_IS_NAMED))
		return read_glob(memory, sub->name, sub);
	sub->is_lexical = flags & CV_IS_LEXICAL;
	return read_word(memory, body + PERL_CV_STASH, &sub->stash);
}

/* Reads the sub of @key, and sums up what the fingerprint includes of it. */
static int read_sub(struct remote_memory *memory, const struct name_key *key, struct sub *sub,
		    uint64_t *sum)
{
	uint64_t words[PERL_NAME_WORDS], part = 0;
	int err = key->has_glob ? read_glob(memory, key->sub, sub) : read_cv(memory, key->sub, sub);

	if (!err)
		err = remote_memory_read(memory, sub->name, words, sizeof(words));
	if (err)
		return err;
	part = fingerprint_mix(part, sub->stash);
	part = fingerprint_mix(part, sub->name);
	for (size_t i = 0; i < PERL_NAME_WORDS; i++)
		part = fingerprint_mix(part, words[i]);
	*sum = part | 1;
	return 0;
}

/* Sums up what the fingerprint includes of the file's name at @address. *@is_whole: that is all of it. */
static int read_file(struct remote_memory *memory, uint64_t address, uint64_t *sum, bool *is_whole)
{
	uint64_t part = 0, word;
	int has_end = 0, err = 0;

	for (size_t i = 0; !err && i < PERL_FILE_WORDS && !has_end; i++) {
		err = read_word(memory, address + 8 * i, &word);
		if (!err)
			part = fingerprint_mix(part, perl_text_word(word, &has_end));
	}
	*sum = part | 1;
	*is_whole = has_end;
	return err;
}

/* Reads the sub of @key. -ESTALE if sub or file are not those that the kernel side saw; *@has_sub: the sub is. */
static int check_code(struct remote_memory *memory, const struct name_key *key, struct sub *sub,
		      bool *is_whole, bool *has_sub)
{
	uint64_t sum = fingerprint_mix(0, key->code), of_file = 0, of_sub = 0;
	int err = 0, file_err = 0;

	*is_whole = true;
	*has_sub = false;
	if (frame_address(key->file)) {
		file_err = read_file(memory, frame_address(key->file), &of_file, is_whole);
		sum = fingerprint_mix(sum, of_file);
	}
	if (key->code == PERL_CODE_SUB) {
		err = read_sub(memory, key, sub, &of_sub);
		*has_sub = !err && perl_mark(of_sub) == key->file >> PERL_MARK_SHIFT;
		sum = fingerprint_mix(sum, of_sub);
	}
	if (!err)
		err = file_err;
	if (err == -EFAULT || (!err && fingerprint_end(sum) != key->fingerprint))
		return fail(-ESTALE, "another sub at %#" PRIx64, key->sub);
	return err;
}

/* Appends @size bytes, of UTF-8 or of Latin-1, as UTF-8, up to a NUL and up to @limit. */
static void append(const uint8_t *bytes, size_t size, bool is_utf8, char *text, size_t limit,
		   size_t *length)
{
	for (size_t i = 0, step = 1; i < size && bytes[i]; i += step) {
		char encoded[TEXT_UTF8_MAX_BYTES];
		uint32_t character = is_utf8 ? text_decode_utf8(bytes + i, size - i, &step) :
					       bytes[i];
		size_t count = text_encode_utf8(character, encoded);

		if (*length + count > limit)
			break;
		memcpy(text + *length, encoded, count);
		*length += count;
	}
	text[*length] = '\0';
}

/* Appends the name (HEK) at @address. */
static int append_name(struct remote_memory *memory, uint64_t address, size_t limit, char *text,
		       size_t *length)
{
	uint8_t bytes[FRAME_NAME_MAX_BYTES];
	int32_t size;
	/* Flags of a name that is cut are not read. */
	uint8_t flags = NAME_IS_UTF8;
	int err = remote_memory_read(memory, address + NAME_LENGTH, &size, sizeof(size));

	if (!err && size < 0)
		err = fail(-EBADMSG, "a name of %d bytes", size);
	if (!err && (size_t)size <= sizeof(bytes))
		err = remote_memory_read(memory, address + NAME_BYTES + (uint32_t)size + 1, &flags,
					 sizeof(flags));
	if (!err && (size_t)size > sizeof(bytes))
		size = sizeof(bytes);
	if (!err && size)
		err = remote_memory_read(memory, address + NAME_BYTES, bytes, (size_t)size);
	if (!err)
		append(bytes, (size_t)size, flags & NAME_IS_UTF8, text, limit, length);
	return err;
}

/* Finds the name of the package whose stash is at @stash (HvNAME_HEK()); 0: it has none any more. */
static int find_package(const struct perl_names *names, struct remote_memory *memory,
			uint64_t stash, uint64_t *name)
{
	uint64_t body, aux, last;
	uint32_t flags;
	int32_t count;
	int err = read_word(memory, stash + PERL_BODY, &body);

	*name = 0;
	if (!err)
		err = remote_memory_read(memory, stash + HASH_FLAGS, &flags, sizeof(flags));
	if (err || !(flags & HASH_HAS_AUX))
		return err;
	aux = body + HASH_AUX;
	if (names->layout->has_stash_behind) {
		err = read_word(memory, body + HASH_LAST_BUCKET, &last);
		if (!err && last >= BUCKETS_MAX)
			err = fail(-EBADMSG, "a package of %" PRIu64 " buckets", last);
		if (!err)
			err = read_word(memory, stash + HASH_BUCKETS, &aux);
		if (err)
			return err;
		aux += 8 * (last + 1);
	}
	err = remote_memory_read(memory, aux + AUX_NAME_COUNT, &count, sizeof(count));
	if (!err)
		err = read_word(memory, aux + AUX_NAME, name);
	return !err && count && *name ? read_word(memory, *name, name) : err;
}

/* Reads the name as cv_name() makes it. */
static int read_name(struct perl_names *names, struct remote_memory *memory, const struct sub *sub,
		     size_t *length)
{
	static const char nameless[] = "__ANON__";
	uint64_t package = 0;
	int err = 0;

	*length = 0;
	if (!sub->is_lexical) {
		if (sub->stash)
			err = find_package(names, memory, sub->stash, &package);
		if (!err && package)
			err = append_name(memory, package, FRAME_NAME_MAX_BYTES / 2, names->name,
					  length);
		if (err)
			return err;
		if (!package)
			append((const uint8_t *)nameless, sizeof(nameless), true, names->name,
			       FRAME_NAME_MAX_BYTES, length);
		append((const uint8_t *)"::", 2, true, names->name, FRAME_NAME_MAX_BYTES, length);
	}
	return append_name(memory, sub->name, FRAME_NAME_MAX_BYTES, names->name, length);
}

/*
 * Whether the text in @bytes, which ends with a NUL or with the buffer, can be the name of a file, or `(eval N)` or `-e`: it
 * is UTF-8 without control characters, and has a slash, a dot, a bracket or a hyphen.
 */
static bool is_file_name(const uint8_t *bytes, size_t size)
{
	bool has_mark = false;

	for (size_t i = 0, step = 1; i < size && bytes[i]; i += step) {
		uint32_t character = text_decode_utf8(bytes + i, size - i, &step);

		/* A character may be cut at the end of the buffer. */
		if (character < ' ' || character == 0x7f ||
		    (character == TEXT_REPLACEMENT && size - i >= TEXT_UTF8_MAX_BYTES))
			return false;
		has_mark |= character == '/' || character == '.' || character == '(' ||
			    character == '-';
	}
	return has_mark;
}

/* Reads the text at @address up to its NUL, or to the limit. -ESTALE if it is no file's name. */
static int read_text(struct remote_memory *memory, uint64_t address,
		     char text[FRAME_NAME_MAX_BYTES + 1], size_t *length)
{
	uint8_t bytes[FRAME_NAME_MAX_BYTES];
	size_t size = 0;

	while (size < sizeof(bytes)) {
		/* A read ends with an aligned chunk, so that it does not reach into a page behind the text. */
		size_t count = FILE_CHUNK_BYTES - (address + size) % FILE_CHUNK_BYTES;
		int err;

		if (count > sizeof(bytes) - size)
			count = sizeof(bytes) - size;
		err = remote_memory_read(memory, address + size, bytes + size, count);
		if (err)
			return err;
		size += count;
		if (memchr(bytes + size - count, 0, count))
			break;
	}
	/*
	 * While a file's code is freed, PL_curcop is one of its statements, whose name free() has already overwritten
	 * with its own pointers; returning memory to the kernel may take it some milliseconds.
	 */
	if (!is_file_name(bytes, size))
		return fail(-ESTALE, "no file's name at %#" PRIx64, address);
	append(bytes, size, true, text, FRAME_NAME_MAX_BYTES, length);
	return 0;
}

/*
 * Finds the body of the sub of @key. A glob has the sub that was defined last with its name; the globs of closures have none.
 */
static int find_body(struct remote_memory *memory, const struct name_key *key, uint64_t *body)
{
	uint64_t cv = key->sub, values = 0, glob = 0;
	uint32_t flags = 0;
	int err = 0;

	if (key->has_glob) {
		err = read_word(memory, key->sub + GLOB_VALUES, &values);
		if (!err)
			err = read_word(memory, values + VALUES_SUB, &cv);
	}
	if (!err)
		err = cv ? read_word(memory, cv + PERL_BODY, body) :
			   fail(-ENOENT, "a glob without a sub");
	if (!err)
		err = remote_memory_read(memory, *body + PERL_CV_FLAGS, &flags, sizeof(flags));
	if (!err)
		err = read_word(memory, *body + PERL_CV_GLOB, &glob);
	if (err)
		return err;
	if (flags & CV_IS_XSUB || (key->has_glob && (flags & PERL_CV_IS_NAMED || glob != key->sub)))
		return fail(-ENOENT, "another sub in the glob");
	return 0;
}

/*
 * The line of the first statement of the sub of @key, which is where tools in Perl say that a sub is (B's START->line). 0: it
 * cannot be read, or the statement is in another file than names->file.
 */
static uint32_t find_start_line(struct perl_names *names, struct remote_memory *memory,
				const struct name_key *key)
{
	uint64_t body, start, file, words[PERL_COP_WORDS];
	char text[FRAME_NAME_MAX_BYTES + 1] = "";
	size_t length = 0;
	int err = find_body(memory, key, &body);

	if (!err)
		err = read_word(memory, body + PERL_CV_START, &start);
	if (!err)
		err = remote_memory_read(memory, start + PERL_COP_READ, words, sizeof(words));
	if (err || (words[0] & PERL_OP_NUMBER_MASK) !=
			   (uint32_t)names->layout->enter - FROM_NEXTSTATE_TO_ENTER)
		return 0;
	file = words[2];
	if (names->has_file_globs) {
		err = read_word(memory, file + PERL_BODY, &body);
		if (!err)
			err = read_word(memory, body + PERL_GLOB_NAME, &file);
		file += PERL_GLOB_FILE;
	}
	if (!err && frame_address(file) != frame_address(key->file))
		err = read_text(memory, file, text, &length);
	if (err || (length && strcmp(text, names->file) != 0))
		return 0;
	return (uint32_t)(words[0] >> 32) & PERL_LINE_MASK;
}

static struct perl_name *make_name(const struct perl_names *names, size_t name_length,
				   size_t file_length, uint32_t start_line)
{
	size_t file = name_length + 1;
	struct perl_name *made = malloc(sizeof(*made) + file + file_length + 1);

	if (!made)
		return NULL;
	made->start_line = start_line;
	made->file = (uint32_t)file;
	made->text_bytes = (uint32_t)(file + file_length + 1);
	memcpy(made->text, names->name, file);
	memcpy(made->text + file, names->file, file_length + 1);
	return made;
}

static uint32_t hash_name(const struct perl_name *name)
{
	uint64_t hash = hash64_bytes(name->text, name->text_bytes);

	return object_cache_hash(
		fingerprint_mix(fingerprint_mix(hash, name->file), name->start_line));
}

/* Reads the names of @key, without the file if not @with_file; the caller owns them. */
static int read_names(struct perl_names *names, struct remote_memory *memory,
		      const struct name_key *key, bool with_file, struct perl_name **name)
{
	struct sub sub = { 0 }, again = { 0 };
	size_t name_length = 0, file_length = 0;
	uint32_t start_line = 0;
	bool is_whole, has_sub;
	int err = check_code(memory, key, &sub, &is_whole, &has_sub);

	if (err == -ESTALE && !with_file && has_sub)
		err = 0;
	if (err)
		return err;
	names->name[0] = '\0';
	names->file[0] = '\0';
	if (key->code == PERL_CODE_SUB)
		err = read_name(names, memory, &sub, &name_length);
	if (!err && with_file && frame_address(key->file))
		err = read_text(memory, frame_address(key->file), names->file, &file_length);
	if (!err && file_length && key->code == PERL_CODE_SUB)
		start_line = find_start_line(names, memory, key);
	/* The result is useless if something was freed while it was read. */
	if (err != -ESRCH && check_code(memory, key, &again, &is_whole, &has_sub) &&
	    (with_file || !has_sub))
		err = fail(-ESTALE, "another sub at %#" PRIx64, key->sub);
	if (err)
		return err;
	*name = make_name(names, name_length, file_length, start_line);
	if (!*name)
		return -ENOMEM;
	if (with_file && is_whole)
		object_cache_add_copy(&names->freed, &key->fingerprint, *name, name_bytes(*name));
	return 0;
}

/*
 * Finds the names of @key, whose code or file was freed. The result is borrowed until the next call. Subs of one name and file have
 * the same names, but not the same first line.
 */
static int get_freed(struct perl_names *names, struct remote_memory *memory,
		     const struct name_key *key, const struct perl_name **name)
{
	struct perl_name *made;
	int err;

	*name = object_cache_get(&names->freed, &key->fingerprint);
	if (*name)
		return 0;
	err = read_names(names, memory, key, false, &made);
	if (err)
		return err;
	*name = object_cache_lend(&names->cache, made);
	return 0;
}

/*
 * Finds the names of @key in the cache, or reads them. The result is borrowed until the next call. *@start_line is only set for a sub
 * that is still there.
 */
static int get_names(struct perl_names *names, struct remote_memory *memory, struct name_key *key,
		     const struct perl_name **name, uint32_t *start_line)
{
	const struct perl_name *found = key->object ? object_cache_get(&names->cache, key) : NULL;
	struct perl_name *made;
	int err;

	if (found) {
		*name = found;
		*start_line = found->start_line;
		return 0;
	}
	err = read_names(names, memory, key, true, &made);
	if (err == -ESTALE)
		return get_freed(names, memory, key, name);
	if (err)
		return err;
	*start_line = made->start_line;
	*name = object_cache_add(&names->cache, key, &key->object, hash_name(made), made,
				 name_bytes(made));
	return *name ? 0 : fail(-ESTALE, "another sub at %#" PRIx64, key->sub);
}

int perl_names_symbolize(struct perl_names *names, struct remote_memory *memory,
			 const uint64_t words[3], uint32_t *object, struct interpreted_frame *frame)
{
	uint32_t position = (uint32_t)(words[1] >> 32);
	uint32_t code = position >> PERL_CODE_SHIFT & PERL_CODE_MASK;
	struct name_key key = { .sub = frame_address(words[0]),
				.file = words[2],
				.fingerprint = (uint32_t)words[1],
				.object = *object,
				.code = code,
				.has_glob = position & PERL_HAS_GLOB };
	const struct perl_name *name;
	uint32_t start_line = 0;
	int err;

	if (!key.fingerprint || (code != PERL_CODE_SUB && !code_names[code]))
		return fail(-ESTALE, "a sub that could not be read");
	err = get_names(names, memory, &key, &name, &start_line);
	if (err == -ESTALE && code_names[code]) {
		frame->function = code_names[code];
		return 0;
	}
	if (err)
		return err;
	*object = key.object;
	frame->function = code == PERL_CODE_SUB ? name->text : code_names[code];
	if (name->text[name->file]) {
		frame->file = name->text + name->file;
		frame->line = position & PERL_LINE_MASK;
		/* A sub that has replaced this one since may begin behind it. */
		frame->start_line = start_line <= frame->line ? start_line : 0;
	}
	return 0;
}
