// SPDX-License-Identifier: Apache-2.0
// Draws a laid-out tree on a canvas, and says what lies at a point of it.
import { GUESS, APPROXIMATE, SIGNIFICANT, differenceColour, isLevel, kindColour } from './colours.js';
import { childrenOf, flagsOf, kindOf, nameOf } from './tree.js';

export const ROW = 18;
const MIN_WIDTH = 0.5;
const FONT = '11.5px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';

export function significanceText(z, isMore) {
	const meaning = Math.abs(z) < SIGNIFICANT ? 'not significant'
		: isMore ? 'more than in the base' : 'less than in the base';
	return `z = ${z.toFixed(1)}, ${meaning}`;
}

/** The result of a comparison for a frame, in words, also for those who do not see colours. */
export const differenceText = (tree, i) => significanceText(tree.z?.[i] ?? 0,
	tree.total[i] * (tree.allBase || 1) > tree.base_total[i] * (tree.allTotal || 1));

function colourOf(tree, i, isDark) {
	if (tree.isComparison && i > 0) {
		return differenceColour(tree.total[i] / (tree.allTotal || 1),
			tree.base_total[i] / (tree.allBase || 1), tree.z?.[i] ?? 0, isDark);
	}
	return kindColour(kindOf(tree, i), flagsOf(tree, i), nameOf(tree, i), isDark);
}

/**
 * Sizes and draws @canvas. @scene: tree, zoom (node), width and height of the canvas, top (what is
 * scrolled away), isFlipped (the root is at the bottom), found (of searchTree()), selected and
 * hovered (nodes or -1), isDark.
 */
export function paint(canvas, scene) {
	const { tree, zoom, width, height, isDark, found } = scene;
	const scale = window.devicePixelRatio || 1;
	if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
	}
	const pen = canvas.getContext('2d');
	pen.setTransform(scale, 0, 0, scale, 0, 0);
	pen.clearRect(0, 0, width, height);
	pen.font = FONT;
	pen.textBaseline = 'middle';
	const letter = pen.measureText('M').width;

	for (let i = 0; i < tree.length;) {
		const box = boxOf(scene, i);
		if (box.right <= 0 || box.left >= width || box.right - box.left < MIN_WIDTH) {
			i = tree.end[i];
			continue;
		}
		if (box.top < height && box.top + ROW > 0)
			paintNode(pen, scene, i, box, letter);
		i++;
	}
	for (const node of [scene.hovered, scene.selected]) {
		if (node >= 0 && node < tree.length) {
			const box = boxOf(scene, node);
			const left = Math.max(0, box.left);
			pen.strokeStyle = isDark ? '#fff' : '#111827';
			pen.lineWidth = node === scene.selected ? 2 : 1;
			pen.strokeRect(left + 0.5, box.top + 0.5,
				Math.max(1, Math.min(width, box.right) - left - 1), ROW - 1);
		}
	}
	canvas.dataset.zoom = zoom;
	canvas.dataset.matched = found ? found.samples : '';
}

function paintNode(pen, scene, i, box, letter) {
	const { tree, width, zoom, isDark, found } = scene;
	const left = Math.max(0, box.left);
	const wide = Math.min(width, box.right) - left;
	const flags = flagsOf(tree, i);
	const isAncestor = i !== zoom && zoom > i && zoom < tree.end[i];
	const isFound = found?.names[tree.name[i]] && i > 0;

	pen.globalAlpha = isAncestor || (found && !isFound) ? 0.42 : 1;
	pen.fillStyle = isFound ? (isDark ? '#e879f9' : '#d946ef') : colourOf(tree, i, isDark);
	pen.fillRect(left, box.top, Math.max(MIN_WIDTH, wide - (wide > 3 ? 1 : 0)), ROW - 1);
	if (flags & (GUESS | APPROXIMATE) && wide > 4) {
		pen.strokeStyle = '#111827';
		pen.lineWidth = 1;
		pen.setLineDash([3, 2]);
		pen.strokeRect(left + 1.5, box.top + 1.5, wide - 4, ROW - 4);
		pen.setLineDash([]);
	}
	pen.globalAlpha = isAncestor ? 0.7 : 1;
	const letters = Math.floor((wide - 7) / letter);
	if (letters >= 2) {
		const name = nameOf(tree, i) + (flags & GUESS ? ' ?' : '');
		const isOnGrey = isLevel(kindOf(tree, i))
			|| (tree.isComparison && Math.abs(tree.z?.[i] ?? 0) < SIGNIFICANT);
		const isFaint = found && !isFound;
		pen.fillStyle = isDark && (isOnGrey || isFaint) ? '#e5e7eb' : '#14171f';
		pen.fillText(name.length > letters ? `${name.slice(0, letters - 1)}…` : name, left + 4,
			box.top + ROW / 2);
	}
	pen.globalAlpha = 1;
}

function boxOf({ tree, zoom, width, top, isFlipped }, i) {
	const share = tree.width[zoom] || 1;
	const row = isFlipped ? tree.maxDepth - tree.depth[i] : tree.depth[i];
	const left = (tree.left[i] - tree.left[zoom]) / share * width;
	return { left, right: left + tree.width[i] / share * width, top: row * ROW - top };
}

/** The node at a point of the canvas, or -1. */
export function nodeUnder(scene, x, y) {
	const { tree } = scene;
	const row = Math.floor((y + scene.top) / ROW);
	const depth = scene.isFlipped ? tree.maxDepth - row : row;
	for (let i = 0; i < tree.length;) {
		const box = boxOf(scene, i);
		const isOutside = x < box.left || x >= box.right
			|| box.right - box.left < MIN_WIDTH;
		if (isOutside) {
			i = tree.end[i];
		} else {
			if (tree.depth[i] === depth)
				return i;
			i++;
		}
	}
	return -1;
}

/** Where an arrow key leads from node @i: to its parent, its greatest child or a neighbour. */
export function neighbour(tree, i, direction) {
	if (direction === 'out')
		return Math.max(0, tree.parent[i]);
	if (direction === 'in') {
		let best = i;
		for (const child of childrenOf(tree, i)) {
			if (best === i || tree.width[child] > tree.width[best])
				best = child;
		}
		return best;
	}
	if (i === 0)
		return 0;
	const siblings = [...childrenOf(tree, tree.parent[i])];
	const index = siblings.indexOf(i) + (direction === 'next' ? 1 : -1);
	return siblings[Math.max(0, Math.min(siblings.length - 1, index))];
}
