// SPDX-License-Identifier: Apache-2.0
// Builds viewer/assets/: the page that the agent serves, and by `--mode export` the page that an
// export puts its tree into. Names without hashes, since the agent embeds the files by name.
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vite';

const LICENSES = ['preact'];

// The texts that the bundled packages want to go with them.
const licenses = {
	name: 'licenses',
	generateBundle() {
		const texts = LICENSES.map((name) => {
			const about = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8'));
			const text = readFileSync(`node_modules/${name}/LICENSE`, 'utf8').trim();
			return `${name} ${about.version}, ${about.license}\n\n${text}\n`;
		});
		this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source: texts.join('\n\n') });
	},
};

// Script and style go into the page: one file that needs nothing else.
const inlined = {
	name: 'inlined',
	enforce: 'post',
	generateBundle(_, bundle) {
		const page = bundle['export.html'];
		for (const [name, part] of Object.entries(bundle)) {
			if (part === page)
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
	plugins: mode === 'export' ? [inlined] : [licenses],
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
