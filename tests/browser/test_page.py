from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import hardalign
from hardalign.data.lexicon import Lexicon
from serve.helpers import MODELS, running

pytestmark = pytest.mark.filterwarnings("ignore::hardalign.predictor.UnknownSymbolsWarning")


def ask(page: Page, word: str, panels: int = 1) -> None:
    """Type a word and wait for its answers."""
    page.get_by_label("Word", exact=True).fill(word)
    expect(page.locator("article")).to_have_count(panels)
    cells = page.locator("article").first.locator("thead th:not(.frame)")
    expect(cells).to_have_text(["Symbol", *word])


def test_a_word_is_predicted_as_it_is_typed(page: Page) -> None:
    expect(page.locator("#welcome")).to_be_visible()
    expect(page.get_by_label("Word", exact=True)).to_be_focused()
    page.keyboard.type("abc", delay=30)
    expected = MODELS["hard"]("abc", nbest=5)
    expect(page.locator(".prediction")).to_have_text(expected[0].text or "(nothing)")
    expect(page.locator("#welcome")).to_be_hidden()
    expect(page.locator(".candidate .text")).to_have_text(
        [re.compile("^" + re.escape(one.text or "(nothing)")) for one in expected]
    )
    # A screen reader is told once the typing is over; "ab" may have the same candidates.
    expect(page.get_by_role("status").first).to_contain_text("hard: abc becomes")
    shares = page.locator(".bar").evaluate_all(
        "bars => bars.map((bar) => Number(bar.style.getPropertyValue('--share')))"
    )
    assert shares == pytest.approx([math.exp(one.log_prob) for one in expected], abs=1e-5)
    page.get_by_label("Word", exact=True).fill("")
    expect(page.locator("article")).to_have_count(0)
    expect(page.locator("#welcome")).to_be_visible()


LATE = """() => {
    const real = window.fetch;
    window.fetch = (path, { signal, ...options }) => {
        if (JSON.parse(options.body).words[0] !== "a") return real(path, { signal, ...options });
        return new Promise((resolve) => {
            document.body.dataset.held = "a";
            window.release = async () => {
                const response = await real(path, options);
                const content = await response.json();
                const read = new Promise((done) => {
                    response.json = async () => {
                        setTimeout(done); // once all that follows from the content has happened
                        return content;
                    };
                });
                resolve(response);
                await read;
            };
        });
    };
}"""
"""The answer to "a" comes when it is released, though nobody waits for it any more."""


def test_stale_answers_are_dropped(page: Page) -> None:
    page.evaluate(LATE)
    page.get_by_label("Word", exact=True).fill("a")
    page.locator("[data-held]").wait_for()
    ask(page, "ab")
    page.evaluate("window.release()")
    expect(page.locator("#panels")).to_have_attribute("aria-busy", "false")
    assert page.locator("thead th:not(.frame)").all_text_contents() == ["Symbol", "a", "b"]


def test_a_cell_tells_its_weight_to_the_pointer(page: Page) -> None:
    ask(page, "abcd")
    text = page.locator(".prediction").inner_text()
    alignment = MODELS["hard"].align("abcd", text)
    body = page.locator("tbody tr")
    body.nth(0).get_by_role("gridcell").nth(3).hover()
    expect(page.locator(".readout")).to_have_text(
        f"{alignment.target[0]} ← c p(a1 = 3) = {alignment.posterior[0, 2]:.3f}"
    )
    assert page.locator("th.here").all_text_contents() == ["c", alignment.target[0]]
    body.last.get_by_role("gridcell").first.hover()
    expect(page.locator(".readout")).to_have_text(f"⊣ ← ⊢ weight {alignment.weights[-1, 0]:.3f}")


def test_cells_are_reached_by_keyboard(page: Page) -> None:
    ask(page, "ab")
    cells = page.get_by_role("gridcell")
    assert cells.evaluate_all("cells => cells.filter((cell) => cell.tabIndex === 0).length") == 1
    page.locator("[role=gridcell][tabindex='0']").focus()
    page.keyboard.press("Home")
    expect(cells.nth(0)).to_be_focused()
    for key, place in (("ArrowRight", 1), ("ArrowDown", 5), ("ArrowLeft", 4), ("ArrowUp", 0)):
        page.keyboard.press(key)
        expect(cells.nth(place)).to_be_focused()
    page.keyboard.press("ArrowUp")  # there is nothing above
    expect(cells.nth(0)).to_be_focused()
    page.keyboard.press("End")
    expect(cells.nth(3)).to_be_focused()
    expect(cells.nth(3)).to_have_attribute("aria-label", re.compile(" from the end: .*%"))
    assert cells.evaluate_all("cells => cells.filter((cell) => cell.tabIndex === 0).length") == 1


