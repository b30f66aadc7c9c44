// SPDX-License-Identifier: Apache-2.0
// What the search has found among all samples, and the way from hit to hit.
import { useMemo, useState } from 'preact/hooks';
import { amount, count, percent, value } from './format.js';
import { layOut, leaves, pathByIds } from './tree.js';

const PROCESSES = 4;

const around = (number, length) => ((number % length) + length) % length;

/** The answer to this text, if it has come. */
const answerTo = (answer, text) =>
	(answer && new URLSearchParams(answer.query).get('text') === text ? answer : null);

/**
 * {hits, hit, go}: the number of hits, the one that is gone to as {key, number, path}, null before the first, and
 * the function that goes on by a number of hits. Where the hits are not known yet, it goes when they come.
 */
export function useHits(answer, text) {
	const [turn, setTurn] = useState({ text: '', number: 0, isBegun: false });
	const found = answerTo(answer, text)?.data?.hits;
	const tree = useMemo(() => found && layOut({ tree: found }), [found]);
	const nodes = useMemo(() => (tree ? leaves(tree) : []), [tree]);
	const isBegun = turn.text === text && turn.isBegun;
	const index = nodes.length ? around(turn.number, nodes.length) : 0;
	const hit = useMemo(() => (isBegun && nodes.length
		? { key: `${turn.number} ${text}`, number: index + 1, path: pathByIds(tree, nodes[index]) }
		: null), [tree, nodes, turn, text]);
	const go = (step) => setTurn((old) => (old.text === text && old.isBegun
		? { ...old, number: old.number + step } : { text, number: step > 0 ? 0 : -1, isBegun: true }));
	return { hits: nodes.length, hit, go };
}

function Processes({ data }) {
	const shown = data.processes.slice(0, PROCESSES);
	const others = data.processes_total - shown.length;
	return (
		<>
			{shown.map((row) => (
				<span key={`${row.pid} ${row.comm} ${row.host}`} class="faint"
					title={`${value(row.matched)} of ${amount(row.samples)} of the process`}>
					{`${row.comm}${row.pid ? ` ${row.pid}` : ''}: ${value(row.matched)}, `
						+ percent(row.matched, row.samples)}
				</span>
			))}
			{others > 0 && <span class="faint">{`${count(others)} more processes`}</span>}
		</>
	);
}

export function SearchLine({ answer, text, hits, hit, onGo }) {
	if (!text)
		return null;
	const known = answerTo(answer, text);
	if (known?.error)
		return <p class="found-line bad" role="status">{known.error}</p>;
	if (!known)
		return <p class="found-line" role="status">Searching…</p>;
	const { data } = known;
	return (
		<div class="found-line" role="status" aria-label="Search">
			<span>
				{`${amount(data.matched)} match, ${percent(data.matched, data.total)} of `
					+ value(data.total)}
			</span>
			{hits > 0 && (
				<span class="group">
					<button aria-label="Previous hit" title="Previous hit (Shift+Enter in the search)"
						onClick={() => onGo(-1)}>‹</button>
					<span>{hit ? `hit ${count(hit.number)} of ${count(hits)}` : `${count(hits)} hit${hits === 1 ? '' : 's'}`}</span>
					<button aria-label="Next hit" title="Next hit (Enter in the search)"
						onClick={() => onGo(1)}>›</button>
				</span>
			)}
			<Processes data={data} />
		</div>
	);
}
