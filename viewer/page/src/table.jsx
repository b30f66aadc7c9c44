// SPDX-License-Identifier: Apache-2.0
// Functions by their samples: the table of the answer to "top".
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { GUESS, INLINED, SIGNIFICANT, kindColour } from './colours.js';
import { amount, count, percent, positionText, value } from './format.js';
import { MAX_ROWS } from './rounds.js';
import { matcher } from './tree.js';

const FILTER_MS = 250;
const NOTHING = { rows: [], functions: 0, total: 0 };

/** A heading that sorts by its column; a table that sorts by nothing else needs no such button. */
export function SortHeading({ name, text, sort, onSort, isNumber, isUp = !isNumber, class: more = '' }) {
	const isSorted = sort === name;
	return (
		<th scope="col" class={`${isNumber ? 'number' : ''} ${more}`} aria-sort={isSorted
			? (isUp ? 'ascending' : 'descending') : 'none'}>
			<button class="plain" onClick={() => onSort(name)}>
				{text}{isSorted ? (isUp ? ' ↑' : ' ↓') : ''}
			</button>
		</th>
	);
}

export function Share({ part, total, class: name }) {
	return (
		<td class={`number share ${name || ''}`}>
			<i style={{ width: `${total ? 100 * part / total : 0}%` }} />
			<span>{percent(part, total)}</span>
		</td>
	);
}

/** The base beside @part, "self" or "total": the difference in percent of all, and if @rate is known in CPUs. */
function Difference({ row, part, answer, rate }) {
	const base = answer.base_total ? 100 * row[`base_${part}`] / answer.base_total : 0;
	const share = answer.total ? 100 * row[part] / answer.total : 0;
	const z = part === 'self' ? row.z_self : row.z;
	const isSignificant = Math.abs(z) >= SIGNIFICANT;
	const change = (number, digits) => `${number >= 0 ? '+' : '−'}${Math.abs(number).toFixed(digits)}`;
	const cpus = (row[part] / answer.ms - row[`base_${part}`] / answer.base_ms) * 1000 / rate;
	const title = `base: ${amount(row[`base_${part}`])}; z = ${z}`;
	const name = `number ${part === 'total' ? 'second' : ''} ${isSignificant ? (share > base ? 'more' : 'less') : 'faint'}`;
	return (
		<>
			<td class={name} title={title}>{change(share - base, 2)}</td>
			{rate > 0 && <td class={name} title={title}>{change(cpus, 3)}</td>}
		</>
	);
}

function DifferenceHeadings({ part, rate, ...heading }) {
	return (
		<>
			<SortHeading name={`${part}_share_change`} text="± %" isNumber {...heading} />
			{rate > 0 && <SortHeading name={`${part}_change`} text="± CPUs" isNumber {...heading} />}
		</>
	);
}

/** Whether only one side of a comparison has the function. */
const onlyIn = (row) => (row.base_total === 0 ? 'new' : row.total === 0 ? 'gone' : '');

/** The text, and after a moment without a key the server's rows too are those with it. */
function useFilter(named, onNamed) {
	const [filter, setFilter] = useState(named);
	const timer = useRef();
	useEffect(() => () => clearTimeout(timer.current), []);
	useEffect(() => setFilter(named), [named]);
	return [filter, (text) => {
		setFilter(text);
		clearTimeout(timer.current);
		timer.current = setTimeout(() => onNamed(text), FILTER_MS);
	}];
}

/** The server sends the first rows. */
function More({ answer, onMore }) {
	const shown = answer.rows.length;
	if (shown >= Math.min(answer.named ?? 0, MAX_ROWS))
		return null;
	return (
		<button class="plain more-rows" onClick={() => onMore(String(Math.min(MAX_ROWS, 2 * shown)))}>
			{`${count(answer.named - shown)} more functions: show ${count(Math.min(shown, answer.named - shown))}`}
		</button>
	);
}

/**
 * @answer: of "top". The rows are the server's first by self, total or what has changed; the name sorts these. @rate: of
 * samples in a second of a CPU; 0 if it is not known.
 */
export function TopTable({ answer: given, error, rate, sort, onSort, named, onNamed, onMore, search, isDark, onPick }) {
	const answer = given ?? NOTHING;
	const [filter, setFilter] = useFilter(named, onNamed);
	const matches = useMemo(() => matcher(filter), [filter]);
	const isFound = useMemo(() => matcher(search), [search]);
	const rows = useMemo(() => {
		const shown = answer.rows.filter((row) => !matches || matches(row.name));
		if (sort === 'name')
			shown.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
		return shown;
	}, [answer, matches, sort]);
	const hasBase = answer.rows.some((row) => row.z !== undefined);
	const heading = { sort, onSort };
	return (
		<section class={hasBase ? 'pane compared' : 'pane'} aria-label="Functions">
			<div class="bar">
				<input type="search" placeholder="Only functions with…" aria-label="Filter functions"
					value={filter} onInput={(event) => setFilter(event.target.value)} />
				<span class={error ? 'bad' : 'faint'} role="status">
					{error ?? `${count(rows.length)} of ${count(answer.functions)} functions, `
						+ `${amount(answer.total)}`}
				</span>
			</div>
			<div class="tablebox" tabIndex={0} role="region" aria-label="Table of functions">
				<table class="top">
					<thead>
						<tr>
							<SortHeading name="self" text="Self" isNumber {...heading} />
							<th class="number" scope="col">%</th>
							{hasBase && <DifferenceHeadings part="self" rate={rate} {...heading} />}
							<SortHeading name="total" text="Total" isNumber class="second" {...heading} />
							<th class="number second" scope="col">%</th>
							{hasBase && <DifferenceHeadings part="total" rate={rate} class="second" {...heading} />}
							<SortHeading name="name" text="Function" {...heading} />
							<th scope="col">Kind</th>
							<th scope="col" class="file">File</th>
						</tr>
					</thead>
					<tbody>
						{rows.map((row) => (
							<tr key={`${row.name}\n${row.kind}\n${row.file}\n${row.line}\n${row.column}\n${row.flags}`}
								class={isFound?.(row.name) ? 'found' : ''}>
								<td class="number">{value(row.self)}</td>
								<Share part={row.self} total={answer.total} />
								{hasBase && <Difference row={row} part="self" answer={answer} rate={rate} />}
								<td class="number second">{value(row.total)}</td>
								<Share part={row.total} total={answer.total} class="second" />
								{hasBase && <Difference row={row} part="total" answer={answer} rate={rate} />}
								<td class="function">
									{hasBase && onlyIn(row) && <em class="only">{onlyIn(row)}</em>}
									<button class="plain" title={`Callers and callees of ${row.name}`}
										onClick={() => onPick(row.name, row.kind)}>
										{row.name}{row.flags & GUESS ? ' ?' : ''}
									</button>
								</td>
								<td>
									<i class="key" style={{
										background: kindColour(row.kind, row.flags, '', isDark),
									}} />
									{row.flags & INLINED ? 'inlined' : row.kind}
								</td>
								<td class="file" title={row.file}>
									{row.file}{positionText(row.line, row.column)}
								</td>
							</tr>
						))}
					</tbody>
				</table>
				<More answer={answer} onMore={onMore} />
			</div>
		</section>
	);
}