def test_a_candidate_shows_its_own_alignment(page: Page) -> None:
    ask(page, "ab")
    second = MODELS["hard"]("ab", nbest=5)[1]
    page.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio").nth(1)).to_be_checked()
    assert page.locator("tbody th").all_text_contents() == [*second.symbols, "⊣"]


def test_two_models_side_by_side(page: Page) -> None:
    page.get_by_label("Compare with").select_option("soft")
    ask(page, "abc", panels=2)
    first, second = page.locator("article").all()
    expect(first.locator("h2")).to_contain_text("hard")
    expect(second.locator("h2")).to_contain_text("soft")
    best = MODELS["soft"]("abc", nbest=5)[0]
    expect(second.locator(".prediction")).to_have_text(best.text or "(nothing)")
    expect(second.locator("figcaption")).to_contain_text("attention")
    left, right = first.bounding_box(), second.bounding_box()
    assert left
    assert right
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    # What is asked can be sent to somebody else.
    page.goto(page.url)
    expect(page.locator("article")).to_have_count(2)
    page.get_by_label("Model", exact=True).select_option("soft")
    expect(page.get_by_label("Compare with")).to_have_value("")
    expect(page.locator("article")).to_have_count(1)


def test_tags_are_asked_for_first_and_by_name(page: Page) -> None:
    expect(page.locator("#tags-field")).to_be_hidden()
    page.get_by_label("Model", exact=True).select_option("tagged")
    fields = page.locator("#question input").evaluate_all("all => all.map((one) => one.id)")
    assert fields == ["tags", "word"]
    expect(page.locator("#welcome")).to_contain_text("Choose tags, then type a word.")
    page.get_by_label("Word", exact=True).fill("ab")
    expect(page.locator("#notes")).to_contain_text("Choose tags first")
    verb = page.get_by_role("button", name="verb V", exact=True)
    verb.click()
    page.get_by_role("button", name="noun N", exact=True).click()
    expect(page.locator("#tags")).to_have_value("V;N")
    expect(verb).to_have_attribute("aria-pressed", "true")
    expect(page.locator("thead th")).to_have_text(["Symbol", "⊢", "V", "N", "a", "b", "⊣"])
    expect(page.locator("#notes")).to_be_empty()
    expect(page.locator(".aside")).to_contain_text("lower bound")
    verb.click()
    assert page.locator("#tags").input_value() == "N"
    expect(page.locator("thead th")).to_have_text(["Symbol", "⊢", "N", "a", "b", "⊣"])


def test_trouble_is_told_next_to_the_word(page: Page) -> None:
    page.get_by_label("Word", exact=True).fill("aqb")
    notes = page.locator("#notes")
    expect(notes).to_have_text("The model has never seen “q” in training, so this is a guess.")
    page.get_by_label("Word", exact=True).fill("a" * 101)
    expect(notes).to_have_text("This word has 101 symbols; the limit is 100")
    expect(page.get_by_label("Word", exact=True)).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Word", exact=True).fill("ab")
    expect(notes).to_be_empty()


