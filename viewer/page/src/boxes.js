// SPDX-License-Identifier: Apache-2.0
// The boxes of a laid-out tree's frames at a zoom and a width: frames too narrow to draw make one block at
// the end of their caller.
import { childrenOf } from './tree.js';

export const ROW = 18;
const MIN_WIDTH = 0.5;

/** The number that stands for block @index where nodes have theirs, and back; -1 is neither. */
export const blockNumber = (index) => -2 - index;
export const isBlock = (number) => number <= -2;
export const blockOf = (boxes, number) => boxes.blocks[blockNumber(number)];

/** The children of @node that are wide enough at @scale, and the others as one block. */
function divide(tree, node, children, scale, hiddenWidth, hidden) {
	const block = { parent: node, depth: tree.depth[node] + 1, share: hiddenWidth, count: hidden, narrow: [],
		samples: tree.total[node] - tree.self[node], base: 0 };
	if (tree.isComparison)
		block.base = tree.base_total[node] - tree.base_self[node];
	const wide = children.filter((child) => {
		const isWide = tree.width[child] * scale >= MIN_WIDTH;
		if (!isWide) {
			block.share += tree.width[child];
			block.count += tree.end[child] - child
				+ tree.hiddenBefore[tree.end[child]] - tree.hiddenBefore[child];
			block.narrow.push(child);
		}
		return isWide;
	});
	for (const child of wide) {
		block.samples -= tree.total[child];
		block.base -= tree.base_total?.[child] ?? 0;
	}
	return [wide, block];
}

/** The share of @node that neither it nor the children in the tree have. */
function missingShare(tree, node, children) {
	const shown = children.reduce((sum, child) => sum + tree.width[child], tree.selfWidth[node]);
	return Math.max(0, tree.width[node] - shown);
}

/**
 * {left, width, blocks}: pixels of each node, 0 for one that is not drawn, and the blocks. Node @zoom takes
 * all of @width; with @rest, only the frames of its block are below it, and of that block's again.
 */
export function arrangeBoxes(tree, zoom, width, rest = 0) {
	const left = new Float64Array(tree.length);
	const wide = new Float64Array(tree.length);
	const blocks = [];
	for (let node = zoom; node >= 0; node = tree.parent[node])
		wide[node] = width;
	for (let node = zoom; node < tree.end[zoom];) {
		if (!wide[node]) {
			node = tree.end[node];
			continue;
		}
		const children = [...childrenOf(tree, node)];
		const missing = missingShare(tree, node, children);
		let scale = wide[node] / (tree.width[node] || 1);
		let [drawn, block] = divide(tree, node, children, scale, missing, tree.pruned[node]);
		for (let turn = 0; node === zoom && turn < rest && block.narrow.length; turn++) {
			scale = width / block.share;
			const { samples, base } = block;
			[drawn, block] = divide(tree, node, block.narrow, scale, missing, tree.pruned[node]);
			block.samples = samples - drawn.reduce((sum, child) => sum + tree.total[child], 0);
			block.base = base - drawn.reduce((sum, child) => sum + (tree.base_total?.[child] ?? 0), 0);
		}
		let x = left[node];
		for (const child of drawn) {
			left[child] = x;
			wide[child] = tree.width[child] * scale;
			x += wide[child];
		}
		if (block.count && block.share * scale >= MIN_WIDTH) {
			block.left = x;
			block.width = block.share * scale;
			blocks.push(block);
		}
		node++;
	}
	return { left, width: wide, blocks };
}

/** Pixels from the top of all to a row. */
const topOf = ({ tree, top, isFlipped }, depth) => (isFlipped ? tree.rows - 1 - depth : depth) * ROW - top;

/** The box of a node or a block on the canvas. */
export function boxOf(scene, number) {
	const { boxes, tree } = scene;
	const [left, width, depth] = isBlock(number)
		? [blockOf(boxes, number).left, blockOf(boxes, number).width, blockOf(boxes, number).depth]
		: [boxes.left[number], boxes.width[number], tree.depth[number]];
	return { left, right: left + width, top: topOf(scene, depth) };
}

/** The node or block at a point of the canvas, or -1. */
export function numberUnder(scene, x, y) {
	const { tree, boxes } = scene;
	const row = Math.floor((y + scene.top) / ROW);
	const depth = scene.isFlipped ? tree.rows - 1 - row : row;
	const isIn = (left, width) => x >= left && x < left + width;
	for (let i = 0; i < tree.length;) {
		if (!boxes.width[i] || !isIn(boxes.left[i], boxes.width[i])) {
			i = tree.end[i];
		} else {
			if (tree.depth[i] === depth)
				return i;
			i++;
		}
	}
	const block = boxes.blocks.findIndex((each) => each.depth === depth && isIn(each.left, each.width));
	return block < 0 ? -1 : blockNumber(block);
}

/** The block below @node, or -1. */
export function blockBelow(boxes, node) {
	const index = boxes.blocks.findIndex((block) => block.parent === node);
	return index < 0 ? -1 : blockNumber(index);
}

/** The nodes and the block right below a node. */
function drawnBelow(tree, boxes, node) {
	const drawn = [...childrenOf(tree, node)].filter((child) => boxes.width[child] > 0);
	const block = blockBelow(boxes, node);
	return block === -1 ? drawn : [...drawn, block];
}

/** Where an arrow key leads: to the caller, the greatest callee or a neighbour. */
export function neighbour(tree, boxes, number, direction) {
	const caller = isBlock(number) ? blockOf(boxes, number).parent : tree.parent[number];
	if (direction === 'out')
		return Math.max(0, caller);
	if (direction === 'in') {
		const below = isBlock(number) ? [] : drawnBelow(tree, boxes, number);
		const widest = below.filter((each) => !isBlock(each))
			.reduce((best, each) => (best < 0 || tree.width[each] > tree.width[best] ? each : best), -1);
		return widest >= 0 ? widest : below[0] ?? number;
	}
	if (number === 0)
		return 0;
	const siblings = drawnBelow(tree, boxes, caller);
	const index = siblings.indexOf(number) + (direction === 'next' ? 1 : -1);
	return siblings[Math.max(0, Math.min(siblings.length - 1, index))] ?? number;
}
