// SPDX-License-Identifier: Apache-2.0
// What is looked at, as one plain object that location.hash holds: a link restores it. Its times are unix ms, so that
// a link means the same to an agent that was started again.

export const FACETS = ['comm', 'pid', 'thread', 'tid', 'container', 'host', 'cpu', 'kind', 'user', 'unit', 'parent'];
export const TABS = ['flame', 'processes', 'top', 'tree', 'sandwich', 'quality'];
/** By what samples are chosen that others are compared with. */
export const BASES = ['comm', 'pid', 'unit', 'container', 'user', 'parent'].map((name) => `base_${name}`);
/** Changes of stacks before they are merged (transforms.jsx): lists of texts. */
const TRANSFORMS = ['begin', 'hide', 'fold'];
/** Lists of texts: the filters, transforms, and filters of the table of processes as "COLUMN:TEXT". */
const LISTS = [...FACETS, ...BASES, ...TRANSFORMS, 'with'];

const DEFAULTS = {
	tab: 'flame', last: '', from: '', to: '', base_from: '', base_to: '', root: 'process',
	group: 'process', order: 'samples', shown: '', lanes: '', lines: '', type: '', flipped: '', search: '', named: '', only: '', of: '', of_kind: '', sort: 'self', rows: '', inverted: '', zoom: '',
	frames: '', colour: '',
};

export function readView(hash) {
	const given = new URLSearchParams(hash.replace(/^#/, ''));
	const view = {};
	for (const [name, value] of Object.entries(DEFAULTS))
		view[name] = given.get(name) ?? value;
	for (const name of LISTS)
		view[name] = given.getAll(name);
	for (const name of ['from', 'to', 'base_from', 'base_to', 'last'])
		view[name] = /^\d{1,15}$/.test(view[name]) ? Number(view[name]) : '';
	for (const name of ['rows', 'shown']) {
		if (!/^\d{1,5}$/.test(view[name]))
			view[name] = DEFAULTS[name];
	}
	if (!TABS.includes(view.tab))
		view.tab = DEFAULTS.tab;
	return view;
}

export function writeView(view) {
	const given = new URLSearchParams();
	for (const [name, value] of Object.entries(DEFAULTS)) {
		if (view[name] !== value)
			given.append(name, view[name]);
	}
	for (const name of LISTS)
		view[name].forEach((value) => given.append(name, value));
	return `#${given}`;
}

/** The zoomed node's path: steps (of tree.js) from below the root, and at the end perhaps a number (splitZoom()). */
export function zoomPath(view) {
	try {
		const path = JSON.parse(view.zoom || '[]');
		return Array.isArray(path) ? path : [];
	} catch {
		return [];
	}
}

/** A zoom's path to a node, and how often it goes on to those frames below that are too narrow to draw. */
export function splitZoom(zoom) {
	const last = zoom.at(-1);
	return typeof last === 'number' ? { path: zoom.slice(0, -1), rest: last } : { path: zoom, rest: 0 };
}

export const joinZoom = (path, rest) => (rest ? [...path, rest] : path);

/** [from, to] of the range, or the base, in ms since @epoch; null for none. What lies before @epoch is at it. */
export function timesOf(view, name, epoch) {
	const [from, to] = name === 'base' ? [view.base_from, view.base_to] : [view.from, view.to];
	return from === '' || to === '' ? null : [Math.max(0, from - epoch), Math.max(1, to - epoch)];
}

/** The tabs whose answers depend on what is searched for, and on lines. */
export const isOfFunctions = (tab) => !['quality', 'processes'].includes(tab);
export const hasRange = (view) => view.from !== '' && view.to !== '';
export const hasBase = (view) => (view.base_from !== '' && view.base_to !== '')
	|| BASES.some((name) => view[name].length);
export const hasFilters = (view) => [view.only, view.frames, view.colour].some((text) => text !== '')
	|| [...FACETS, ...BASES, ...TRANSFORMS].some((name) => view[name].length);
/** The view without any of them. */
export const noFilters = () => ({
	...Object.fromEntries([...FACETS, ...BASES, ...TRANSFORMS, 'with'].map((name) => [name, []])), only: '', frames: '', colour: '',
});

/** The query of what is filtered, without times. */
export function filterQuery(view) {
	const query = new URLSearchParams();
	for (const name of FACETS)
		view[name].forEach((value) => query.append(name, value));
	if (view.only)
		query.append('function', view.only);
	view.begin.forEach((name) => query.append('begin', name));
	if (view.type)
		query.append('type', view.type);
	return query;
}

/** The query of what is selected; @now is the moment up to which is shown, in ms since @epoch. */
export function selectionQuery(view, epoch, now, isFrozen) {
	const query = filterQuery(view);
	const range = timesOf(view, 'range', epoch);
	if (range) {
		query.append('from', range[0]);
		query.append('to', range[1]);
	} else {
		if (view.last)
			query.append('from', Math.max(0, now - view.last * 1000));
		if (isFrozen)
			query.append('to', now);
	}
	return query;
}

/** Adds what the table of processes groups and leaves out. */
export function addRows(query, view) {
	query.append('group', view.group);
	view.with.forEach((text) => query.append('with', text));
	return query;
}

/** selectionQuery() with how frames are shown, and what it is compared with. */
export function frameQuery(view, epoch, now, isFrozen) {
	const query = selectionQuery(view, epoch, now, isFrozen);
	const base = timesOf(view, 'base', epoch);
	query.append('root', view.root);
	if (view.lines)
		query.append('lines', '1');
	if (base) {
		query.append('base_from', base[0]);
		query.append('base_to', base[1]);
	}
	for (const name of [...BASES, 'hide', 'fold'])
		view[name].forEach((value) => query.append(name, value));
	if (view.frames)
		query.append('frames', view.frames);
	return query;
}
