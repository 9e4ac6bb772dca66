"""`contend serve`, started in a folder that is not the workspace: what was set where the user stands holds."""

from fakes.api_client import Api

THEME = "How does resume work after a crash?"


def test_relative_documents_and_the_env_file_are_those_of_the_folder_it_was_started_in(api: Api) -> None:
    state = api.server.run("contend", {"theme": THEME}, context={"documents": ["papers"], "sources": ["local"]})

    assert state["status"] == "completed"
    assert [result["round_number"] for result in state["summary"]["team_results"]] == [1, 1]
    assert [status["team_id"] for status in state["summary"]["team_statuses"]] == ["alpha", "beta"]
    papers = (api.server.workspace.with_name("here") / "papers").as_uri()
    assert state["report"]["sources"]
    assert all(source["url"].startswith(papers) for source in state["report"]["sources"])
