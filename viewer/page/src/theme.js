// SPDX-License-Identifier: Apache-2.0
// Dark or light: as the system has it, or as was chosen here, which the browser remembers.
import { useEffect, useState } from 'preact/hooks';

const KEY = 'allframes-theme';
export const THEMES = ['auto', 'light', 'dark'];
const system = matchMedia('(prefers-color-scheme: dark)');

function stored() {
	try {
		const theme = localStorage.getItem(KEY);
		return THEMES.includes(theme) ? theme : 'auto';
	} catch {
		return 'auto';
	}
}

/** [theme, whether it is dark now, function that goes to the next]. */
export function useTheme() {
	const [theme, setTheme] = useState(stored);
	const [isSystemDark, setSystemDark] = useState(system.matches);
	useEffect(() => {
		const listen = () => setSystemDark(system.matches);
		system.addEventListener('change', listen);
		return () => system.removeEventListener('change', listen);
	}, []);
	const isDark = theme === 'dark' || (theme === 'auto' && isSystemDark);
	document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
	const next = () => {
		const following = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
		setTheme(following);
		try {
			localStorage.setItem(KEY, following);
		} catch {
			// Not remembered then.
		}
	};
	return [theme, isDark, next];
}
