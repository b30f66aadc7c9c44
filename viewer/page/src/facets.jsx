// SPDX-License-Identifier: Apache-2.0
// Filters, with how many samples each would leave.
import { useState } from 'preact/hooks';
import { count } from './format.js';

const SHORT = 6;

/** How each list of the answer becomes a filter: its parameter, the value, the text. */
const LISTS = [
	['processes', 'Process', 'pid', (row) => row.pid, (row) => `${row.comm} ${row.pid}`],
	['threads', 'Thread', 'tid', (row) => row.tid, (row) => `${row.name} ${row.tid}`],
	['containers', 'Container', 'container', (row) => row.id, (row) => row.id.slice(0, 16) || 'none'],
	['cpus', 'CPU', 'cpu', (row) => row.cpu, (row) => `CPU ${row.cpu}`],
	['kinds', 'Kind of the leaf', 'kind', (row) => row.kind, (row) => row.kind],
];

function Facet({ title, rows, total, parameter, valueOf, textOf, chosen, onToggle }) {
	const [isLong, setLong] = useState(false);
	const greatest = rows.reduce((most, row) => Math.max(most, row.count), 1);
	const values = rows.map((row) => String(valueOf(row)));
	// What was chosen stays, also where no sample has it now.
	const gone = chosen.filter((value) => !values.includes(value));
	const shown = rows.filter((row, i) => isLong || i < SHORT || chosen.includes(values[i]));
	return (
		<fieldset class="facet" data-facet={parameter}>
			<legend>{title}</legend>
			<ul>
				{shown.map((row) => {
					const value = String(valueOf(row));
					return (
						<li key={value}>
							<button class="plain" aria-pressed={chosen.includes(value)} data-value={value}
								onClick={() => onToggle(parameter, value)} title={textOf(row)}>
								<i style={{ width: `${100 * row.count / greatest}%` }} />
								<span>{textOf(row)}</span>
								<em>{count(row.count)}</em>
							</button>
						</li>
					);
				})}
				{gone.map((value) => (
					<li key={value}>
						<button class="plain" aria-pressed="true" data-value={value}
							onClick={() => onToggle(parameter, value)}>
							<span>{value || 'none'}</span><em>0</em>
						</button>
					</li>
				))}
			</ul>
			{rows.length > SHORT && (
				<button class="plain more-rows" onClick={() => setLong(!isLong)}>
					{isLong ? 'fewer' : `${count((total ?? rows.length) - SHORT)} more`}
				</button>
			)}
		</fieldset>
	);
}

export function Facets({ answer, view, onToggle }) {
	return LISTS.map(([list, title, parameter, valueOf, textOf]) => (
		<Facet key={list} title={title} rows={answer[list]} total={answer[`${list}_total`]}
			parameter={parameter} valueOf={valueOf} textOf={textOf} chosen={view[parameter]}
			onToggle={onToggle} />
	));
}
