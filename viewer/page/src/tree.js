// SPDX-License-Identifier: Apache-2.0
// A tree of the API, which comes as columns in depth-first order, laid out for drawing.
import { isLevel } from './colours.js';

/** The sums of values without their signs below each node; null if no value is negative. */
function magnitudes(tree) {
	if (!tree.total.some((total) => total < 0))
		return null;
	const sizes = tree.self.map(Math.abs);
	for (let i = sizes.length - 1; i > 0; i--)
		sizes[tree.parent[i]] += sizes[i];
	return sizes;
}

/**
 * Adds to the columns: depth, end (the first node behind a subtree), width and selfWidth as shares of the
 * root, and hiddenBefore (what was left out below the nodes before). In a comparison a node is as wide as its
 * mean share, so that what has gone shows too. @chain: if the answer is zoomed, the steps of its path, whose
 * nodes are the first ones.
 */
export function layOut(answer, chain = []) {
	const { tree } = answer;
	const length = tree.parent.length;
	const isComparison = Boolean(tree.base_total);
	const total = tree.total[0] || 0;
	const baseTotal = isComparison ? tree.base_total[0] || 0 : 0;
	const depth = new Uint16Array(length);
	const end = new Int32Array(length);
	const width = new Float64Array(length);
	const selfWidth = new Float64Array(length);
	const hiddenBefore = new Float64Array(length + 1);
	const sizes = magnitudes(tree);
	const whole = sizes ? sizes[0] : total;
	const meanShare = (part, basePart) => {
		const share = whole ? part / whole : 0;
		const baseShare = baseTotal ? basePart / baseTotal : 0;
		return whole && baseTotal ? (share + baseShare) / 2 : share + baseShare;
	};
	let maxDepth = 0;

	for (let i = 0; i < length; i++) {
		width[i] = meanShare(sizes ? sizes[i] : tree.total[i], tree.base_total?.[i]);
		selfWidth[i] = meanShare(Math.abs(tree.self[i]), tree.base_self?.[i]);
		hiddenBefore[i + 1] = hiddenBefore[i] + tree.pruned[i];
		if (i > 0) {
			depth[i] = depth[tree.parent[i]] + 1;
			maxDepth = Math.max(maxDepth, depth[i]);
		}
	}
	for (let i = length - 1; i >= 0; i--) {
		end[i] = Math.max(end[i], i + 1);
		if (i > 0)
			end[tree.parent[i]] = Math.max(end[tree.parent[i]], end[i]);
	}
	return {
		...tree, length, isComparison, allTotal: total, allBase: baseTotal, depth, end, width, selfWidth,
		hiddenBefore, rows: maxDepth + 1 + (hiddenBefore[length] > 0 ? 1 : 0), maxDepth, chain,
	};
}

export const nameOf = (tree, i) => tree.names[tree.name[i]];
export const kindOf = (tree, i) => (i === 0 ? '' : tree.kinds[tree.kind[i]] ?? '');
export const fileOf = (tree, i) => (tree.file?.[i] >= 0 ? tree.files[tree.file[i]] : '');
export const idOf = (tree, i) => tree.ids?.[tree.id[i]];
/** The binary or package of node @i; '' if the answer has none. */
export const unitOf = (tree, i) => (tree.unit?.[i] >= 0 ? tree.units[tree.unit[i]] : '');
export const flagsOf = (tree, i) => tree.flags?.[i] ?? 0;

export function* childrenOf(tree, i) {
	for (let child = i + 1; child < tree.end[i]; child = tree.end[child])
		yield child;
}

/** How many neighbours before node @i have its name: functions of several kinds can. */
function namesakesBefore(tree, i) {
	let number = 0;
	for (const child of childrenOf(tree, tree.parent[i])) {
		if (child === i)
			break;
		number += nameOf(tree, child) === nameOf(tree, i) ? 1 : 0;
	}
	return number;
}

/**
 * The way from a node's caller to the node: its name; [name, id] for one that is not the first of its name
 * there, or in a tree without ids [name, n].
 */
