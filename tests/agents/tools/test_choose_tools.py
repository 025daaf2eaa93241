"""Group and state choose the tools of a run, as they do for agents without memory."""

from __future__ import annotations

import pytest

from agents.tools.choose import choose_tools
from common import errors

pytestmark = pytest.mark.django_db


@pytest.fixture
def chosen(project, alice):
    def chosen(*group, state=""):
        tools = choose_tools(project, alice, group=group, state=state, has_memory=False)
        return [tool.name for tool in tools]

    return chosen


@pytest.mark.parametrize(
    ("groups", "states", "group", "state", "is_offered"),
    [
        (["default"], ["*"], (), "", True),
        (["default"], ["*"], ("default",), "any", True),
        (["default"], ["*"], ("billing",), "", False),
        (["billing"], ["*"], (), "", False),
        (["billing"], ["*"], ("support", "billing"), "", True),
        (["billing"], ["*"], ("*",), "", True),
        (["*"], ["*"], ("anything",), "", True),
        (["default"], ["undefined"], (), "", True),
        (["default"], ["undefined"], (), "open", False),
        (["default"], ["open"], (), "", False),
        (["default"], ["open", "closed"], (), "closed", True),
        (["default"], ["open"], ("*",), "closed", False),
    ],
)
def test_what_a_request_is_offered(
    put_listed, chosen, groups, states, group, state, is_offered
):
    put_listed("t", groups=groups, states=states)

    assert chosen(*group, state=state) == (["t_find"] if is_offered else [])


def test_groups_and_states_have_defaults(tools_api):
    found = tools_api.put("t", url="https://tickets.example.com/mcp")

    assert (found["groups"], found["states"]) == (["default"], ["*"])


def test_a_disabled_server_is_not_offered(put_listed, chosen):
    put_listed("t", is_enabled=False)

    assert chosen("*") == []


def test_tools_of_another_project_are_not_offered(put_listed, other_project, charlie):
    put_listed("t")

    found = choose_tools(
        other_project, charlie, group=["*"], state="", has_memory=False
    )
    assert found == []


def test_a_stranger_is_refused(tools_api, project, charlie):
    with pytest.raises(errors.NotFound):
        choose_tools(project, charlie, group=[], state="", has_memory=False)


def test_a_list_by_group_and_state(tools_api, put_listed):
    put_listed("plain")
    put_listed("bills", groups=["billing"], states=["open"])

    def names(**query):
        answer = tools_api.send("get", "tools", **query).json()
        return [tool["name"] for tool in answer["tools"]]

    assert names() == ["bills", "plain"]
    assert names(state="closed") == ["plain"]
    assert names(group="billing", state="open") == ["bills"]
    assert names(group="*", state="open") == ["bills", "plain"]
