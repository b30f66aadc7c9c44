// SPDX-License-Identifier: Apache-2.0
// How good the stacks are, and what would mend those that are not.
import { count, percent } from './format.js';

function Reason({ row }) {
	return (
		<td class="words">
			{row.reason}
			{row.reason_count > 0 && <span class="faint"> ({count(row.reason_count)})</span>}
			{row.mend && <span class="mend">{row.mend}</span>}
			{row.names_reason && <div>{row.names_reason}<span class="mend">{row.names_mend}</span></div>}
		</td>
	);
}

const Part = ({ part, whole }) => (
	<td class={`number ${whole && part / whole < 0.9 ? 'less-good' : ''}`}>
		{whole ? percent(part, whole) : '–'}
	</td>
);

/** @isKnown: whether it is known of stacks that they are not complete. */
export function Quality({ answer, isKnown }) {
	return (
		<section class="pane quality" aria-label="Quality of stacks">
			<div class="bar">
				<span class="shown">
					{isKnown ? `${percent(answer.complete, answer.samples)} of ${count(answer.samples)} stacks are `
						+ 'complete: they reach their thread’s entry without a guess or an error.'
						: 'No stack of this file has a guess or an error; not all tools note them.'}
				</span>
			</div>
			<div class="tablebox" tabIndex={0} role="region" aria-label="Processes and binaries">
				<table>
					<caption>Processes</caption>
					<thead>
						<tr>
							<th scope="col">Process</th>
							<th scope="col" class="number">PID</th>
							<th scope="col">Runtime</th>
							<th scope="col" class="number">Samples</th>
							<th scope="col" class="number">Complete</th>
							<th scope="col" class="number">Named</th>
							<th scope="col">Most frequent reason, and what would mend it</th>
						</tr>
					</thead>
					<tbody>
						{answer.processes.map((row) => (
							<tr key={`${row.pid} ${row.comm} ${row.executable}`}>
								<td title={row.executable}>{row.comm}</td>
								<td class="number">{row.pid}</td>
								<td>{row.runtime}</td>
								<td class="number">{count(row.samples)}</td>
								<Part part={row.complete} whole={row.samples} />
								<Part part={row.named} whole={row.frames} />
								<Reason row={row} />
							</tr>
						))}
					</tbody>
				</table>
				<table>
					<caption>Binaries</caption>
					<thead>
						<tr>
							<th scope="col">Binary</th>
							<th scope="col">Build ID</th>
							<th scope="col" class="number">Samples</th>
							<th scope="col" class="number">Complete</th>
							<th scope="col" class="number">Named</th>
							<th scope="col">Most frequent reason, and what would mend it</th>
						</tr>
					</thead>
					<tbody>
						{answer.binaries.map((row) => (
							<tr key={`${row.file} ${row.build_id}`}>
								<td>{row.file}</td>
								<td class="id" title={row.build_id}>{row.build_id}</td>
								<td class="number">{count(row.samples)}</td>
								<Part part={row.complete} whole={row.samples} />
								<Part part={row.named} whole={row.frames} />
								<Reason row={row} />
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</section>
	);
}
