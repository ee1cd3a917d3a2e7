// A list of words: predicted in parts, shown as a table, copied or downloaded as TSV.

import { explain, predict, Refused } from "./api.js";
import { make, percent } from "./dom.js";
import { ipa, mark } from "./panel.js";

const PART = 100;
const SHOWN = 1000;
const SURE = Math.log(0.5); // a prediction less probable than all others together is unsure

const KEEP = {
  all: () => true,
  unsure: (row) => row.unsure,
  known: (row) => row.known,
  new: (row) => !row.known,
};

/** Wire up the list section; selectedModels() returns the models to ask. */
export function setUpList(selectedModels) {
  const find = (id) => document.getElementById(id);
  const [form, area, notes, table] = ["list-form", "list", "list-notes", "table"].map(find);
  const [copy, download, progress] = ["copy", "download", "progress"].map(find);
  const [view, which, shown] = ["view", "which", "shown"].map(find);
  let running = new AbortController();
  let models = [];
  let rows = [];
  let order = "none"; // by the least probability of a row, or as the words were given

  async function run() {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    const lines = area.value.split(/\r?\n/);
    const words = lines.filter((line) => line.trim() !== "");
    const blank = lines.length - words.length - (lines.at(-1) === "" ? 1 : 0);
    table.replaceChildren();
    view.hidden = copy.disabled = download.disabled = true;
    if (words.length === 0) {
      notes.textContent = "Type or paste some words first, one on each line.";
      area.focus();
      return;
    }
    notes.textContent = "";
    models = selectedModels();
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
    view.hidden = copy.disabled = download.disabled = false;
    rows = words.map((word, k) => weigh(word, columns.map((column) => column[k])));
    notes.textContent = summary(rows, models, blank);
    order = "none";
    which.value = "all";
    for (const option of which.options) {
      option.hidden = ["known", "new"].includes(option.value) && !models.some(({ known }) => known);
    }
    show();
  }

  /** The selected rows, in the selected order. */
  function wanted() {
    const kept = rows.filter(KEEP[which.value]);
    const sign = { ascending: 1, descending: -1 }[order];
    return sign ? kept.sort((a, b) => sign * (a.least - b.least)) : kept;
  }

  function show() {
    const kept = wanted();
    const hidden = kept.length > SHOWN ? `; the first ${SHOWN} are below, copy and download give all` : "";
    shown.textContent = `${kept.length} of ${rows.length} words${hidden}`;
    table.replaceChildren(draw(kept.slice(0, SHOWN), models, order, (next) => {
      order = next;
      show();
      table.querySelector("[aria-sort] button").focus();
    }));
  }

  const tsv = () => wanted().map((row) => write(row, models)).join("");
  which.addEventListener("change", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(tsv());
      notes.textContent = "Copied.";
    } catch {
      notes.textContent = "The browser does not allow copying here; download the table instead.";
    }
  });
  download.addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([tsv()], { type: "text/tab-separated-values" }));
    make("a", { href: url, download: "predictions.tsv" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
}

/** Answers, or errors for words that were refused; a part that was refused is split in half. */
async function ask(model, words, signal) {
  try {
    const answers = await predict({ model: model.name, words, nbest: 1 }, signal);
    return answers.map(({ predictions: [best], unknown, origin }) => ({ ...best, unknown, origin }));
  } catch (error) {
    const ours = error instanceof Refused && [413, 422].includes(error.status);
    if (!ours) throw error;
    if (words.length === 1) return [{ error: explain(error) }];
  }
  const half = Math.ceil(words.length / 2);
  const first = await ask(model, words.slice(0, half), signal);
  return [...first, ...await ask(model, words.slice(half), signal)];
}

/** A word and its answers: whether they differ, and the lowest certainty (known words are certain). */
function weigh(word, answers) {
  const differ = answers.some(({ text }) => text !== answers[0].text);
  const least = Math.min(...answers.map(certainty));
  const known = answers.every(({ origin }) => origin === "lexicon");
  const unknown = answers.some((answer) => answer.unknown?.length);
  return { word, answers, differ, least, known, unknown, unsure: differ || unknown || least < SURE };
}

function certainty({ error, origin, log_prob: logProb }) {
  if (error) return -Infinity;
  return origin === "lexicon" ? 0 : logProb;
}

/** A line of TSV: the word and, for each model, its prediction, log-probability and any IPA. */
function write({ word, answers }, models) {
  const fields = answers.flatMap((one, k) => {
    const sure = one.origin === "lexicon" ? "known" : one.log_prob?.toFixed(6);
    const own = [one.text, sure, ...(models[k].ipa ? [one.ipa] : [])];
    return own.map((field) => field ?? "");
  });
  return `${[word, ...fields].join("\t")}\n`;
}

function summary(rows, models, blank) {
  const many = (count, one, more) => `${count} ${count === 1 ? one : more}`;
  const count = (test) => rows.filter(test).length;
  const failed = count(({ answers }) => answers.some(({ error }) => error));
  const known = count((row) => row.known);
  const unknown = count((row) => row.unknown);
  return [
    `${many(rows.length - failed, "word", "words")} predicted.`,
    known && `${many(known, "is", "are")} known from the lexicon.`,
    failed && `${many(failed, "was", "were")} refused; the table says why.`,
    unknown && `${many(unknown, "has", "have")} symbols never seen in training (marked ?).`,
    models.length > 1 && `The models differ on ${count((row) => row.differ)}.`,
    blank && `${many(blank, "blank line", "blank lines")} left out.`,
  ].filter(Boolean).join(" ");
}

/** A table of rows; a click on a probability header sorts by it: ascending, descending, not at all. */
function draw(rows, models, order, sort) {
  const next = { none: "ascending", ascending: "descending", descending: "none" }[order];
  const probability = () => {
    const button = make("button", { type: "button" }, "Probability");
    button.addEventListener("click", () => sort(next));
    return make("th", { scope: "col", className: "number", "aria-sort": order }, button);
  };
  const head = make("tr", {}, make("th", { scope: "col" }, "Word"),
    ...models.flatMap(({ name }) => [make("th", { scope: "col" }, name), probability()]));
  const body = rows.map(({ word, answers, differ }) => make("tr", { className: differ ? "differ" : "" },
    make("th", { scope: "row", dir: "auto" }, word.replaceAll("\t", "  ")), ...answers.flatMap(cells)));
  return make("table", { className: "words" }, make("thead", {}, head), make("tbody", {}, ...body));
}

function cells(answer) {
  const { text, log_prob: logProb, unknown, error } = answer;
  if (error) return [make("td", { className: "refused", colSpan: 2 }, error)];
  const known = mark(answer);
  const doubt = unknown.length
    ? [make("abbr", { title: `never seen in training: ${unknown.join(" ")}` }, "?")]
    : [];
  return [
    make("td", { dir: "auto" }, text, ...doubt, ...ipa(answer)),
    make("td", { className: "number" }, ...(known.length ? known : [percent(Math.exp(logProb))])),
  ];
}
