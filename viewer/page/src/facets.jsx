// SPDX-License-Identifier: Apache-2.0
// Filters, with how many samples each would leave.
import { useState } from 'preact/hooks';
import { value as valueText } from './format.js';

const SHORT = 6;

/** How each list of the answer becomes a filter: its parameter, the value, the text. */
const LISTS = [
	['processes', 'Process', 'pid', (row) => row.pid, (row) => `${row.comm} ${row.pid}`],
	['threads', 'Thread', 'tid', (row) => row.tid, (row) => `${row.name} ${row.tid}`],
	['hosts', 'Machine', 'host', (row) => row.host, (row, own) => row.host || own],
	['containers', 'Container', 'container', (row) => row.id, (row) => row.id.slice(0, 16) || 'none'],
	['cpus', 'CPU', 'cpu', (row) => row.cpu, (row) => `CPU ${row.cpu}`],
	['kinds', 'Running on CPU (type of code)', 'kind', (row) => row.kind, (row) => row.kind],
];

/** The lists of an opened profile that knows names of processes and threads, but no numbers. */
const NAMED = [
	['processes', 'Process', 'comm', (row) => row.comm, (row) => row.comm],
	['threads', 'Thread', 'thread', (row) => row.name, (row) => row.name],
];

const listFor = (list, rows) => (rows.some((row) => row.pid !== undefined || row.tid !== undefined)
	? list : NAMED.find(([name]) => name === list[0]) ?? list);

/** Lists in which numbers of different machines may be equal. */
const OF_HOSTS = ['processes', 'threads'];

function Facet({ title, rows, total, parameter, valueOf, textOf, chosen, isChosen, onToggle, onRow }) {
	const [isLong, setLong] = useState(false);
	const greatest = rows.reduce((most, row) => Math.max(most, row.count), 1);
	const values = rows.map((row) => String(valueOf(row)));
	// What was chosen stays, also where no sample has it now.
	const gone = chosen.filter((value) => !values.includes(value));
	const shown = rows.filter((row, i) => isLong || i < SHORT || isChosen(row, values[i]));
	return (
		<fieldset class="facet" data-facet={parameter}>
			<legend>{title}</legend>
			<ul>
				{shown.map((row) => {
					const value = String(valueOf(row));
					return (
						<li key={`${value} ${row.host ?? ''}`}>
							<button class="plain" aria-pressed={isChosen(row, value)} data-value={value}
								onClick={() => onRow(row, value)} title={textOf(row)}>
								<i style={{ width: `${100 * row.count / greatest}%` }} />
								<span>{textOf(row)}</span>
								<em>{valueText(row.count)}</em>
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
					{isLong ? 'fewer' : `${(total ?? rows.length) - SHORT} more`}
				</button>
			)}
		</fieldset>
	);
}

/** @own: the name of the machine that serves the page. */
export function Facets({ answer, view, own, onToggle }) {
	// Machines are only told apart where there are several.
	const lists = LISTS.map((list) => listFor(list, answer[list[0]])).filter(([list, , parameter]) =>
		list !== 'hosts' || answer[list].length > 1 || view[parameter].length > 0);
	const hasHosts = answer.hosts.length > 1 || view.host.length > 0;
	return lists.map(([list, title, parameter, valueOf, textOf]) => {
		const isOfHost = hasHosts && OF_HOSTS.includes(list);
		const isHostChosen = (row) => !isOfHost || view.host.includes(row.host);
		const isChosen = (row, value) => view[parameter].includes(value)
			&& (isHostChosen(row) || !view.host.length);
		// The machine is chosen with its process, and stays when that goes.
		const onRow = (row, value) => {
			if (isChosen(row, value) || !view[parameter].includes(value))
				onToggle(parameter, value);
			if (!isChosen(row, value) && !isHostChosen(row))
				onToggle('host', row.host);
		};
		return (
			<Facet key={list} title={title} rows={answer[list]} total={answer[`${list}_total`]}
				parameter={parameter} valueOf={valueOf} chosen={view[parameter]} isChosen={isChosen}
				textOf={(row) => textOf(row, own) + (isOfHost ? ` on ${row.host || own}` : '')}
				onToggle={onToggle} onRow={onRow} />
		);
	});
}
