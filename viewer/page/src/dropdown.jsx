// SPDX-License-Identifier: Apache-2.0
// Lists that open below a button: what can be exported, and where the samples come from.
import { useRef } from 'preact/hooks';

/** A button @name with @children below it, which Escape closes. */
export function Dropdown({ name, title, children }) {
	const menu = useRef();
	const onKeyDown = (event) => {
		if (event.key !== 'Escape' || !menu.current.open)
			return;
		event.stopPropagation();
		menu.current.open = false;
		menu.current.querySelector('summary').focus();
	};
	return (
		<details class={`menu ${name.toLowerCase()}`} ref={menu} onKeyDown={onKeyDown}>
			<summary title={title}>{name}</summary>
			{children}
		</details>
	);
}

/** Where the samples come from: what the agent knows, or what the opened file says. @about: pairs of a key and a text. */
export function About({ about }) {
	return about?.length > 0 && (
		<Dropdown name="About" title="Where the samples come from">
			<dl>
				{about.map(([key, text], i) => (
					<div key={i}><dt>{key}</dt><dd>{text}</dd></div>
				))}
			</dl>
		</Dropdown>
	);
}
