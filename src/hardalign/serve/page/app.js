// The page: predictions as you type, from one model or two side by side.

import { explain, getModels, predict } from "./api.js";
import { debounced, make } from "./dom.js";
import { lineUp } from "./heatmap.js";
import { setUpList } from "./list.js";
import { announcement, panel } from "./panel.js";
import { setUpTags, spellOut } from "./tags.js";

const PAUSE = 120; // milliseconds without typing before a word is predicted
const HUSH = 700; // milliseconds without a new answer before the last is read out
const CANDIDATES = 5;

const find = (id) => document.getElementById(id);
const [model, beside, word, notes] = ["model", "with", "word", "notes"].map(find);
let models = [];
let asking = new AbortController();
let sentence = "";

const readOut = debounced(HUSH, () => {
  find("spoken").textContent = sentence;
});
const tags = setUpTags(() => later());
const later = debounced(PAUSE, ask);

/** The selected models: one, or two to compare. */
function selectedModels() {
  const names = new Set([model.value, beside.value]);
  return models.filter(({ name }) => names.has(name))
    .sort((a) => (a.name === model.value ? -1 : 1));
}

/** Predict the word typed. An answer that arrives after a newer question is dropped. */
async function ask() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  remember();
  if (word.value.trim() === "" || tags.missing()) {
    show([], []);
    if (word.value.trim() !== "") note([["", "Choose tags first: they say what form to make."]], 1);
    return;
  }
  const selected = selectedModels();
  find("panels").ariaBusy = "true";
  const settled = await Promise.allSettled(selected.map(async (each) => {
    const words = [tags.join(each, word.value)];
    const question = { model: each.name, words, nbest: CANDIDATES, alignments: true };
    return (await predict(question, signal))[0];
  }));
  if (signal.aborted) return;
  find("panels").ariaBusy = "false";
  show(selected, settled);
}

function show(selected, settled) {
  const panels = [];
  const troubles = [];
  const sentences = [];
  settled.forEach(({ value: answer, reason }, k) => {
    if (reason) {
      troubles.push([selected[k].name, explain(reason)]);
      return;
    }
    panels.push(panel(selected[k], answer));
    sentences.push(announcement(selected[k], answer));
    if (answer.unknown.length) troubles.push([selected[k].name, doubt(selected[k], answer)]);
    const lost = silent(answer);
    if (lost.length) {
      const letters = lost.map((run) => `“${run}”`).join(", ");
      troubles.push([selected[k].name, `Nothing came from ${letters}, which may have been lost.`]);
    }
  });
  find("welcome").hidden = selected.length > 0;
  find("panels").replaceChildren(...panels);
  lineUp(find("panels"), settled.flatMap(({ value }) => value?.predictions ?? []));
  note(troubles, selected.length);
  word.ariaInvalid = String(settled.some(({ reason }) => reason));
  sentence = sentences.join(" ");
  readOut();
}

/** Runs of three or more letters to which nothing in the model's best answer is aligned. */
function silent({ origin, predictions: [best] }) {
  if (origin === "lexicon" || !best?.alignment) return [];
  const heard = new Set(best.alignment.pairs.map(([source]) => source));
  const runs = [[]];
  best.alignment.source.forEach((letter, k) => {
    if (heard.has(k)) runs.push([]);
    else runs.at(-1).push(letter);
  });
  return runs.filter((run) => run.length >= 3).map((run) => run.join(""));
}

/** A note about symbols that the model does not know. */
function doubt({ source_separator: separator }, { source, unknown }) {
  if (separator === " " && !source.trim().includes(" ") && [...source.trim()].length > 1) {
    return `This model reads symbols with blanks between them: ${[...source.trim()].join(" ")}`;
  }
  const names = unknown.map((symbol) => `“${symbol}”`).join(", ");
  return `The model has never seen ${names} in training, so this is a guess.`;
}

/** Show notes next to the input, with the models they are about unless these are all. */
function note(troubles, count) {
  const texts = [...new Set(troubles.map(([, text]) => text))];
  notes.replaceChildren(...texts.map((text) => {
    const names = troubles.filter(([, other]) => other === text).map(([name]) => name);
    return make("p", {}, names.length < count ? `${names.join(", ")}: ${text}` : text);
  }));
}

/** Keep the question in the URL, to share or bookmark. */
function remember() {
  const state = new URLSearchParams({ word: word.value });
  if (models.length > 1) state.set("model", model.value);
  if (beside.value) state.set("with", beside.value);
  if (tags.input.value) state.set("tags", tags.input.value);
  const query = word.value ? `?${state}` : location.pathname;
  history.replaceState(null, "", query + location.hash);
}

function turn() {
  const list = location.hash === "#list";
  find("word-section").hidden = list;
  find("list-section").hidden = !list;
  for (const link of document.querySelectorAll("nav a")) {
    link.ariaCurrent = (link.hash === "#list") === list ? "page" : null;
  }
}

/** Offer example words that the model can spell. */
function offerExamples([{ examples }]) {
  const buttons = examples.map((text) => {
    const [lemma, chosen] = tags.split(text);
    const label = chosen.length ? `${lemma} (${spellOut(chosen)})` : lemma;
    const button = make("button", { type: "button" }, label);
    button.addEventListener("click", () => {
      word.value = lemma;
      tags.choose(chosen);
      word.focus();
      ask();
    });
    return button;
  });
  find("first").textContent = tags.wanted() ? "Choose tags, then type a word." : "Type a word.";
  find("examples").hidden = buttons.length === 0;
  find("examples").replaceChildren("Or try ", ...buttons);
}

function changeModels() {
  for (const option of beside.options) option.disabled = option.value === model.value;
  if (beside.value === model.value) beside.value = "";
  tags.offer(selectedModels());
  offerExamples(selectedModels());
  later();
}

async function begin() {
  turn();
  addEventListener("hashchange", turn);
  try {
    ({ models } = await getModels());
  } catch (error) {
    Object.assign(find("trouble"), { hidden: false, textContent: error.message });
    return;
  }
  const options = () => models.map(({ name }) => make("option", { value: name }, name));
  model.append(...options());
  beside.append(make("option", { value: "" }, "none"), ...options());
  find("comparison").hidden = models.length < 2;
  const state = new URLSearchParams(location.search);
  for (const [input, key] of [[model, "model"], [beside, "with"]]) {
    if (models.some(({ name }) => name === state.get(key))) input.value = state.get(key);
    input.addEventListener("change", changeModels);
  }
  word.value ||= state.get("word") ?? "";
  tags.input.value ||= state.get("tags") ?? "";
  word.addEventListener("input", later);
  find("question").addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  setUpList(selectedModels);
  changeModels();
}

begin();
