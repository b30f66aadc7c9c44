// SPDX-License-Identifier: Apache-2.0
// A flame graph: the canvas, its mouse and keyboard, and the words about the frame in focus.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { APPROXIMATE, GUESS, INLINED, isLevel, kindColour, legend } from './colours.js';
import { amount, count, percent, value } from './format.js';
import { ROW, differenceText, neighbour, nodeUnder, paint } from './paint.js';
import { fileOf, flagsOf, kindOf, nameOf, nodeAt, pathOf, searchTree } from './tree.js';

const ARROWS = { ArrowUp: 'out', ArrowDown: 'in', ArrowLeft: 'previous', ArrowRight: 'next' };
const FLIPPED_ARROWS = { ...ARROWS, ArrowUp: 'in', ArrowDown: 'out' };

/** What is known of node @i, as lines. */
function wordsOf(tree, i) {
	const flags = flagsOf(tree, i);
	const line = tree.line?.[i];
	const marks = [kindOf(tree, i), flags & INLINED ? 'inlined' : '', flags & GUESS ? 'a guess' : '',
		flags & APPROXIMATE ? 'approximate' : ''].filter(Boolean).join(', ');
	const source = fileOf(tree, i) + (line ? `:${line}` : '');
	const words = [
		`${amount(tree.total[i])}, ${percent(tree.total[i], tree.allTotal)}; `
			+ `self ${value(tree.self[i])}, ${percent(tree.self[i], tree.allTotal)}`,
	];
	if (tree.isComparison) {
		words.push(`base: ${amount(tree.base_total[i])}, `
			+ `${percent(tree.base_total[i], tree.allBase)}; self ${value(tree.base_self[i])}; `
			+ differenceText(tree, i));
	}
	return { name: nameOf(tree, i), words, about: [marks, source].filter(Boolean).join(' · ') };
}

function Words({ tree, node }) {
	const { name, words, about } = wordsOf(tree, node);
	return (
		<>
			<strong>{name}</strong>
			{words.map((line) => <span key={line}>{line}</span>)}
			{about && <span class="faint">{about}</span>}
		</>
	);
}

/** The root above, or below. */
export function Orientation({ isFlipped, onChange }) {
	return (
		<span class="group" role="group" aria-label="Where the root is">
			<button aria-pressed={!isFlipped} title="The root above (f)"
				onClick={() => onChange(false)}>Icicle</button>
			<button aria-pressed={isFlipped} title="The root below (f)"
				onClick={() => onChange(true)}>Flame</button>
		</span>
	);
}

/** Which colour is what. */
export function Legend({ isDark, isComparison }) {
	if (isComparison) {
		return (
			<div class="legend" aria-label="Colours">
				<span><i class="key more" />more than in the base</span>
				<span><i class="key less" />less</span>
				<span><i class="key same" />not significant (|z| &lt; 2)</span>
			</div>
		);
	}
	return (
		<div class="legend" aria-label="Colours">
			{legend().map((kind) => (
				<span key={kind}>
					<i class="key" style={{ background: kindColour(kind, 0, '', isDark) }} />
					{kind}
				</span>
			))}
			<span><i class="key guess" />guess</span>
		</div>
	);
}

function useWidth(element) {
	const [size, setSize] = useState({ width: 0, height: 0 });
	useLayoutEffect(() => {
		const measure = () => setSize({
			width: element.current.clientWidth, height: element.current.clientHeight,
		});
		const observer = new ResizeObserver(measure);
		observer.observe(element.current);
		measure();
		return () => observer.disconnect();
	}, []);
	return size;
}

/**
 * @tree: of layOut(). @zoom: the path of the zoomed node, which onZoom gets. @actions: what can be
 * done with the selected node: [label, function of (name, kind)].
 */
