// check_svgs.mjs TOOLS SCREENSHOTS FILE.svg...: opens pictures, writes screenshots in light and dark
// mode, and prints a JSON list of {file, count, overlaps, outside, requested, problems}.
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { closePage, openFile, startBrowser } from "./browser.mjs";
import { findTextFaults } from "./layout.mjs";

const [tools, screenshots, ...files] = process.argv.slice(2);
mkdirSync(screenshots, { recursive: true });
const browser = await startBrowser(tools);
const results = [];
for (const file of files) {
  const page = await openFile(browser, file);
  const faults = await page.evaluate(findTextFaults, {});
  const canvas = await page.evaluate(() => {
    const box = document.documentElement.getBoundingClientRect();
    // Chromium does not paint windows that are much smaller.
    return { width: Math.max(320, Math.ceil(box.width)),
             height: Math.max(240, Math.ceil(box.height)) };
  });
  await page.setViewportSize(canvas);
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    await page.screenshot({ path: join(screenshots, `${basename(file, ".svg")}-${theme}.png`) });
  }
  results.push({ file: basename(file), ...faults, requested: page.requested,
                 problems: page.problems });
  await closePage(page);
}
await browser.close();
console.log(JSON.stringify(results));
