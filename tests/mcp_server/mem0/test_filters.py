"""The filters of mem0: what matches, and what is refused."""

from __future__ import annotations

import pytest

from common.caller import Caller
from mcp_server.mem0.filter_tree import find_scope, parse
from mcp_server.mem0.refusals import UnsupportedFilter
from memories.models import Memory
from memories.scopes import Scope

# What is stored, by its text: the ids and the other fields.
STORED = {
    "everybody": {},
    "a bot": {"agent_id": "bot"},
    "ann": {"user_id": "ann", "metadata": {"topic": "food", "n": 3}},
    "ann by bot": {"user_id": "ann", "agent_id": "bot", "metadata": {"n": 9}},
    "ben by bot": {"user_id": "ben", "agent_id": "bot"},
    "a run": {"run_id": "r"},
    "ann in a run": {"user_id": "ann", "run_id": "r"},
    "a shop": {"app_id": "shop"},
    "ann in a shop": {"user_id": "ann", "app_id": "shop", "timestamp": "2020-02-03"},
}
ANN = {"ann", "ann by bot", "ann in a shop"}
SHARED = {"everybody", "a bot"}


@pytest.mark.django_db
class TestWhatMatches:
    @pytest.fixture
    def find(self, bob_mem0):
        for text, fields in STORED.items():
            bob_mem0.add_one(text, **fields)
        Memory.objects.filter(content="ann").update(tags=["diet", "food law"])
        return lambda filters: bob_mem0.texts(**filters)

    def test_each_finds_its_own(self, find):
        wrong = {}
        for filters, texts in CASES:
            if (found := find(filters)) != texts:
                wrong[str(filters)] = found ^ texts

        assert not wrong

    def test_a_list_option_is_a_filter_too(self, find, bob_mem0):
        def texts(**options):
            return {
                each["memory"]
                for each in bob_mem0.get_all(filters={"user_id": "ann"}, **options)[
                    "results"
                ]
            }

        assert texts(categories=["diet"]) == {"ann"}
        assert texts(end_date="2020-12-31") == {"ann in a shop"}
        assert texts(start_date="2021-01-01") == ANN - {"ann in a shop"}
        found = bob_mem0.search(
            "ann", filters={"user_id": "ann"}, metadata={"topic": "food"}, threshold=0
        )
        assert [each["memory"] for each in found["results"]] == ["ann"]


CASES = [
    ({}, SHARED),
    ({"agent_id": "bot"}, {"a bot"}),
    ({"agent_id": "*"}, {"a bot"}),
    ({"user_id": "ann"}, ANN),
    ({"user_id": {"eq": "ann"}}, ANN),
    ({"user_id": {"in": ["ann", "ben"]}}, ANN | {"ben by bot"}),
    ({"user_id": "*"}, ANN | {"ben by bot"}),
    ({"user_id": "ann", "agent_id": "bot"}, {"ann by bot"}),
    ({"user_id": "ann", "agent_id": {"ne": "bot"}}, ANN - {"ann by bot"}),
    ({"user_id": "ann", "agent_id": None}, ANN - {"ann by bot"}),
    ({"user_id": "ann", "run_id": "*"}, {"ann in a run"}),
    ({"user_id": "ann", "app_id": "shop"}, {"ann in a shop"}),
    ({"app_id": "shop"}, {"a shop"}),
    ({"run_id": "r"}, {"a run"}),
    ({"user_id": "*", "run_id": "*"}, {"ann in a run"}),
    # What is excluded names nobody, so it gives nobody's memories.
    ({"user_id": {"ne": "ann"}}, SHARED),
    ({"NOT": {"user_id": "ann"}}, SHARED),
    ({"NOT": [{"agent_id": "bot"}]}, {"everybody"}),
    ({"AND": [{"user_id": "*"}, {"NOT": {"user_id": "ann"}}]}, {"ben by bot"}),
    # Each branch of an OR names its own.
    ({"OR": [{"user_id": "ben"}, {"agent_id": "bot"}]}, {"ben by bot", "a bot"}),
    ({"OR": [{"user_id": "ben"}, {"app_id": "shop"}]}, {"ben by bot", "a shop"}),
    (
        {
            "AND": [
                {"user_id": "ann"},
                {"OR": [{"agent_id": "bot"}, {"app_id": "shop"}]},
            ]
        },
        {"ann by bot", "ann in a shop"},
    ),
    (
        {
            "AND": [
                {"OR": [{"user_id": "ann"}, {"keywords": {"contains": "bot"}}]},
                {"OR": [{"user_id": "ben"}, {"keywords": {"contains": "bot"}}]},
            ]
        },
        {"a bot"},
    ),
    ({"user_id": "ann", "metadata": {"topic": "food"}}, {"ann"}),
    ({"user_id": "ann", "metadata": {"topic": {"ne": "food"}}}, ANN - {"ann"}),
    ({"user_id": "ann", "metadata": {"n": {"gte": 3, "lt": 9}}}, {"ann"}),
    ({"user_id": "ann", "metadata": {"n": {"in": [3, 9]}}}, {"ann", "ann by bot"}),
    ({"user_id": "ann", "categories": "diet"}, {"ann"}),
    ({"user_id": "ann", "categories": {"in": ["diet", "x"]}}, {"ann"}),
    ({"user_id": "ann", "categories": {"contains": "law"}}, {"ann"}),
    ({"user_id": "ann", "categories": {"ne": "diet"}}, ANN - {"ann"}),
    ({"user_id": "ann", "keywords": {"icontains": "BOT"}}, {"ann by bot"}),
    ({"user_id": "ann", "created_at": {"lte": "2020-02-03"}}, {"ann in a shop"}),
    ({"user_id": "ann", "timestamp": {"lt": "2020-02-03"}}, set()),
    ({"user_id": "ann", "created_at": {"eq": 1_580_688_000}}, {"ann in a shop"}),
    ({"user_id": "ann", "updated_at": {"gt": "2021-01-01T00:00:00Z"}}, ANN),
    ({"memory_ids": ["00000000-0000-0000-0000-000000000000"]}, set()),
    (
        {"user_id": "ann", "NOT": {"metadata": {"n": {"gt": 5}}}},
        ANN - {"ann by bot"},
    ),
]


