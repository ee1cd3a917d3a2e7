// The tags field, for models that were trained with tags.

import { make } from "./dom.js";

// Names of the most common UniMorph tags; other tags are shown as they are.
const NAMES = {
  ADJ: "adjective", ADV: "adverb", N: "noun", PROPN: "proper noun", V: "verb",
  "V.CVB": "converb", "V.MSDR": "verbal noun", "V.PTCP": "participle", NFIN: "infinitive",
  1: "first person", 2: "second person", 3: "third person",
  SG: "singular", DU: "dual", PL: "plural",
  PRS: "present", PST: "past", FUT: "future",
  IND: "indicative", SBJV: "subjunctive", IMP: "imperative", COND: "conditional",
  PFV: "perfective", IPFV: "imperfective", PRF: "perfect", PROG: "progressive",
  ACT: "active", PASS: "passive", POS: "positive", NEG: "negative",
  CMPR: "comparative", SPRL: "superlative", DEF: "definite", NDEF: "indefinite", INDF: "indefinite",
  MASC: "masculine", FEM: "feminine", NEUT: "neuter",
  NOM: "nominative", ACC: "accusative", GEN: "genitive", DAT: "dative", ABL: "ablative",
  INS: "instrumental", LOC: "locative", VOC: "vocative", ESS: "essive", PRT: "partitive",
};

/** Tags in words: "verb, past". */
export function spellOut(tags) {
  return tags.map((tag) => NAMES[tag] ?? tag).join(", ");
}

/** Wire up the field; changed() is called whenever its text changes. */
export function setUpTags(changed) {
  const [field, input, choice, hint] = ["tags-field", "tags", "tag-choice", "list-hint"].map((id) =>
    document.getElementById(id));
  let separator = ";";
  const cut = (text) => text.split(separator).map((tag) => tag.trim()).filter(Boolean);

  function mark() {
    const tags = cut(input.value);
    for (const button of choice.children) button.ariaPressed = String(tags.includes(button.value));
  }
  choice.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (!button) return;
    const tags = cut(input.value);
    const others = tags.filter((other) => other !== button.value);
    input.value = (others.length < tags.length ? others : [...tags, button.value]).join(separator);
    mark();
    changed();
  });
  input.addEventListener("input", () => {
    mark();
    changed();
  });

  return {
    /** Offer the tags of the selected models, if any. */
    offer(models) {
      const tags = [...new Set(models.flatMap((model) => model.tags))];
      separator = models.find((model) => model.tags.length)?.tag_separator ?? ";";
      field.hidden = tags.length === 0;
      input.placeholder = `TAG${separator}TAG`;
      hint.hidden = field.hidden;
      hint.textContent = `(each: word TAB ${input.placeholder})`;
      choice.replaceChildren(...tags.map((tag) => make("button", { type: "button", value: tag },
        ...(NAMES[tag] ? [`${NAMES[tag]} `, make("small", {}, tag)] : [tag]))));
      mark();
    },
    /** A word in the input format of a model. */
    join(model, word) {
      return model.tags.length ? `${word}\t${input.value.trim()}` : word;
    },
    /** Split an example into the word and its tags. */
    split(text) {
      const [word, tags = ""] = text.split("\t");
      return [word, cut(tags)];
    },
    /** Whether the selected models need tags, but none are chosen yet. */
    missing: () => !field.hidden && cut(input.value).length === 0,
    wanted: () => !field.hidden,
    choose(tags) {
      input.value = tags.join(separator);
      mark();
    },
    input,
  };
}
