// API documentation: openapi.json as sections and tables, with real answers as examples.

import { getDescription, getModels, post } from "./api.js";
import { make } from "./dom.js";

const REF = "#/components/schemas/";
const TYPES = { string: "text", integer: "whole number", boolean: "true or false", null: "null" };
const nameOf = ({ $ref }) => $ref.slice(REF.length);
const schemaOf = ({ content }) => Object.values(content)[0].schema;

/** The type of a value, as nodes; objects are links to their tables. */
function type(schema) {
  const list = (schemas, between) => schemas.flatMap((one, k) => (k ? [between, ...type(one)] : type(one)));
  if (schema.$ref) return [make("a", { href: `#${nameOf(schema)}` }, nameOf(schema))];
  if (schema.anyOf) return list(schema.anyOf.filter((one) => one.type !== "null"), " or ");
  if (schema.enum) return [schema.enum.map((one) => JSON.stringify(one)).join(", ")];
  if (schema.prefixItems) return ["[", ...list(schema.prefixItems, ", "), "]"];
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

function fields({ properties }) {
  return table(["Field", "Type", "Meaning"], Object.entries(properties).map(([key, value]) =>
    [key, type(value), value.description ?? ""]));
}

function object([name, schema]) {
  return make("section", { id: name }, make("h3", {}, name), make("p", {}, schema.description), fields(schema));
}

/** Pretty-print JSON: one line per field, and lists of plain values on one line. */
function pretty(value) {
  return JSON.stringify(value, null, 2).replace(/\[\s+([^[\]{}]*?)\s+\]/g,
    (_, list) => `[${list.replace(/\s*\n\s*/g, " ")}]`);
}

/** A question as a curl command, with its answer. */
async function example(path, question) {
  const command = `curl ${new URL(path.slice(1), location.href)} -H 'Content-Type: application/json' \\
     -d '${JSON.stringify(question)}'`;
  const answer = await post(path.slice(1), question);
  return make("pre", { tabIndex: 0 }, `${command}\n\n${pretty(answer)}`);
}

/** The section of a POST path: example, request and answer. */
async function section(path, { summary, requestBody, responses }, question, schemas) {
  const [sent, got] = [schemaOf(requestBody), schemaOf(responses[200])];
  return make("section", { id: nameOf(sent) }, make("h2", {}, make("code", {}, `POST ${path}`)),
    make("p", {}, `${summary}.`), ...(question ? [await example(path, question)] : []),
    make("p", {}, "Send an object with:"), fields(schemas[nameOf(sent)]),
    make("p", {}, "The answer: ", ...type(got)));
}

async function begin() {
  const find = (id) => document.getElementById(id);
  try {
    const [{ paths, components: { schemas } }, { models }] = await Promise.all([getDescription(), getModels()]);
    const { name: model, examples } = models[0];
    const reads = models.find(({ tags, examples: words }) => !tags.length && words.length);
    const questions = {
      "/predict": examples.length ? { model, words: examples.slice(0, 1), nbest: 2 } : null,
      "/text": reads ? { model: reads.name, text: `${reads.examples.slice(0, 2).join(" ")}!` } : null,
    };
    const posts = Object.entries(paths).filter(([, { post: asked }]) => asked);
    const gets = Object.entries(paths).filter(([, { get }]) => get);
    const statuses = Object.entries(posts[0][1].post.responses)
      .map(([status, { description }]) => [status, description]);
    find("paths").append(
      ...await Promise.all(posts.map(([path, { post: asked }]) => section(path, asked, questions[path], schemas))),
      make("h2", {}, "GET"),
      table(["Path", "Answer", "Description"], gets.map(([path, { get }]) => {
        const schema = schemaOf(get.responses[200]);
        return [path, schema.$ref ? type(schema) : Object.keys(get.responses[200].content), get.summary];
      })),
      make("h2", {}, "Statuses"), table(["Status", "When"], statuses),
    );
    const sent = new Set(posts.map(([, { post: asked }]) => nameOf(schemaOf(asked.requestBody))));
    find("objects").append(...Object.entries(schemas).filter(([name]) => !sent.has(name)).map(object));
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  } catch (error) {
    Object.assign(find("trouble"), { hidden: false, textContent: error.message });
  }
}

begin();
