// use_page.mjs TOOLS SCREENSHOT FILE.html CHART: uses the first chart of a report as a reader does,
// with the pointer, the keyboard and every button, and prints what the page showed as JSON. CHART is
// the id of a figure. Writes a screenshot with the values under the pointer.
import { readFileSync } from "node:fs";
import { closePage, openFile, startBrowser } from "./browser.mjs";

const [tools, screenshot, file, id] = process.argv.slice(2);
const browser = await startBrowser(tools);
const page = await openFile(browser, file, { width: 1000 });
const figure = page.locator(`#${id}`);
const svg = figure.locator(".plot svg");
const seen = {};

const labels = () => svg.locator("text").allTextContents();
const lines = () => page.evaluate(() => [...document.querySelectorAll("figure.chart:not(details *)")]
  .map((each) => each.querySelectorAll("g.series").length));
// Returns the tip as lines, without colours.
const tip = () => figure.locator(".tip").evaluate((node) => node.style.display === "none"
  ? [] : [...node.children].map((child) => child.textContent.trim()));
const press = (name) => figure.locator(".tools").getByRole("button", { name, exact: true }).click();
const has = async (name) =>
  (await figure.locator(".tools").getByRole("button", { name, exact: true }).count()) > 0;

await svg.scrollIntoViewIfNeeded();
const box = await svg.boundingBox();
await page.mouse.move(box.x + box.width - 20, box.y + box.height / 2);
seen.hover = await tip();
await page.screenshot({ path: screenshot });
await page.mouse.move(0, 0);
seen.left = await tip();
await svg.focus();
await page.keyboard.press("ArrowRight");
seen.first = await tip();
await page.keyboard.press("ArrowRight");
seen.second = await tip();

seen.lines = await lines();
const legend = figure.locator(".legend button").first();
if (await legend.count()) {
  await legend.click();
  seen.linesWithoutFirst = await lines();
  seen.pressed = await legend.getAttribute("aria-pressed");
  await legend.click();
  seen.linesAgain = await lines();
}

seen.labels = await labels();
seen.tools = await figure.locator(".tools button").allTextContents();
const bands = () => svg.locator("path.band").count();
seen.bands = await bands();
if (await has("log")) {
  await press("log");
  seen.logLabels = await labels();
  await press("log");
}
if (await has("intervals")) {
  await press("intervals");
  seen.bandsOff = await bands();
  await press("intervals");
}
if (await has("seeds")) {
  await press("seeds");
  seen.seeds = await svg.locator("circle.seed").count();
}
if (await has("bits per byte")) {
  await press("bits per byte");
  seen.bitsLabels = await labels();
  await press("bits per byte");
}

seen.downloads = {};
for (const kind of ["png", "svg", "csv"]) {
  const waiting = page.waitForEvent("download");
  await press(kind);
  const download = await waiting;
  const bytes = readFileSync(await download.path());
  seen.downloads[kind] = { name: download.suggestedFilename(), size: bytes.length,
                           start: bytes.subarray(0, 400).toString("latin1") };
}

// Sorts the first table by its second column, in both directions.
const table = page.locator("table.sort").first();
const column = () => table.locator("tbody tr").evaluateAll((rows) => rows.map((row) =>
  parseFloat(row.cells[1].title || row.cells[1].innerText)));
await table.locator("thead th").nth(1).click();
seen.ascending = await column();
await table.locator("thead th").nth(1).click();
seen.descending = await column();

seen.problems = page.problems;
await closePage(page);
await browser.close();
console.log(JSON.stringify(seen));
