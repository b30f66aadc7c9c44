// SPDX-License-Identifier: Apache-2.0
// Asks the agent round by round for what is looked at, as often as costs it little.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from './api.js';
import { ROW_COLOURS } from './colours.js';
import { idsOf, layOut } from './tree.js';
import {
	addRows, filterQuery, frameQuery, isOfFunctions, selectionQuery, splitZoom, timesOf, zoomPath,
} from './view.js';

const MIN_WAIT_MS = 1000;
/** The wait in units of the agent's CPU time for the answers, so that the page costs 1 % of a core at most. */
const WAIT_PER_COST = 100;
/** So much of the waiting is forgiven at first, or when the page has cost little for long: names come while one looks. */
const FORGIVEN_MS = 10000;
const MAX_WAIT_MS = 60000;
const WAIT_AFTER_PROBLEM_MS = 2000;
const MAX_NODES = 10000;
const SANDWICH_NODES = 5000;
const HEAT_ROWS = 50;
export const ROWS = 500;
export const MAX_ROWS = 10000;
/** The server sorts by these, and the page itself by name. */
const SORTS = ['self', 'total', 'self_change', 'total_change', 'self_share_change', 'total_share_change'];
const PROCESSES = 200;
export const MAX_PROCESSES = 2000;
const SPARKLINE_BUCKETS = 40;
const LANE_COLUMNS = 600;
/** So many numbers all lanes have at most. */
const LANE_NUMBERS = 60000;
/** So long after the last key a search is asked for. */
const SEARCH_MS = 200;

/** Adds to what is @owed, with the time since then taken off, and returns it. */
function owe(owed, ms) {
	const now = performance.now();
	owed.ms = Math.min(MAX_WAIT_MS, Math.max(-FORGIVEN_MS, owed.ms - (now - owed.at)) + ms);
	owed.at = now;
	return owed.ms;
}

/** A column needs a pixel; beside the heat map are the filters, where the window is wide. */
const heatColumns = (width) => width - (width > 760 ? 320 : 32);

/** As many as a CPU has samples in a second, or a whole part of that: else rows would have now more, now fewer. */
const heatRows = (rate) => (rate ? Math.floor(rate / Math.ceil(rate / HEAT_ROWS)) : HEAT_ROWS);

/** The heat map shows the range with some time about it, or the last @seconds. */
function heatTimes(view, status, now, seconds) {
	const span = timesOf(view, 'range', status.epoch_ms) ?? timesOf(view, 'base', status.epoch_ms);
	if (span && span[1] - span[0] >= seconds * 1000)
		return span;
	const wanted = span ? span[0] - (seconds * 1000 - (span[1] - span[0])) / 2 : Infinity;
	const from = Math.max(status.first_ms, Math.min(wanted, now - seconds * 1000));
	return [Math.floor(from), Math.max(Math.ceil(from + seconds * 1000), 1)];
}

/** The ids of the first rows of the table of processes. */
const topRows = (answer) => (answer?.rows ?? []).slice(0, ROW_COLOURS).map((row) => row.id);

function requestProcesses(view, query) {
	const isReversed = view.order.startsWith('-');
	addRows(query, view);
	query.append('sort', isReversed ? view.order.slice(1) : view.order);
	if (isReversed)
		query.append('reverse', '1');
	query.append('limit', Math.min(MAX_PROCESSES, Number(view.shown) || PROCESSES));
	query.append('buckets', SPARKLINE_BUCKETS);
	return query;
}

/** The request for the view's tab, as [name, query]. */
function requestOfTab(view, frames, selection) {
	switch (view.tab) {
	case 'flame':
	case 'tree':
		frames.append('max_nodes', MAX_NODES);
		if (view.colour)
			frames.append('colour', view.colour);
		if (view.inverted)
			frames.append('inverted', '1');
		return ['flame', frames];
	case 'top':
		frames.append('sort', SORTS.includes(view.sort) ? view.sort : 'self');
		frames.append('limit', Math.min(MAX_ROWS, Number(view.rows) || ROWS));
		if (view.named)
			frames.append('name', view.named);
		return ['top', frames];
	case 'sandwich':
		frames.append('of', view.of);
		if (view.of_kind)
			frames.append('of_kind', view.of_kind);
		frames.append('max_nodes', SANDWICH_NODES);
		return view.of ? ['sandwich', frames] : null;
	case 'processes':
		return ['processes', requestProcesses(view, new URLSearchParams(selection))];
	default:
		return ['quality', selection];
	}
}

/**
 * [name, query] of all that the view shows; the first is the most wanted. @latest: answers by name, with those to what came
 * before.
 */
function* requestsOf(view, status, frozenAt, width, searched, latest) {
	const isFrozen = frozenAt !== null;
	const now = isFrozen ? frozenAt : status.now_ms;
	const selection = selectionQuery(view, status.epoch_ms, now, isFrozen);
	const ofTab = requestOfTab(view, frameQuery(view, status.epoch_ms, now, isFrozen), selection);
	if (ofTab)
		yield ofTab;
	if (searched && isOfFunctions(view.tab)) {
		const search = frameQuery(view, status.epoch_ms, now, isFrozen);
		search.append('text', searched);
		yield ['search', search];
	}
	if (!status.has_times) {
		yield ['facets', selection];
		return;
	}
	const rows = view.tab === 'processes' ? topRows(latest.processes) : [];
	const line = filterQuery(view);
	line.append('buckets', Math.max(60, Math.min(600, Math.floor(width / 3))));
	if (isFrozen)
		line.append('to', now);
	if (rows.length)
		addRows(line, view).append('rows', rows.join('.'));
	yield ['timeline', line];
	if (rows.length && view.lanes) {
		const lanes = addRows(new URLSearchParams(selection), view);
		const cpus = latest.facets?.cpus_total || 1;
		lanes.append('columns', Math.max(30, Math.min(LANE_COLUMNS, Math.floor(heatColumns(width) / 3),
			Math.floor(LANE_NUMBERS / cpus / rows.length))));
		lanes.append('rows', rows.join('.'));
		yield ['lanes', lanes];
	}
	const heat = filterQuery(view);
	const [from, to] = heatTimes(view, status, now, Math.max(30, Math.floor(width / 7)));
	heat.append('from', from);
	heat.append('to', isFrozen ? Math.min(to, now) : to);
	heat.append('rows', heatRows(status.samples_per_second));
	heat.append('columns', heatColumns(width));
	yield ['heatmap', heat];
	yield ['facets', selection];
}

