// SPDX-License-Identifier: Apache-2.0
// Changes of stacks before they are merged: a menu of them, and a chip for each.
import { useEffect, useRef } from 'preact/hooks';

/** The server's folds: name, text in the menu and on chips, explanation. */
const FOLDS = [
	['runtime', 'Runtime frames', 'Frames of a language’s runtime become one'],
	['inlined', 'Inlined frames', 'Their time becomes that of the function that they are inlined into'],
	['recursion', 'Recursion', 'A function that calls itself again is one frame'],
	['kernel', 'Kernel frames', 'All kernel frames of a stack become one'],
	['unnamed', 'Generated code without a name', 'Becomes one frame of its process'],
];
const UNITS = [['', 'function'], ['binary', 'binary'], ['package', 'package']];

function UnitChoice({ title, name, none, value, onChange }) {
	return (
		<fieldset>
			<legend>{title}</legend>
			{UNITS.map(([unit, text]) => (
				<label key={unit}>
					<input type="radio" name={name} checked={value === unit} onChange={() => onChange(unit)} />
					{unit ? text : none}
				</label>
			))}
		</fieldset>
	);
}

/** @hasGraph: frames are drawn, so they can have other colours. */
export function TransformMenu({ view, change, onToggle, hasGraph }) {
	const menu = useRef();
	useEffect(() => {
		const close = (event) => {
			if (!menu.current.contains(event.target))
				menu.current.open = false;
		};
		// Before the page's own keys.
		const listen = (event) => {
			if (event.key !== 'Escape' || !menu.current.open)
				return;
			event.stopPropagation();
			menu.current.open = false;
			menu.current.querySelector('summary').focus();
		};
		const events = [['pointerdown', close], ['focusin', close], ['keydown', listen]];
		events.forEach(([name, act]) => document.addEventListener(name, act, true));
		return () => events.forEach(([name, act]) => document.removeEventListener(name, act, true));
	}, []);
	return (
		<details class="menu transforms" ref={menu}>
			<summary>Frames</summary>
			<div class="choices">
				<fieldset>
					<legend>Fold</legend>
					{FOLDS.map(([fold, text, about]) => (
						<label key={fold} title={about}>
							<input type="checkbox" checked={view.fold.includes(fold)} onChange={() => onToggle('fold', fold)} />
							{text}
						</label>
					))}
				</fieldset>
				<UnitChoice title="A frame is a" name="frames" none="function" value={view.frames}
					onChange={(frames) => change({ frames, zoom: '' })} />
				{hasGraph && <UnitChoice title="Colour by" name="colour" none="type of code" value={view.colour}
					onChange={(colour) => change({ colour })} />}
			</div>
		</details>
	);
}

const foldText = (fold) => FOLDS.find(([name]) => name === fold)?.[1].toLowerCase() ?? fold;

/** [key, text, what drops it] of each transform of the view. */
function chipsOf(view, change, onToggle) {
	return [
		...view.begin.map((name) => [`begin ${name}`, `begins at ${name}`, () => onToggle('begin', name)]),
		...view.hide.map((name) => [`hide ${name}`, `without ${name}`, () => onToggle('hide', name)]),
		...view.fold.map((fold) => [`fold ${fold}`, `folded: ${foldText(fold)}`, () => onToggle('fold', fold)]),
		...(view.frames ? [['frames', `by ${view.frames}`, () => change({ frames: '', zoom: '' })]] : []),
		...(view.colour ? [['colour', `colour by ${view.colour}`, () => change({ colour: '' })]] : []),
	];
}

export function TransformChips({ view, change, onToggle }) {
	return chipsOf(view, change, onToggle).map(([key, text, onDrop]) => (
		<button key={key} class="of-frames" onClick={onDrop}>{text} ✕</button>
	));
}
