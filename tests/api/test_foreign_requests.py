"""The Agent Server and those who should not reach it: other sites' pages in the user's browser, other machines."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fakes.browser import serving, visit
from fakes.children import outside
from fakes.fork_server import Process
from fakes.servers import Server, ask

SECRET = "The canary of the vault is called Amaryllis and sings at dusk. The canary of the vault is yellow and small."
LARK = "A lark nests on the ground between tufts of grass. A lark builds its nest in the spring of each year."
THEME = "What is the canary of the vault called?"
JSON = {"Content-Type": "application/json"}
STUDIO = "https://smith.langchain.com"


@pytest.fixture(scope="module")
def server(keyless_server: Server) -> Server:
    folder = keyless_server.workspace.parent
    for name, text in (("private", SECRET), ("listed", SECRET), ("workspace/papers", LARK)):
        (folder / name).mkdir()
        (folder / name / "birds.md").write_text(f"# Birds\n\n{text}\n", "utf-8")
    (keyless_server.workspace / "way-out").symlink_to(folder / "private")
    return keyless_server


def threads(server: Server) -> int:
    return len(server.client.threads.search(limit=1000))


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://192.0.2.7"]
)
def test_a_page_of_another_site_is_refused_and_nothing_is_done(server: Server, origin: str) -> None:
    before = threads(server)

    status, headers, body = ask(server, "POST", "/threads", {**JSON, "Origin": origin}, "{}")

    assert status == 403
    assert "Origin" in json.loads(body)["detail"]
    assert "access-control-allow-origin" not in headers
    assert threads(server) == before


def test_a_preflight_into_the_private_network_is_refused(server: Server) -> None:
    preflight_headers = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    private = {**preflight_headers, "Access-Control-Request-Private-Network": "true", "Origin": "https://evil.example"}

    status, headers, _ = ask(server, "OPTIONS", "/runs/wait", private)
    allow_headers, studio, _ = ask(server, "OPTIONS", "/runs/wait", {**preflight_headers, "Origin": STUDIO})

    assert status == 403
    assert not [name for name in headers if name.startswith("access-control-")]
    assert (allow_headers, studio["access-control-allow-origin"]) == (200, STUDIO)


@pytest.mark.parametrize("origin", [STUDIO, "http://localhost:3000", "http://127.0.0.1:5173"])
def test_studio_and_pages_of_this_machine_may_read_the_answer(server: Server, origin: str) -> None:
    status, headers, _ = ask(server, "POST", "/threads/search", {**JSON, "Origin": origin}, "{}")

    assert (status, headers["access-control-allow-origin"]) == (200, origin)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_is_not_json_is_refused(server: Server, kind: str) -> None:
    before = threads(server)

    status, _, body = ask(server, "POST", "/threads", {"Content-Type": kind} if kind else {}, "{}")

    assert status == 415
    assert "application/json" in body
    assert threads(server) == before


@pytest.mark.parametrize("path", ["/threads/search", "/info", "/docs", "/ok"])
@pytest.mark.parametrize("host", ["evil.example:2024", "192.0.2.7", "127.0.0.1.evil.example", "0.0.0.0:2024", ""])
def test_a_name_that_only_leads_here_is_refused(server: Server, host: str, path: str) -> None:
    method = "POST" if path == "/threads/search" else "GET"

    status, _, body = ask(server, method, path, {**JSON, "Host": host}, "{}" if method == "POST" else "")

    assert status == 403
    assert "is not this machine" in body


def test_a_socket_from_a_page_of_another_site_is_refused(server: Server) -> None:
    opening = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Origin": "https://evil.example",
    }

    assert ask(server, "GET", f"/threads/{server.thread()}/stream/events", opening)[0] == 403


def refusal(server: Server, **how: Any) -> str:  # noqa: ANN401 - the SDK's
    state = server.run("contend", {"theme": THEME}, **how)
    assert state["status"] == "failed"
    return str(state["message"])


@pytest.mark.parametrize(
    "named", ["{folder}/private", "../private", "{folder}/workspace/way-out", "~", "/etc/hostname", "../no"]
)
def test_documents_outside_the_workspace_are_not_read_and_not_told_of(server: Server, named: str) -> None:
    path = named.format(folder=server.workspace.parent)

    result = refusal(server, context={"documents": [path], "sources": ["local"]})

    assert result.startswith("documents: this server may not read ")
    assert "name files or folders of its workspace, or have the folder listed in its CONTEND_SERVED_FOLDERS" in result


def test_an_assistant_and_a_config_from_outside_name_no_documents_either(server: Server) -> None:
    options = {"documents": [str(server.workspace.parent / "private")], "sources": ["local"]}
    assistant = server.client.assistants.create("contend", context=options)["assistant_id"]

    by_assistant = server.run(assistant, {"theme": THEME})
    by_config = server.run("contend", {"theme": THEME}, config={"configurable": options})

    for outcome in (by_assistant, by_config):
        assert outcome["message"].startswith("documents: this server may not read")


def test_documents_of_the_workspace_and_of_listed_folders_are_read(server: Server) -> None:
    listed_folder = str(server.workspace.parent / "listed")

    own = server.run(
        "contend", {"theme": "Where does a lark nest?"}, context={"documents": [str(server.workspace / "papers")]}
    )
    other = server.run("contend", {"theme": THEME}, context={"documents": [listed_folder], "sources": ["local"]})

    assert "A lark nests on the ground" in own["messages"][-1]["content"].replace("**", "")  # words are highlighted
    assert "Amaryllis" in other["messages"][-1]["content"]


ATTACK = """
const run = documents =>
  JSON.stringify({{assistant_id: "contend", input: {{theme: "{theme}"}}, context: {{documents}}}});
