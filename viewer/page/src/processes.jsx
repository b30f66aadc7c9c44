// SPDX-License-Identifier: Apache-2.0
// Who is busy: processes, or what they share, by their samples.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { rowColour } from './colours.js';
import { amount, count, percent, value } from './format.js';
import { Lanes } from './lanes.jsx';
import { Share, SortHeading } from './table.jsx';
import { MAX_PROCESSES } from './rounds.js';
import { BASES } from './view.js';

const FILTER_MS = 250;
const GROUPS = [['process', 'One by one'], ['name', 'By name'], ['unit', 'By systemd unit'],
	['container', 'By container'], ['user', 'By user'], ['parent', 'By parent'], ['thread', 'By thread'],
	['cpu', 'By CPU']];
const SINGLE = ['process', 'thread'];
const NOT_SAME = 'several';

/** Mean CPUs of the last seconds; the agent's rate and the time are known. */
const cpusNow = (row, answer, rate) => row.now * 1000 / (rate * answer.now_ms);

/** What -accounting counts, since the agent started: samples are of the chosen time, costs of the whole run. */
const COSTS = [
	{ name: 'cpu_time', title: 'CPU time', text: (seconds) => `${seconds.toFixed(3)} s` },
	{ name: 'softirqs', title: 'Softirqs', text: count },
	{ name: 'page_reads', title: 'Pages read', text: count },
	{ name: 'page_writes', title: 'Pages written', text: count },
	{ name: 'page_faults', title: 'Page faults', text: count },
	{ name: 'cycles', title: 'Cycles', text: count },
	{ name: 'instructions', title: 'Instructions', text: count },
	{ name: 'cache_misses', title: 'Cache misses', text: count },
	{ name: 'frequency', title: 'Frequency', text: (hz) => `${(hz / 1e9).toFixed(2)} GHz` },
	{ name: 'joules', title: 'Joules', text: (joules) => joules.toFixed(1) },
];

/**
 * The columns: name; title; isNumber; has(row): whether there is anything in it; text(row); facet: the filter that a click sets,
 * and its value. Without a text a cell is made by Cell().
 */
const COLUMNS = [
	{ name: 'thread', title: 'Thread', facet: ['tid', (row) => row.tid] },
	{ name: 'cpu', title: 'CPU', isNumber: true, isNoSort: true, facet: ['cpu', (row) => row.cpu] },
	{ name: 'name', title: 'Process', facet: ['comm', (row) => row.name] },
	{ name: 'pid', title: 'PID', isNumber: true, facet: ['pid', (row) => row.pid] },
	{ name: 'processes', title: 'Processes', isNumber: true },
	{ name: 'cpus', title: 'CPUs now', isNumber: true },
	{ name: 'times', title: 'Over time', isNoSort: true },
	{ name: 'share', title: 'Share', isNumber: true },
	{ name: 'samples', title: 'Samples', isNumber: true },
	{ name: 'quality', title: 'Complete', isNumber: true },
	...COSTS.map(({ name, title }) => ({ name, title, isNumber: true })),
	{ name: 'user', title: 'User', facet: ['user', (row) => row.user] },
	{ name: 'unit', title: 'Unit', facet: ['unit', (row) => row.unit], canLack: true },
	{ name: 'container', title: 'Container', facet: ['container', (row) => row.container], canLack: true },
	{ name: 'host', title: 'Machine', facet: ['host', (row) => row.host], canLack: true },
	{ name: 'parent', title: 'Parent', facet: ['parent', (row) => row.parent_pid] },
	{ name: 'command_line', title: 'Command line' },
];
const COST_NAMES = COSTS.map(({ name }) => name);
const NUMBERS = ['processes', 'cpus', 'share', 'samples', 'quality', ...COST_NAMES];

