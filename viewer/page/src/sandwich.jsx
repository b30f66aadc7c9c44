// SPDX-License-Identifier: Apache-2.0
// One function: who calls it, above; what it calls, below.
import { useMemo, useState } from 'preact/hooks';
import { Flame, Legend } from './flame.jsx';
import { amount, percent, value } from './format.js';
import { significanceText } from './paint.js';
import { childrenOf, kindOf, layOut, nameOf } from './tree.js';

const NO_PATH = [];

function Nearest({ title, tree, onPick }) {
	const rows = [...childrenOf(tree, 0)].sort((a, b) => tree.width[b] - tree.width[a]).slice(0, 12);
	return (
		<div class="nearest">
			<h3>{title}</h3>
			<ul>
				{rows.map((i) => (
					<li key={i}>
						<button class="plain" onClick={() => onPick(nameOf(tree, i), kindOf(tree, i))}>
							<span>{nameOf(tree, i)}</span>
							<em>{percent(tree.total[i], tree.allTotal)}</em>
						</button>
					</li>
				))}
				{rows.length === 0 && <li class="faint">none</li>}
			</ul>
		</div>
	);
}

/** The function's share beside that in the base; the shares in the graphs are of the function. */
const comparison = (answer) =>
	`base: ${amount(answer.base_samples)}, ${percent(answer.base_samples, answer.base_total)}; `
	+ `self ${value(answer.base_self)}; `
	+ significanceText(answer.z, answer.samples * answer.base_total
		> answer.base_samples * answer.total);

/** @answer: of "sandwich", or null while a function is still to be chosen. */
export function Sandwich({ answer, name, search, isDark, onPick }) {
	const callers = useMemo(() => answer && layOut({ tree: answer.callers }), [answer]);
	const callees = useMemo(() => answer && layOut({ tree: answer.callees }), [answer]);
	const [callerZoom, setCallerZoom] = useState(NO_PATH);
	const [calleeZoom, setCalleeZoom] = useState(NO_PATH);
	if (!name) {
		return (
			<p class="empty">
				Choose a function: by its name in the table of functions, or by “Callers and callees”
				of a frame in the flame graph.
			</p>
		);
	}
	if (!answer)
		return <p class="empty">Looking for {name}…</p>;
	if (!answer.samples && !answer.base_samples)
		return <p class="empty">No sample of what is chosen has {name} in its stack.</p>;
	const shared = { search, isDark, actions: [['Callers and callees', onPick]] };
	return (
		<section class="pane sandwich" aria-label={`Callers and callees of ${name}`}>
			<div class="bar">
				<h2>{name}</h2>
				<span class="shown">
					{`${amount(answer.samples)}, ${percent(answer.samples, answer.total)}; `
						+ `self ${value(answer.self)}, ${percent(answer.self, answer.total)}`}
					{callers.isComparison && ` · ${comparison(answer)}`}
				</span>
			</div>
			<div class="halves">
				<div>
					<Flame label="Callers" tree={callers} zoom={callerZoom} onZoom={setCallerZoom}
						isFlipped {...shared} />
					<Flame label="Callees" tree={callees} zoom={calleeZoom} onZoom={setCalleeZoom}
						{...shared} />
				</div>
				<section class="neighbours" aria-label="Nearest functions">
					<Nearest title="Called by" tree={callers} onPick={onPick} />
					<Nearest title="Calls" tree={callees} onPick={onPick} />
				</section>
			</div>
			<Legend isDark={isDark} isComparison={callers.isComparison} />
		</section>
	);
}
