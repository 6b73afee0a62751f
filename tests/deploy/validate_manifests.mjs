// validate_manifests.mjs TOOLS < objects.json: validates Kubernetes objects against
// the schemas of the npm package kubernetes-models, installed in TOOLS. The schemas
// check types, formats and required fields; a TypeScript compilation also finds
// unknown fields.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const tools = resolve(process.argv[2]);
const modules = join(tools, "node_modules");
const packages = ["kubernetes-models", "@kubernetes-models/prometheus-operator"];

// Returns the module of an object's schema: its apiVersion and kind are the path
// inside the package.
function find(object) {
  for (const name of packages) {
    const path = join(name, object.apiVersion, object.kind);
    if (existsSync(join(modules, path + ".js"))) return path;
  }
  throw new Error(`no schema for ${object.apiVersion} ${object.kind}`);
}

let errors = 0;
function report(object, what) {
  errors += 1;
  console.error(`${object.kind} ${object.metadata?.name}: ${what}`);
}

const objects = JSON.parse(readFileSync(0, "utf-8"));
const lines = [];
for (const [number, object] of objects.entries()) {
  const path = find(object);
  const module = await import(pathToFileURL(join(modules, path + ".js")));
  try {
    new module[object.kind](object).validate();
  } catch (error) {
    report(object, error.message);
  }
  lines.push(`import type { I${object.kind} as T${number} } from "${path}";`);
  lines.push(`export const o${number}: T${number} = ${JSON.stringify(object, null, 1)};`);
}

const folder = join(tools, "typed");
mkdirSync(folder, { recursive: true });
const file = join(folder, `objects-${process.pid}.ts`);
writeFileSync(file, lines.join("\n"));
const compiler = createRequire(join(tools, "x.js")).resolve("typescript/bin/tsc");
const compiled = spawnSync(process.execPath, [
  compiler, "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--pretty", "false",
  file], { encoding: "utf-8", cwd: folder });
if (compiled.status !== 0) report({ kind: "TypeScript" }, compiled.stdout || compiled.stderr);

console.log(`${objects.length} objects, ${errors} errors`);
process.exit(errors ? 1 : 0);
