// The API to be read: openapi.json as sections and tables.

import { getDescription, getModels } from "./api.js";
import { make } from "./dom.js";

const REF = "#/components/schemas/";
const TYPES = { string: "text", integer: "whole number", boolean: "true or false", null: "null" };

/** The type of a value, as nodes; objects are links to their tables. */
function type(schema) {
  if (schema.$ref) {
    const name = schema.$ref.slice(REF.length);
    return [make("a", { href: `#${name}` }, name)];
  }
  if (schema.anyOf) return schema.anyOf.flatMap((one, k) => (k ? [" or ", ...type(one)] : type(one)));
  if (schema.enum) return [schema.enum.map((one) => JSON.stringify(one)).join(", ")];
  if (schema.prefixItems) return ["[", ...schema.prefixItems.flatMap((one, k) => (k ? [", ", ...type(one)] : type(one))), "]"];
  if (schema.type === "array") return ["list of ", ...type(schema.items ?? {})];
  const bounds = [
    schema.minimum === undefined ? "" : ` ≥ ${schema.minimum}`,
    schema.maximum === undefined ? "" : ` ≤ ${schema.maximum}`,
  ];
  return [(TYPES[schema.type] ?? schema.type ?? "anything") + bounds.join("")];
}

function table(heads, rows) {
  const cell = (content) => make("td", {}, ...[content].flat());
  return make("div", { className: "scroll" }, make("table", { className: "words" },
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map(([first, ...rest]) => make("tr", {},
      make("th", { scope: "row" }, make("code", {}, first)), ...rest.map(cell))))));
}

function object([name, schema]) {
  const rows = Object.entries(schema.properties)
    .map(([key, value]) => [key, type(value), value.description ?? ""]);
  return make("section", { id: name }, make("h3", {}, name),
    make("p", {}, schema.description ?? ""), table(["Field", "Type", "Meaning"], rows));
}

/** What a request or response holds: an object of ours, or a kind of file. */
function content({ content: kinds }) {
  return Object.entries(kinds)
    .flatMap(([kind, { schema }]) => (schema.$ref ? type(schema) : [make("code", {}, kind)]));
}

/** What can be asked: questions with their refusals, and a table of all that is just fetched. */
function sections(paths) {
  const posts = Object.entries(paths).filter(([, { post }]) => post);
  const gets = Object.entries(paths).filter(([, { get }]) => get);
  return [
    ...posts.map(([name, { post: { summary, requestBody, responses } }]) => make("section", {},
      make("h2", {}, make("code", {}, `POST ${name}`)),
      make("p", {}, `${summary}. Send: `, ...content(requestBody)),
      table(["Status", "Body", "When"], Object.entries(responses)
        .map(([status, response]) => [status, content(response), response.description])))),
    make("section", {}, make("h2", {}, make("code", {}, "GET")),
      table(["Path", "Body", "What"], gets
        .map(([name, { get }]) => [name, content(get.responses[200]), get.summary]))),
  ];
}

async function begin() {
  const find = (id) => document.getElementById(id);
  try {
    const [api, { models }] = await Promise.all([getDescription(), getModels()]);
    const question = JSON.stringify({ words: models[0].examples.slice(0, 2), nbest: 2 });
    find("example").textContent = `curl ${new URL("predict", location.href)} \\
     -H 'Content-Type: application/json' -d '${question}'`;
    find("paths").append(...sections(api.paths));
    find("objects").append(...Object.entries(api.components.schemas).map(object));
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  } catch (error) {
    Object.assign(find("trouble"), { hidden: false, textContent: error.message });
  }
}

begin();
