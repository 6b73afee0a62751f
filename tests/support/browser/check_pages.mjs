// check_pages.mjs TOOLS SCREENSHOTS FILE.html...: opens pages in light and dark mode, 400 px wide,
// printed, and without JavaScript, writes screenshots, and prints a JSON list of {file, mode, count,
// overlaps, outside, overflow, requested, problems}. All folded parts are opened.
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { closePage, openFile, startBrowser } from "./browser.mjs";
import { findTextFaults, horizontalOverflow } from "./layout.mjs";

const MODES = {
  light: {},
  dark: { dark: true },
  phone: { width: 400 },
  print: { print: true, dark: true },
  plain: { script: false },
  "plain-phone": { script: false, width: 400 },
};

const [tools, screenshots, ...files] = process.argv.slice(2);
mkdirSync(screenshots, { recursive: true });
const browser = await startBrowser(tools);
const results = [];
for (const file of files) {
  const name = basename(file, ".html");
  for (const [mode, options] of Object.entries(MODES)) {
    const page = await openFile(browser, file, options);
    await page.screenshot({ path: join(screenshots, `${name}-${mode}.png`), fullPage: true });
    // Tables of all results are folded, and look like those that are not.
    await page.evaluate(() => {
      for (const part of document.querySelectorAll("details:has(figure)")) part.open = true;
    });
    // Charts are drawn once they have a size. Without JavaScript there are no frames to wait for.
    if (options.script !== false) {
      await page.evaluate(() => new Promise((done) => {
        requestAnimationFrame(() => requestAnimationFrame(done));
      }));
    }
    const faults = await page.evaluate(findTextFaults, {});
    results.push({ file: basename(file), mode, ...faults,
                   overflow: await page.evaluate(horizontalOverflow),
                   requested: page.requested, problems: page.problems });
    await closePage(page);
  }
}
await browser.close();
console.log(JSON.stringify(results));