function stepTo(tree, i) {
	// Nothing is beside these, so they keep the step by which they were found.
	if (tree.depth[i] <= tree.chain.length && i === tree.depth[i])
		return tree.chain[i - 1];
	const number = namesakesBefore(tree, i);
	return number ? [nameOf(tree, i), idOf(tree, i) ?? number] : nameOf(tree, i);
}

/** Steps from below the root to node @i. */
export function pathOf(tree, i) {
	const path = [];
	for (; i > 0; i = tree.parent[i])
		path.unshift(stepTo(tree, i));
	return path;
}

/** The child of @node that a step leads to; -1 for none. */
function follow(tree, node, step) {
	const [name, which] = Array.isArray(step) ? step : [step, 0];
	let left = which;
	for (const child of childrenOf(tree, node)) {
		if (nameOf(tree, child) !== name)
			continue;
		if (typeof which === 'string' ? idOf(tree, child) === which : left-- <= 0)
			return child;
	}
	return -1;
}

/** The nodes that @path leads to, the outermost first; after a refresh the last ones may be gone. */
function nodesOf(tree, path) {
	const nodes = [];
	let node = 0;
	for (const step of path) {
		const isInChain = node < tree.chain.length && node === nodes.length;
		if (isInChain && JSON.stringify(step) !== JSON.stringify(tree.chain[node]))
			break;
		node = isInChain ? node + 1 : follow(tree, node, step);
		if (node < 0)
			break;
		nodes.push(node);
	}
	return nodes;
}

/** The deepest node that @path leads to. */
export const nodeAt = (tree, path) => nodesOf(tree, path).at(-1) ?? 0;

/** True if all of @path is there. */
export const hasPath = (tree, path) => nodesOf(tree, path).length === path.length;

/** The ids of the functions of @path, as far as they are known: by @tree, which may be missing, or by the steps. */
export function idsOf(tree, path) {
	const nodes = tree ? nodesOf(tree, path) : [];
	const ids = [];
	for (const [i, step] of path.entries()) {
		const id = i < nodes.length ? idOf(tree, nodes[i]) : Array.isArray(step) ? step[1] : undefined;
		if (typeof id !== 'string')
			break;
		ids.push(id);
	}
	return ids;
}

/** The nodes with samples of their own. */
export function leaves(tree) {
	const nodes = [];
	for (let i = 1; i < tree.length; i++) {
		if (tree.self[i] || tree.base_self?.[i])
			nodes.push(i);
	}
	return nodes;
}

/** The binaries or packages of the frames, those with most samples of their own first; null if the answer has none. */
export function unitsOf(tree) {
	if (!tree.unit)
		return null;
	const widths = new Map();
	for (let i = 1; i < tree.length; i++) {
		const unit = unitOf(tree, i);
		if (!isLevel(kindOf(tree, i)))
			widths.set(unit, (widths.get(unit) ?? 0) + tree.selfWidth[i]);
	}
	return [...widths].sort((a, b) => b[1] - a[1]).map(([unit]) => unit);
}

/** The path of a node for other trees, in which more is beside it. */
export function pathByIds(tree, i) {
	const path = [];
	for (; i > 0; i = tree.parent[i])
		path.unshift([nameOf(tree, i), idOf(tree, i)]);
	return path;
}

/** A test of names: text in any case, or /an expression/. null for no search. The server's decides what counts. */
export function matcher(search) {
	if (!search)
		return null;
	const expression = /^\/(.+)\/$/.exec(search);
	if (expression) {
		try {
			const pattern = new RegExp(expression[1], 'i');
			return (name) => pattern.test(name);
		} catch {
			return null;
		}
	}
	const text = search.toLowerCase();
	return (name) => name.toLowerCase().includes(text);
}

/** The names that match, and the samples below matching nodes, each once. */
export function searchTree(tree, search) {
	const matches = matcher(search);
	if (!matches)
		return null;
	const names = tree.names.map(matches);
	let samples = 0;
	for (let i = 1; i < tree.length;) {
		if (names[tree.name[i]]) {
			samples += tree.total[i];
			i = tree.end[i];
		} else {
			i++;
		}
	}
	return { names, samples };
}
