// SPDX-License-Identifier: Apache-2.0
// Numbers and times as people read them.

const whole = new Intl.NumberFormat('en-US');

export const count = (number) => whole.format(number ?? 0);

export function percent(part, total) {
	const share = total ? 100 * part / total : 0;
	return `${share.toFixed(share >= 9.995 || share === 0 ? 1 : 2)}%`;
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