const attempt = async (url, how) => {{
  try {{ const answer = await fetch(url, how); return answer.type + " " + answer.status + " " + await answer.text(); }}
  catch (error) {{ return String(error); }}
}};
const json = {{"Content-Type": "application/json"}};
const body = run(["{documents}"]);
return {{
  json: await attempt("{url}/runs/wait", {{method: "POST", headers: json, body}}),
  plain: await attempt("{url}/runs/wait", {{method: "POST", body}}),
  unseen: await attempt("{url}/threads", {{method: "POST", mode: "no-cors", body: "{{}}"}}),
  read: await attempt("{url}/info"),
  rebound: await attempt("http://{name}:{port}/info"),
  socket: await new Promise(done => {{
    const socket = new WebSocket("{socket}");
    socket.onopen = () => done("open");
    socket.onerror = () => done("refused");
  }}),
}};
"""


def attack(server: Server, name: str, documents: str, profile: Path) -> dict[str, Any]:
    """What a page under this host name gets from the server, by all ways that a page has."""
    with serving() as site:
        script = ATTACK.format(
            theme=THEME,
            documents=documents,
            url=server.url,
            name=name,
            port=server.url.rpartition(":")[2],
            socket=f"{server.url.replace('http', 'ws')}/threads/{server.thread()}/stream/events",
        )
        return visit(site, name, script, profile)


def test_a_page_of_another_site_gets_nothing_in_a_browser(server: Server, tmp_path: Path) -> None:
    thread_count = threads(server) + 1  # the one whose socket is tried

    got = attack(server, "evil.example", str(server.workspace.parent / "listed"), tmp_path)

    assert "Amaryllis" not in json.dumps(got)
    assert got["json"] == got["plain"] == got["read"] == got["rebound"] == "TypeError: Failed to fetch"
    assert got["unseen"].startswith("opaque 0")
    assert got["socket"] == "refused"
    assert threads(server) == thread_count


def test_a_page_of_this_machine_works_in_a_browser_and_reads_no_private_file(server: Server, tmp_path: Path) -> None:
    got = attack(server, "localhost", str(server.workspace.parent / "private"), tmp_path)

    assert got["json"].startswith("cors 200")
    assert "this server may not read" in got["json"]
    assert "Content-Type 'text/plain'" in got["plain"] or got["plain"] == "TypeError: Failed to fetch"
    assert got["socket"] == "open"


EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing listens there: the command is refused


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        ([], {}, f"--host {EVERYWHERE}: others could reach it; --expose allows it"),
        (["--expose"], {}, "--expose: set CONTEND_SERVER_TOKEN to a secret"),
        (["--expose"], {"CONTEND_SERVER_TOKEN": "short"}, "CONTEND_SERVER_TOKEN can be guessed"),
    ],
)
def test_a_server_that_others_reach_does_not_start_without_a_token(
    tmp_path: Path, arguments: list[str], variables: dict[str, str], message: str
) -> None:
    environment = outside(CONTEND_WORKSPACE=str(tmp_path), **variables)
    with closing(
        Process("serve", "--host", EVERYWHERE, *arguments, folder=tmp_path, environment=environment)
    ) as process:
        lines = process.stderr.read().strip().splitlines()

        assert process.wait() == 2
    assert len(lines) == 1
    assert message in lines[0]
