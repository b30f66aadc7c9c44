// SPDX-License-Identifier: Apache-2.0
// The page of an export: the flame graph and the functions of the answers that lie in the page.
import { render } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { About } from './dropdown.jsx';
import './app.css';
import { learnKinds } from './colours.js';
import { Flame, Legend, Orientation } from './flame.jsx';
import { amount, learnType } from './format.js';
import { useTheme } from './theme.js';
import { TopTable } from './table.jsx';
import { layOut } from './tree.js';

const TABS = [['flame', 'Flame graph'], ['top', 'Functions']];

/** What rows are sorted by: "self", "total", or the change of their shares, "self_share_change". */
const keyOf = (top, sort) => (row) => {
	const [part] = sort.split('_');
	return Math.abs(part === sort ? row[part] : row[part] / top.total - row[`base_${part}`] / top.base_total);
};

/** The functions of @top, an answer to "top". */
function Functions({ top, search, isDark, onPick }) {
	const [sort, setSort] = useState('self');
	const [named, setNamed] = useState('');
	const answer = useMemo(() => {
		const key = keyOf(top, sort);
		return sort === 'name' ? top : { ...top, rows: [...top.rows].sort((one, other) => key(other) - key(one)) };
	}, [top, sort]);
	return (
		<TopTable answer={answer} rate={0} sort={sort} onSort={setSort} named={named} onNamed={setNamed} search={search}
			isDark={isDark} onPick={onPick} />
	);
}

function Page({ answer }) {
	const [theme, isDark, nextTheme] = useTheme();
	const [search, setSearch] = useState('');
	const [zoom, setZoom] = useState([]);
	const [isFlipped, setFlipped] = useState(false);
	const [tab, setTab] = useState('flame');
	const tree = useMemo(() => layOut(answer), [answer]);
	const pick = (name) => {
		setSearch(name);
		setTab('flame');
	};
	learnKinds(answer.tree.kinds);
	learnType(answer.type);
	return (
		<>
			<header>
				<h1>Allframes</h1>
				<p class="facts">
					{answer.host && <b>{answer.host}</b>}
					<span>{amount(tree.allTotal)}</span>
				</p>
				<span class="group">
					<About about={answer.about} />
					{tab === 'flame' && <Orientation isFlipped={isFlipped} onChange={setFlipped} />}
					<button onClick={nextTheme}>
						{{ auto: 'Auto', light: 'Light', dark: 'Dark' }[theme]}
					</button>
				</span>
			</header>
			<nav class="tools">
				{answer.top && (
					<div class="tabs" role="group" aria-label="Views">
						{TABS.map(([name, text]) => (
							<button key={name} aria-pressed={tab === name} onClick={() => setTab(name)}>{text}</button>
						))}
					</div>
				)}
				<input type="search" placeholder="Search" aria-label="Search" value={search}
					onInput={(event) => setSearch(event.target.value)} />
			</nav>
			<div class="body alone">
				<main>
					<div id="content">
						{tab === 'flame' ? (
							<>
								<Flame label="Flame graph" tree={tree} zoom={zoom} onZoom={setZoom}
									search={search} isAlone isFlipped={isFlipped} isDark={isDark} />
								<Legend isDark={isDark} isComparison={tree.isComparison} />
							</>
						) : <Functions top={answer.top} search={search} isDark={isDark} onPick={pick} />}
					</div>
				</main>
			</div>
		</>
	);
}

const root = document.getElementById('app');
try {
	render(<Page answer={JSON.parse(document.getElementById('profile').textContent)} />, root);
} catch {
	root.textContent = 'There is no profile in this file.';
}
