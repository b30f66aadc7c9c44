// SPDX-License-Identifier: Apache-2.0
// A menu at a point of the window, and texts for the clipboard.
import { useLayoutEffect, useRef } from 'preact/hooks';

const STEPS = { ArrowDown: 1, ArrowUp: -1 };

/** @items: [text, function]. @at: {x, y}. It closes after a choice, by Escape, Tab, and when the focus leaves it. */
export function Menu({ label, items, at, onClose }) {
	const list = useRef();
	useLayoutEffect(() => {
		const { offsetWidth, offsetHeight, style } = list.current;
		style.left = `${Math.max(4, Math.min(at.x, innerWidth - offsetWidth - 8))}px`;
		style.top = `${Math.max(4, Math.min(at.y, innerHeight - offsetHeight - 8))}px`;
	}, [at]);
	// Before the next key, which may come at once.
	useLayoutEffect(() => {
		list.current.querySelector('button').focus();
	}, []);
	const onKeyDown = (event) => {
		const buttons = [...list.current.querySelectorAll('button')];
		const index = buttons.indexOf(document.activeElement);
		event.stopPropagation();
		if (event.key === 'Escape' || event.key === 'Tab')
			onClose();
		else if (event.key === 'Home' || event.key === 'End')
			buttons.at(event.key === 'Home' ? 0 : -1).focus();
		else if (STEPS[event.key])
			buttons[(index + STEPS[event.key] + buttons.length) % buttons.length].focus();
		else
			return;
		event.preventDefault();
	};
	const onBlur = (event) => {
		if (!list.current?.contains(event.relatedTarget))
			onClose();
	};
	return (
		<ul class="popup" role="menu" aria-label={label} ref={list} onKeyDown={onKeyDown} onFocusOut={onBlur}
			onContextMenu={(event) => event.preventDefault()}>
			{items.map(([text, act]) => (
				<li key={text} role="none">
					<button role="menuitem" class="plain" tabIndex={-1} onClick={() => { onClose(); act(); }}>{text}</button>
				</li>
			))}
		</ul>
	);
}

/** Without a secure connection browsers have no clipboard for pages but by a selection. */
export async function copyText(text) {
	if (navigator.clipboard) {
		try {
			await navigator.clipboard.writeText(text);
			return;
		} catch {
			// Not allowed: the other way may be.
		}
	}
	const focused = document.activeElement;
	const area = document.createElement('textarea');
	area.value = text;
	area.className = 'clipboard';
	document.body.append(area);
	area.select();
	document.execCommand('copy');
	area.remove();
	focused?.focus();
}
