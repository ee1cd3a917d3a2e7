"""British words for `train --from en-g2p`: 500 for training, 200 for development, 1,000 for test.

    python recipes/british.py runs/british

The words are the "gold" ones of the package misaki (Apache-2.0), in ARPAbet with two extra symbols.
None is in the training part of CMUDict; since 0.3, en-g2p has been trained on all of it. They are
for experiments only: the origin of their pronunciations is undocumented, so no bundled model is
trained on them.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

import hardalign
from hardalign.files import make_folder, sha256, write_bytes
from sources import pip_package

_MISAKI = "90e2eeb169786c014c429e5058d2ea6bcd02d651f2a24450ba6c9ffc0f8da15a"
VOWELS = (
    "iː=IY i=IY ɪ=IH ɛː=EA ɛ=EH a=AE ɑː=AA ɒ=OH ɔː=AO ʌ=AH ʊ=UH uː=UW u=UW ɜː=ER əː=ER ə=AH ᵊ=AH "
    "A=EY I=AY W=AW Y=OY Q=OW"
)
CONSONANTS = (
    "b=B ʧ=CH d=D ð=DH f=F ɡ=G h=HH ʤ=JH k=K l=L m=M n=N ŋ=NG p=P ɹ=R s=S ʃ=SH t=T θ=TH v=V w=W "
    "j=Y z=Z ʒ=ZH"
)
STRESS = {"": "0", "ˈ": "1", "ˌ": "2"}
SOUND = re.compile("([ˈˌ]?)(.ː?)")
PARTS = {"train": 500, "dev": 200, "test": 1000}


def arpabet(pronunciation: str) -> str:
    """Converts to ARPAbet; OH is the vowel of lot, EA that of square, and no R follows them.

    Raises:
        KeyError: If a sound does not belong to this accent.
    """
    vowels, consonants = (
        dict(pair.split("=") for pair in table.split()) for table in (VOWELS, CONSONANTS)
    )
    phones = []
    for stress, sound in SOUND.findall(pronunciation):
        vowel = vowels.get(sound)
        phones.append(vowel + STRESS[stress] if vowel else consonants[sound])
    return " ".join(phones)


def main() -> None:
    """Writes the three files to the folder given on the command line."""
    folder = Path(sys.argv[1])
    package = pip_package(folder / "packages", "misaki==0.9.4", _MISAKI)
    with zipfile.ZipFile(package) as archive:
        entries = json.loads(archive.read("misaki/data/gb_gold.json"))
    seen = {example.text for example in hardalign.load_corpus("cmudict").train}
    words = [
        word
        for word, pronunciation in entries.items()
        if isinstance(pronunciation, str) and re.fullmatch("[a-z]{3,}", word) and word not in seen
    ]
    words.sort(key=lambda word: sha256(word.encode()))
    make_folder(folder)
    for part, count in PARTS.items():
        chosen, words = words[:count], words[count:]
        lines = [f"{word}\t{arpabet(entries[word])}\n" for word in chosen]
        write_bytes(folder / f"{part}.tsv", "".join(lines).encode())


if __name__ == "__main__":
    main()
