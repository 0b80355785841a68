"""A boundary only grows, its denies always win, and what it needs is named exactly (ASK-4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.actors.tools.boundary import (
    Access,
    Boundary,
    BoundaryInvalidError,
    Denied,
    Expansion,
    ExpansionFault,
    ExpansionInvalidError,
    FileScope,
    Inside,
    Mode,
    Needs,
    Reach,
    assess,
    boundary_json,
    expand,
    expansion_json,
    parse_boundary,
    parse_expansion,
    view,
)
from crashworthy.machines.facts.canonical import Json

R, W = Access.READ, Access.WRITE
EXACT, SUBTREE = Reach.EXACT, Reach.SUBTREE


def scope(path: str, access: Access = R, reach: Reach = EXACT) -> FileScope:
    return FileScope(path=path, access=access, reach=reach)


def wanting(*scopes: FileScope, network: bool = False) -> Expansion:
    return Expansion(files=scopes, network=network)


WORK = Boundary(
    files=(scope("/w", W, SUBTREE),),
    denies=(scope("/w/secret", R, SUBTREE), scope("/w/fixed", W, EXACT)),
    protected=("/w/.git",),
)


@pytest.mark.parametrize(
    ("wanted", "answer"),
    [
        (wanting(scope("/w/a")), Inside()),
        (wanting(scope("/w/a", W)), Inside()),
        (wanting(scope("/w", W, SUBTREE)), Inside()),
        (wanting(scope("/wa")), Needs(expansion=wanting(scope("/wa")))),
        (
            wanting(scope("/w/a"), scope("/etc/x", W)),
            Needs(expansion=wanting(scope("/etc/x", W))),
        ),
        (wanting(network=True), Needs(expansion=wanting(network=True))),
        (wanting(scope("/w/secret/k")), Denied(scope=scope("/w/secret/k"))),
        (wanting(scope("/w/fixed")), Inside()),
        (wanting(scope("/w/fixed", W)), Denied(scope=scope("/w/fixed", W))),
        (wanting(scope("/w/.git/config")), Inside()),
        (wanting(scope("/w/.git/config", W)), Denied(scope=scope("/w/.git/config", W))),
        (wanting(scope("/w/.gitignore", W)), Inside()),
    ],
    ids=str,
)
@pytest.mark.proves("ASK-4")
def test_assessment_is_inside_needs_or_denied(
    wanted: Expansion, answer: Inside | Needs | Denied
) -> None:
    assert assess(WORK, wanted) == answer


@pytest.mark.proves("ASK-4")
def test_exact_grant_does_not_reach_children() -> None:
    granted = Boundary(files=(scope("/x", W, EXACT),))
    assert assess(granted, wanting(scope("/x/y"))) == Needs(expansion=wanting(scope("/x/y")))
    assert isinstance(assess(granted, wanting(scope("/x", R, SUBTREE))), Needs)


@pytest.mark.proves("ASK-4")
def test_expansion_never_lifts_a_deny_or_a_protected_path() -> None:
    grown = expand(WORK, wanting(scope("/", W, SUBTREE)))
    assert isinstance(grown, Boundary)
    assert isinstance(assess(grown, wanting(scope("/w/secret/k"))), Denied)
    assert isinstance(assess(grown, wanting(scope("/w/.git/hooks/x", W))), Denied)
    assert isinstance(expand(WORK, wanting(scope("/w/.git/config", W))), Denied)


def test_expansion_that_adds_nothing_is_no_new_revision() -> None:
    assert expand(WORK, wanting(scope("/w/a", W))) is WORK


def test_network_can_be_added_when_every_file_is_granted() -> None:
    grown = expand(Boundary(files=(scope("/", W, SUBTREE),)), wanting(network=True))
    assert isinstance(grown, Boundary)
    assert (grown.revision, grown.network) == (1, True)


def test_grants_are_compacted_without_touching_denies() -> None:
    grown = expand(WORK, wanting(scope("/x/a"), scope("/x/a", W), scope("/x", W, SUBTREE)))
    assert isinstance(grown, Boundary)
    assert grown.files == (scope("/w", W, SUBTREE), scope("/x", W, SUBTREE))
    assert grown.denies == WORK.denies


def test_case_does_not_hide_a_protected_path_when_the_file_system_ignores_it() -> None:
    folding = Boundary(files=WORK.files, protected=WORK.protected, fold_case=True)
    assert isinstance(assess(folding, wanting(scope("/W/.GIT/config", W))), Denied)


def test_view_keeps_readable_and_writable_apart() -> None:
    seen = view(Boundary(files=(scope("/r"), scope("/w", W, SUBTREE))))
    assert (seen.mode, seen.readable, seen.writable) == (Mode.SCOPED_WRITE, ("/r",), ("/w",))
    assert view(Boundary(files=(scope("/r"),))).mode is Mode.READ_ONLY
    everything = Boundary(files=(scope("/", W, SUBTREE),), network=True)
    assert view(everything).mode is Mode.FULL


ENTRY: Json = {"path": "/a", "access": "read", "reach": "exact"}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], ExpansionFault.INVALID_EXPANSION),
        ({"fileSystem": []}, ExpansionFault.INVALID_EXPANSION),
        ({"network": {"enabled": False}}, ExpansionFault.INVALID_EXPANSION),
        ({"network": True}, ExpansionFault.INVALID_EXPANSION),
        ({"network": None}, ExpansionFault.INVALID_EXPANSION),
        ({}, ExpansionFault.EMPTY_EXPANSION),
        ({"files": []}, ExpansionFault.EMPTY_EXPANSION),
        ({"files": [ENTRY] * 33}, ExpansionFault.TOO_MANY_ENTRIES),
        ({"files": [{"path": "/a", "access": "read"}]}, ExpansionFault.INVALID_ENTRY),
        (
            {"files": [{"path": "/a", "access": "deny", "reach": "exact"}]},
            ExpansionFault.INVALID_ENTRY,
        ),
        *(
            (
                {"files": [{"path": path, "access": "read", "reach": "exact"}]},
                ExpansionFault.INVALID_PATH,
            )
            for path in ("a", "", "/a/../b", "/a//b", "/a/", "/./a", "/a\0", "/\ud800", 1)
        ),
        (
            {"files": [{"path": "/" + "a" * 4096, "access": "read", "reach": "exact"}]},
            ExpansionFault.PATH_TOO_LONG,
        ),
        (
            {
                "files": [
                    {"path": f"/{n}" + "a" * 4000, "access": "read", "reach": "exact"}
                    for n in range(32)
                ]
            },
            ExpansionFault.PAYLOAD_TOO_LARGE,
        ),
    ],
)
def test_expansion_outside_the_closed_shape_is_refused(value: Json, reason: ExpansionFault) -> None:
    with pytest.raises(ExpansionInvalidError) as refused:
        parse_expansion(value)
    assert refused.value.reason is reason


def test_only_a_complete_snapshot_is_a_boundary() -> None:
    assert parse_boundary(boundary_json(WORK)) == WORK
    for missing in boundary_json(WORK):
        partial = {key: value for key, value in boundary_json(WORK).items() if key != missing}
        with pytest.raises(BoundaryInvalidError):
            parse_boundary(partial)
    with pytest.raises(BoundaryInvalidError):
        parse_boundary({**boundary_json(WORK), "more": 1})


def test_snapshot_over_its_size_is_refused() -> None:
    scopes = tuple(scope(f"/{n}" + "a" * 4000) for n in range(300))
    with pytest.raises(BoundaryInvalidError):
        parse_boundary(boundary_json(Boundary(files=scopes)))


PATHS = st.lists(st.sampled_from("ab"), max_size=3).map(lambda parts: "/" + "/".join(parts))
SCOPES = st.builds(scope, PATHS, st.sampled_from(Access), st.sampled_from(Reach))
WANTED = st.builds(Expansion, files=st.lists(SCOPES, max_size=4).map(tuple), network=st.booleans())
BOUNDARIES = st.builds(
    Boundary,
    files=st.lists(SCOPES, max_size=4).map(tuple),
    denies=st.lists(SCOPES, max_size=2).map(tuple),
    protected=st.lists(PATHS.filter(lambda path: path != "/"), max_size=1).map(tuple),
)


@pytest.mark.proves("ASK-4")
@given(BOUNDARIES, WANTED, SCOPES)
def test_growing_grants_what_was_needed_and_takes_nothing_away(
    boundary: Boundary, wanted: Expansion, other: FileScope
) -> None:
    grown = expand(boundary, wanted)
    if isinstance(grown, Denied):
        assert isinstance(assess(boundary, wanted), Denied)
        return
    assert assess(grown, wanted) == Inside()
    before = assess(boundary, Expansion(files=(other,)))
    after = assess(grown, Expansion(files=(other,)))
    # Inside stays inside and denied stays denied: an expansion only ever turns `needs` around.
    assert after == before or isinstance(before, Needs)
    assert not isinstance(after, Denied) or isinstance(before, Denied)
    assert parse_boundary(boundary_json(grown)) == grown


@given(WANTED.filter(lambda wanted: bool(wanted.files or wanted.network)))
def test_expansion_survives_its_json_form(wanted: Expansion) -> None:
    once = parse_expansion(expansion_json(wanted))
    assert parse_expansion(expansion_json(once)) == once
    assert expand(Boundary(), wanted) == expand(Boundary(), once)
