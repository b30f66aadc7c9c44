/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cost_reads, cost_reads_raw, cost_mark_folio, cost_mark_page, cost_probe_folio, cost_probe_page,
 * cost_writes, cost_writes_raw, cost_page_writes, cost_page_writes_raw
 * enter: one of them for each direction, the first that the kernel has; user space chooses. Reads: the tracepoint
 *        mm_filemap_get_pages (Linux 6.12), else folio_mark_accessed() or mark_page_accessed() by fentry or kprobe. Writes: the
 *        tracepoint writeback_dirty_folio, before Linux 5.18 writeback_dirty_page
 * leave: by return
 * reads: the folio, the file's size
 * bound: no loops
 *
 * The tracepoint of reads has the range of pages that a read still wants. A read that takes several steps shows it again, from a later
 * page on to the same end, and is counted once. The probes count a page, or a large folio, when a read touches it.
 */
#ifndef EBPF_COSTS_PAGE_CACHE_BPF_H
#define EBPF_COSTS_PAGE_CACHE_BPF_H

#include "ebpf/costs/cost_rows.bpf.h"

enum {
	/* Pages of 4 KiB; on arm64 they may be larger, and then the end of a file is not seen. */
	FILE_PAGE_SHIFT = 12,
};

static __always_inline int count_reads(struct address_space *mapping, __u64 first, __u64 last,
				       bool is_typed)
{
	const __u64 multiplier = 0x9e3779b97f4a7c15ULL;
	struct cost_row *row = current_row();
	struct inode *file;
	__u32 signature;
	__s64 bytes;
	bool goes_on;

	if (!row)
		return 0;
	file = COST_READ(is_typed, mapping, host);
	signature = ((COST_READ(is_typed, file, i_ino) ^ last) * multiplier) >> 32;
	goes_on = row->read_signature == signature && (__u32)first > row->read_page;
	row->read_signature = signature;
	row->read_page = first;
	if (goes_on)
		return 0;
	bytes = COST_READ(is_typed, file, i_size);
	/* Reads may ask for more than there is. */
	if (bytes > 0 && last > (__u64)(bytes - 1) >> FILE_PAGE_SHIFT)
		last = (__u64)(bytes - 1) >> FILE_PAGE_SHIFT;
	if (last >= first)
		row->page_reads += last - first + 1;
	return 0;
}

static __always_inline int count_read(void)
{
	struct cost_row *row = current_row();

	/* Atomic, since another thread may interrupt a program of this kind. */
	if (row)
		__sync_fetch_and_add(&row->page_reads, 1);
	return 0;
}

/* Pages of a folio. The second page of a large one refers to the first. */
static __always_inline __u64 folio_pages(struct folio *folio)
{
	if (!bpf_core_field_exists(folio->_head_1) ||
	    BPF_CORE_READ(folio, _head_1) != (unsigned long)folio + 1)
		return 1;
	if (bpf_core_field_exists(folio->_nr_pages))
		return BPF_CORE_READ(folio, _nr_pages);
	if (bpf_core_field_exists(folio->_folio_nr_pages))
		return BPF_CORE_READ(folio, _folio_nr_pages);
	return 1;
}

static __always_inline int count_writes(__u64 pages)
{
	struct cost_row *row = current_row();

	if (row)
		row->page_writes += pages;
	return 0;
}

SEC("tp_btf/mm_filemap_get_pages")
int cost_reads(__u64 *ctx)
{
	return count_reads((struct address_space *)ctx[0], ctx[1], ctx[2], true);
}

SEC("raw_tp/mm_filemap_get_pages")
int cost_reads_raw(__u64 *ctx)
{
	return count_reads((struct address_space *)ctx[0], ctx[1], ctx[2], false);
}

SEC("fentry/folio_mark_accessed")
int cost_mark_folio(void *ctx)
{
	return count_read();
}

SEC("fentry/mark_page_accessed")
int cost_mark_page(void *ctx)
{
	return count_read();
}

SEC("kprobe/folio_mark_accessed")
int cost_probe_folio(void *ctx)
{
	return count_read();
}

SEC("kprobe/mark_page_accessed")
int cost_probe_page(void *ctx)
{
	return count_read();
}

SEC("tp_btf/writeback_dirty_folio")
int cost_writes(__u64 *ctx)
{
	return count_writes(folio_pages((struct folio *)ctx[0]));
}

SEC("raw_tp/writeback_dirty_folio")
int cost_writes_raw(__u64 *ctx)
{
	return count_writes(folio_pages((struct folio *)ctx[0]));
}

SEC("tp_btf/writeback_dirty_page")
int cost_page_writes(void *ctx)
{
	return count_writes(1);
}

SEC("raw_tp/writeback_dirty_page")
int cost_page_writes_raw(void *ctx)
{
	return count_writes(1);
}

#endif
