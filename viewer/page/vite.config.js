// SPDX-License-Identifier: Apache-2.0
// Builds viewer/assets/: the page that the agent serves, and by `--mode export` the page that an
// export puts its tree into. Names without hashes, since the agent embeds the files by name.
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vite';

const BUNDLED = ['preact'];

function licenseOf(name) {
	const about = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8'));
	const text = readFileSync(`node_modules/${name}/LICENSE`, 'utf8').trim();
	return `${name} ${about.version}, ${about.license}\n\n${text}\n`;
}

// What the bundled packages want to go with them stands in the code, and in a file for people.
const licenses = {
	name: 'licenses',
	generateBundle(_, bundle) {
		const text = BUNDLED.map(licenseOf).join('\n\n');
		for (const chunk of Object.values(bundle).filter((part) => part.type === 'chunk')) {
			for (const path of Object.keys(chunk.modules)) {
				const name = /node_modules\/((@[^/]+\/)?[^/]+)/.exec(path)?.[1];
				if (name && !BUNDLED.includes(name))
					this.error(`${name} is bundled: BUNDLED does not have it`);
			}
			chunk.code = `/*\n${text}*/\n${chunk.code}`;
		}
		this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source: text });
	},
};

// Script and style go into the page: one file that needs nothing else.
const inlined = {
	name: 'inlined',
	enforce: 'post',
	generateBundle(_, bundle) {
		const page = bundle['export.html'];
		for (const [name, part] of Object.entries(bundle)) {
			if (part === page || name === 'LICENSES.txt')
				continue;
			page.source = part.type === 'chunk'
				? page.source
					.replace(/<script type="module"[^>]*><\/script>\s*/, '')
					// A function, for the code may hold what replace() takes for a reference.
					.replace('</body>', () => `<script>${safe(part.code)}</script>\n</body>`)
				: page.source.replace(/<link rel="stylesheet"[^>]*>/,
					() => `<style>${part.source}</style>`);
			delete bundle[name];
		}
	},
};

const safe = (code) => code.replace(/<\/script/gi, '<\\/script').replace(/<!--/g, '<\\!--');

export default defineConfig(({ mode }) => ({
	base: './',
	esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
	publicDir: mode === 'export' ? false : 'public',
	plugins: mode === 'export' ? [licenses, inlined] : [licenses],
	build: {
		outDir: process.env.PAGE_OUTPUT || '../assets',
		emptyOutDir: mode !== 'export',
		target: 'es2022',
		modulePreload: false,
		assetsInlineLimit: 0,
		cssCodeSplit: false,
		rollupOptions: {
			input: mode === 'export' ? 'export.html' : 'index.html',
			output: {
				format: mode === 'export' ? 'iife' : 'es',
				entryFileNames: 'app.js',
				assetFileNames: 'app[extname]',
			},
		},
	},
}));
