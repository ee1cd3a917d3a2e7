// The field of tags, for models that were trained with them.

import { make } from "./dom.js";

/** Wire up the field; changed() is called whenever its text has changed. */
export function setUpTags(changed) {
  const [field, input, choice, hint] = ["tags-field", "tags", "tag-choice", "list-hint"].map((id) =>
    document.getElementById(id));
  let separator = ";";
  const chosen = () => input.value.split(separator).map((tag) => tag.trim()).filter(Boolean);

  function mark() {
    const tags = chosen();
    for (const button of choice.children) {
      button.ariaPressed = String(tags.includes(button.textContent));
    }
  }
  choice.addEventListener("click", ({ target }) => {
    if (!target.matches("button")) return;
    const tag = target.textContent;
    const tags = chosen();
    const others = tags.filter((other) => other !== tag);
    input.value = (others.length < tags.length ? others : [...tags, tag]).join(separator);
    mark();
    changed();
  });
  input.addEventListener("input", () => {
    mark();
    changed();
  });

  return {
    /** Offer the tags of the models that are asked, if they have any. */
    offer(models) {
      const tags = [...new Set(models.flatMap((model) => model.tags))];
      separator = models.find((model) => model.tags.length)?.tag_separator ?? ";";
      field.hidden = tags.length === 0;
      input.placeholder = `TAG${separator}TAG`;
      hint.hidden = field.hidden;
      hint.textContent = `(each: word TAB ${input.placeholder})`;
      choice.replaceChildren(...tags.map((tag) => make("button", { type: "button" }, tag)));
      mark();
    },
    /** A word as a model wants it. */
    join(model, word) {
      return model.tags.length && input.value.trim() ? `${word}\t${input.value.trim()}` : word;
    },
    /** Take a word apart again: put its tags into the field, and return the rest. */
    split(text) {
      const [word, tags = ""] = text.split("\t");
      input.value = tags;
      mark();
      return word;
    },
    input,
  };
}