class TestTheOneScope:
    """The index of scopes finds its rows; a wrong scope would hide memories."""

    @pytest.mark.parametrize(
        ("filters", "scope"),
        [
            ({"user_id": "ann", "app_id": "shop"}, Scope("user", "ann")),
            (
                {"AND": [{"user_id": "ann"}, {"NOT": {"user_id": "ben"}}]},
                Scope("user", "ann"),
            ),
            ({"run_id": "r"}, Scope("session", "r")),
            ({"run_id": "r", "user_id": "ann"}, Scope("session", "r", user="ann")),
            ({}, None),
            ({"user_id": "*"}, None),
            ({"user_id": {"in": ["ann"]}}, None),
            ({"OR": [{"user_id": "ann"}]}, None),
            ({"run_id": "r", "user_id": "*"}, None),
            ({"user_id": "ann", "OR": [{"run_id": "r"}, {"agent_id": "bot"}]}, None),
        ],
    )
    def test_it_is_found_if_there_is_one(self, filters, scope):
        assert find_scope(parse(filters), Caller(name="key")) == scope

    def test_a_run_of_a_bound_key_is_its_users(self):
        found = find_scope(parse({"run_id": "r"}), Caller(name="key", user_id="ann"))

        assert found == Scope("session", "r", user="ann")


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        "filters",
        [
            {"color": "red"},
            {"user_id": 7},
            {"user_id": {"icontains": "a"}},
            {"user_id": {"in": []}},
            {"user_id": {}},
            {"user_id": ""},
            {"AND": {"user_id": "ann"}},
            {"OR": []},
            {"AND": ["ann"]},
            {"created_at": "soon"},
            {"created_at": {"gte": True}},
            {"created_at": {"lte": "9999-12-31"}},
            {"metadata": {}},
            {"metadata": {"a": {"contains": "b"}}},
            {"metadata": {"a": [1]}},
            {"keywords": "a"},
            {"memory_ids": "a"},
            {"memory_ids": ["typo"]},
            {"metadata": {"a": {"eq": {"gt": 1, "lt": 2}}}},
            # What is empty would match everything.
            {"AND": [{}]},
            {"NOT": {}},
            {"NOT": [{"user_id": "ann"}, {}]},
            # What costs: conditions, groups, values, and keys of metadata.
            {"OR": [{"user_id": "ann"}] * 100},
            {"OR": [{"OR": [{"user_id": "ann"}]}] * 67},
            {"OR": [{"user_id": {"in": ["ann"] * 99}}] * 2},
            {"AND": [{"metadata": {f"k{n}": 1}} for n in range(11)]},
            {
                "NOT": {
                    "NOT": {
                        "NOT": {
                            "NOT": {
                                "NOT": {
                                    "NOT": {
                                        "NOT": {
                                            "NOT": {"NOT": {"NOT": {"user_id": "ann"}}}
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            },
        ],
    )
    def test_it_is_never_left_out(self, filters):
        with pytest.raises(UnsupportedFilter) as refusal:
            parse(filters)

        assert refusal.value.detail
