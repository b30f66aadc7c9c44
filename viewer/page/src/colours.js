// SPDX-License-Identifier: Apache-2.0
// Colours by kind of frame, and by difference in a comparison.

export const INLINED = 1;
export const GUESS = 2;
export const APPROXIMATE = 4;
/** The frame stands for several functions. */
export const GROUP = 8;
/** Below this a difference may well be chance. */
export const SIGNIFICANT = 2;

// What is no frame: the root, and the levels of processes and threads.
const LEVELS = ['', 'root', 'process', 'thread'];
// Without colour, light and dark.
const NEUTRAL = ['#d5d9e0', '#4a5261'];
// Hue and saturation of those that were chosen; the others get theirs by a rule (learnKinds()).
const KINDS = {
	native: [14, 78], kernel: [38, 88], go: [188, 55], java: [142, 42], python: [216, 68],
	jit: [286, 48], inlined: [54, 62], error: [352, 70],
};

const OTHER_SATURATION = 50;
const CONTRAST = 4.5;
// Relative luminance (WCAG 2.2) of the text on bars, #14171f.
const TEXT_LUMINANCE = 0.0086;
const learned = {};

/** True where a frame is drawn without colour. */
export const isLevel = (kind) => LEVELS.includes(kind);

function hashOf(text) {
	let hash = 0;
	for (let i = 0; i < text.length; i++)
		hash = (hash * 31 + text.charCodeAt(i)) | 0;
	return hash >>> 0;
}

/** The middle of the widest gap between hues. */
function freeHue(taken) {
	const hues = taken.sort((a, b) => a - b);
	const gaps = hues.map((hue, i) => (i + 1 < hues.length ? hues[i + 1] : hues[0] + 360) - hue);
	const widest = gaps.indexOf(Math.max(...gaps));
	return (hues[widest] + gaps[widest] / 2) % 360;
}

/** Takes note of the kinds of frames that there are: hues of new ones are apart from those of all others. */
export function learnKinds(kinds) {
	for (const kind of kinds) {
		if (isLevel(kind) || KINDS[kind] || learned[kind])
			continue;
		const taken = [...Object.values(KINDS), ...Object.values(learned)].map(([hue]) => hue);
		learned[kind] = [freeHue(taken), OTHER_SATURATION];
	}
}

/** The kinds of which there is a colour, the languages by name. */
export function legend() {
	const others = ['native', 'kernel', 'jit', 'inlined', 'error'];
	const languages = Object.keys({ ...KINDS, ...learned }).filter((kind) => !others.includes(kind));
	return ['native', 'kernel', ...languages.sort(), 'jit', 'inlined', 'error'];
}

/** Relative luminance of a colour, all in percent but the hue. */
function luminance(hue, saturation, lightness) {
	const amplitude = saturation / 100 * Math.min(lightness, 100 - lightness) / 100;
	const part = (n) => {
		const k = (n + hue / 30) % 12;
		const value = lightness / 100 - amplitude * Math.max(-1, Math.min(k - 3, 9 - k, 1));
		return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
	};
	return 0.2126 * part(0) + 0.7152 * part(8) + 0.0722 * part(4);
}

/** The lightness from @least on at which text can be read. */
function readable(hue, saturation, least) {
	let lightness = least;
	while ((luminance(hue, saturation, lightness) + 0.05) / (TEXT_LUMINANCE + 0.05) < CONTRAST)
		lightness++;
	return lightness;
}

/** The colour of a frame; shades distinguish neighbours of one kind. */
export function kindColour(kind, flags, name, isDark) {
	if (isLevel(kind))
		return NEUTRAL[isDark ? 1 : 0];
	const shown = flags & INLINED ? 'inlined' : kind;
	const [hue, colourful] = KINDS[shown] || learned[shown] || [hashOf(shown) % 360, OTHER_SATURATION];
	const saturation = isDark ? colourful - 12 : colourful;
	const base = isDark ? 56 : 71;
	const shade = name ? hashOf(name) % 5 * 2 : 4;
	return `hsl(${hue} ${saturation}% ${readable(hue, saturation, base) + shade}%)`;
}

// By steps of the golden angle neighbours in the list are far apart, and so are all while they are few.
const GOLDEN_ANGLE = 137.508;
const unitHues = new Map();

/** Takes note of binaries or packages, the most important first: each keeps its hue. */
export function learnUnits(units) {
	for (const unit of units) {
		if (!unitHues.has(unit))
			unitHues.set(unit, Math.round(unitHues.size * GOLDEN_ANGLE) % 360);
	}
}

/** The colour of a binary or a package. */
export function unitColour(unit, isDark) {
	const hue = unitHues.get(unit) ?? hashOf(unit) % 360;
	const saturation = isDark ? 48 : 62;
	return `hsl(${hue} ${saturation}% ${readable(hue, saturation, isDark ? 58 : 72) + hashOf(unit) % 5}%)`;
}

/** So many rows of the table of processes have colours of their own in the time line and in the lanes. */
export const ROW_COLOURS = 8;
const ROW_HUES = [[217, 80], [28, 90], [152, 62], [330, 62], [262, 70], [190, 85], [48, 88], [0, 68]];

/** The colour of a row, by its slot. */
export function rowColour(slot, isDark) {
	const [hue, saturation] = ROW_HUES[slot % ROW_COLOURS];
	return `hsl(${hue} ${saturation}% ${isDark ? 62 : 47}%)`;
}

/**
 * Slots of the rows with these ids, as a map: each keeps the one that it had in @before, so that colours stay while the order
 * changes.
 */
export function rowSlots(ids, before) {
	const slots = new Map(ids.filter((id) => before.has(id)).map((id) => [id, before.get(id)]));
	const taken = new Set(slots.values());
	const free = [...Array(ROW_COLOURS).keys()].filter((slot) => !taken.has(slot));
	for (const id of ids.slice(0, ROW_COLOURS)) {
		if (!slots.has(id))
			slots.set(id, free.shift());
	}
	return slots;
}

/** Red for a greater share than in the base, blue for a smaller one, grey for chance. */
export function differenceColour(share, baseShare, z, isDark) {
	if (Math.abs(z) < SIGNIFICANT)
		return NEUTRAL[isDark ? 1 : 0];
	const greater = Math.max(share, baseShare);
	const strength = greater ? Math.abs(share - baseShare) / greater : 0;
	const light = isDark ? 66 - 14 * strength : 86 - 24 * strength;
	return `hsl(${share > baseShare ? 4 : 214} ${60 + 25 * strength}% ${light}%)`;
}
