// SPDX-License-Identifier: Apache-2.0
// The two lines above everything: the machine and its state; what is shown of it, and how.
import { Orientation } from './flame.jsx';
import { amount, count, percent } from './format.js';
import { FACETS, hasFilters, hasRange } from './view.js';

const FORMATS = [
	['pprof', 'pprof (.pb.gz)'], ['folded', 'Folded stacks'], ['otlp', 'OTLP profile'],
	['html', 'One HTML file'],
];
const TITLES = {
	flame: 'Flame graph', top: 'Functions', sandwich: 'Callers & callees', quality: 'Stack quality',
};
const SPANS = [['', 'All that is kept'], ['10', 'Last 10 s'], ['60', 'Last minute'],
	['300', 'Last 5 minutes'], ['900', 'Last 15 minutes']];
const ROOTS = [['process', 'By process'], ['thread', 'By thread'], ['none', 'All together']];

function Facts({ status }) {
	const { totals } = status;
	const facts = [
		status.is_live ? `${status.samples_per_second} Hz × ${status.cpu_count} CPUs` : status.source,
		amount(status.samples),
		`${percent(totals.complete, totals.samples)} complete`,
	];
	if (status.is_live)
		facts.push(`${count(totals.lost)} lost`);
	if (status.dropped)
		facts.push(`${count(status.dropped)} left out for want of room`);
	if (status.names_pending)
		facts.push(`names of ${count(status.names_pending)} binaries to come`);
	return (
		<p class="facts">
			<b title={`Linux ${status.kernel}, Allframes ${status.version}`}>{status.host}</b>
			{facts.map((fact) => <span key={fact.replace(/[\d.,]+/, '')}>{fact}</span>)}
		</p>
	);
}

export function TopLine({ status, problem, isFrozen, onFreeze, onKeep, theme, onTheme, onHelp,
	exportQuery }) {
	const [state, text] = problem ? ['trouble', 'no answer']
		: isFrozen ? ['frozen', 'paused']
		: status?.is_paused ? ['frozen', 'not recording']
		: status?.is_live ? ['live', 'live'] : ['still', status ? 'file' : 'connecting'];
	return (
		<header>
			<h1><img src="./favicon.svg" alt="" width="18" height="18" />Allframes</h1>
			<span class={`state ${state}`}>{text}</span>
			{status && <Facts status={status} />}
			<span class="group">
				<button onClick={onFreeze} aria-pressed={isFrozen}
					title="Freezes what is shown (Space)">{isFrozen ? 'Go on' : 'Pause'}</button>
				{status?.is_live && (
					<button onClick={onKeep} aria-pressed={status.is_paused}
						title="The history takes no samples meanwhile">
						{status.is_paused ? 'Record again' : 'Stop recording'}
					</button>
				)}
				<details class="menu">
					<summary>Export</summary>
					<ul>
						{FORMATS.map(([format, name]) => (
							<li key={format}>
								<a href={`api/export?${exportQuery}&format=${format}`} download="">{name}</a>
							</li>
						))}
					</ul>
				</details>
				<button onClick={onTheme} title="Dark, light, or as the system has it (d)">
					{{ auto: 'Auto', light: 'Light', dark: 'Dark' }[theme]}
				</button>
				<button onClick={onHelp} aria-label="Keys" title="Keys (?)">?</button>
			</span>
		</header>
	);
}

const Select = ({ label, value, values, onChange }) => (
	<select aria-label={label} value={value} onChange={(event) => onChange(event.target.value)}>
		{values.map(([name, text]) => <option key={name} value={name}>{text}</option>)}
	</select>
);

const typeKey = ({ type, unit }) => `${type}/${unit}`;

export function ToolLine({ view, change, searchBox, onHit, status }) {
	const onKeyDown = (event) => {
		if (event.key !== 'Enter' || !view.search)
			return;
		event.preventDefault();
		onHit(event.shiftKey ? -1 : 1);
	};
	return (
		<nav class="tools" aria-label="What is shown">
			<div class="tabs" role="tablist">
				{Object.entries(TITLES).map(([tab, title]) => (
					<button key={tab} id={`tab-${tab}`} role="tab" aria-controls="content"
						aria-selected={view.tab === tab} onClick={() => change({ tab })}>{title}</button>
				))}
			</div>
			<input ref={searchBox} type="search" placeholder="Search ( / )" aria-label="Search"
				title="A part of a name, or /an expression/; Enter goes to the next hit, Shift+Enter back"
				value={view.search} onKeyDown={onKeyDown}
				onInput={(event) => change({ search: event.target.value }, true)} />
			{status?.types.length > 1 && (
				<Select label="Type of values" value={typeKey(status.type)}
					values={status.types.map((type) => [typeKey(type), `${type.type} (${type.unit})`])}
					onChange={(type) => change({ type })} />
			)}
			<Select label="Times" value={hasRange(view) ? 'range' : String(view.last)}
				values={hasRange(view) ? [...SPANS, ['range', 'Chosen range']] : SPANS}
				onChange={(last) => change({ last: last && Number(last), from: '', to: '' })} />
			<Select label="First level" value={view.root} values={ROOTS}
				onChange={(root) => change({ root, zoom: '' })} />
			<label><input type="checkbox" checked={Boolean(view.lines)}
				onChange={(event) => change({ lines: event.target.checked ? '1' : '', zoom: '' })} />
				Lines
			</label>
			<Orientation isFlipped={Boolean(view.flipped)}
				onChange={(isFlipped) => change({ flipped: isFlipped ? '1' : '' })} />
		</nav>
	);
}

/** What narrows the selection; each can be dropped. */
export function Filters({ view, change, onToggle, onClear }) {
	if (!hasFilters(view))
		return null;
	return (
		<div class="filters" aria-label="Filters">
			{FACETS.flatMap((name) => view[name].map((value) => (
				<button key={`${name} ${value}`} onClick={() => onToggle(name, value)}>
					{`${name}: ${value || (name === 'host' ? 'this machine' : 'none')}`} ✕
				</button>
			)))}
			{view.only && <button onClick={() => change({ only: '' })}>{`with ${view.only}`} ✕</button>}
			<button class="plain" onClick={onClear}>Drop all</button>
		</div>
	);
}

