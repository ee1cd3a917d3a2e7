from __future__ import annotations

import pytest

from hardalign.errors import HardalignError
from hardalign.text.ipa import CONSONANTS, VOWELS, arpabet_to_ipa, ipa_symbols, parts_to_ipa

WORDS = {
    # one syllable: no mark
    "cat": ("K AE1 T", "kæt"),
    "the": ("DH AH0", "ðə"),
    "cup": ("K AH1 P", "kʌp"),
    "bird": ("B ER1 D", "bɝd"),
    "judge": ("JH AH1 JH", "dʒʌdʒ"),
    "strength": ("S T R EH1 NG K TH", "stɹɛŋkθ"),
    "shhh": ("SH", "ʃ"),
    # stress on the first syllable
    "action": ("AE1 K SH AH0 N", "ˈækʃən"),
    "apple": ("AE1 P AH0 L", "ˈæpəl"),
    "bottle": ("B AA1 T AH0 L", "ˈbɑtəl"),
    "butter": ("B AH1 T ER0", "ˈbʌtɚ"),
    "canyon": ("K AE1 N Y AH0 N", "ˈkænjən"),
    "extra": ("EH1 K S T R AH0", "ˈɛkstɹə"),
    "finger": ("F IH1 NG G ER0", "ˈfɪŋɡɚ"),
    "happy": ("HH AE1 P IY0", "ˈhæpi"),
    "language": ("L AE1 NG G W AH0 JH", "ˈlæŋɡwədʒ"),
    "measure": ("M EH1 ZH ER0", "ˈmɛʒɚ"),
    "music": ("M Y UW1 Z IH0 K", "ˈmjuzɪk"),
    "singer": ("S IH1 NG ER0", "ˈsɪŋɚ"),
    "yellow": ("Y EH1 L OW0", "ˈjɛloʊ"),
    # stress later: all consonants that can begin a word go with it
    "about": ("AH0 B AW1 T", "əˈbaʊt"),
    "accuse": ("AH0 K Y UW1 Z", "əˈkjuz"),
    "across": ("AH0 K R AO1 S", "əˈkɹɔs"),
    "agree": ("AH0 G R IY1", "əˈɡɹi"),
    "allow": ("AH0 L AW1", "əˈlaʊ"),
    "appear": ("AH0 P IH1 R", "əˈpɪɹ"),
    "banana": ("B AH0 N AE1 N AH0", "bəˈnænə"),
    "computer": ("K AH0 M P Y UW1 T ER0", "kəmˈpjutɚ"),
    "degree": ("D IH0 G R IY1", "dɪˈɡɹi"),
    "destroy": ("D IH0 S T R OY1", "dɪˈstɹɔɪ"),
    "discover": ("D IH0 S K AH1 V ER0", "dɪˈskʌvɚ"),
    "display": ("D IH0 S P L EY1", "dɪˈspleɪ"),
    "enjoy": ("EH0 N JH OY1", "ɛnˈdʒɔɪ"),
    "equip": ("IH0 K W IH1 P", "ɪˈkwɪp"),
    "exam": ("IH0 G Z AE1 M", "ɪɡˈzæm"),
    "explain": ("IH0 K S P L EY1 N", "ɪkˈspleɪn"),
    "guitar": ("G IH0 T AA1 R", "ɡɪˈtɑɹ"),
    "hotel": ("HH OW0 T EH1 L", "hoʊˈtɛl"),
    "include": ("IH0 N K L UW1 D", "ɪnˈklud"),
    "machine": ("M AH0 SH IY1 N", "məˈʃin"),
    "obscure": ("AH0 B S K Y UH1 R", "əbˈskjʊɹ"),
    "police": ("P AH0 L IY1 S", "pəˈlis"),
    "return": ("R IH0 T ER1 N", "ɹɪˈtɝn"),
    "submit": ("S AH0 B M IH1 T", "səbˈmɪt"),
    "support": ("S AH0 P AO1 R T", "səˈpɔɹt"),
    "throughout": ("TH R UW0 AW1 T", "θɹuˈaʊt"),
    "today": ("T AH0 D EY1", "təˈdeɪ"),
    "vanilla": ("V AH0 N IH1 L AH0", "vəˈnɪlə"),
    "volcano": ("V AA0 L K EY1 N OW0", "vɑlˈkeɪnoʊ"),
    # two marks
    "california": ("K AE2 L AH0 F AO1 R N Y AH0", "ˌkæləˈfɔɹnjə"),
    "communicate": ("K AH0 M Y UW1 N AH0 K EY2 T", "kəˈmjunəˌkeɪt"),
    "engineer": ("EH1 N JH AH0 N IH1 R", "ˈɛndʒəˈnɪɹ"),
    "entertain": ("EH2 N T ER0 T EY1 N", "ˌɛntɚˈteɪn"),
    "education": ("EH2 JH AH0 K EY1 SH AH0 N", "ˌɛdʒəˈkeɪʃən"),
    "photograph": ("F OW1 T AH0 G R AE2 F", "ˈfoʊtəˌɡɹæf"),
    "pronunciation": ("P R OW0 N AH2 N S IY0 EY1 SH AH0 N", "pɹoʊˌnʌnsiˈeɪʃən"),
    "telephone": ("T EH1 L AH0 F OW2 N", "ˈtɛləˌfoʊn"),
    "undergo": ("AH2 N D ER0 G OW1", "ˌʌndɚˈɡoʊ"),
    "university": ("Y UW2 N AH0 V ER1 S AH0 T IY0", "ˌjunəˈvɝsəti"),
    "vietnam": ("V IY2 EH0 T N AA1 M", "ˌviɛtˈnɑm"),
    # without stress digits
    "sun, no stress": ("S AH N", "sʌn"),
    "about, no stress": ("AH B AW T", "əbaʊt"),
}