@pytest.mark.parametrize(
    "options", [{"permissions": ["clipboard-read", "clipboard-write"], "accept_downloads": True}]
)
def test_a_list(page: Page, tmp_path: Path) -> None:
    words = ["ab", "dcba", "aq"] * 40
    page.get_by_role("link", name="A list").click()
    page.get_by_label("Compare with").select_option("soft")
    page.get_by_label("Words, one on each line").fill("\n".join([*words, "", "a" * 101]) + "\n")
    page.get_by_role("button", name="Predict").click()
    notes = page.locator("#list-notes")
    expect(notes).to_contain_text("120 words predicted. 1 was refused")
    expect(notes).to_contain_text("40 have symbols never seen")
    expect(notes).to_contain_text("1 blank line left out")
    expect(page.locator(".words tbody tr")).to_have_count(121)
    expect(page.locator(".words tbody tr").last).to_contain_text("101 symbols; the limit is 100")
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download TSV").click()
    assert downloading.value.suggested_filename == "predictions.tsv"
    downloading.value.save_as(tmp_path / "predictions.tsv")
    tsv = (tmp_path / "predictions.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in tsv.splitlines()]
    answers = {(m, w): MODELS[m](w, nbest=1)[0] for m in ("hard", "soft") for w in set(words)}
    assert [row[0] for row in rows] == [*words, "a" * 101]
    for word, hard, score, soft, _ in rows[:-1]:
        assert (hard, soft) == (answers["hard", word].text, answers["soft", word].text)
        assert float(score) == pytest.approx(answers["hard", word].log_prob, abs=1e-4)
    assert rows[-1][1:] == [""] * 4
    page.get_by_role("button", name="Copy table").click()
    expect(notes).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == tsv


def test_an_empty_list(page: Page) -> None:
    page.get_by_role("link", name="A list").click()
    page.get_by_label("Words, one on each line").fill(" \n")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#list-notes")).to_contain_text("Type or paste some words first")


def test_a_server_that_is_gone(page: Page) -> None:
    page.route("**/predict", lambda route: route.abort())
    page.get_by_label("Word", exact=True).fill("ab")
    expect(page.locator("#notes")).to_have_text("The server does not answer. Is it still running?")
    page.unroute("**/predict")


def test_examples_on_the_empty_page(page: Page) -> None:
    offered = page.locator("#examples button")
    expect(offered).to_have_text(["cab", "bad", "add"])
    offered.nth(1).click()
    expect(page.get_by_label("Word", exact=True)).to_have_value("bad")
    expect(page.locator("thead th:not(.frame)")).to_have_text(["Symbol", "b", "a", "d"])
    page.get_by_label("Word", exact=True).fill("")
    page.get_by_label("Model", exact=True).select_option("tagged")  # which can spell none of them
    expect(page.locator("#welcome")).to_be_visible()
    expect(page.locator("#examples")).to_be_hidden()


def test_two_maps_line_up_and_scroll_together(page: Page) -> None:
    page.get_by_label("Compare with").select_option("soft")
    ask(page, "abcd" * 12, panels=2)
    scrollers = page.locator("figure .scroll")
    expect(scrollers.nth(1)).to_have_class(re.compile("more"))
    places = page.locator("article").evaluate_all(
        """articles => articles.map((article) => {
            const left = article.getBoundingClientRect().left;
            return [...article.querySelectorAll("thead th")].slice(1).map((th) => {
                const box = th.getBoundingClientRect();
                return [box.left - left, box.top];
            });
        })"""
    )
    for one, other in zip(*places, strict=True):
        assert one == pytest.approx(other, abs=1)
    scrollers.first.evaluate("place => place.scrollTo({ left: 150 })")
    expect(scrollers.first).to_have_class(re.compile("scrolled"))
    expect(scrollers.nth(1)).to_have_class(re.compile("scrolled"))
    assert scrollers.evaluate_all("places => places.map((place) => place.scrollLeft)") == [150, 150]
    scrollers.first.evaluate("place => place.scrollTo({ left: 10_000 })")
    expect(scrollers.first).not_to_have_class(re.compile("more"))


def test_a_list_is_sorted_and_filtered(page: Page) -> None:
    words = ["ab", "dcba", "aq", "b", "cd", "a" * 101]
    page.get_by_role("link", name="A list").click()
    page.get_by_label("Words, one on each line").fill("\n".join(words))
    page.get_by_role("button", name="Predict").click()
    rows = page.locator(".words tbody th")
    expect(rows).to_have_text(words)
    scores = {word: MODELS["hard"](word, nbest=1)[0].log_prob for word in words[:-1]}
    scores[words[-1]] = -math.inf
    head = page.get_by_role("button", name="Probability")
    for order, ranked in (
        ("ascending", sorted(words, key=lambda word: scores[word])),
        ("descending", sorted(words, key=lambda word: -scores[word])),
        ("none", words),
    ):
        head.click()
        expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", order)
        expect(rows).to_have_text(ranked)
        expect(head).to_be_focused()
    page.get_by_label("Show").select_option("unsure")
    unsure = [word for word in words if scores[word] < math.log(0.5) or "q" in word]
    assert len(unsure) > 0
    expect(rows).to_have_text(unsure)
    expect(page.locator("#shown")).to_have_text(f"{len(unsure)} of {len(words)} words")


def test_the_api_can_be_read(page: Page) -> None:
    page.get_by_role("link", name="the API").click()
    expect(page.locator("h2").first).to_have_text("POST /predict")
    asked, answered = page.locator("pre").first.inner_text().split("\n\n")
    assert '"words":["cab"]' in asked
    assert json.loads(answered)["answers"][0]["source"] == "cab"
    expect(page.locator("pre").nth(1)).to_contain_text('"text":"cab bad!"')
    expect(page.locator("#WordsRequest tbody th")).to_have_text(
        ["words", "model", "nbest", "beam", "alignments"]
    )
    page.get_by_role("link", name="WordsAnswer").first.click()
    assert page.url.endswith("/docs#WordsAnswer")
    for link in page.locator(".docs a[href^='#']").all():
        assert page.locator(link.get_attribute("href") or "").count() == 1


@pytest.fixture
def with_lexicon(browser: Browser) -> Iterator[Page]:
    """The page of a server that knows the word "ab"."""
    lexicon = Lexicon(MODELS["hard"].description.format)
    for text in ("yyx", "x"):
        lexicon.add(("a", "b"), tuple(text))
    models = {"hard": MODELS["hard"]}
    with running(models, lexicons={"hard": lexicon}) as (_, client):
        page = browser.new_page(base_url=str(client.base_url))
        page.goto("/")
        page.locator("#model option").first.wait_for(state="attached")
        yield page
        page.close()


def test_known_words_are_marked(with_lexicon: Page) -> None:
    page = with_lexicon
    page.get_by_label("Word", exact=True).fill("ab")
    expect(page.locator(".prediction")).to_have_text("xknown")
    candidates = page.locator(".candidate .text")
    expect(candidates).to_have_count(5)
    assert candidates.all_text_contents()[:2] == ["xknown", "yyxknown"]
    expect(page.locator(".candidate .known")).to_have_count(2)
    page.get_by_label("Word", exact=True).fill("ba")
    expect(page.locator(".prediction .known")).to_have_count(0)


def test_a_list_shows_what_is_known(with_lexicon: Page) -> None:
    page = with_lexicon
    page.get_by_role("link", name="A list").click()
    page.get_by_label("Words, one on each line").fill("dcba\nab\nb")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#list-notes")).to_have_text(
        "3 words predicted. 1 is known from the lexicon."
    )
    rows = page.locator(".words tbody th")
    expect(page.locator(".words tbody tr").nth(1).locator("td")).to_have_text(["x", "known"])
    for which, words in (("known", ["ab"]), ("new", ["dcba", "b"]), ("all", ["dcba", "ab", "b"])):
        page.get_by_label("Show").select_option(which)
        expect(rows).to_have_text(words)
    page.get_by_role("button", name="Probability").click()
    expect(rows.last).to_have_text("ab")  # nothing is surer


