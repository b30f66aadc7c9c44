// SPDX-License-Identifier: Apache-2.0
// Draws the time line and the heat map, and turns points of them into times.

import { amount } from './format.js';

function prepare(canvas, width, height) {
	const scale = window.devicePixelRatio || 1;
	if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
	}
	const pen = canvas.getContext('2d');
	pen.setTransform(scale, 0, 0, scale, 0, 0);
	pen.clearRect(0, 0, width, height);
	return pen;
}

const RANGE_COLOUR = '#2563eb';
const BASE_COLOUR = '#b45309';

const STEPS = [1, 2, 4, 5, 8];

/** The least round number that is not below @number. */
function roundUp(number) {
	const unit = 10 ** Math.floor(Math.log10(Math.max(number, 0.01)));
	return unit * (STEPS.find((step) => step * unit >= number * 0.999) ?? 10);
}

/**
 * {top, samples, text} of the time line's axis: it ends at the most that all samples have at a time, so filters do
 * not change it, or at @cpus. In CPUs if the @rate is known, else in samples.
 */
export function timelineAxis(timeline, rate, cpus = 0) {
	const perCpu = rate ? rate * timeline.step_ms / 1000 : 1;
	const most = timeline.all.reduce((a, b) => Math.max(a, b), Math.max(1, cpus * perCpu));
	const top = rate ? roundUp(most / perCpu) : most;
	const text = rate ? `${+top.toPrecision(3)} CPU${top === 1 ? '' : 's'}` : amount(most);
	return { top, samples: top * perCpu, text };
}

/** The counts of rows by themselves, each on top of those before, from @bottom on. */
function paintStack(pen, height, bar, timeline, axis, stack) {
	const below = timeline.counts.map(() => 0);
	timeline.stack.forEach((counts, row) => {
		pen.fillStyle = stack.colours[row];
		counts.forEach((number, i) => {
			const low = Math.min(1, below[i] / axis.samples) * (height - 3);
			below[i] += number;
			const high = Math.min(1, below[i] / axis.samples) * (height - 3);
			if (number > 0)
				pen.fillRect(i * bar, height - high, Math.max(0.6, bar - (bar > 3 ? 1 : 0)), high - low);
		});
	});
}

/** Hatched: where there is no sample, CPUs were idle, or were not sampled. */
function paintIdle(pen, width, height, isDark) {
	pen.strokeStyle = isDark ? '#2c323d' : '#e4e7ec';
	pen.lineWidth = 1;
	pen.beginPath();
	for (let x = -height; x < width; x += 6) {
		pen.moveTo(x, height);
		pen.lineTo(x + height, 0);
	}
	pen.stroke();
}

/**
 * @timeline: the answer. @axis: of timelineAxis(). @ranges: {range, base}, each [from, to] or null. @stack: {colours} of the
 * rows in timeline.stack, or null.
 */
export function paintTimeline(canvas, width, height, timeline, axis, ranges, stack, isDark) {
	const pen = prepare(canvas, width, height);
	const { counts, all, from, step_ms: step } = timeline;
	const span = counts.length * step || 1;
	const bar = width / (counts.length || 1);
	if (stack)
		paintIdle(pen, width, height, isDark);
	for (const [numbers, colour] of [[all, isDark ? '#39404d' : '#d5d9e0'], [counts, isDark ? '#7c8798' : '#8b95a5']]) {
		pen.fillStyle = colour;
		numbers.forEach((number, i) => {
			const tall = Math.min(1, number / axis.samples) * (height - 3);
			pen.fillRect(i * bar, height - tall, Math.max(0.6, bar - (bar > 3 ? 1 : 0)), tall);
		});
	}
	if (stack)
		paintStack(pen, height, bar, timeline, axis, stack);
	pen.fillStyle = isDark ? '#9aa4b5' : '#5b6474';
	for (const share of [1, 0.5])
		pen.fillRect(0, height - share * (height - 3), width, 0.5);
	canvas.dataset.range = ranges.range?.join(' ') ?? '';
	for (const [range, colour] of [[ranges.base, BASE_COLOUR], [ranges.range, RANGE_COLOUR]]) {
		if (!range)
			continue;
		const left = (range[0] - from) / span * width;
		const wide = Math.max(2, (range[1] - range[0]) / span * width);
		pen.globalAlpha = 0.22;
		pen.fillStyle = colour;
		pen.fillRect(left, 0, wide, height);
		pen.globalAlpha = 1;
		pen.fillRect(left, 0, 1.5, height);
		pen.fillRect(left + wide - 1.5, 0, 1.5, height);
	}
}

function heatColour(share, isDark) {
	if (share === 0)
		return isDark ? [24, 28, 36] : [240, 242, 245];
	const strength = Math.sqrt(share);
	return isDark
		? [60 + 195 * strength, 44 + 120 * strength * strength, 40 + 20 * strength]
		: [255 - 60 * strength * strength, 222 - 190 * strength, 190 - 175 * strength];
}

