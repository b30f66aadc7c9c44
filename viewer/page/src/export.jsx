// SPDX-License-Identifier: Apache-2.0
// The page of an export: the flame graph alone, of the answer that lies in the page.
import { render } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import './app.css';
import { learnKinds } from './colours.js';
import { Flame, Legend, Orientation } from './flame.jsx';
import { amount, learnType } from './format.js';
import { useTheme } from './theme.js';
import { layOut } from './tree.js';

function Page({ answer }) {
	const [theme, isDark, nextTheme] = useTheme();
	const [search, setSearch] = useState('');
	const [zoom, setZoom] = useState([]);
	const [isFlipped, setFlipped] = useState(false);
	const tree = useMemo(() => layOut(answer), [answer]);
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
					<Orientation isFlipped={isFlipped} onChange={setFlipped} />
					<button onClick={nextTheme}>
						{{ auto: 'Auto', light: 'Light', dark: 'Dark' }[theme]}
					</button>
				</span>
			</header>
			<nav class="tools">
				<input type="search" placeholder="Search" aria-label="Search" value={search}
					onInput={(event) => setSearch(event.target.value)} />
			</nav>
			<div class="body alone">
				<main>
					<div id="content">
						<Flame label="Flame graph" tree={tree} zoom={zoom} onZoom={setZoom}
							search={search} isAlone isFlipped={isFlipped} isDark={isDark} />
						<Legend isDark={isDark} isComparison={tree.isComparison} />
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
