// SPDX-License-Identifier: Apache-2.0
// Colours by kind of frame, and by difference in a comparison.

export const INLINED = 1;
export const GUESS = 2;
export const APPROXIMATE = 4;
/** Below this a difference may well be chance. */
export const SIGNIFICANT = 2;

// What is no frame: the root, and the levels of processes and threads.
const LEVELS = ['', 'root', 'process', 'thread'];
// Without colour, light and dark.
const NEUTRAL = ['#d5d9e0', '#4a5261'];
// Hue and saturation.
const KINDS = {
	native: [14, 78], kernel: [38, 88], go: [188, 55], java: [142, 42], python: [216, 68],
	jit: [286, 48], inlined: [54, 62], error: [352, 70],
};

export const LEGEND = Object.keys(KINDS);

/** True where a frame is drawn without colour. */
export const isLevel = (kind) => LEVELS.includes(kind);

function hashOf(text) {
	let hash = 0;
	for (let i = 0; i < text.length; i++)
		hash = (hash * 31 + text.charCodeAt(i)) | 0;
	return hash >>> 0;
}

/** Of a frame; shades tell neighbours of one kind apart. */
export function kindColour(kind, flags, name, isDark) {
	if (isLevel(kind))
		return NEUTRAL[isDark ? 1 : 0];
	const shown = flags & INLINED ? 'inlined' : kind;
	const [hue, saturation] = KINDS[shown] || [hashOf(shown) % 360, 45];
	const shade = name ? hashOf(name) % 5 * 2 : 4;
	return `hsl(${hue} ${isDark ? saturation - 12 : saturation}% ${(isDark ? 56 : 71) + shade}%)`;
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