export function Flame({ tree, label, zoom, onZoom, search, isFlipped, isDark, actions = [] }) {
	const box = useRef();
	const canvas = useRef();
	const { width, height } = useWidth(box);
	const [scrolled, setScrolled] = useState(0);
	const fromRoot = useRef(0);
	const [hover, setHover] = useState(null);
	const [selectedPath, setSelectedPath] = useState(null);
	const found = useMemo(() => searchTree(tree, search), [tree, search]);
	const zoomed = useMemo(() => nodeAt(tree, zoom), [tree, zoom]);
	const selected = useMemo(() => (selectedPath ? nodeAt(tree, selectedPath) : -1),
		[tree, selectedPath]);
	const fullHeight = (tree.maxDepth + 1) * ROW;
	const visible = Math.max(ROW, Math.min(height, fullHeight));
	const hovered = hover && hover.node < tree.length ? hover.node : -1;
	const scene = {
		tree, zoom: zoomed, width, height: visible, top: scrolled, isFlipped, found, selected,
		hovered, isDark,
	};

	useLayoutEffect(() => {
		if (width > 0)
			paint(canvas.current, scene);
	});
	// The root stays in view, wherever it is, while the graph or the window grows.
	useEffect(() => {
		fromRoot.current = 0;
	}, [isFlipped]);
	useEffect(() => {
		box.current.scrollTop = isFlipped ? fullHeight - height - fromRoot.current : fromRoot.current;
	}, [isFlipped, height, fullHeight]);
	const onScroll = ({ target }) => {
		setScrolled(target.scrollTop);
		// A change of the height scrolls too, but that is not the user's doing.
		if (target.clientHeight === height)
			fromRoot.current = isFlipped ? fullHeight - height - target.scrollTop : target.scrollTop;
	};

	const at = (event) => {
		const edge = canvas.current.getBoundingClientRect();
		return nodeUnder(scene, event.clientX - edge.left, event.clientY - edge.top);
	};
	const onPointerMove = (event) => {
		const node = at(event);
		setHover(node < 0 ? null : { node, x: event.clientX, y: event.clientY });
	};
	const zoomTo = (node) => onZoom(pathOf(tree, node));
	const onClick = (event) => {
		const node = at(event);
		if (node >= 0) {
			setSelectedPath(pathOf(tree, node));
			zoomTo(node);
		}
	};
	const onKeyDown = (event) => {
		const direction = (isFlipped ? FLIPPED_ARROWS : ARROWS)[event.key];
		const from = selected < 0 ? zoomed : selected;
		if (direction) {
			const next = neighbour(tree, from, direction);
			setSelectedPath(pathOf(tree, next));
			const row = isFlipped ? tree.maxDepth - tree.depth[next] : tree.depth[next];
			if (row * ROW < scrolled || (row + 1) * ROW > scrolled + height)
				box.current.scrollTop = row * ROW - height / 2;
		} else if (event.key === 'Enter') {
			zoomTo(from);
		} else if (event.key === 'Escape' && (zoomed > 0 || selected >= 0)) {
			setSelectedPath(null);
			onZoom([]);
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	};
	const inFocus = selected >= 0 ? selected : zoomed;

	return (
		<section class="flame" aria-label={label}>
			<div class="bar">
				<span class="shown" role="status">
					{found
						? `${amount(found.samples)} match, ${percent(found.samples, tree.allTotal)}`
						: <FocusWords tree={tree} node={inFocus} />}
				</span>
				{inFocus > 0 && !isLevel(kindOf(tree, inFocus)) && actions.map(([text, act]) => (
					<button key={text} onClick={() => act(nameOf(tree, inFocus), kindOf(tree, inFocus))}>
						{text}
					</button>
				))}
				{zoomed > 0 && <button onClick={() => { setSelectedPath(null); onZoom([]); }}>
					Zoom out
				</button>}
			</div>
			<div class="scroll" ref={box} onScroll={onScroll}>
				<div class="spacer" style={{ height: `${fullHeight}px` }}>
					<canvas ref={canvas} tabIndex={0} role="application"
						style={{ width: `${width}px`, height: `${visible}px` }}
						aria-label={`${label}: arrow keys walk, Enter zooms, Escape goes back`}
						onPointerMove={onPointerMove} onPointerLeave={() => setHover(null)}
						onClick={onClick} onKeyDown={onKeyDown} />
				</div>
			</div>
			{hovered >= 0 && <Tooltip tree={tree} hover={hover} />}
			{tree.pruned_nodes > 0 && (
				<p class="note">
					{`${count(tree.pruned_nodes)} frames too small to see are left out `
						+ `(${amount(tree.pruned_samples)}); their callers count them.`}
				</p>
			)}
		</section>
	);
}

function FocusWords({ tree, node }) {
	const { name, words, about } = wordsOf(tree, node);
	return <><b>{name}</b>{` ${words.join(' · ')}${about ? ` · ${about}` : ''}`}</>;
}

function Tooltip({ tree, hover }) {
	const element = useRef();
	useLayoutEffect(() => {
		const { offsetWidth, offsetHeight, style } = element.current;
		style.left = `${Math.max(4, Math.min(hover.x + 12, innerWidth - offsetWidth - 8))}px`;
		style.top = `${hover.y + offsetHeight + 24 > innerHeight
			? hover.y - offsetHeight - 10 : hover.y + 16}px`;
	});
	return (
		<div class="tooltip" role="tooltip" ref={element}>
			<Words tree={tree} node={hover.node} />
		</div>
	);
}
