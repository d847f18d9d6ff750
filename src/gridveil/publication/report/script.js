// Reads the shapes of a chart aloud: pointer, or focus and arrow keys.
for (const chart of document.querySelectorAll("svg")) {
  const shapes = [...chart.querySelectorAll("[data-tip]")];
  const readout = chart.nextElementSibling;
  let current = -1;
  const show = (index) => {
    if (shapes[current]) shapes[current].classList.remove("on");
    current = Math.max(0, Math.min(shapes.length - 1, index));
    shapes[current].classList.add("on");
    readout.textContent = shapes[current].dataset.tip;
  };
  chart.addEventListener("pointermove", (event) => {
    const index = shapes.indexOf(event.target);
    if (index >= 0) show(index);
  });
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (step) show(current + step);
    else if (event.key === "Home") show(0);
    else if (event.key === "End") show(shapes.length - 1);
    else return;
    event.preventDefault();
  });
}
