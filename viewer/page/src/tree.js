// SPDX-License-Identifier: Apache-2.0
// A tree of the API, which comes as columns in depth-first order, laid out for drawing.

/**
 * Adds to the columns: depth, end (the first node behind a subtree), and left and width as shares
 * of the root. In a comparison a node is as wide as its mean share, so that what has gone shows too.
 */
/** The sums of values without their signs below each node; null if no value is negative. */
function magnitudes(tree) {
	if (!tree.total.some((total) => total < 0))
		return null;
	const sizes = tree.self.map(Math.abs);
	for (let i = sizes.length - 1; i > 0; i--)
		sizes[tree.parent[i]] += sizes[i];
	return sizes;
}

export function layOut(answer) {
	const { tree } = answer;
	const length = tree.parent.length;
	const isComparison = Boolean(tree.base_total);
	const total = tree.total[0] || 0;
	const baseTotal = isComparison ? tree.base_total[0] || 0 : 0;
	const depth = new Uint16Array(length);
	const end = new Int32Array(length);
	const left = new Float64Array(length);
	const width = new Float64Array(length);
	const nextLeft = new Float64Array(length);
	const sizes = magnitudes(tree);
	let maxDepth = 0;

	for (let i = 0; i < length; i++) {
		const parent = tree.parent[i];
		const share = sizes ? sizes[i] / (sizes[0] || 1) : total ? tree.total[i] / total : 0;
		const baseShare = baseTotal ? tree.base_total[i] / baseTotal : 0;
		width[i] = total && baseTotal ? (share + baseShare) / 2 : share + baseShare;
		if (i > 0) {
			depth[i] = depth[parent] + 1;
			left[i] = nextLeft[parent];
			nextLeft[parent] += width[i];
			maxDepth = Math.max(maxDepth, depth[i]);
		}
		nextLeft[i] = left[i];
	}
	for (let i = length - 1; i >= 0; i--) {
		end[i] = Math.max(end[i], i + 1);
		if (i > 0)
			end[tree.parent[i]] = Math.max(end[tree.parent[i]], end[i]);
	}
	return {
		...tree, length, isComparison, allTotal: total, allBase: baseTotal, depth, end, left,
		width, maxDepth,
	};
}

export const nameOf = (tree, i) => tree.names[tree.name[i]];
export const kindOf = (tree, i) => (i === 0 ? '' : tree.kinds[tree.kind[i]] ?? '');
export const fileOf = (tree, i) => (tree.file?.[i] >= 0 ? tree.files[tree.file[i]] : '');
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

/** Names from below the root to node @i; [name, n] for one that is not the first of its name there. */
export function pathOf(tree, i) {
	const path = [];
	for (; i > 0; i = tree.parent[i]) {
		const number = namesakesBefore(tree, i);
		path.unshift(number ? [nameOf(tree, i), number] : nameOf(tree, i));
	}
	return path;
}

/** The deepest node that @path leads to; after a refresh the rest may be gone. */
export function nodeAt(tree, path) {
	let node = 0;
	for (const step of path) {
		let [name, left] = Array.isArray(step) ? step : [step, 0];
		let next = -1;
		for (const child of childrenOf(tree, node)) {
			if (nameOf(tree, child) === name && left-- <= 0) {
				next = child;
				break;
			}
		}
		if (next < 0)
			break;
		node = next;
	}
	return node;
}

/** A test of names: text in any case, or /an expression/. null for no search. */
export function matcher(search) {
	if (!search)
		return null;
	const expression = /^\/(.+)\/$/.exec(search);
	if (expression) {
		try {
			const pattern = new RegExp(expression[1], 'i');
			return (name) => pattern.test(name);
		} catch {
			return () => false;
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