/** The columns that have something to say about these rows, that of the group first. */
function columnsOf(answer, group, filters, status, hasHosts) {
	const hasRate = status.is_live && status.samples_per_second > 0;
	const isShown = ({ name }) => {
		if (name === group)
			return true;
		if (COST_NAMES.includes(name))
			return answer.costs.includes(name);
		switch (name) {
		case 'thread':
		case 'cpu':
			return false;
		case 'processes':
			return !SINGLE.includes(group);
		case 'cpus':
			return hasRate;
		case 'times':
			return status.has_times;
		case 'host':
			return hasHosts;
		case 'quality':
			return answer.isKnown;
		default:
			return name === 'name' || NUMBERS.includes(name) || filters.has(name)
				|| answer.rows.some((row) => row[name] ?? '');
		}
	};
	const shown = COLUMNS.filter(isShown);
	return [...shown.filter(({ name }) => name === group), ...shown.filter(({ name }) => name !== group)];
}

/** {column: text} of "COLUMN:TEXT" each. */
const readFilters = (texts) => new Map(texts.map((text) => {
	const colon = text.indexOf(':');
	return [text.slice(0, colon), text.slice(colon + 1)];
}));

/** What is typed, and after a moment without a key the server's rows are those with it. */
function useFilters(texts, onChange) {
	const known = texts.join('\n');
	const [typed, setTyped] = useState(() => readFilters(texts));
	const timer = useRef();
	useEffect(() => () => clearTimeout(timer.current), []);
	useEffect(() => setTyped(readFilters(texts)), [known]);
	return [typed, (name, text) => {
		const next = new Map(typed);
		if (text)
			next.set(name, text);
		else
			next.delete(name);
		setTyped(next);
		clearTimeout(timer.current);
		timer.current = setTimeout(() => onChange([...next].map(([column, each]) => `${column}:${each}`)), FILTER_MS);
	}];
}

function Sparkline({ counts }) {
	const most = counts.reduce((a, b) => Math.max(a, b), 1);
	const points = counts.map((each, i) => `L${i} ${(14 - 13 * Math.max(0, each) / most).toFixed(1)}h1`);
	return (
		<svg class="sparkline" viewBox={`0 0 ${counts.length} 14`} preserveAspectRatio="none" aria-hidden="true">
			<path d={`M0 14${points.join('')}V14Z`} />
		</svg>
	);
}

/** The text of a cell that filters. */
function textOf(row, { name, canLack }, own) {
	const text = row[name];
	if (text === null || text === undefined)
		return NOT_SAME;
	if (name === 'host')
		return text || own;
	if (name === 'container')
		return text.slice(0, 16) || 'none';
	return String(text) || (canLack ? 'none' : '');
}

/** A cost of a process. One that has ended long ago, or is of another machine, has none. */
function Cost({ number, text }) {
	return number === undefined
		? <td class="number faint">–</td>
		: <td class="number" title="Since the agent started">{text(number)}</td>;
}

function Cell({ row, column, answer, rate, own, view, colour, onToggle, isActive, onFocus }) {
	const { name, facet, isNumber } = column;
	const cost = COSTS.find((each) => each.name === name);
	if (cost)
		return <Cost number={row[name]} text={cost.text} />;
	switch (name) {
	case 'cpus':
		return <td class="number">{cpusNow(row, answer, rate).toFixed(2)}</td>;
	case 'times':
		return <td><Sparkline counts={row.counts} /></td>;
	case 'share':
		return <Share part={row.samples} total={answer.total} />;
	case 'samples':
		return <td class="number">{value(row.samples)}</td>;
	case 'processes':
		return <td class="number">{count(row.processes)}</td>;
	case 'quality':
		return (
			<td class={`number ${row.samples && row.complete / row.samples < 0.9 ? 'less-good' : ''}`}>
				{percent(row.complete, row.samples)}
			</td>
		);
	case 'command_line':
		return <td class="command" title={row.command_line ?? ''}>{row.command_line ?? NOT_SAME}</td>;
	default: {
		const text = textOf(row, column, own);
		const chosen = facet[1](row);
		const key = colour && <i class="key" style={{ background: colour }} />;
		if (chosen === undefined || chosen === null || (text === '' && !column.canLack))
			return <td class={isNumber ? 'number faint' : 'faint'}>{key}{text || '–'}</td>;
		return (
			<td class={isNumber ? 'number' : 'text'}>
				{key}
				<button class="plain" tabIndex={isActive ? 0 : -1} onFocus={onFocus} title={row[name] || text}
					aria-pressed={view[facet[0]].includes(String(chosen))}
					onClick={() => onToggle(facet[0], String(chosen))}>{text}</button>
			</td>
		);
	}
	}
}

