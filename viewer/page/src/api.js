// SPDX-License-Identifier: Apache-2.0
// The agent's answers. Its addresses are relative, so that the page works behind any path.

/** An error as the user may read it; kind: 'gone', 'token' or 'refused'. */
export class Problem extends Error {
	constructor(kind, message) {
		super(message);
		this.kind = kind;
	}
}

const GONE = 'The agent has ended, or cannot be reached. What you see is the last that it sent.';
const TOKEN = 'This agent asks for a token. Open the page once as ?token=… with the text of the'
	+ ' file that -viewer-token-file names.';

async function send(path, parameters, options) {
	let response;
	try {
		response = await fetch(`api/${path}?${parameters || ''}`, options);
	} catch (error) {
		if (error.name === 'AbortError')
			throw error;
		throw new Problem('gone', GONE);
	}
	if (response.status === 401)
		throw new Problem('token', TOKEN);
	let answer;
	try {
		answer = await response.json();
	} catch (error) {
		if (error.name === 'AbortError')
			throw error;
		throw new Problem('refused', `The agent's answer to ${path} makes no sense.`);
	}
	if (!response.ok)
		throw new Problem('refused', answer.error || `The agent refused ${path}.`);
	return { data: answer, cpuMs: Number(response.headers.get('X-Allframes-CPU-us')) / 1000 };
}

/** {data, cpuMs}: the answer, and what all answers up to it have cost the agent. */
export const ask = (path, parameters, signal) => send(path, parameters, { signal });

export async function setPaused(isOn) {
	const { data } = await send('pause', `on=${isOn ? 1 : 0}`,
		{ method: 'POST', headers: { 'X-Allframes': '1' } });
	return data;
}
