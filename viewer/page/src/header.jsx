// SPDX-License-Identifier: Apache-2.0
// The two lines above everything: the machine and its state; what is shown of it, and how.
import { About, Dropdown } from './dropdown.jsx';
import { Orientation } from './flame.jsx';
import { useRef } from 'preact/hooks';
import { amount, count, duration, percent } from './format.js';
import { TransformChips, TransformMenu } from './transforms.jsx';
import { BASES, FACETS, TABS, hasFilters, hasRange, isOfFunctions } from './view.js';

const FORMATS = [
	['pprof', 'pprof (.pb.gz)'], ['folded', 'Folded stacks'], ['otlp', 'OTLP profile'], ['firefox', 'Firefox profiler'],
	['speedscope', 'speedscope'], ['html', 'One HTML file'], ['svg', 'Flame graph as SVG'], ['report', 'Report (JSON)'],
];
// Files do not have the names that linkers use.
const LIVE_FORMATS = [...FORMATS, ['autofdo', 'For compilers (AutoFDO)']];
const TITLES = {
	flame: 'Flame graph', processes: 'Processes', top: 'Functions', tree: 'Call tree', sandwich: 'Callers & callees', quality: 'Stack quality',
};
const SPANS = [['', 'All that is kept'], ['10', 'Last 10 s'], ['60', 'Last minute'],
	['300', 'Last 5 minutes'], ['900', 'Last 15 minutes']];
const ROOTS = [['process', 'By process'], ['thread', 'By thread'], ['none', 'All together']];

/** A file without a guess or an error may come from a tool that knows neither. */
export const knowsComplete = ({ is_live: isLive, totals }) => isLive || totals.complete < totals.samples;

/** What has no room is at the start of the history, or of a file at its end. */
const fullText = (status) => (status.is_live
	? `History full: keeps the last ${duration(status.now_ms - status.first_ms)}`
	: `${count(status.dropped)} samples do not fit`);

/** A weight has no rate. */
const rateText = ({ samples_per_second: rate, cpu_count: cpus }) => `${rate ? `${rate} Hz × ` : ''}${cpus} CPUs`;

function Facts({ status }) {
	const { totals } = status;
	const facts = [
		status.is_live ? rateText(status) : status.source,
		amount(status.samples),
	];
	if (knowsComplete(status))
		facts.push(`${percent(totals.complete, totals.samples)} complete`);
	if (status.is_live)
		facts.push(`${count(totals.lost)} lost`);
	if (status.dropped)
		facts.push(fullText(status));
	if (status.names_pending)
		facts.push(`names of ${count(status.names_pending)} binaries to come`);
	return (
		<p class="facts">
			<b title={status.is_live ? `Linux ${status.kernel}, Allframes ${status.version}` : ''}>{status.host}</b>
			{facts.map((fact) => <span key={fact.replace(/[\d.,]+/, '')}>{fact}</span>)}
		</p>
	);
}

function ExportMenu({ query, isLive }) {
	return (
		<Dropdown name="Export">
			<ul>
				{(isLive ? LIVE_FORMATS : FORMATS).map(([format, name]) => (
					<li key={format}>
						<a href={`api/export?${query}&format=${format}`} download="">{name}</a>
					</li>
				))}
			</ul>
		</Dropdown>
	);
}

