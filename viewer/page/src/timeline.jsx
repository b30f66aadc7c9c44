// SPDX-License-Identifier: Apache-2.0
// The time line over all that is kept, the heat map below it, and the choice of ranges in both.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { clockTime, count, duration } from './format.js';
import {
	columnMs, heatCell, moveRange, paintHeatmap, paintTimeline, timelineAxis, timelineBucket,
} from './strips.js';

const KEYS = 'arrow keys move the range, with Shift its end, Escape drops it';

/** A canvas on which a range is chosen. @bucketAt: [from, to] at a point. */
function Strip({ label, axis, height, paint, bucketAt, steps, bounds, range, onRange, describe }) {
	const canvas = useRef();
	const start = useRef(null);
	const [width, setWidth] = useState(0);
	const [hover, setHover] = useState(null);

	useLayoutEffect(() => {
		const measure = () => setWidth(canvas.current.parentElement.clientWidth);
		const observer = new ResizeObserver(measure);
		observer.observe(canvas.current.parentElement);
		measure();
		return () => observer.disconnect();
	}, []);
	useLayoutEffect(() => {
		if (width > 0)
			paint(canvas.current, width, height, start.current && hover);
	});
	const at = (event) => {
		const edge = canvas.current.getBoundingClientRect();
		return bucketAt(width, height, event.clientX - edge.left, event.clientY - edge.top);
	};
	const spanTo = (bucket) => [Math.min(start.current[0], bucket[0]),
		Math.max(start.current[1], bucket[1])];
	const onPointerDown = (event) => {
		start.current = at(event);
		canvas.current.setPointerCapture(event.pointerId);
	};
	const onPointerMove = (event) => {
		const bucket = at(event);
		setHover(start.current ? spanTo(bucket) : bucket);
	};
	const onPointerUp = (event) => {
		if (start.current)
			onRange(spanTo(at(event)));
		start.current = null;
		setHover(null);
	};
	const onKeyDown = (event) => {
		if (event.key === 'Escape' && range)
			onRange(null);
		else if (event.key.startsWith('Arrow'))
			onRange(moveRange(range, event.key, event.shiftKey, steps, bounds));
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	};
	return (
		<div class="strip">
			<canvas ref={canvas} tabIndex={0} role="application" aria-label={`${label}: ${KEYS}`}
				style={{ width: `${width}px`, height: `${height}px` }}
				onPointerDown={onPointerDown} onPointerMove={onPointerMove}
				onPointerUp={onPointerUp} onPointerCancel={() => { start.current = null; }}
				onPointerLeave={() => setHover(null)} onKeyDown={onKeyDown} />
			{axis && <span class="axis" aria-hidden="true">{axis}</span>}
			{hover && <span class="hint">{describe(hover)}</span>}
		</div>
	);
}

/** @target: 'range' or 'base', which the next choice sets. @stack: {colours, names} of the rows in timeline.stack, or null. */
export function Times({ status, timeline, heat, range, base, target, onTarget, onChoose, stack, isDark }) {
	/** With what is being dragged in place of what it will replace. */
	const rangesWith = (dragged) => ({ range, base, ...(dragged && { [target]: dragged }) });
	const axis = timeline && timelineAxis(timeline, status.samples_per_second,
		stack && status.is_live ? status.cpu_count : 0);
	const time = (ms) => clockTime(status.epoch_ms, ms, true);
	const describe = ([from, to]) => `${time(from)}, ${duration(to - from)}`;
	const bounds = [status.first_ms, Math.max(status.now_ms, status.first_ms + 1)];
	const chosen = target === 'base' ? base : range;
	const onRange = (next) => onChoose(target, next);
	const shared = { bounds, range: chosen, onRange, describe };
	const first = timeline ? timeline.from : status.first_ms;
	const last = timeline ? timeline.from + timeline.counts.length * timeline.step_ms : status.now_ms;
	return (
		<>
			{timeline && (
				<Strip label={`Time line, up to ${axis.text}`} axis={axis.text} height={36} {...shared}
					paint={(canvas, width, height, dragged) => paintTimeline(canvas, width, height, timeline,
						axis, rangesWith(dragged), stack, isDark)}
					bucketAt={(width, height, x) => timelineBucket(timeline, width, x)}
					steps={{ wide: timeline.step_ms, fine: timeline.step_ms }} />
			)}
			{stack && (
				<div class="legend" aria-label="Rows in the time line">
					{stack.names.map((name, i) => (
						<span key={stack.ids[i]}><i class="key" style={{ background: stack.colours[i] }} />{name}</span>
					))}
					<span><i class="key others" />others</span>
					{status.is_live && <span><i class="key idle" />idle, or not sampled</span>}
				</div>
			)}
			{heat && (
				<Strip label={`Heat map, a column is ${duration(columnMs(heat))}`} height={72} {...shared}
					paint={(canvas, width, height, dragged) => paintHeatmap(canvas, width, height, heat,
						rangesWith(dragged), isDark)}
					bucketAt={(width, height, x, y) => heatCell(heat, width, height, x, y)}
					steps={{
						wide: columnMs(heat),
						fine: columnMs(heat) > 1000 ? columnMs(heat)
							: Math.max(1, Math.round(1000 / heat.rows)),
					}} />
			)}
			<div class="bar">
				<span class="faint ends">
					{`${clockTime(status.epoch_ms, first)} – ${clockTime(status.epoch_ms, last)}`}
					{heat && heat.columns > 0
						&& `, heat map of ${duration(heat.columns * columnMs(heat))}`
							+ `, at most ${count(heat.max)} in ${Math.round(1000 / heat.rows)} ms`
							+ (columnMs(heat) > 1000 ? ` of ${columnMs(heat) / 1000} s` : '')}
				</span>
				<span class="group" role="group" aria-label="What a choice of times sets">
					{[['range', 'Range'], ['base', 'Base']].map(([name, text]) => (
						<button key={name} aria-pressed={target === name}
							onClick={() => onTarget(name)}
							title={name === 'base' ? 'Times chosen next are what the range is compared with'
								: 'Times chosen next are shown'}>{text}</button>
					))}
				</span>
				<Chosen name="range" text="Shown" span={range} describe={describe} onChoose={onChoose} />
				<Chosen name="base" text="Compared with" span={base} describe={describe}
					onChoose={onChoose} />
				{range && !base && (
					<button onClick={() => { onChoose('base', range); }}
						title="Then choose another range to see what differs">Use as base</button>
				)}
			</div>
		</>
	);
}

function Chosen({ name, text, span, describe, onChoose }) {
	if (!span)
		return null;
	return (
		<span class={`chosen ${name}`}>
			{`${text}: ${describe(span)}`}
			<button class="plain" aria-label={`Drop the ${name}`} onClick={() => onChoose(name, null)}>
				✕
			</button>
		</span>
	);
}
