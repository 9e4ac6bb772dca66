"""Citations: their numbers, and whether what they cite was retrieved."""

import pytest

from contend.checks import check_validity, citation_numbers
from contend.models.research import ResearchReport, SearchResult


def source(url: str) -> SearchResult:
    return SearchResult(title="A title", summary="A summary.", source="tavily", url=url)


def report(text: str, *urls: str) -> ResearchReport:
    filler = "Wind that passes a cable sheds vortices on alternating sides, and each of them pushes the cable. "
    return ResearchReport(
        theme="Why do bridges hum?",
        executive_summary=filler,
        key_findings=[text],
        detailed_analysis=filler * 2,
        sources=[source(url) for url in urls],
    )


def test_numbers_are_found_in_order_up_to_the_references() -> None:
    text = report("It hums [2][1]. It sings [2].", "https://a.example/x")
    text.sources[0].title = "[7] A title"

    assert citation_numbers(text) == [2, 1, 2]


def test_a_heading_like_that_of_the_references_ends_no_report() -> None:
    assert citation_numbers(report("橋は鳴る[1]。\n\n## 参考文献\n\nそれも鳴る[2]。")) == [1, 2]


def test_numbers_in_code_and_indices_from_nought_are_no_citations() -> None:
    text = report("It is `x[3]`, ``y`[4]`` and z[0] [2].\n\n```\na[5]\n\nb[6]\n```\n\nNo `code [1].")

    assert citation_numbers(text) == [2, 1]


def test_a_citation_of_a_retrieved_source_is_valid() -> None:
    validity = check_validity(report("It hums [1].", "https://a.example/x"), {"https://a.example/x"})

    assert validity == (1, 1, [])


def test_a_citation_without_an_entry_is_unknown() -> None:
    validity = check_validity(report("It hums [1][2].", "https://a.example/x"), {"https://a.example/x"})

    assert validity == (1, 2, ["[2]"])


def test_a_citation_of_a_source_that_was_not_retrieved_is_unknown() -> None:
    assert check_validity(report("It hums [1].", "https://a.example/x"), set()).unknown == ["[1]"]


def test_an_invented_address_in_the_text_is_unknown() -> None:
    text = report("It hums, see (https://evil.example/a).", "https://a.example/x")

    assert check_validity(text, {"https://a.example/x"}).unknown == ["https://evil.example/a"]


def test_an_address_that_stands_in_a_passage_is_no_citation() -> None:
    text = report("It asks http://localhost:8000/v1 and doi:10.9999/x [1].", "https://a.example/x")

    validity = check_validity(text, {"https://a.example/x"}, texts=["By default <http://localhost:8000/v1/>."])

    assert validity == (1, 2, ["doi:10.9999/x"])


def test_an_address_that_was_retrieved_is_a_citation_though_a_passage_has_it_too() -> None:
    url = "https://a.example/x"

    assert check_validity(report(f"It hums, see {url}."), {url}, texts=[f"More at {url}."]) == (1, 1, [])


@pytest.mark.parametrize("written", ["doi:10.1234/HUM", "https://doi.org/10.1234/hum", "10.1234/hum"])
def test_a_doi_is_the_address_it_resolves_to(written: str) -> None:
    assert check_validity(report(f"It hums, see {written}."), {"https://doi.org/10.1234/hum"}).unknown == []


def test_an_address_in_code_is_no_citation() -> None:
    assert check_validity(report("Run `curl http://localhost:8000`."), set()).total == 0


def test_an_address_before_a_japanese_mark_ends_there() -> None:
    assert (
        check_validity(report("橋は https://a.example/x[1]。", "https://a.example/x"), {"https://a.example/x"}).unknown
        == []
    )


def test_a_retrieved_address_in_the_text_is_valid_with_its_brackets() -> None:
    address = "https://a.example/hum_(sound)"

    assert check_validity(report(f"It hums (see {address})."), {address}) == (1, 1, [])
