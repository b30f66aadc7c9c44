// SPDX-License-Identifier: Apache-2.0
// The page: what is looked at lives in the address, what is known of it comes by rounds.
import { render } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { setPaused } from './api.js';
import './app.css';
import { learnKinds } from './colours.js';
import { Delays } from './delays.jsx';
import { clockTime, learnType } from './format.js';
import { Facets } from './facets.jsx';
import { Flame, Legend } from './flame.jsx';
import { Filters, ToolLine, TopLine, knowsComplete } from './header.jsx';
import { Help } from './help.jsx';
import { Quality } from './quality.jsx';
import { useRounds } from './rounds.js';
import { Sandwich } from './sandwich.jsx';
import { SearchLine, useHits } from './search.jsx';
import { TopTable } from './table.jsx';
import { useTheme } from './theme.js';
import { Times } from './timeline.jsx';
import {
	FACETS, TABS, frameQuery, hasBase, readView, splitZoom, timesOf, writeView, zoomPath,
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
	const { hits, hit, go } = useHits(answers.search, view.search);
	const goToHit = (step) => {
		go(step);
		if (view.tab !== 'flame')
			change({ tab: 'flame' });
	};
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
		...Object.fromEntries(FACETS.map((name) => [name, []])), only: '', from: '', to: '',
		base_from: '', base_to: '', last: '', zoom: '',
	});
	const toggle = (name, value) => change({
		[name]: view[name].includes(value) ? view[name].filter((other) => other !== value)
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
			<ToolLine view={view} change={change} searchBox={searchBox} onHit={goToHit} status={status} />
			{view.tab !== 'quality' && (
				<SearchLine answer={answers.search} text={view.search} hits={hits} hit={hit} onGo={goToHit} />
			)}
			<div class="body">
				<details class="facets" open={!isNarrow}>
					<summary>Filters</summary>
					{answers.facets
						&& <Facets answer={answers.facets.data} view={view} own={status?.host}
							onToggle={toggle} />}
				</details>
				<main>
					<Filters view={view} change={change} onToggle={toggle} onClear={clear} />
					{status?.has_times !== false && <section class="times" aria-label="Times">
						{status && (
							<Times status={status} timeline={answers.timeline?.data}
								heat={answers.heatmap?.data} range={range} base={base} target={target}
								onTarget={setTarget} onChoose={choose} isDark={isDark} />
						)}
					</section>}
					<div id="content" role="tabpanel" aria-labelledby={`tab-${view.tab}`}>
						<Content view={view} answers={answers} status={status} range={range}
							tree={tree} zoom={zoom} hit={hit} isDark={isDark}
							change={change} onPick={pick} onOnly={only} />
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

function Content({ view, answers, status, range, tree, zoom, hit, isDark, change, onPick, onOnly }) {
	const answer = answers[view.tab]?.data;
	// Of a bad expression nothing is marked.
	const shared = { search: answers.search?.error ? '' : view.search, isDark, onPick };
	if (view.tab === 'sandwich') {
		const isOfThis = answers.sandwich
			&& new URLSearchParams(answers.sandwich.query).get('of') === view.of;
		return <Sandwich key={view.of} answer={isOfThis ? answer : null} name={view.of} {...shared} />;
	}
	const { error } = answers[view.tab] ?? {};
	if ((!answer && !error) || status?.samples === 0)
		return <p class="empty">Waiting for the first samples…</p>;
	if (view.tab === 'top') {
		return <TopTable answer={answer} error={error} sort={view.sort} onSort={(sort) => change({ sort })}
			named={view.named} onNamed={(named) => change({ named }, true)}
			onMore={(rows) => change({ rows }, true)} {...shared} />;
	}
	if (view.tab === 'quality')
		return <Quality answer={answer} isKnown={knowsComplete(status)} />;
	if (!answer.total && !tree.allBase)
		return <Nothing status={status} range={range} />;
	return (
		<>
			<Flame label="Flame graph" tree={tree} zoom={zoom} isFlipped={Boolean(view.flipped)}
				onZoom={(path) => change({ zoom: path.length ? JSON.stringify(path) : '' })}
				search={shared.search} hit={hit} isDark={isDark}
				actions={[['Callers & callees', onPick], ['Only stacks with it', onOnly]]} />
			<Legend isDark={isDark} isComparison={hasBase(view) && tree.isComparison} />
		</>
	);
}

render(<App />, document.getElementById('app'));
