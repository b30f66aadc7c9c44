// SPDX-License-Identifier: Apache-2.0
// A flame graph: the canvas, its mouse and keyboard, and the words about the frame in focus.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { APPROXIMATE, GROUP, GUESS, INLINED, isLevel, kindColour, learnUnits, legend, unitColour } from './colours.js';
import { amount, count, percent, positionText, value } from './format.js';
import { differenceText, paint } from './paint.js';
import { ROW, blockBelow, blockOf, boxOf, isBlock, neighbour, numberUnder, arrangeBoxes } from './boxes.js';
import { Menu, copyText } from './menu.jsx';
import { fileOf, flagsOf, hasPath, kindOf, nameOf, nodeAt, pathOf, searchTree, unitOf, unitsOf } from './tree.js';
import { joinZoom, splitZoom } from './view.js';

/** A hit of the search that is narrower on the screen is zoomed to. */
const SEEN_WIDTH = 24;
const ARROWS = { ArrowUp: 'out', ArrowDown: 'in', ArrowLeft: 'previous', ArrowRight: 'next' };
const FLIPPED_ARROWS = { ...ARROWS, ArrowUp: 'in', ArrowDown: 'out' };

/** The legend has the colours of so many binaries or packages. */
const LEGEND_UNITS = 16;

/** A finger that stays so long asks for the menu. */
const LONG_PRESS_MS = 550;

/** What is known of node @i, as lines. @zoomed: the node that takes the whole width. */
function wordsOf(tree, i, zoomed) {
	const flags = flagsOf(tree, i);
	const marks = [kindOf(tree, i), flags & INLINED ? 'inlined' : '', flags & GUESS ? 'a guess' : '',
		flags & APPROXIMATE ? 'approximate' : '', flags & GROUP ? 'several functions' : '',
		unitOf(tree, i) && !isLevel(kindOf(tree, i)) ? unitOf(tree, i) : ''].filter(Boolean).join(', ');
	const source = fileOf(tree, i) + positionText(tree.line?.[i], tree.column?.[i]);
	const words = [
		`${amount(tree.total[i])}, ${percent(tree.total[i], tree.allTotal)}`
			+ (zoomed > 0 && i > zoomed ? ` of all, ${percent(tree.total[i], tree.total[zoomed])} of the view; ` : '; ')
			+ `self ${value(tree.self[i])}, ${percent(tree.self[i], tree.allTotal)}`,
	];
	if (tree.isComparison) {
		words.push(`base: ${amount(tree.base_total[i])}, `
			+ `${percent(tree.base_total[i], tree.allBase)}; self ${value(tree.base_self[i])}; `
			+ differenceText(tree, i));
	}
	return { name: nameOf(tree, i), words, about: [marks, source].filter(Boolean).join(' · ') };
}

/** The same of a block of narrow frames. */
function wordsOfBlock(tree, block) {
	const words = [`${amount(block.samples)}, ${percent(block.samples, tree.allTotal)}`];
	if (tree.isComparison)
		words.push(`base: ${amount(block.base)}, ${percent(block.base, tree.allBase)}`);
	return {
		name: `${count(block.count)} narrow frame${block.count === 1 ? '' : 's'} not drawn, zoom in`, words,
		about: `called by ${nameOf(tree, block.parent)}`,
	};
}

const wordsAbout = (tree, boxes, number, zoomed) => (isBlock(number)
	? wordsOfBlock(tree, blockOf(boxes, number)) : wordsOf(tree, number, zoomed));

