"""Write `examples/ferry`: the reports that `make demo` left, without the paths of the machine that played it.

    make sample

plays the demo, runs this script, and makes the notebook and the README's picture anew. It is the one command to run
after a change of the demo, of reports or of the page; tests say so where the sample is out of date.
"""

import json
import re
from pathlib import Path

from contend.exports import to_pdf
from contend.stores.documents import passage_id, text_id

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "examples" / "ferry"
PLACE = "file:///demo/documents/"
"""Where the documents of the sample's JSON lie; ids of passages are made with their addresses."""
_OWN_PLACE = re.compile(r"file:///[^\"'<>\s]*?/demo/documents/")
_FROM_SAMPLE = "../../demo/documents/"


def shared_files(folder: Path) -> dict[str, str]:
    """The Markdown, HTML and JSON of a demo's folder by name, the same on every machine but for times."""
    texts = {name: (folder / name).read_text("utf-8") for name in ("report.md", "report.html", "report.json")}
    return {
        "report.md": texts["report.md"],
        "report.html": _OWN_PLACE.sub(_FROM_SAMPLE, texts["report.html"]),
        "report.json": _with_ids(_OWN_PLACE.sub(PLACE, texts["report.json"])),
    }


def _with_ids(text: str) -> str:
    """A report's JSON with the ids that its passages have at their new addresses."""
    for passage in json.loads(text)["passages"]:
        text = text.replace(passage["id"], passage_id(text_id(passage["id"]), passage["url"]))
    return text


def main() -> None:
    SAMPLE.mkdir(parents=True, exist_ok=True)
    files = shared_files(ROOT / "demo")
    for name, text in files.items():
        (SAMPLE / name).write_text(text, "utf-8")
    (SAMPLE / "report.pdf").write_bytes(to_pdf(files["report.html"].encode()))
    for path in sorted(SAMPLE.glob("report.*")):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
