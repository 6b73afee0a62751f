// Opens files in Debian's Chromium with playwright-core, for tests of pictures and pages.
//
// A test script is started by browser.py, which passes the folder of the npm packages:
//   const browser = await startBrowser(process.argv[2]);
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

// Starts the browser. `tools` is a folder in which playwright-core is installed; the environment
// variable CHROMIUM holds the path of the browser.
export async function startBrowser(tools) {
  const require = createRequire(join(resolve(tools), "x.js"));
  const { chromium } = require("playwright-core");
  return chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
                           args: ["--no-sandbox", "--disable-gpu"] });
}

// Opens a file. Options: width and height of the window, dark, print, script (false disables
// JavaScript). Requests to the network fail, because pictures and pages must be self-contained;
// page.requested lists them, and page.problems the errors of scripts.
export async function openFile(browser, path, options = {}) {
  const { width = 1280, height = 900, dark = false, print = false, script = true } = options;
  const context = await browser.newContext({
    viewport: { width, height }, colorScheme: dark ? "dark" : "light", javaScriptEnabled: script });
  const page = await context.newPage();
  page.requested = [];
  page.problems = [];
  await page.route(/^(?!file:|data:|blob:)/, (route) => {
    page.requested.push(route.request().url());
    return route.abort();
  });
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") page.problems.push(message.text());
  });
  if (print) await page.emulateMedia({ media: "print" });
  await page.goto(pathToFileURL(resolve(path)).href);
  return page;
}

// Closes a page that openFile() returned.
export async function closePage(page) {
  await page.context().close();
}