const KEYS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [-Infinity, 0], End: [Infinity, 0] };

/** Arrow keys go from button to button: the Tab key enters the table once, and leaves it. */
function moveFocus(event) {
	const step = KEYS[event.key];
	const cell = event.target.closest('tbody td');
	if (!step || !cell)
		return;
	const rows = [...cell.closest('tbody').rows];
	const index = rows.indexOf(cell.parentElement);
	const row = rows[Math.max(0, Math.min(rows.length - 1, index + step[0]))];
	const cells = [...row.cells];
	const direction = step[1] || 1;
	let target = null;
	for (let i = cell.cellIndex + step[1]; !target && i >= 0 && i < cells.length; i += direction)
		target = cells[i].querySelector('button');
	target ??= step[1] ? null : row.querySelector('button');
	target?.focus();
	event.preventDefault();
	event.stopPropagation();
}

/** The server sends the first rows. */
function More({ answer, onMore }) {
	const shown = answer.rows.length;
	if (shown >= Math.min(answer.rows_total, MAX_PROCESSES))
		return null;
	return (
		<button class="plain more-rows" onClick={() => onMore(String(Math.min(MAX_PROCESSES, 2 * shown)))}>
			{`${count(answer.rows_total - shown)} more rows: show ${count(Math.min(shown, answer.rows_total - shown))}`}
		</button>
	);
}

const NOTHING = { rows: [], rows_total: 0, total: 0, costs: [] };

/** "-NAME" is the other way round. */
const readOrder = (order) => (order.startsWith('-') ? [order.slice(1), true] : [order, false]);