/** The value, once it has not changed for a while. */
function useSettled(value, ms) {
	const [settled, setSettled] = useState(value);
	useEffect(() => {
		const timer = setTimeout(() => setSettled(value), ms);
		return () => clearTimeout(timer);
	}, [value]);
	return settled;
}

/**
 * The flame graph zoomed along @path. The server takes ids, of which the last answer has those that it shows; of a
 * link to deeper frames, each answer leads further. The answer gets the tree, laid out.
 */
async function askFlame(query, path, known, signal) {
	let ids = idsOf(known, path);
	for (;;) {
		const zoomed = new URLSearchParams(query);
		if (ids.length)
			zoomed.append('zoom', ids.join('.'));
		const { data, cpuMs } = await ask('flame', zoomed, signal);
		const tree = layOut(data, path.slice(0, data.zoom));
		const further = idsOf(tree, path);
		if (data.zoom < ids.length || further.length <= ids.length)
			return { data, tree, cpuMs };
		ids = further;
	}
}

/** Requests that the server may refuse because of what was typed: the others go on. */
const TYPED = ['search', 'top', 'processes', 'timeline', 'lanes'];

/**
 * {status, answers, problem}, and functions that set two of them; answers[name] is {query, data} or {query,
 * error}, that of "flame" has its tree too, and the one without zoom is answers.whole.
 * While @frozenAt is a time nothing is asked for but what a change of the view needs.
 */
export function useRounds(view, frozenAt, isHidden, width) {
	const [status, replaceStatus] = useState(null);
	const [answers, setAnswers] = useState({});
	const [problem, setProblem] = useState(null);
	const isFrozen = frozenAt !== null;
	// How long the next round has still to wait at that time, by what the rounds before have cost.
	const owed = useRef({ ms: -FORGIVEN_MS, at: performance.now() });
	// What each answer is for: what has not changed is not asked for again.
	const answered = useRef({});
	const lastTree = useRef(null);
	const latest = useRef({});
	const { search, zoom, flipped, ...asked } = view;
	const key = JSON.stringify([asked, frozenAt, width]);
	const searched = useSettled(search, SEARCH_MS);
	const path = ['flame', 'tree'].includes(view.tab) ? splitZoom(zoomPath(view)).path : [];
	const pathKey = JSON.stringify(path);

	useEffect(() => {
		if (isHidden)
			return undefined;
		const controller = new AbortController();
		let timer;
		let generation = null;
		// At the end of the last round: sending counts to the next one.
		let cpuBefore = null;
		const answerTo = async (name, query) => {
			try {
				return await (name === 'flame' ? askFlame(query, path, lastTree.current, controller.signal)
					: ask(name, query, controller.signal));
			} catch (error) {
				if (error.kind !== 'refused' || !TYPED.includes(name))
					throw error;
				return { error: error.message };
			}
		};
		const askAll = async (now) => {
			let cost = null;
			for (const [name, query] of requestsOf(view, now, frozenAt, width, searched,
				latest.current)) {
				const about = `${query} ${name === 'flame' ? pathKey : ''} ${now.generation}`;
				if (answered.current[name] === about)
					continue;
				const { cpuMs, ...answer } = await answerTo(name, query);
				cost = cpuMs ?? cost;
				answered.current[name] = about;
				latest.current[name] = answer.data;
				if (answer.tree)
					lastTree.current = answer.tree;
				setAnswers((old) => {
					const made = { query: String(query), key, ...answer };
					return { ...old, [name]: made,
						...(answer.tree && !answer.data.zoom ? { whole: made } : {}) };
				});
			}
			return cost;
		};
		const round = async () => {
			let wait = MIN_WAIT_MS;
			try {
				let { data: now, cpuMs } = await ask('status', view.type ? new URLSearchParams({ type: view.type }) : '',
					controller.signal);
				cpuBefore ??= cpuMs;
				replaceStatus(now);
				if (now.generation !== generation) {
					cpuMs = await askAll(now) ?? cpuMs;
					generation = now.generation;
				}
				wait = Math.max(wait, owe(owed.current, (cpuMs - cpuBefore) * WAIT_PER_COST));
				cpuBefore = cpuMs;
				setProblem(null);
			} catch (error) {
				if (error.name === 'AbortError')
					return;
				setProblem(error);
				wait = WAIT_AFTER_PROBLEM_MS;
			}
			if (!isFrozen)
				timer = setTimeout(round, wait);
		};
		round();
		return () => {
			controller.abort();
			clearTimeout(timer);
		};
	}, [key, pathKey, searched, isHidden]);

	return { status, answers, problem, key, replaceStatus, setProblem };
}
