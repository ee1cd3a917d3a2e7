// A list of words: predicted part by part, shown as a table, copied or downloaded as TSV.

import { about, predict, Refused } from "./api.js";
import { make, percent } from "./dom.js";

const PART = 100;
const SHOWN = 1000;

/** Wire up the section of lists; chosen() gives the models to ask. */
export function setUpList(chosen) {
  const find = (id) => document.getElementById(id);
  const [form, area, notes, table] = ["list-form", "list", "list-notes", "table"].map(find);
  const [copy, download, progress] = ["copy", "download", "progress"].map(find);
  let running = new AbortController();
  let tsv = "";

  async function run() {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    const lines = area.value.split(/\r?\n/);
    const words = lines.filter((line) => line.trim() !== "");
    const blank = lines.length - words.length - (lines.at(-1) === "" ? 1 : 0);
    table.replaceChildren();
    copy.disabled = download.disabled = true;
    if (words.length === 0) {
      notes.textContent = "Type or paste some words first, one on each line.";
      area.focus();
      return;
    }
    notes.textContent = "";
    const models = chosen();
    const columns = models.map(() => []);
    Object.assign(progress, { hidden: false, max: words.length * models.length, value: 0 });
    try {
      for (let start = 0; start < words.length; start += PART) {
        const part = words.slice(start, start + PART);
        await Promise.all(models.map(async (model, k) => {
          columns[k].push(...await ask(model, part, signal));
          if (!signal.aborted) progress.value += part.length;
        }));
      }
    } catch (error) {
      if (error.name === "AbortError") return; // a newer run has taken over
      notes.textContent = error.message;
      progress.hidden = true;
      return;
    }
    progress.hidden = true;
    tsv = words.map((word, k) => row(word, columns.map((column) => column[k]))).join("");
    copy.disabled = download.disabled = false;
    notes.textContent = summary(words, columns, blank);
    table.replaceChildren(draw(words, models, columns));
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(tsv);
      notes.textContent = "Copied.";
    } catch {
      notes.textContent = "The browser does not allow copying here; download the table instead.";
    }
  });
  download.addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([tsv], { type: "text/tab-separated-values" }));
    make("a", { href: url, download: "predictions.tsv" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
}

/** Answers or, for words that were refused, the reasons. */
async function ask(model, words, signal) {
  try {
    const answers = await predict({ model: model.name, words, nbest: 1 }, signal);
    return answers.map(({ predictions: [best], unknown }) => ({ ...best, unknown }));
  } catch (error) {
    const ours = error instanceof Refused && [413, 422].includes(error.status);
    if (!ours) throw error;
    if (words.length === 1) return [{ error: about(error) }];
  }
  const alone = [];
  for (const word of words) alone.push(...await ask(model, [word], signal));
  return alone;
}

function row(word, answers) {
  const fields = answers.flatMap((one) => (one.error ? ["", ""] : [one.text, one.log_prob.toFixed(6)]));
  return `${[word, ...fields].join("\t")}\n`;
}

function summary(words, columns, blank) {
  const many = (count, one, more) => `${count} ${count === 1 ? one : more}`;
  const failed = words.filter((_, k) => columns.some((column) => column[k].error)).length;
  const sentences = [`${many(words.length - failed, "word", "words")} predicted.`];
  if (failed) sentences.push(`${many(failed, "was", "were")} refused; the table says why.`);
  const unsure = words.filter((_, k) => columns.some((column) => column[k].unknown?.length)).length;
  if (unsure) sentences.push(`${many(unsure, "has", "have")} symbols never seen in training (marked ?).`);
  if (columns.length > 1) {
    const differ = words.filter((_, k) => columns[0][k].text !== columns[1][k].text).length;
    sentences.push(`The models differ on ${differ}.`);
  }
  if (blank) sentences.push(`${many(blank, "blank line", "blank lines")} left out.`);
  if (words.length > SHOWN) sentences.push(`Shown are the first ${SHOWN}; copy and download give all.`);
  return sentences.join(" ");
}

function draw(words, models, columns) {
  const head = make("tr", {}, make("th", { scope: "col" }, "Word"), ...models.flatMap(({ name }) => [
    make("th", { scope: "col" }, name),
    make("th", { scope: "col", className: "number" }, "Probability"),
  ]));
  const rows = words.slice(0, SHOWN).map((word, k) => {
    const answers = columns.map((column) => column[k]);
    const differ = answers.some(({ text }) => text !== answers[0].text);
    return make("tr", { className: differ ? "differ" : "" },
      make("th", { scope: "row", dir: "auto" }, word.replaceAll("\t", "  ")), ...answers.flatMap(cells));
  });
  return make("table", { className: "words" }, make("thead", {}, head), make("tbody", {}, ...rows));
}

function cells({ text, log_prob: logProb, unknown, error }) {
  if (error) return [make("td", { className: "refused", colSpan: 2 }, error)];
  const doubt = unknown.length
    ? [make("abbr", { title: `never seen in training: ${unknown.join(" ")}` }, "?")]
    : [];
  return [
    make("td", { dir: "auto" }, text, ...doubt),
    make("td", { className: "number" }, percent(Math.exp(logProb))),
  ];
}