function Words({ tree, boxes, node, zoomed }) {
	const { name, words, about } = wordsAbout(tree, boxes, node, zoomed);
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

/** Which colour is what. @tree: the one that is drawn, whose colours may be those of binaries or packages. */
export function Legend({ tree, isDark, isComparison }) {
	const units = tree && unitsOf(tree)?.slice(0, LEGEND_UNITS);
	if (isComparison) {
		return (
			<div class="legend" aria-label="Colours">
				<span><i class="key more" />more than in the base</span>
				<span><i class="key less" />less</span>
				<span><i class="key same" />not significant (|z| &lt; 2)</span>
			</div>
		);
	}
	if (units) {
		return (
			<div class="legend" aria-label="Colours">
				{units.map((unit) => (
					<span key={unit}><i class="key" style={{ background: unitColour(unit, isDark) }} />{unit}</span>
				))}
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

/** The zoomed node, and where everything is. */
function useBoxes(tree, zoom, width) {
	return useMemo(() => {
		const { path, rest } = splitZoom(zoom);
		const zoomed = nodeAt(tree, path);
		return [zoomed, arrangeBoxes(tree, zoomed, width, hasPath(tree, path) ? rest : 0)];
	}, [tree, zoom, width]);
}

/** Goes to a hit of the search once: selects it if it can be seen, else zooms to it. */
function useHit({ hit, tree, boxes, onSelect, onZoom, onShow }) {
	const gone = useRef(null);
	useEffect(() => {
		if (!hit || gone.current === hit.key)
			return;
		gone.current = hit.key;
		const node = hasPath(tree, hit.path) ? nodeAt(tree, hit.path) : -1;
		const path = node < 0 ? hit.path : pathOf(tree, node);
		onSelect({ path });
		if (node < 0 || boxes.width[node] < SEEN_WIDTH)
			onZoom(path);
		else
			onShow(node);
	}, [hit?.key, tree]);
}

/** The names from below the root to node @i, as folded stacks have them. */
function stackText(tree, i) {
	const names = [];
	for (; i > 0; i = tree.parent[i])
		names.unshift(nameOf(tree, i));
	return names.join(';');
}

/**
 * A menu for the node at the pointer, or with the focus: what to do for its events. @numberAt: the node at an event's point, or
 * -1. @pointOf: the point of a node in the window.
 */
function useMenu({ numberAt, pointOf, onSelect }) {
	const [menu, setMenu] = useState(null);
	const timer = useRef();
	const hasOpened = useRef(false);
	useEffect(() => () => clearTimeout(timer.current), []);
	const openAt = (number, at) => {
		if (number <= 0 || isBlock(number))
			return;
		onSelect(number);
		setMenu({ number, at });
	};
	const atEvent = (event) => openAt(numberAt(event), { x: event.clientX, y: event.clientY });
	return {
		menu,
		close: () => setMenu(null),
		/** True for a key that opens it. */
		onKey: (event, number) => {
			if (event.key !== 'ContextMenu' && !(event.key === 'F10' && event.shiftKey))
				return false;
			openAt(number, pointOf(number));
			return true;
		},
		onContextMenu: (event) => {
			event.preventDefault();
			clearTimeout(timer.current);
			if (event.button === 2 || event.pointerType === 'touch')
				atEvent(event);
		},
		onPress: (event) => {
			hasOpened.current = false;
			clearTimeout(timer.current);
			if (event.pointerType !== 'touch')
				return;
			timer.current = setTimeout(() => {
				hasOpened.current = true;
				atEvent(event);
			}, LONG_PRESS_MS);
		},
		onRelease: () => clearTimeout(timer.current),
		/** True for the click at the end of a long press. */
		isOfPress: () => hasOpened.current,
	};
}

/**
 * @tree: of layOut(). @zoom: the path of the zoomed node, which onZoom gets. @actions: what can be
 * done with the selected node: [label, function of (name, kind), whether it needs to be one function]. @menuOf: the same for its menu, of (tree, node). @hit: {key, path} of what the search goes
 * to. @isAlone: nobody else counts what the search finds.
 */
export function Flame({ tree, label, zoom, onZoom, search, hit, isAlone, isFlipped, isDark, actions = [], menuOf }) {
	const box = useRef();
	const canvas = useRef();
	const { width, height } = useWidth(box);
	const [scrolled, setScrolled] = useState(0);
	const fromRoot = useRef(0);
	const [hover, setHover] = useState(null);
	const [selection, setSelection] = useState(null);
	useMemo(() => learnUnits(unitsOf(tree) ?? []), [tree]);
	const found = useMemo(() => searchTree(tree, search), [tree, search]);
	const [zoomed, boxes] = useBoxes(tree, zoom, width);
	const selected = useMemo(() => {
		const node = selection ? nodeAt(tree, selection.path) : -1;
		const block = selection?.isBlock ? blockBelow(boxes, node) : -1;
		return block === -1 ? node : block;
	}, [tree, boxes, selection]);
	const fullHeight = tree.rows * ROW;
	const visible = Math.max(ROW, Math.min(height, fullHeight));
	const scene = {
		tree, zoom: zoomed, boxes, width, height: visible, top: scrolled, isFlipped, found, selected,
		hovered: -1, isDark,
	};
	const pointIn = (event) => {
		const edge = canvas.current.getBoundingClientRect();
		return [event.clientX - edge.left, event.clientY - edge.top];
	};
	// Of the tree that is drawn now: a refresh or a zoom may have changed what is at the pointer.
	scene.hovered = hover ? numberUnder(scene, ...hover.point) : -1;

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

	const onPointerMove = (event) => setHover({
		point: pointIn(event), x: event.clientX, y: event.clientY,
	});
	const select = (number) => setSelection(isBlock(number)
		? { path: pathOf(tree, blockOf(boxes, number).parent), isBlock: true }
		: { path: pathOf(tree, number) });
	/** To the frame; of a block to its caller, or where that is zoomed to, to what the block has. */
	const zoomTo = (number) => {
		if (!isBlock(number)) {
			onZoom(pathOf(tree, number));
			return;
		}
		const { parent } = blockOf(boxes, number);
		onZoom(joinZoom(pathOf(tree, parent), parent === zoomed ? splitZoom(zoom).rest + 1 : 0));
	};
	const menu = useMenu({
		numberAt: (event) => numberUnder(scene, ...pointIn(event)),
		pointOf: (number) => {
			const edge = canvas.current.getBoundingClientRect();
			const { left, top } = boxOf(scene, number);
			return { x: edge.left + Math.max(0, left) + 8, y: edge.top + top + ROW };
		},
		onSelect: (number) => select(number),
	});
	const menuItems = (node) => [
		['Copy name', () => copyText(nameOf(tree, node))],
		['Copy stack', () => copyText(stackText(tree, node))],
		['Zoom to it', () => zoomTo(node)],
		...(menuOf?.(tree, node) ?? []),
	];
	const onClick = (event) => {
		const number = menu.isOfPress() ? -1 : numberUnder(scene, ...pointIn(event));
		if (number !== -1) {
			select(number);
			zoomTo(number);
		}
	};
	/** Scrolls to what has the selection. */
	const show = (number) => {
		const { top } = boxOf(scene, number);
		if (top < 0 || top + ROW > height)
			box.current.scrollTop = top + scrolled - height / 2;
	};
	// A link may lead to a frame far from the root.
	const shownZoom = useRef([]);
	useEffect(() => {
		if (shownZoom.current === zoom || height === 0 || !hasPath(tree, splitZoom(zoom).path))
			return;
		shownZoom.current = zoom;
		show(zoomed);
	}, [tree, zoom, height]);
	useHit({ hit, tree, boxes, onSelect: setSelection, onZoom, onShow: show });
	const onKeyDown = (event) => {
		const direction = (isFlipped ? FLIPPED_ARROWS : ARROWS)[event.key];
		const from = selected === -1 ? zoomed : selected;
		if (direction) {
			const next = neighbour(tree, boxes, from, direction);
			select(next);
			show(next);
		} else if (menu.onKey(event, from)) {
			setHover(null);
		} else if (event.key === 'Enter') {
			zoomTo(from);
		} else if (event.key === 'Escape' && (zoom.length > 0 || selected !== -1)) {
			setSelection(null);
			onZoom([]);
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	};
	const inFocus = selected === -1 ? zoomed : selected;

	return (
		<section class="flame" aria-label={label}>
			<div class="bar">
				<span class="shown" role="status">
					{found && isAlone
						? `${amount(found.samples)} match, ${percent(found.samples, tree.allTotal)}`
						: <FocusWords tree={tree} boxes={boxes} node={inFocus} zoomed={zoomed} />}
				</span>
				{inFocus > 0 && !isLevel(kindOf(tree, inFocus)) && actions.filter(([, , isOfFunction]) => (
					!isOfFunction || !(flagsOf(tree, inFocus) & GROUP)
				)).map(([text, act]) => (
					<button key={text} onClick={() => act(nameOf(tree, inFocus), kindOf(tree, inFocus))}>
						{text}
					</button>
				))}
				{zoom.length > 0 && <button onClick={() => { setSelection(null); onZoom([]); }}>
					Zoom out
				</button>}
			</div>
			<div class="scroll" ref={box} onScroll={onScroll}>
				<div class="spacer" style={{ height: `${fullHeight}px` }}>
					<canvas ref={canvas} tabIndex={0} role="application"
						style={{ width: `${width}px`, height: `${visible}px` }}
						aria-label={`${label}: arrow keys walk, Enter zooms, Escape goes back`}
						onPointerMove={onPointerMove} onPointerLeave={() => { setHover(null); menu.onRelease(); }}
						onPointerDown={menu.onPress} onPointerUp={menu.onRelease} onPointerCancel={menu.onRelease}
						onContextMenu={menu.onContextMenu} onClick={onClick} onKeyDown={onKeyDown} />
				</div>
			</div>
			{menu.menu && (
				<Menu key={menu.menu.number} label={nameOf(tree, menu.menu.number)} at={menu.menu.at}
					items={menuItems(menu.menu.number)}
					onClose={() => { menu.close(); canvas.current.focus(); }} />
			)}
			{scene.hovered !== -1 && !menu.menu && (
				<Tooltip tree={tree} boxes={boxes} number={scene.hovered} hover={hover} zoomed={zoomed} />
			)}
		</section>
	);
}

function FocusWords({ tree, boxes, node, zoomed }) {
	const { name, words, about } = wordsAbout(tree, boxes, node, zoomed);
	return <><b>{name}</b>{` ${words.join(' · ')}${about ? ` · ${about}` : ''}`}</>;
}

function Tooltip({ tree, boxes, number, hover, zoomed }) {
	const element = useRef();
	useLayoutEffect(() => {
		const { offsetWidth, offsetHeight, style } = element.current;
		style.left = `${Math.max(4, Math.min(hover.x + 12, innerWidth - offsetWidth - 8))}px`;
		style.top = `${hover.y + offsetHeight + 24 > innerHeight
			? hover.y - offsetHeight - 10 : hover.y + 16}px`;
	});
	return (
		<div class="tooltip" role="tooltip" ref={element}>
			<Words tree={tree} boxes={boxes} node={number} zoomed={zoomed} />
		</div>
	);
}
