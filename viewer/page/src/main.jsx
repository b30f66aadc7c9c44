// SPDX-License-Identifier: Apache-2.0
// The page: what is looked at lives in the address, what is known of it comes by rounds.
import { render } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { setPaused } from './api.js';
import './app.css';
import { GROUP, ROW_COLOURS, isLevel, learnKinds, rowColour, rowSlots } from './colours.js';
import { CallTree } from './calltree.jsx';
import { Delays } from './delays.jsx';
import { clockTime, learnType } from './format.js';
import { Facets } from './facets.jsx';
import { Flame, Legend } from './flame.jsx';
import { Filters, ToolLine, TopLine, knowsComplete } from './header.jsx';
import { Help } from './help.jsx';
import { copyText } from './menu.jsx';
import { Processes } from './processes.jsx';
import { Quality } from './quality.jsx';
import { useRounds } from './rounds.js';
import { Sandwich } from './sandwich.jsx';
import { SearchLine, useHits } from './search.jsx';
import { TopTable } from './table.jsx';
import { useTheme } from './theme.js';
import { Times } from './timeline.jsx';
import { flagsOf, kindOf, nameOf, pathOf } from './tree.js';
import {
	TABS, frameQuery, hasBase, isOfFunctions, noFilters, readView, splitZoom, timesOf, writeView, zoomPath,
} from './view.js';

/** [view, function that changes it]: the second argument says that "back" shall not return here. */
function useView() {
	const [view, setView] = useState(() => readView(location.hash));
	useEffect(() => {
		const listen = () => setView(readView(location.hash));
		addEventListener('popstate', listen);
		return () => removeEventListener('popstate', listen);
	}, []);
	const change = (changes, isSmall) => setView((old) => {
		const next = { ...old, ...changes };
		history[isSmall ? 'replaceState' : 'pushState'](null, '', writeView(next));
		return next;
	});
	return [view, change];
}

function useHidden() {
	const [isHidden, setHidden] = useState(document.hidden);
	useEffect(() => {
		const listen = () => setHidden(document.hidden);
		document.addEventListener('visibilitychange', listen);
		return () => document.removeEventListener('visibilitychange', listen);
	}, []);
	return isHidden;
}

/** The window's width in steps, so that a drag of its edge does not ask anew each time. */
function useWindowWidth() {
	const stepped = () => Math.max(320, Math.floor(innerWidth / 64) * 64);
	const [width, setWidth] = useState(stepped);
	useEffect(() => {
		const listen = () => setWidth(stepped());
		addEventListener('resize', listen);
		return () => removeEventListener('resize', listen);
	}, []);
	return width;
}

/**
 * The tree for a zoom: the last one, or until the next one comes the whole tree, if the last one is of another
 * path. @key: of what both have to be about.
 */
function treeFor({ flame, whole }, path, key) {
	const isOnPath = flame?.tree.chain.every((step, i) => JSON.stringify(step) === JSON.stringify(path[i]));
	return !isOnPath && whole?.key === key ? whole.tree : flame?.tree;
}

/** What a row of the table of processes is called beside its colour. */
const rowName = (row) => (row ? [row.name ?? row.unit ?? row.user ?? 'several', row.pid].filter(Boolean).join(' ') : '');

/** The rows that the answer to "timeline" has by themselves: their ids, names and colours; null if there are none. */
function stackOf(answers, slots, isDark) {
	const ids = new URLSearchParams(answers.timeline?.query).get('rows')?.split('.');
	const rows = answers.processes?.data?.rows;
	if (!ids || !rows || !answers.timeline.data?.stack)
		return null;
	const names = ids.map((id) => rowName(rows.find((row) => row.id === id)));
	return { ids, names, colours: ids.map((id) => rowColour(slots.get(id) ?? 0, isDark)) };
}

/** Colours of the first rows, by id. */
function useSlots(rows) {
	const before = useRef(new Map());
	return useMemo(() => {
		before.current = rowSlots((rows ?? []).slice(0, ROW_COLOURS).map((row) => row.id), before.current);
		return before.current;
	}, [rows]);
}

