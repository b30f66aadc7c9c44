// SPDX-License-Identifier: Apache-2.0
// A line for each delay in the agent, while it lasts.
import { duration } from './format.js';

/** Younger than this is what waits on a busy machine, too. */
const SHOWN_MS = 1000;

/** [key, text] of each line. */
function linesOf(delays) {
	const { sample_ms: sampleMs, event_ms: eventMs, hanging_pids: pids } = delays;
	const lines = [];
	if (sampleMs > SHOWN_MS) {
		lines.push(['samples', `Samples are held up: the oldest that waits is ${duration(sampleMs)} old, `
			+ 'and the last ones are not shown yet.']);
	}
	if (eventMs > SHOWN_MS) {
		lines.push(['processes', `News of processes are held up: the oldest waits for ${duration(eventMs)}, `
			+ 'and stacks of new programs are incomplete.']);
	}
	if (pids.length) {
		lines.push(['hanging', `Memory or files of process ${pids.join(', ')} do not answer: its stacks are incomplete.`]);
	}
	return lines;
}

export function Delays({ delays }) {
	return linesOf(delays).map(([key, text]) => (
		<p key={key} class="delay" role="status" data-delay={key}>{text}</p>
	));
}
