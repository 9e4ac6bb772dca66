"""What the live page says, in both languages."""

import re
from pathlib import Path

from contend import api

PAGE = Path(api.__file__).with_name("page")
_SAID = re.compile(r'(\w+): "((?:[^"\\]|\\.)*)"')


def test_both_languages_of_the_page_say_the_same_things_with_the_same_values() -> None:
    text = (PAGE / "words.js").read_text("utf-8")
    pairs = [_SAID.findall(part) for part in re.split(r"const (?:EN|JA|WORDS) =", text)[1:3]]
    english, japanese = map(dict, pairs)

    # Of two with the same key a browser takes the last.
    assert [len(each) for each in pairs] == [len(english), len(japanese)]
    assert english.keys() == japanese.keys()
    assert len(english) > 100
    for key, said in english.items():
        said_of = said.replace("{s}", "")  # an English ending
        assert sorted(re.findall(r"\{\w+\}", said_of)) == sorted(re.findall(r"\{\w+\}", japanese[key])), key


def test_whatever_the_page_looks_up_by_name_is_there() -> None:
    words = (PAGE / "words.js").read_text("utf-8")
    code = "".join(path.read_text("utf-8") for path in PAGE.glob("*.js") if path.name != "words.js")

    keys = set(re.findall(r'\bt\("(\w+)"', code))

    assert len(keys) > 60
    assert keys <= dict(_SAID.findall(words)).keys()
