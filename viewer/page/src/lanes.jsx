// SPDX-License-Identifier: Apache-2.0
// CPUs as lanes: what each of them ran, over time.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { rowColour } from './colours.js';
import { clockTime } from './format.js';
import { paintLanes } from './strips.js';

const LANE = 14;

/** @answer: {data, ids} of "lanes", whose lanes have the samples of the rows with these ids. */
export function Lanes({ answer, status, slots, rows, isDark }) {
	const canvas = useRef();
	const [width, setWidth] = useState(0);
	const { data, ids } = answer;
	const height = LANE * data.lanes.length;
	useLayoutEffect(() => {
		const measure = () => setWidth(canvas.current.parentElement.clientWidth);
		const observer = new ResizeObserver(measure);
		observer.observe(canvas.current.parentElement);
		measure();
		return () => observer.disconnect();
	}, []);
	const colours = ids.map((id) => rowColour(slots.get(id) ?? 0, isDark));
	useLayoutEffect(() => {
		if (width > 0)
			paintLanes(canvas.current, width, height, data, status.samples_per_second, colours, isDark);
	});
	const nameOf = (id) => {
		const row = rows.find((each) => each.id === id);
		return row && [row.name ?? row.unit ?? row.user ?? 'several', row.pid].filter(Boolean).join(' ');
	};
	return (
		<section class="lanes" aria-label="CPU lanes">
			<div class="lane-box" tabIndex={0} role="region" aria-label="Lanes">
				<div class="lane-names" aria-hidden="true">
					{data.lanes.map((lane) => <span key={lane.cpu}>{`CPU ${lane.cpu}`}</span>)}
				</div>
				<div>
					<canvas ref={canvas} role="img" style={{ width: `${width}px`, height: `${height}px` }}
						aria-label={`What ${data.lanes.length} CPUs ran from ${clockTime(status.epoch_ms, data.from)} to `
							+ clockTime(status.epoch_ms, data.to)} />
				</div>
			</div>
			<div class="legend">
				{ids.map((id) => nameOf(id) && slots.has(id) && (
					<span key={id}>
						<i class="key" style={{ background: rowColour(slots.get(id), isDark) }} />{nameOf(id)}
					</span>
				))}
				<span><i class="key others" />others</span>
			</div>
		</section>
	);
}
