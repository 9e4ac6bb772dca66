"""What a reviewer says that is no feedback."""

from contend.text import SENTENCE_STOPS, squeezed, terms, without_item_mark, without_sentences

_LEAST_TERMS = 2


def without_instructions(feedback: str, instructions: str) -> str:
    """A reviewer's feedback without sentences of its own instructions: small models repeat them as their verdict."""
    given = squeezed(instructions)

    def echoed(sentence: str) -> bool:
        plain = without_item_mark(sentence)
        return _key(plain) in given and len(set(terms(plain))) >= _LEAST_TERMS

    lines = (without_sentences(line, echoed) for line in feedback.splitlines())
    return "\n".join(line for line in lines if line.strip())


def _key(sentence: str) -> str:
    return squeezed(sentence).rstrip(SENTENCE_STOPS)