def test_arpabet_is_shown_as_ipa_too(browser: Browser, tmp_path: Path) -> None:
    models = {"en-g2p": hardalign.load("en-g2p"), "hard": MODELS["hard"]}
    with running(models) as (_, client):
        page = browser.new_page(base_url=str(client.base_url))
        page.goto("/?word=action")
        expect(page.locator(".prediction .ipa")).to_have_text("ˈækʃən")
        expect(page.locator(".candidate .ipa")).to_have_count(5)
        page.goto("/?word=ab&model=hard")
        expect(page.locator(".candidate")).to_have_count(5)
        expect(page.locator(".ipa")).to_have_count(0)
        page.goto("/?model=en-g2p&with=hard#list")
        page.get_by_label("Words, one on each line").fill("action\n" + "a" * 101)
        page.get_by_role("button", name="Predict").click()
        expect(page.locator(".words .ipa")).to_have_text("ˈækʃən")
        with page.expect_download() as downloading:
            page.get_by_role("button", name="Download TSV").click()
        downloading.value.save_as(tmp_path / "predictions.tsv")
        page.close()
    first, refused = (tmp_path / "predictions.tsv").read_text(encoding="utf-8").splitlines()
    assert first.split("\t")[::3] == ["action", "ˈækʃən"]
    assert [len(row.split("\t")) for row in (first, refused)] == [6, 6]
