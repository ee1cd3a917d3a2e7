// One model's answer to a word: prediction, candidates and alignment.

import { make, percent } from "./dom.js";
import { heatmap } from "./heatmap.js";

const EMPTY = "(nothing)";
let panels = 0;

/** Draw a model's answer. */
export function panel(model, answer) {
  const [best] = answer.predictions;
  const map = make("div");
  const show = (prediction) => map.replaceChildren(heatmap(prediction.alignment));
  show(best);
  const note = model.exact ? [] : [
    make("p", { className: "aside" }, `These are not exact probabilities, but ${model.score}.`),
  ];
  return make("article", { "aria-label": `${model.name} says` },
    make("h2", {}, model.name, make("small", { title: model.summary }, model.system)),
    make("p", { className: "prediction", dir: "auto" }, best.text || EMPTY, ...mark(answer),
      ...ipa(best)),
    make("div", {}, candidates(answer, show), ...note), map);
}

/** The IPA of a pronunciation, if there is one. */
export function ipa({ ipa: text }) {
  return text ? [make("span", { className: "ipa", lang: "und-fonipa" }, text)] : [];
}

/** A mark, with a tooltip, for what comes from the lexicon. */
export function mark({ origin }) {
  const title = "from the lexicon";
  return origin === "lexicon" ? [make("abbr", { className: "known", title }, "known")] : [];
}

/** A radio group: choosing a candidate shows its alignment. */
function candidates({ predictions }, show) {
  panels += 1;
  const rows = predictions.map((prediction, k) => {
    const probability = Math.exp(prediction.log_prob);
    const bar = make("span", { className: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", probability);
    const choice = make("input", { type: "radio", name: `candidate-${panels}`, checked: k === 0 });
    choice.addEventListener("change", () => show(prediction));
    const cut = prediction.finished ? "" : " … cut off at the length limit";
    return make("label", { className: "candidate" }, choice,
      make("span", { className: "text", dir: "auto" }, (prediction.text || EMPTY) + cut,
        ...ipa(prediction), ...mark(prediction)),
      bar, make("span", { className: "share" }, percent(probability)));
  });
  return make("fieldset", {}, make("legend", {}, "Candidates, with the model's probabilities"), ...rows);
}

/** The prediction as a sentence for a screen reader. */
export function announcement(model, answer) {
  const [best] = answer.predictions;
  const probability = percent(Math.exp(best.log_prob));
  const certainty = answer.origin === "lexicon" ? "known from the lexicon" : probability;
  return `${model.name}: ${answer.source} becomes ${best.text || "nothing"}, ${certainty}.`;
}
