// Draws the charts of the report as they come into sight, and shows what the buttons choose.
const { specs, datasets } = JSON.parse(document.getElementById("sjd-data").textContent);
const chosen = { by: "model", measure: "cost_usd" };

function draw(place) {
  if (place.dataset.drawn || !place.offsetParent) return;
  place.dataset.drawn = "1";
  const spec = { ...specs[place.dataset.chart], datasets };
  vegaEmbed(place, spec, { actions: false, renderer: "svg" });
}

function show() {
  for (const element of document.querySelectorAll(".sjd-choice")) {
    element.hidden = ["by", "measure"].some((name) => element.dataset[name] && element.dataset[name] !== chosen[name]);
  }
  for (const button of document.querySelectorAll("button[data-name]")) {
    button.setAttribute("aria-pressed", String(chosen[button.dataset.name] === button.value));
  }
  document.querySelectorAll(".sjd-chart").forEach(draw);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-name]");
  if (!button) return;
  chosen[button.dataset.name] = button.value;
  show();
});
show();