/** @answer: of "processes". @slots: colours of the rows that the time line has by themselves, by id. */
export function Processes({ answer: given, error, view, status, hasHosts, isKnown, lanes, slots, isDark, change, onToggle }) {
	const answer = { ...(given ?? NOTHING), isKnown };
	const [filters, setFilter] = useFilters(view.with, (texts) => change({ with: texts }, true));
	const [active, setActive] = useState('');
	const columns = useMemo(() => columnsOf(answer, view.group, filters, status, hasHosts),
		[given, view.group, filters, status.is_live, status.has_times, hasHosts, isKnown]);
	const [sort, isReversed] = readOrder(view.order);
	const onSort = (name) => change({ order: sort === name && !isReversed ? `-${name}` : name });
	const keyOf = (row, column) => `${row.id} ${column.name}`;
	const keys = answer.rows.flatMap((row) => columns.map((column) => keyOf(row, column)));
	const first = columns.find((column) => column.facet);
	const entry = keys.includes(active) ? active : answer.rows.length && first ? keyOf(answer.rows[0], first) : '';
	/** The filter of rows as a whole. */
	const facet = COLUMNS.find(({ name }) => name === (view.group === 'process' ? 'pid' : view.group)).facet;
	const base = `base_${facet[0]}`;
	const baseOf = (row) => (BASES.includes(base) && facet[1](row) !== undefined && facet[1](row) !== null
		? String(facet[1](row)) : null);
	/** Below processes of different names nothing would be alike. */
	const onCompare = (value) => change(view[base].includes(value)
		? { [base]: view[base].filter((other) => other !== value) }
		: { [base]: [...view[base], value], root: 'none', zoom: '' });
	const onGraph = (row) => change({ tab: 'flame', [facet[0]]: [String(facet[1](row))], zoom: '',
		host: SINGLE.includes(view.group) && hasHosts ? [row.host] : view.host });
	const onThreads = (row) => change({ group: 'thread', pid: [String(row.pid)], host: hasHosts ? [row.host] : view.host });
	return (
		<section class="pane" aria-label="Processes">
			<div class="bar">
				<select aria-label="Rows" value={view.group}
					onChange={(event) => change({ group: event.target.value, shown: '' })}>
					{GROUPS.map(([name, text]) => <option key={name} value={name}>{text}</option>)}
				</select>
				{status.has_times && status.samples_per_second > 0 && (
					<button aria-pressed={Boolean(view.lanes)} title="What each CPU ran, over time"
						onClick={() => change({ lanes: view.lanes ? '' : '1' })}>CPU lanes</button>
				)}
				<span class={error ? 'bad' : 'faint'} role="status">
					{error ?? `${count(answer.rows_total)} rows, ${amount(answer.total)}`}
				</span>
			</div>
			{answer.costs.length > 0 && answer.not_counted && (
				<p class="faint note">Not counted on this machine: {answer.not_counted}.</p>
			)}
			{view.lanes && lanes && <Lanes answer={lanes} status={status} slots={slots} rows={answer.rows} isDark={isDark} />}
			<div class="tablebox" tabIndex={0} role="region" aria-label="Table of processes">
				<table class="processes">
					<thead>
						<tr>
							{columns.map(({ name, title, isNumber, isNoSort }) => (isNoSort
								? <th key={name} scope="col" class={isNumber ? 'number' : ''}>{title}</th>
								: <SortHeading key={name} name={name} text={title} sort={sort} onSort={onSort}
									isNumber={isNumber} isUp={isReversed === (NUMBERS.includes(name))} />))}
							<th scope="col">Actions</th>
						</tr>
						<tr class="column-filters">
							{columns.map(({ name, title, isNoSort }) => (
								<td key={name}>
									{!isNoSort && (
										<input type="search" aria-label={`Only rows by ${title}`} value={filters.get(name) ?? ''}
											placeholder={NUMBERS.includes(name) ? '> or <' : 'with…'}
											onInput={(event) => setFilter(name, event.target.value)} />
									)}
								</td>
							))}
							<td />
						</tr>
					</thead>
					<tbody onKeyDown={moveFocus}>
						{answer.rows.map((row) => (
							<tr key={row.id} data-id={row.id}>
								{columns.map((column, i) => (
									<Cell key={column.name} row={row} column={column} answer={answer}
										colour={i === 0 && slots.has(row.id) ? rowColour(slots.get(row.id), isDark) : ''}
										rate={status.samples_per_second} own={status.host} view={view} onToggle={onToggle}
										isActive={entry === keyOf(row, column)}
										onFocus={() => setActive(keyOf(row, column))} />
								))}
								<td>
									<span class="row-actions">
										{(facet[1](row) ?? '') !== '' && (
											<button class="plain" tabIndex={-1} title="Flame graph of this row"
												onClick={() => onGraph(row)}>graph</button>
										)}
										{view.group === 'process' && row.pid !== undefined && (
											<button class="plain" tabIndex={-1} title={`Threads of ${row.name} ${row.pid}`}
												onClick={() => onThreads(row)}>threads</button>
										)}
										{baseOf(row) !== null && (
											<button class="plain" tabIndex={-1} aria-pressed={view[base].includes(baseOf(row))}
												title="Compare what is chosen with this"
												onClick={() => onCompare(baseOf(row))}>compare</button>
										)}
									</span>
								</td>
							</tr>
						))}
					</tbody>
				</table>
				<More answer={answer} onMore={(shown) => change({ shown }, true)} />
			</div>
		</section>
	);
}