export const columnMs = (heat) => 1000 * (heat.seconds_per_column || 1);

/** One column a second or several, upwards; the rows of the first part of them at the bottom. */
export function paintHeatmap(canvas, width, height, heat, ranges, isDark) {
	const pen = prepare(canvas, width, height);
	const { columns, rows, counts, max_of_all: most } = heat;
	if (!columns)
		return;
	const picture = new ImageData(columns, rows);
	for (let i = 0; i < counts.length; i++) {
		const column = Math.floor(i / rows);
		const pixel = 4 * ((rows - 1 - i % rows) * columns + column);
		const [red, green, blue] = heatColour(most ? counts[i] / most : 0, isDark);
		picture.data.set([red, green, blue, 255], pixel);
	}
	const small = new OffscreenCanvas(columns, rows);
	small.getContext('2d').putImageData(picture, 0, 0);
	pen.imageSmoothingEnabled = false;
	pen.drawImage(small, 0, 0, width, height);
	const wide = width / columns;
	for (const [range, colour] of [[ranges.base, BASE_COLOUR], [ranges.range, RANGE_COLOUR]]) {
		if (!range)
			continue;
		const first = Math.max(0, Math.floor((range[0] - heat.from) / columnMs(heat)));
		for (let column = first; column < columns; column++) {
			const start = heat.from + column * columnMs(heat);
			if (start >= range[1])
				break;
			// Of a column of several seconds the rows are parts of each of them.
			const isSecond = columnMs(heat) === 1000;
			const low = isSecond ? Math.max(0, (range[0] - start) / 1000) : 0;
			const high = isSecond ? Math.min(1, (range[1] - start) / 1000) : 1;
			pen.globalAlpha = isDark ? 0.5 : 0.35;
			pen.fillStyle = colour;
			pen.fillRect(column * wide, height * (1 - high), wide, height * (high - low));
			pen.globalAlpha = 1;
		}
	}
}

/** @colours: of the rows in each lane's stack, above which the others are. A lane is as high as its CPU was busy. */
export function paintLanes(canvas, width, height, lanes, rate, colours, isDark) {
	const pen = prepare(canvas, width, height);
	const tall = height / lanes.lanes.length;
	const full = rate * lanes.step_ms / 1000;
	lanes.lanes.forEach(({ stack, counts }, lane) => {
		const bar = width / counts.length;
		const bottom = (lane + 1) * tall - 1;
		const heightOf = (samples) => Math.min(1, samples / full) * (tall - 2);
		pen.fillStyle = isDark ? '#1c2028' : '#f0f2f5';
		pen.fillRect(0, bottom - tall + 2, width, tall - 2);
		counts.forEach((all, i) => {
			if (!all)
				return;
			pen.fillStyle = isDark ? '#7c8798' : '#8b95a5';
			pen.fillRect(i * bar, bottom - Math.max(1, heightOf(all)), Math.max(0.6, bar), Math.max(1, heightOf(all)));
			let below = 0;
			stack.forEach((row, which) => {
				pen.fillStyle = colours[which];
				pen.fillRect(i * bar, bottom - heightOf(below + row[i]), Math.max(0.6, bar),
					heightOf(below + row[i]) - heightOf(below));
				below += row[i];
			});
		});
	});
}

/** The bucket [from, to] at a point of the time line. */
export function timelineBucket(timeline, width, x) {
	const last = Math.max(0, timeline.counts.length - 1);
	const bucket = Math.max(0, Math.min(last, Math.floor(x / width * timeline.counts.length)));
	const from = timeline.from + bucket * timeline.step_ms;
	return [from, from + timeline.step_ms];
}

/** The cell's [from, to] at a point of the heat map; the whole column's where that is several seconds. */
export function heatCell(heat, width, height, x, y) {
	const column = Math.max(0, Math.min(heat.columns - 1, Math.floor(x / width * heat.columns)));
	const start = heat.from + column * columnMs(heat);
	if (columnMs(heat) > 1000)
		return [start, start + columnMs(heat)];
	const row = Math.max(0, Math.min(heat.rows - 1, Math.floor((1 - y / height) * heat.rows)));
	const step = 1000 / heat.rows;
	const from = start + row * step;
	return [Math.round(from), Math.round(from + step)];
}

/** Moves @range by an arrow key, or with @isLonger its end. */
export function moveRange(range, key, isLonger, steps, bounds) {
	const step = { ArrowLeft: -steps.wide, ArrowRight: steps.wide, ArrowUp: steps.fine,
		ArrowDown: -steps.fine }[key];
	if (!range)
		return [Math.max(bounds[0], bounds[1] - steps.wide), bounds[1]];
	const length = range[1] - range[0];
	if (isLonger)
		return [range[0], Math.max(range[0] + steps.fine, Math.min(bounds[1], range[1] + step))];
	const from = Math.max(bounds[0], Math.min(bounds[1] - length, range[0] + step));
	return [from, from + length];
}
