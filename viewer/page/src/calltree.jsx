// SPDX-License-Identifier: Apache-2.0
// The flame graph's tree as a table that opens and closes: who calls whom, with self and total.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { INLINED, kindColour } from './colours.js';
import { amount, count, percent, value } from './format.js';
import { Share } from './table.jsx';
import { childrenOf, fileOf, flagsOf, kindOf, matcher, nameOf, nodeAt, pathOf } from './tree.js';

/** Further rows are not drawn: who opens more than that looks for something. */
const MAX_ROWS = 1000;
/** A callee that has so much of its caller is open at first. */
const OPEN_SHARE = 0.5;

const keyOf = (tree, node) => JSON.stringify(pathOf(tree, node));
const widthOf = (tree, node) => tree.width[node];

/** The callees, the widest first. */
function calleesOf(tree, node) {
	return [...childrenOf(tree, node)].sort((a, b) => widthOf(tree, b) - widthOf(tree, a));
}

/**
 * The rows that are open, from @root on: {node, level, key, callees, isOpen}. @toggled: what was opened and closed by hand, by
 * key; at first what leads to most samples is open.
 */
function openRows(tree, root, toggled) {
	const rows = [];
	const visit = (node, level, isHeavy) => {
		if (rows.length >= MAX_ROWS)
			return;
		const callees = calleesOf(tree, node);
		const key = keyOf(tree, node);
		const isOpen = callees.length > 0 && (toggled.get(key) ?? isHeavy);
		rows.push({ node, level, key, callees: callees.length, isOpen });
		if (!isOpen)
			return;
		callees.forEach((callee, i) => visit(callee, level + 1,
			isHeavy && i === 0 && widthOf(tree, callee) >= OPEN_SHARE * widthOf(tree, node)));
	};
	visit(root, 1, true);
	return rows;
}

/** @tree: of layOut(). @zoom: the path of the node at its top, which onZoom gets. */
export function CallTree({ tree, zoom, onZoom, search, isInverted, isDark, onPick }) {
	const [toggled, setToggled] = useState(() => new Map());
	const [active, setActive] = useState('');
	const body = useRef();
	const isMoved = useRef(false);
	const root = nodeAt(tree, zoom);
	const isFound = useMemo(() => matcher(search), [search]);
	const rows = useMemo(() => openRows(tree, root, toggled), [tree, root, toggled]);
	const index = Math.max(0, rows.findIndex(({ key }) => key === active));
	useLayoutEffect(() => {
		if (isMoved.current)
			body.current.rows[index]?.focus();
		isMoved.current = false;
	});
	const toggle = ({ key, isOpen }) => setToggled(new Map(toggled).set(key, !isOpen));
	const moveTo = (row) => {
		if (!row)
			return;
		isMoved.current = true;
		setActive(row.key);
	};
	const openAll = (row) => {
		const next = new Map(toggled);
		let left = MAX_ROWS;
		const visit = (node) => {
			if (left-- <= 0)
				return;
			next.set(keyOf(tree, node), true);
			calleesOf(tree, node).forEach(visit);
		};
		visit(row.node);
		setToggled(next);
	};
	const onKeyDown = (event) => {
		const row = rows[index];
		const callerOf = () => rows.slice(0, index).findLast(({ level }) => level < row.level);
		const acts = {
			ArrowDown: () => moveTo(rows[index + 1]), ArrowUp: () => moveTo(rows[index - 1]),
			Home: () => moveTo(rows[0]), End: () => moveTo(rows.at(-1)),
			ArrowRight: () => (row.isOpen ? moveTo(rows[index + 1]) : row.callees && toggle(row)),
			ArrowLeft: () => (row.isOpen ? toggle(row) : moveTo(callerOf())),
			'*': () => openAll(row), Enter: () => onZoom(pathOf(tree, row.node)),
			Escape: () => zoom.length && onZoom([]),
		};
		const act = acts[event.key];
		if (!act || event.ctrlKey || event.metaKey || event.altKey || event.target.closest('button'))
			return;
		act();
		event.preventDefault();
		event.stopPropagation();
	};
	const left = tree.pruned.reduce((sum, each) => sum + each, 0);
	return (
		<section class="pane" aria-label="Call tree">
			<div class="bar">
				<span class="shown faint" role="status">
					{`${amount(tree.total[root])}, ${percent(tree.total[root], tree.allTotal)} of all`
						+ (isInverted ? '; below a function are its callers' : '; below a function is what it calls')
						+ (left ? `; ${count(left)} narrow frames left out, zoom in` : '')
						+ (rows.length >= MAX_ROWS ? `; the first ${count(MAX_ROWS)} rows` : '')}
				</span>
				{zoom.length > 0 && <button onClick={() => onZoom([])}>Zoom out</button>}
			</div>
			<div class="tablebox">
				<table class="calltree" role="treegrid" aria-label="Call tree: arrow keys walk, open and close; Enter zooms">
					<thead>
						<tr>
							<th scope="col" class="number">Total</th>
							<th scope="col" class="number">%</th>
							<th scope="col" class="number">Self</th>
							<th scope="col" class="number">%</th>
							<th scope="col">Function</th>
							<th scope="col" class="file">File</th>
						</tr>
					</thead>
					<tbody ref={body} onKeyDown={onKeyDown}>
						{rows.map((row, i) => {
							const { node, level, key, callees, isOpen } = row;
							const name = nameOf(tree, node);
							return (
								<tr key={key} aria-level={level} aria-expanded={callees ? isOpen : undefined}
									tabIndex={i === index ? 0 : -1} class={node && isFound?.(name) ? 'found' : ''}
									onFocus={() => setActive(key)} onDblClick={() => onZoom(pathOf(tree, node))}>
									<td class="number">{value(tree.total[node])}</td>
									<Share part={tree.total[node]} total={tree.allTotal} />
									<td class="number">{value(tree.self[node])}</td>
									<Share part={tree.self[node]} total={tree.allTotal} />
									<td class="function" style={{ paddingLeft: `${8 + 14 * Math.min(level - 1, 40)}px` }}>
										<button class="plain twist" tabIndex={-1} disabled={!callees} aria-hidden="true"
											onClick={() => toggle(row)}>{callees ? (isOpen ? '▾' : '▸') : ''}</button>
										<i class="key" style={{
											background: kindColour(kindOf(tree, node), flagsOf(tree, node), '', isDark),
										}} />
										{node > 0 ? (
											<button class="plain" tabIndex={-1} title={`Callers and callees of ${name}`}
												onClick={() => onPick(name, kindOf(tree, node))}>{name}</button>
										) : name}
										{flagsOf(tree, node) & INLINED ? <span class="faint"> inlined</span> : ''}
									</td>
									<td class="file" title={fileOf(tree, node)}>{fileOf(tree, node)}</td>
								</tr>
							);
						})}
					</tbody>
				</table>
			</div>
		</section>
	);
}