@pytest.mark.parametrize("word", WORDS)
def test_words(word: str) -> None:
    phones, ipa = WORDS[word]
    assert arpabet_to_ipa(phones.split()) == ipa


def test_every_phone_has_letters_of_its_own() -> None:
    assert len(CONSONANTS) + len(VOWELS) == 39
    assert len({*CONSONANTS.values(), *VOWELS.values()}) == 39


@pytest.mark.parametrize("symbol", ["aa", "K1", "AA3", "Q", "", "ə", "AA11"])
def test_other_symbols_are_refused_by_name(symbol: str) -> None:
    with pytest.raises(HardalignError, match="only ARPAbet") as caught:
        arpabet_to_ipa(["K", symbol])
    assert repr(symbol) in str(caught.value)


def test_nothing_is_nothing() -> None:
    assert arpabet_to_ipa([]) == ""


def test_every_stress_has_its_mark_and_only_before_its_syllable() -> None:
    for digit, mark in (("0", ""), ("1", "ˈ"), ("2", "ˌ")):
        assert arpabet_to_ipa(["B", f"IY{digit}", "T", "IY0"]) == f"{mark}biti"
        assert arpabet_to_ipa(["B", "IY0", "T", f"IY{digit}"]) == f"bi{mark}ti"
        assert arpabet_to_ipa(["B", f"IY{digit}"]) == "bi"  # one syllable
        assert parts_to_ipa([["B", f"IY{digit}"], ["T", "IY0"]]) == f"{mark}biti"


def test_a_symbol_for_each_phone() -> None:
    assert ipa_symbols(["AH0", "B", "AW1", "T", "ER0"]) == ["ə", "b", "aʊ", "t", "ɚ"]
    assert ipa_symbols(["K", "AH1", "P"]) == ["k", "ʌ", "p"]
    with pytest.raises(HardalignError, match="'x'"):
        ipa_symbols(["x"])
