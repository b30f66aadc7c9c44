// SPDX-License-Identifier: Apache-2.0
// Numbers and times as people read them.

const whole = new Intl.NumberFormat('en-US');

export const count = (number) => whole.format(number ?? 0);

/** The type of the values that are shown: samples, or what an opened profile has. */
let shown = { type: 'samples', unit: 'count' };

export function learnType(type) {
	shown = type ?? shown;
}

const TIMES = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]];
const BYTES = [['B', 1], ['KiB', 2 ** 10], ['MiB', 2 ** 20], ['GiB', 2 ** 30], ['TiB', 2 ** 40]];
const UNITS = {
	nanoseconds: [TIMES, 1], microseconds: [TIMES, 1e3], milliseconds: [TIMES, 1e6],
	seconds: [TIMES, 1e9], bytes: [BYTES, 1],
};

/** A value of the shown type: "3.2 MiB", or a number if its unit has no larger ones. */
export function value(number) {
	const [steps, factor] = UNITS[shown.unit] ?? [];
	if (!steps)
		return count(number);
	const exact = (number ?? 0) * factor;
	const [name, size] = steps.findLast((step) => Math.abs(exact) >= step[1]) ?? steps[0];
	return `${Number((exact / size).toPrecision(4)).toLocaleString('en-US')} ${name}`;
}

/** The same with what it is: "17 samples", "3.2 MiB", "5 inuse_objects". */
export function amount(number) {
	if (UNITS[shown.unit])
		return value(number);
	return `${count(number)} ${shown.unit === 'count' ? shown.type : `${shown.unit} (${shown.type})`}`;
}

export function percent(part, total) {
	const share = total ? 100 * part / total : 0;
	return `${share.toFixed(Math.abs(share) >= 9.995 || share === 0 ? 1 : 2)}%`;
}

/** ":line:column", as far as they are known. */
export function positionText(line, column) {
	return line ? `:${line}${column ? `:${column}` : ''}` : '';
}

/** Of @ms since @epoch, by the reader's clock. */
export function clockTime(epoch, ms, withFraction) {
	const date = new Date(epoch + ms);
	const two = (number) => String(number).padStart(2, '0');
	const text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
	return withFraction ? `${text}.${String(date.getMilliseconds()).padStart(3, '0')}` : text;
}

export function duration(ms) {
	if (ms < 1000)
		return `${Math.round(ms)} ms`;
	const seconds = ms / 1000;
	if (seconds < 60)
		return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
	return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