export function TopLine({ status, problem, isFrozen, onFreeze, onKeep, theme, onTheme, onHelp,
	exportQuery }) {
	const [state, text] = problem ? ['trouble', 'no answer']
		: isFrozen ? ['frozen', 'frozen']
		: status?.is_paused ? ['frozen', 'not collecting']
		: status?.is_live ? ['live', 'live'] : ['still', status ? 'file' : 'connecting'];
	return (
		<header>
			<h1><img src="./favicon.svg" alt="" width="18" height="18" />Allframes</h1>
			<span class={`state ${state}`}>{text}</span>
			{status && <Facts status={status} />}
			<span class="group">
				{status?.is_live && (
					<>
						<button onClick={onFreeze} aria-pressed={isFrozen}
							title="What is shown stays as it is; samples are still collected (Space)">
							Freeze view
						</button>
						<button onClick={onKeep} aria-pressed={status.is_paused}
							title="The history takes no samples meanwhile">
							{status.is_paused ? 'Collect again' : 'Stop collecting'}
						</button>
					</>
				)}
				<About about={status?.about} />
				<ExportMenu query={exportQuery} isLive={status?.is_live} />
				<button onClick={onTheme} title="Dark, light, or as the system has it (d)">
					{{ auto: 'Auto', light: 'Light', dark: 'Dark' }[theme]}
				</button>
				<button onClick={onHelp} aria-label="Help" title="How to read this, and keys (?)">?</button>
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

const TAB_KEYS = { ArrowLeft: -1, ArrowRight: 1, Home: -TABS.length, End: TABS.length };

/** Arrow keys go from tab to tab, as in other programs: the Tab key leaves them. */
function Tabs({ view, change }) {
	const list = useRef();
	const onKeyDown = (event) => {
		const step = TAB_KEYS[event.key];
		if (!step)
			return;
		const last = TABS.length - 1;
		const next = TABS.indexOf(view.tab) + step;
		const index = Math.abs(step) > 1 ? Math.max(0, Math.min(last, next)) : (next + TABS.length) % TABS.length;
		change({ tab: TABS[index] });
		list.current.children[index].focus();
		event.preventDefault();
		event.stopPropagation();
	};
	return (
		<div class="tabs" role="tablist" aria-label="Views" ref={list} onKeyDown={onKeyDown}>
			{TABS.map((tab) => (
				<button key={tab} id={`tab-${tab}`} role="tab" aria-controls="content"
					tabIndex={view.tab === tab ? 0 : -1} aria-selected={view.tab === tab}
					onClick={() => change({ tab })}>{TITLES[tab]}</button>
			))}
		</div>
	);
}

/** The controls that do something on the view's tab. */
export function ToolLine({ view, change, searchBox, status, onHit, onToggle }) {
	const onKeyDown = (event) => {
		if (event.key !== 'Enter' || !view.search)
			return;
		event.preventDefault();
		onHit(event.shiftKey ? -1 : 1);
	};
	return (
		<nav class="tools" aria-label="What is shown">
			<Tabs view={view} change={change} />
			{isOfFunctions(view.tab) && <input ref={searchBox} type="search" placeholder="Search ( / )" aria-label="Search"
				title="A part of a name, or /an expression/; Enter goes to the next hit, Shift+Enter back"
				value={view.search} onKeyDown={onKeyDown}
				onInput={(event) => change({ search: event.target.value }, true)} />}
			{status?.types.length > 1 && (
				<Select label="Type of values" value={typeKey(status.type)}
					values={status.types.map((type) => [typeKey(type), `${type.type} (${type.unit})`])}
					onChange={(type) => change({ type })} />
			)}
			{status?.has_times && <Select label="Times" value={hasRange(view) ? 'range' : String(view.last)}
				values={hasRange(view) ? [...SPANS, ['range', 'Chosen range']] : SPANS}
				onChange={(last) => change({ last: last && Number(last), from: '', to: '' })} />}
			{['flame', 'tree', 'sandwich'].includes(view.tab) && <Select label="First level" value={view.root} values={ROOTS}
				onChange={(root) => change({ root, zoom: '' })} />}
			{isOfFunctions(view.tab) && <label><input type="checkbox" checked={Boolean(view.lines)}
				onChange={(event) => change({ lines: event.target.checked ? '1' : '', zoom: '' })} />
				Lines
			</label>}
			{isOfFunctions(view.tab) && <TransformMenu view={view} change={change} onToggle={onToggle}
				hasGraph={view.tab === 'flame'} />}
			{['flame', 'tree'].includes(view.tab) && <label title="Each function with its callers below it (i)">
				<input type="checkbox" checked={Boolean(view.inverted)}
					onChange={(event) => change({ inverted: event.target.checked ? '1' : '', zoom: '' })} />
				Leaves first
			</label>}
			{view.tab === 'flame' && <Orientation isFlipped={Boolean(view.flipped)}
				onChange={(isFlipped) => change({ flipped: isFlipped ? '1' : '' })} />}
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
			{BASES.flatMap((name) => view[name].map((value) => (
				<button key={`${name} ${value}`} class="of-base" onClick={() => onToggle(name, value)}>
					{`compared with ${name.slice('base_'.length)}: ${value || 'none'}`} ✕
				</button>
			)))}
			<TransformChips view={view} change={change} onToggle={onToggle} />
			{view.only && <button onClick={() => change({ only: '' })}>{`with ${view.only}`} ✕</button>}
			<button class="plain" onClick={onClear}>Drop all</button>
		</div>
	);
}

