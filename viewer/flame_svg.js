// SPDX-License-Identifier: Apache-2.0
// Zoom and search of a flame graph in an SVG file. A box is a group with a title, a rectangle and a text; root on top.
(() => {
	const margin = 8, characterWidth = 7;
	const svg = document.documentElement, whole = svg.viewBox.baseVal.width - 2 * margin;
	const info = document.getElementById("info"), reset = document.getElementById("reset");
	const boxes = [...document.getElementById("boxes").children].map((group) => {
		const [title, rect, text] = group.children;
		return {
			group, rect, text,
			x: +rect.getAttribute("x"), y: +rect.getAttribute("y"), width: +rect.getAttribute("width"),
			title: title.textContent, name: title.textContent.replace(/ \([^()]*\)$/, ""),
		};
	});

	function show(box, x, width, isAbove) {
		const length = Math.floor(width / characterWidth), characters = [...box.name];
		box.group.style.display = "";
		box.group.classList.toggle("above", isAbove);
		box.rect.setAttribute("x", x);
		box.rect.setAttribute("width", width);
		box.text.setAttribute("x", x + 3);
		box.text.textContent = length <= 2 ? "" : characters.length <= length ? box.name :
			characters.slice(0, length - 2).join("") + "..";
	}

	// The box gets the whole width, what is around it goes, and its callers stay above it.
	function zoom(to) {
		const scale = whole / to.width, end = to.x + to.width;
		for (const box of boxes) {
			const middle = box.x + box.width / 2;
			if (box.y < to.y && box.x <= to.x + 0.01 && box.x + box.width >= end - 0.01)
				show(box, margin, whole, true);
			else if (box.y >= to.y && middle >= to.x && middle <= end)
				show(box, margin + (box.x - to.x) * scale, box.width * scale, false);
			else
				box.group.style.display = "none";
		}
		reset.style.display = to === boxes[0] ? "none" : "";
	}

	// Samples below a match count once, however many functions of their stacks match.
	function search() {
		const wanted = prompt("Function, or a part of its name (a regular expression):");
		let expression, matched = 0;
		const ends = [];
		if (wanted === null)
			return;
		try {
			expression = wanted ? new RegExp(wanted) : null;
		} catch {
			info.textContent = "No regular expression: " + wanted;
			return;
		}
		for (const box of boxes) {
			const isHit = expression !== null && expression.test(box.name);
			box.group.classList.toggle("hit", isHit);
			if (isHit && !ends.some((end) => box.y > end.y && box.x >= end.x - 0.01 && box.x < end.x + end.width)) {
				matched += box.width;
				ends.push(box);
			}
		}
		info.textContent = expression ? "Matched: " + (100 * matched / whole).toFixed(2) + " %" : "";
	}

	for (const box of boxes) {
		box.group.addEventListener("click", () => zoom(box));
		box.group.addEventListener("mouseover", () => { info.textContent = box.title; });
	}
	reset.style.display = "none";
	reset.addEventListener("click", () => zoom(boxes[0]));
	document.getElementById("search").addEventListener("click", search);
	addEventListener("keydown", (event) => {
		if (event.key === "f" && (event.ctrlKey || event.metaKey)) {
			event.preventDefault();
			search();
		} else if (event.key === "Escape") {
			zoom(boxes[0]);
		}
	});
})();