function App() {
	const [view, change] = useView();
	const [theme, isDark, nextTheme] = useTheme();
	const [frozenAt, setFrozenAt] = useState(null);
	const [target, setTarget] = useState('range');
	const [isHelpOpen, setHelpOpen] = useState(false);
	const [isNarrow] = useState(() => matchMedia('(max-width: 760px)').matches);
	const width = useWindowWidth();
	const searchBox = useRef();
	const rounds = useRounds(view, frozenAt, useHidden(), width);
	const { status, answers, problem } = rounds;
	learnKinds(status?.kinds ?? []);
	learnType(status?.type);
	const zoom = useMemo(() => zoomPath(view), [view.zoom]);
	const tree = treeFor(answers, splitZoom(zoom).path, rounds.key);
	const { hits, hit, go } = useHits(view.inverted ? undefined : answers.search, view.search);
	const goToHit = (step) => {
		go(step);
		if (view.tab !== 'flame')
			change({ tab: 'flame', inverted: '' });
	};
	const slots = useSlots(answers.processes?.data?.rows);
	const stack = view.tab === 'processes' ? stackOf(answers, slots, isDark) : null;
	const isFrozen = frozenAt !== null;
	const epoch = status?.epoch_ms ?? 0;
	const range = timesOf(view, 'range', epoch);
	const base = timesOf(view, 'base', epoch);

	const freeze = () => setFrozenAt(isFrozen || !status ? null : status.now_ms);
	const keep = async () => {
		try {
			const { is_paused: isPaused } = await setPaused(!status.is_paused);
			rounds.replaceStatus({ ...status, is_paused: isPaused });
		} catch (error) {
			rounds.setProblem(error);
		}
	};
	const clear = () => change({
		...noFilters(), from: '', to: '', base_from: '', base_to: '', last: '', zoom: '',
	});
	const toggle = (name, value) => change({
		...(['begin', 'hide', 'fold'].includes(name) ? { zoom: '' } : {}), [name]: view[name].includes(value) ? view[name].filter((other) => other !== value)
			: [...view[name], value],
	});
	const choose = (name, times) => {
		const [from, to] = times ? times.map((ms) => epoch + Math.round(ms)) : ['', ''];
		change(name === 'base' ? { base_from: from, base_to: to } : { from, to, last: '' });
		if (name === 'base')
			setTarget('range');
	};
	const pick = (name, kind) => change({ tab: 'sandwich', of: name, of_kind: kind });
	const only = (name) => change({ only: name, zoom: '' });

	const keys = {
		'/': () => searchBox.current?.focus(), ' ': () => status?.is_live && freeze(), c: clear, d: nextTheme,
		f: () => change({ flipped: view.flipped ? '' : '1' }),
		i: () => change({ inverted: view.inverted ? '' : '1', zoom: '' }),
		b: () => range && choose('base', range),
		'?': () => setHelpOpen(true), Escape: () => change({ zoom: '' }),
	};
	// Before the next key, which may come at once.
	useLayoutEffect(() => {
		const listen = (event) => {
			const isTyping = event.target.closest('input, select, dialog')
				|| (event.key === ' ' && event.target.closest('button, summary, a'));
			const act = TABS[event.key - 1] ? () => change({ tab: TABS[event.key - 1] }) : keys[event.key];
			if (!act || isTyping || event.ctrlKey || event.metaKey || event.altKey)
				return;
			event.preventDefault();
			act();
		};
		addEventListener('keydown', listen);
		return () => removeEventListener('keydown', listen);
	});

	useEffect(() => {
		if (status)
			document.title = `${status.host} · Allframes`;
	}, [status?.host]);

	// Two profiles that are shown together are compared, until something else is chosen.
	useEffect(() => {
		if (status?.parts.length !== 2 || range || base)
			return;
		const [before, after] = status.parts;
		change({
			from: epoch + after.from, to: epoch + after.to, base_from: epoch + before.from,
			base_to: epoch + before.to,
		}, true);
	}, [status?.parts.length]);

	const exportQuery = frameQuery(view, epoch, isFrozen ? frozenAt : status?.now_ms ?? 0, isFrozen);
	return (
		<>
			<TopLine status={status} problem={problem} isFrozen={isFrozen} onFreeze={freeze}
				onKeep={keep} theme={theme} onTheme={nextTheme} onHelp={() => setHelpOpen(true)}
				exportQuery={exportQuery} />
			{problem && <p class="problem" role="alert">{problem.message}</p>}
			{problem?.kind === 'token' && <TokenField />}
			{status && <Delays delays={status.delays} />}
			<ToolLine view={view} change={change} searchBox={searchBox} onHit={goToHit} status={status}
				onToggle={toggle} />
			{isOfFunctions(view.tab) && (
				<SearchLine answer={answers.search} text={view.search} hits={hits} hit={hit} onGo={goToHit} />
			)}
			<div class="body">
				<aside aria-label="Filters">
					<details class="facets" open={!isNarrow}>
						<summary>Filters</summary>
						{answers.facets
							&& <Facets answer={answers.facets.data} view={view} own={status?.host}
								onToggle={toggle} />}
					</details>
				</aside>
				<main>
					<Filters view={view} change={change} onToggle={toggle} onClear={clear} />
					{status?.has_times !== false && <section class="times" aria-label="Times">
						{status && (
							<Times status={status} timeline={answers.timeline?.data}
								heat={answers.heatmap?.data} range={range} base={base} target={target}
								onTarget={setTarget} onChoose={choose} stack={stack} isDark={isDark} />
						)}
					</section>}
					<div id="content" role="tabpanel" aria-labelledby={`tab-${view.tab}`}>
						<Content view={view} answers={answers} status={status} range={range}
							tree={tree} zoom={zoom} hit={hit} isDark={isDark}
							slots={slots} change={change} onPick={pick} onOnly={only} onToggle={toggle} />
					</div>
				</main>
			</div>
			{isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
		</>
	);
}

/** The token in the address becomes a cookie; the view stays. */
function TokenField() {
	const [token, setToken] = useState('');
	const onSubmit = (event) => {
		event.preventDefault();
		location.assign(`?token=${encodeURIComponent(token.trim())}${location.hash}`);
	};
	return (
		<form class="token" onSubmit={onSubmit}>
			<label>Token <input type="password" autoComplete="off" value={token}
				onInput={(event) => setToken(event.target.value)} /></label>
			<button disabled={!token.trim()}>Open the page</button>
		</form>
	);
}

/** The name of the process that a node is of; '' if levels above it do not say. */
function processOf(tree, node, isInverted) {
	for (let i = node; !isInverted && i > 0; i = tree.parent[i]) {
		if (kindOf(tree, i) === 'process')
			return nameOf(tree, i);
	}
	return '';
}

/** Values of a difference can add up to 0: then there are rows. */
const isEmpty = (answer) => !(answer.total ?? answer.samples) && !answer.base_total && !answer.rows?.length;

/** Why there is nothing: a link may be of a time that the history has no more. */
function Nothing({ status, range }) {
	const isGone = range && range[0] < status.first_ms;
	return (
		<p class="empty">
			{isGone ? `Samples are kept from ${clockTime(status.epoch_ms, status.first_ms)} on, and the chosen `
				+ 'range is of an earlier time.' : 'No samples in what is chosen.'}
		</p>
	);
}

function Content({ view, answers, status, range, tree, zoom, hit, isDark, slots, change, onPick, onOnly, onToggle }) {
	// The call tree is another view of the flame graph's answer.
	const name = view.tab === 'tree' ? 'flame' : view.tab;
	const answer = answers[name]?.data;
	// Of a bad expression nothing is marked.
	const shared = { search: answers.search?.error ? '' : view.search, isDark, onPick };
	if (view.tab === 'sandwich') {
		const isOfThis = answers.sandwich
			&& new URLSearchParams(answers.sandwich.query).get('of') === view.of;
		return isOfThis && isEmpty(answer) ? <Nothing status={status} range={range} />
			: <Sandwich key={view.of} answer={isOfThis ? answer : null} name={view.of} {...shared} />;
	}
	const { error } = answers[name] ?? {};
	if ((!answer && !error) || status?.samples === 0)
		return <p class="empty">Waiting for the first samples…</p>;
	if (!error && isEmpty(answer))
		return <Nothing status={status} range={range} />;
	if (view.tab === 'top') {
		return <TopTable answer={answer} error={error} rate={status.has_times ? status.samples_per_second : 0} sort={view.sort} onSort={(sort) => change({ sort })}
			named={view.named} onNamed={(named) => change({ named }, true)}
			onMore={(rows) => change({ rows }, true)} {...shared} />;
	}
	if (view.tab === 'processes') {
		const lanes = answers.lanes?.data
			&& { data: answers.lanes.data, ids: new URLSearchParams(answers.lanes.query).get('rows').split('.') };
		return <Processes answer={answer} error={error} view={view} status={status} isKnown={knowsComplete(status)}
			hasHosts={answers.facets?.data.hosts.length > 1 || view.host.length > 0} lanes={lanes} slots={slots}
			isDark={isDark} change={change} onToggle={onToggle} />;
	}
	if (view.tab === 'quality')
		return <Quality answer={answer} isKnown={knowsComplete(status)} />;
	const onZoom = (path) => change({ zoom: path.length ? JSON.stringify(path) : '' });
	if (view.tab === 'tree') {
		return <CallTree key={view.inverted} tree={tree} zoom={splitZoom(zoom).path} onZoom={onZoom}
			isInverted={Boolean(view.inverted)} {...shared} />;
	}
	const menuOf = (shown, node) => {
		if (isLevel(kindOf(shown, node)))
			return [];
		const process = processOf(shown, node, view.inverted);
		// Filters and cuts go by functions.
		const isFunction = !(flagsOf(shown, node) & GROUP);
		return [
			...(isFunction ? [['Only stacks with it', () => onOnly(nameOf(shown, node))],
				['Begin at it', () => change({ begin: [nameOf(shown, node)], zoom: '' })]] : []),
			['Hide it', () => change({ hide: [...new Set([...view.hide, nameOf(shown, node)])], zoom: '' })],
			...(process ? [['Only this process', () => change({ comm: [process], zoom: '' })]] : []),
			['Callers & callees', () => onPick(nameOf(shown, node), kindOf(shown, node))],
			['Show in the table', () => change({ tab: 'top', named: nameOf(shown, node) })],
			['Copy link', () => copyText(location.href.replace(/#.*|$/,
				writeView({ ...view, zoom: JSON.stringify(pathOf(shown, node)) })))],
		];
	};
	return (
		<>
			<Flame label="Flame graph" tree={tree} zoom={zoom} isFlipped={Boolean(view.flipped)}
				onZoom={onZoom} menuOf={menuOf} search={shared.search} hit={hit} isDark={isDark}
				actions={[['Callers & callees', onPick], ['Only stacks with it', onOnly, 'function']]} />
			<Legend tree={tree} isDark={isDark} isComparison={hasBase(view) && tree.isComparison} />
		</>
	);
}

render(<App />, document.getElementById('app'));
