// SPDX-License-Identifier: Apache-2.0
// Draws a laid-out tree on a canvas, and says what lies at a point of it.
import { GUESS, APPROXIMATE, SIGNIFICANT, differenceColour, isLevel, kindColour, unitColour } from './colours.js';
import { count } from './format.js';
import { ROW, blockNumber, boxOf, isBlock } from './boxes.js';
import { flagsOf, kindOf, nameOf, unitOf } from './tree.js';

const HATCH_PIXELS = 6;
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
	if (unitOf(tree, i) && !isLevel(kindOf(tree, i)))
		return unitColour(unitOf(tree, i), isDark);
	return kindColour(kindOf(tree, i), flagsOf(tree, i), nameOf(tree, i), isDark);
}

/**
 * Sizes and draws @canvas. @scene: tree, zoom (node), boxes (of arrangeBoxes()), width and height of the canvas,
 * top (what is scrolled away), isFlipped (the root is at the bottom), found (of searchTree()), selected and
 * hovered (nodes or blocks, or -1), isDark.
 */
export function paint(canvas, scene) {
	const { tree, zoom, boxes, width, height, isDark, found } = scene;
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
		if (!boxes.width[i]) {
			i = tree.end[i];
			continue;
		}
		const box = boxOf(scene, i);
		if (box.top < height && box.top + ROW > 0)
			paintNode(pen, scene, i, box, letter);
		i++;
	}
	paintBlocks(pen, scene, letter);
	for (const node of [scene.hovered, scene.selected]) {
		if (isBlock(node) || (node >= 0 && boxes.width[node])) {
			const box = boxOf(scene, node);
			const { left } = box;
			pen.strokeStyle = isDark ? '#fff' : '#111827';
			pen.lineWidth = node === scene.selected ? 2 : 1;
			pen.strokeRect(left + 0.5, box.top + 0.5,
				Math.max(1, box.right - left - 1), ROW - 1);
		}
	}
	canvas.dataset.zoom = zoom;
	canvas.dataset.matched = found ? found.samples : '';
	canvas.dataset.narrow = boxes.blocks.reduce((sum, block) => sum + block.count, 0);
}

/** Stripes, so that a block is no frame without its colour too. */
function hatch(pen, isDark) {
	const tile = new OffscreenCanvas(HATCH_PIXELS, HATCH_PIXELS);
	const brush = tile.getContext('2d');
	brush.fillStyle = isDark ? '#262c37' : '#eef0f3';
	brush.fillRect(0, 0, HATCH_PIXELS, HATCH_PIXELS);
	brush.strokeStyle = isDark ? '#6b7585' : '#9aa3b1';
	brush.beginPath();
	for (const x of [-HATCH_PIXELS, 0, HATCH_PIXELS]) {
		brush.moveTo(x, HATCH_PIXELS);
		brush.lineTo(x + HATCH_PIXELS, 0);
	}
	brush.stroke();
	return pen.createPattern(tile, 'repeat');
}

/** As much of the words about a block as fits. */
function blockText({ count: number }, letters) {
	const all = `${count(number)} narrow frame${number === 1 ? '' : 's'}`;
	return [`${all} not drawn, zoom in`, all, count(number)].find((text) => text.length <= letters) ?? '';
}

function paintBlocks(pen, scene, letter) {
	const { boxes, height, isDark } = scene;
	const pattern = hatch(pen, isDark);
	boxes.blocks.forEach((block, index) => {
		const box = boxOf(scene, blockNumber(index));
		if (box.top >= height || box.top + ROW <= 0)
			return;
		pen.fillStyle = pattern;
		pen.fillRect(box.left, box.top, Math.max(0.5, block.width - (block.width > 3 ? 1 : 0)), ROW - 1);
		const text = blockText(block, Math.floor((block.width - 11) / letter));
		if (!text)
			return;
		pen.fillStyle = isDark ? '#262c37' : '#eef0f3';
		pen.fillRect(box.left + 2, box.top + 1, text.length * letter + 4, ROW - 3);
		pen.fillStyle = isDark ? '#e5e7eb' : '#14171f';
		pen.fillText(text, box.left + 4, box.top + ROW / 2);
	});
}

function paintNode(pen, scene, i, box, letter) {
	const { tree, zoom, isDark, found } = scene;
	const { left } = box;
	const wide = box.right - left;
	const flags = flagsOf(tree, i);
	const isAncestor = i !== zoom && zoom > i && zoom < tree.end[i];
	const isFound = found?.names[tree.name[i]] && i > 0;

	pen.globalAlpha = isAncestor || (found && !isFound) ? 0.42 : 1;
	pen.fillStyle = isFound ? (isDark ? '#e879f9' : '#d946ef') : colourOf(tree, i, isDark);
	pen.fillRect(left, box.top, wide - (wide > 3 ? 1 : 0), ROW - 1);
	if (flags & (GUESS | APPROXIMATE) && wide > 4) {
		pen.strokeStyle = '#111827';
		pen.lineWidth = 1;
		pen.setLineDash([3, 2]);
		pen.strokeRect(left + 1.5, box.top + 1.5, wide - 4, ROW - 4);
		pen.setLineDash([]);
	}
	pen.globalAlpha = 1;
	const letters = Math.floor((wide - 7) / letter);
	if (letters >= 2) {
		const name = nameOf(tree, i) + (flags & GUESS ? ' ?' : '');
		const isOnGrey = isLevel(kindOf(tree, i))
			|| (tree.isComparison && Math.abs(tree.z?.[i] ?? 0) < SIGNIFICANT);
		const isFaint = found && !isFound;
		pen.fillStyle = isDark && (isOnGrey || isFaint || isAncestor) ? '#e5e7eb' : '#14171f';
		pen.fillText(name.length > letters ? `${name.slice(0, letters - 1)}…` : name, left + 4,
			box.top + ROW / 2);
	}
	pen.globalAlpha = 1;
}
