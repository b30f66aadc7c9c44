// SPDX-License-Identifier: Apache-2.0
// The overlay behind "?".
import { useEffect, useRef } from 'preact/hooks';

const KEYS = [
	['1 … 6', 'flame graph, processes, functions, call tree, callers and callees, quality of stacks'],
	['/', 'search; /an expression/ works too'],
	['Enter', 'in the search: next hit, with Shift the previous one'],
	['Space', 'freeze the view, and follow again'],
	['f', 'flame graph: root above or below'],
	['i', 'flame graph: leaves first, with their callers below them'],
	['c', 'drop all filters, the range and the base'],
	['b', 'use the range as the base of a comparison'],
	['d', 'dark, light, or as the system has it'],
	['Esc', 'zoom out'],
	['?', 'this help'],
];
const IN_GRAPH = [
	['← → ↑ ↓', 'walk from frame to frame'],
	['Enter', 'zoom to the frame'],
	['Esc', 'zoom out'],
	['Shift + F10', 'menu of the frame, as by right click or a long press'],
];
const IN_TABLE = [
	['→ ←', 'in the call tree: open and close'],
	['*', 'in the call tree: open all below'],
	['← → ↑ ↓', 'in the table of processes: walk from cell to cell'],
	['Enter', 'filter by the cell, or drop that filter'],
];
const IN_TIMES = [
	['← →', 'move the range; the first press makes one at the end'],
	['↑ ↓', 'in the heat map: move it by one cell'],
	['Shift + arrows', 'move its end'],
	['Esc', 'drop it'],
];

const Keys = ({ title, keys }) => (
	<>
		<h3>{title}</h3>
		<dl>{keys.map(([key, text]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{text}</dd></div>)}</dl>
	</>
);

const READ = [
	['Width', 'A frame is as wide as its samples: the share of CPU time of a function with all that it calls.'],
	['Up and down', 'Below a frame is what it calls, above it its callers. From left to right is no time: callees are in the order of their names.'],
	['Self', 'The samples in which the function itself ran. Total has its callees too.'],
	['Colours', 'The type of code, as the legend has it. Dashed frames are guesses.'],
	['Frames', 'The menu folds frames of runtimes, inlined functions, recursion and the kernel, shows binaries or packages instead of functions, and colours by them. Sums stay exact. A chip above the graph drops each change.'],
	['Hatched', 'Frames too narrow to draw: zoom in to see them.'],
	['Comparison', 'Choose a range, “Use as base”, then another range; or “compare” a row of the processes, then choose another one. Red is more than in the base, blue less, grey may be chance. The table of functions sorts by what has changed.'],
	['Processes', 'Who keeps the CPUs busy. Click on a cell to filter by it; the filters stay on the other tabs.'],
	['Quality', 'Which stacks are not complete, why, and what helps.'],
];

export function Help({ onClose }) {
	const dialog = useRef();
	useEffect(() => {
		dialog.current.showModal();
	}, []);
	return (
		<dialog ref={dialog} onClose={onClose} aria-labelledby="help-title">
			<form method="dialog">
				<h2 id="help-title">How to read this</h2>
				<button aria-label="Close">✕</button>
			</form>
			<dl class="read">
				{READ.map(([word, text]) => <div key={word}><dt>{word}</dt><dd>{text}</dd></div>)}
			</dl>
			<div class="keys">
				<div><Keys title="Keys" keys={KEYS} /></div>
				<div>
					<Keys title="In a flame graph" keys={IN_GRAPH} />
					<Keys title="In tables" keys={IN_TABLE} />
					<Keys title="In the time line and the heat map" keys={IN_TIMES} />
				</div>
			</div>
			<p class="faint">
				A click zooms; times are chosen by dragging. The page’s address holds what is looked at:
				a link restores it.
			</p>
		</dialog>
	);
}
