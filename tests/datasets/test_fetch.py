"""The command against a real server that speaks the hub's protocol, and on files laid out as ir_datasets does."""

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT, Heed
from filelock import FileLock
from huggingface_hub import file_download
from mfollowir_copy import hub_copy
from served_hub import served_hub

from hardening.hub import CORE17, MAIN, Hub, online
from heed.datasets.catalogue import Catalogue
from heed.datasets.fetchable import Holding
from heed.datasets.irds import known_file
from heed.downloads import Download, File, check, fetch, file_digest
from heed.errors import HeedError
from heed.files import size_text

FETCH = "pipelines.fetch"
CLOSED = "http://127.0.0.1:9"  # the discard port: nothing listens there


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with served_hub() as server:
        server.data[CORE17] = {
            "README.md": b"# Core17\n",
            "corpus/test.parquet": bytes(range(256)) * 2000,
            "queries/test.parquet": b"queries" * 100,
        }
        yield server


@pytest.fixture(name="online")
def from_hub(hub: Hub, tmp_path: Path) -> dict[str, str]:
    return online(hub.url, tmp_path / "hf")


def fetched(tmp_path: Path) -> dict[str, bytes]:
    """What lies in the hub's cache, by name inside the snapshot."""
    found = (tmp_path / "hf").glob("hub/datasets--*/snapshots/*/**/*")
    return {"/".join(path.parts[-2:]): path.read_bytes() for path in found if path.is_file()}


def test_all_files_come_with_digests_checked_and_a_second_run_fetches_nothing(
    hub: Hub, online: dict[str, str], heed: Heed, tmp_path: Path
) -> None:
    first = heed(FETCH, "followir/core17", **online)
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines()[-1] == "python -m pipelines.trec --dataset followir/core17"
    assert f"{CORE17}, hub data set at 67d8733dd0691f08f34ed9dda5941578cba8d91c" in first.stdout
    assert "512,000 bytes (500.0 KiB)  to fetch" in first.stdout
    assert "to fetch: 3 of 3 files, 512,709 bytes (500.7 KiB)" in first.stdout
    assert "3 files are here, their digests are right" in first.stderr
    assert set(fetched(tmp_path).values()) == set(hub.data[CORE17].values())
    assert sorted(hub.got()) == sorted(hub.data[CORE17])
    hub.asked.clear()
    second = heed(FETCH, "followir/core17", **online)
    assert second.returncode == 0, second.stderr
    assert "to fetch: 0 of 3 files, 0 bytes" in second.stdout
    assert hub.asked == []


def test_a_dry_run_fetches_nothing(hub: Hub, online: dict[str, str], heed: Heed, tmp_path: Path) -> None:
    result = heed(FETCH, "followir/core17", "--dry-run", **online)
    assert result.returncode == 0, result.stderr
    assert "to fetch: 3 of 3 files" in result.stdout and "python -m" not in result.stdout
    assert hub.asked == [] and fetched(tmp_path) == {}
    quiet = heed(FETCH, "followir/core17", "--dry-run", "--quiet", **online)
    assert quiet.stdout.split(";")[0] == result.stdout.split(";")[0] and quiet.stderr == ""


def test_sizes_are_told_before_anything_is_fetched(
    hub: Hub, online: dict[str, str], environment: dict[str, str], tmp_path: Path
) -> None:
    hub.open.clear()
    command = [sys.executable, "-m", FETCH, "followir/core17"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment | online, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        told = [next(process.stdout) for _ in range(9)]
        assert "to fetch: 3 of 3 files" in told[-1] and fetched(tmp_path) == {}
        hub.open.set()
        assert process.stdout.read().startswith("python -m pipelines.trec")
    assert process.returncode == 0


def test_a_cut_connection_is_an_error_and_the_next_run_fetches_only_the_rest(
    hub: Hub, online: dict[str, str], heed: Heed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_download, "time", SimpleNamespace(sleep=lambda _: None))  # a second before each retry
    hub.cut = {"corpus/test.parquet"}
    result = heed(FETCH, "followir/core17", **online)
    assert result.returncode == 1
    assert "cannot be fetched from" in result.stderr and "run again to go on" in result.stderr
    assert "internal error" not in result.stderr
    assert len(fetched(tmp_path)) == 2 and not list((tmp_path / "hf").rglob("*.incomplete"))
    hub.cut.clear()
    hub.asked.clear()
    again = heed(FETCH, "followir/core17", **online)
    assert again.returncode == 0, again.stderr
    assert hub.got() == ["corpus/test.parquet"]
    assert set(fetched(tmp_path).values()) == set(hub.data[CORE17].values())


@pytest.mark.parametrize("name", ["corpus/test.parquet", "README.md"])
def test_wrong_bytes_are_found_and_deleted(
    hub: Hub, online: dict[str, str], heed: Heed, tmp_path: Path, name: str
) -> None:
    hub.wrong = {name: b"x" * len(hub.data[CORE17][name])}
    result = heed(FETCH, "followir/core17", "--quiet", **online)
    assert result.returncode == 1 and result.stdout == ""
    [line] = result.stderr.splitlines()
    assert name in line and "so it was deleted; run again" in line
    assert len(fetched(tmp_path)) == 2
    assert not [path for path in (tmp_path / "hf").rglob("*") if path.is_file() and path.read_bytes()[:3] == b"xxx"]
    hub.wrong.clear()
    assert heed(FETCH, "followir/core17", **online).returncode == 0
    assert set(fetched(tmp_path).values()) == set(hub.data[CORE17].values())


def test_a_file_that_was_damaged_later_is_found(hub: Hub, online: dict[str, str], heed: Heed, tmp_path: Path) -> None:
    assert heed(FETCH, "followir/core17", **online).returncode == 0
    [path] = (tmp_path / "hf").glob("hub/datasets--*/snapshots/*/queries/test.parquet")
    path.write_bytes(b"damaged")
    assert "its digest is not sha256:" in heed(FETCH, "followir/core17", **online).stderr
    assert not path.exists()


def test_what_killed_downloads_left_goes_and_what_another_one_writes_stays(
    hub: Hub, online: dict[str, str], heed: Heed, tmp_path: Path
) -> None:
    folder = tmp_path / "hf/hub" / f"datasets--{CORE17.replace('/', '--')}"
    locks = tmp_path / "hf/hub/.locks" / folder.name
    (folder / "blobs").mkdir(parents=True)
    locks.mkdir(parents=True)
    for name in ("a", "b", "c"):
        (folder / "blobs" / f"{name}.12345678.incomplete").write_bytes(b"half")
    (locks / "a.lock").touch()
    with FileLock(locks / "b.lock"):  # c has none: nobody knows whose it is
        assert heed(FETCH, "followir/core17", **online).returncode == 0
    assert {path.name[0] for path in (folder / "blobs").glob("*.incomplete")} == {"b", "c"}
    assert set(fetched(tmp_path).values()) == set(hub.data[CORE17].values())


def test_what_no_disk_has_room_for_is_refused(hub: Hub, online: dict[str, str], heed: Heed) -> None:
    hub.sizes = {"corpus/test.parquet": 10**18}
    result = heed(FETCH, "followir/core17", **online)
    assert result.returncode == 1
    assert "1,000,000,000,000,000,709 bytes (909,494.7 TiB) are to come" in result.stderr
    assert hub.got() == []


def test_a_language_of_mfollowir_comes_alone_and_the_command_that_is_told_runs_on_it(
    hub: Hub, online: dict[str, str], heed: Heed, tmp_path: Path
) -> None:
    source = hub_copy(tmp_path / "source", "parquet")
    files = {path.relative_to(source).as_posix(): path.read_bytes() for path in source.rglob("*.parquet")}
    other = {name.replace("-zho", "-rus"): content for name, content in files.items()}
    hub.data["jhu-clsp/mFollowIR-parquet-mteb"] = files | other | {"README.md": b"# mFollowIR\n"}
    result = heed(FETCH, "mfollowir", "--lang", "zho", **online)
    assert result.returncode == 0, result.stderr
    assert set(hub.got()) == set(files)
    words = result.stdout.splitlines()[-1].split()
    assert words[:3] == ["python", "-m", "pipelines.neuclir"]
    used = heed("pipelines.neuclir", *words[3:], "--retriever", "bm25", HF_HOME=online["HF_HOME"])
    assert used.returncode == 0, used.stderr
    assert (tmp_path / "runs/mfollowir/zho/summary.json").exists()


def test_without_a_pinned_revision_main_is_taken_and_told(hub: Hub, online: dict[str, str], heed: Heed) -> None:
    hub.data["jianqunZ/Length-v1"] = {"corpus/test.parquet": b"corpus"}
    result = heed(FETCH, "infosearch/length", **online)
    assert result.returncode == 0, result.stderr
    assert f"jianqunZ/Length-v1, hub data set at {MAIN}" in result.stdout
    assert "pins for Length the revision of Language" in result.stdout and "main is taken" in result.stdout


def test_a_group_is_all_its_members(hub: Hub, online: dict[str, str], heed: Heed) -> None:
    for name in ("Robust04", "News21"):
        hub.data[f"mteb/{name}InstructionRetrieval"] = {"corpus/test.parquet": name.encode()}
    result = heed(FETCH, "followir", "--quiet", **online)
    assert result.returncode == 0, result.stderr
    told = [f"python -m pipelines.trec --dataset followir/{name}" for name in ("robust04", "news21", "core17")]
    assert result.stdout.splitlines() == told and result.stderr == ""


@pytest.mark.parametrize("variables", [{"HF_ENDPOINT": CLOSED}, {"HF_HUB_OFFLINE": "1"}])
def test_the_hub_out_of_reach_says_how_to_do_it_by_hand(
    online: dict[str, str], heed: Heed, tmp_path: Path, variables: dict[str, str]
) -> None:
    result = heed(FETCH, "mfollowir", "--lang", "rus", "--quiet", **online | variables)
    assert result.returncode == 1
    tried, by_hand = result.stderr.splitlines()
    assert f"cannot be fetched from {variables.get('HF_ENDPOINT', online['HF_ENDPOINT'])}" in tried
    assert "hf download --repo-type dataset jhu-clsp/mFollowIR-parquet-mteb --revision 09eecbe4" in by_hand
    assert "--include '*-rus/*' --include '*-rus.*'" in by_hand
    assert f"copy datasets--jhu-clsp--mFollowIR-parquet-mteb from its ~/.cache/huggingface/hub to {tmp_path}" in by_hand


def test_a_data_set_that_is_gone_is_told(hub: Hub, online: dict[str, str], heed: Heed) -> None:
    result = heed(FETCH, "infosearch/format", "--quiet", **online)
    assert result.returncode == 1
    assert "jianqunZ/Format-v1 at 63b53c9e" in result.stderr and "404" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("neuclir1", "--lang", "ch"), "lang: found 'ch', expected one of zho, fas, rus"),
        (("neuclir1", "--lang", "deu"), "lang: found 'deu', expected one of zho, fas, rus"),
        (("neuclir1",), "neuclir1: comes by language; --lang LANG is one of zho, fas, rus"),
        (("core18", "--lang", "zho"), "lang: found 'zho', but core18 does not come by language; leave it out"),
        (("folowir",), "folowir: no collection of this name; did you mean followir"),
        (("followir/robust",), "followir has subsets such as robust04"),
        (("zzz",), "zzz: no collection of this name; python -m pipelines.fetch lists all"),
        (("--dry-run",), "--lang and --dry-run need a collection"),
    ],
)
def test_wrong_words_are_errors(heed: Heed, arguments: tuple[str, ...], said: str) -> None:
    result = heed(FETCH, *arguments)
    assert result.returncode == 1
    assert said in result.stderr and result.stdout == ""


def test_the_list_has_a_line_for_every_collection(heed: Heed, tmp_path: Path) -> None:
    result = heed(FETCH)
    assert result.returncode == 0 and result.stderr == ""
    names = [line.split()[0] for line in result.stdout.splitlines()]
    assert names == list(Catalogue().entries)
    assert not (tmp_path / "home").exists()


def test_every_holding_is_known_to_its_source() -> None:
    entries = Catalogue().entries.items()
    holdings = [Holding(*named) for name, entry in entries for named in Catalogue().find(name, entry.languages)]
    for one in holdings:
        by_hand, file_by_hand = one.entry.by_hand, one.file_by_hand()
        for file in one.files():
            assert file.urls and file.size and len(file.digest) == len("md5:") + 32
        assert file_by_hand is None or (by_hand and by_hand.how and not file_by_hand.urls)
        assert one.repositories() or one.files() or by_hand or one.entry.embedded, one.name
        for repository in one.repositories():
            assert re.fullmatch("main|[0-9a-f]{7}|[0-9a-f]{40}", repository.revision)
        assert one.entry.holds and one.entry.licence and (one.entry.use or "heed ").startswith("heed ")
        assert "{" not in one.entry.use + "".join(by_hand.how if by_hand else [])


def test_what_ir_datasets_says_is_told_with_sizes_and_nothing_is_made(heed: Heed, tmp_path: Path) -> None:
    result = heed(
        FETCH, "neuclir1", "--lang", "zho", "--lang", "rus", "--dry-run", IR_DATASETS_HOME=str(tmp_path / "i")
    )
    assert result.returncode == 0 or "make room" in result.stderr
    assert "neuclir/1/zho/docs.jsonl.gz          3,188,072,408 bytes (3.0 GiB)  to fetch" in result.stdout
    assert "neuclir/1/rus/docs.jsonl.gz          4,504,119,267 bytes (4.2 GiB)  to fetch" in result.stdout
    assert not (tmp_path / "i").exists()


def test_what_was_begun_is_told_and_not_counted_again(heed: Heed, tmp_path: Path) -> None:
    part = tmp_path / "irds/trec-robust04/.qrels.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 543_541)
    plan = heed(FETCH, "robust04", "--dry-run", IR_DATASETS_HOME=str(tmp_path / "irds")).stdout
    assert "6,543,541 bytes (6.2 MiB)  to fetch, from byte 543,541 on" in plan
    assert "to fetch: 2 of 2 files, 6,034,293 bytes" in plan


def test_ir_datasets_names_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror")
    from ir_datasets.util import DownloadConfig

    docs = known_file("neuclir", "1/fa/docs")
    assert docs.urls[0].startswith("http://mirror/datasets/neuclir/neuclir1/resolve/main/data/fas-00000")
    for source, key in (("neuclir", "1/fa/docs"), ("wapo", "v4"), ("trec-robust04", "qrels")):
        theirs = DownloadConfig.context(source, tmp_path / source)[key]
        ours = known_file(source, key)
        assert Path(theirs.path(force=False)) == ours.path
        assert (f"md5:{theirs.expected_md5}", theirs._size_hint) == (ours.digest, ours.size)


def test_nist_out_of_reach_lists_what_to_bring_over(heed: Heed, tmp_path: Path) -> None:
    home = tmp_path / "irds"
    result = heed(FETCH, "robust04", IR_DATASETS_HOME=str(home), HTTPS_PROXY=CLOSED)
    assert result.returncode == 1
    assert "licence: " in result.stdout and "sign NIST's agreement" in result.stdout
    tried, way, *files = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert "https://trec.nist.gov/data/robust/04.testset.gz: " in tried and "mirror.ir-datasets.com" in tried
    assert "on a machine with a network, copy them here, and run again" in way
    assert [line.split(" to ")[1].split(" ")[0] for line in files] == [
        str(home / "trec-robust04" / name) for name in ("queries.gz", "qrels")
    ]


def test_what_needs_a_licence_is_told_precisely_and_looked_at_when_it_is_there(heed: Heed, tmp_path: Path) -> None:
    home = tmp_path / "irds"
    place = home / "wapo/WashingtonPost.v4.tar.gz"
    absent = heed(FETCH, "news21", IR_DATASETS_HOME=str(home))
    assert absent.returncode == 1
    assert f"{place}: not here (licence); do this, then run again" in absent.stderr
    assert "ask NIST for the Washington Post collection, version 4: https://trec.nist.gov" in absent.stderr
    place.parent.mkdir(parents=True)
    place.write_bytes(b"another version")
    wrong = heed(FETCH, "news21", IR_DATASETS_HOME=str(home))
    assert wrong.returncode == 1
    assert f"{place}: its digest is not md5:b45b8d34393b4df72737c11aa7fb2b3d" in wrong.stderr
    assert place.exists()  # what the user brought is the user's


def test_robust04_in_folders_of_other_names_is_found_out(heed: Heed, tmp_path: Path) -> None:
    home = tmp_path / "irds"
    for name in ("FBIS/FB396001", "fr94/01/FR940104.0"):
        (home / "trec-robust04/trec45" / name).parent.mkdir(parents=True)
        (home / "trec-robust04/trec45" / name).write_text("<DOC></DOC>")
    by_hand = heed(FETCH, "robust04", "--dry-run", IR_DATASETS_HOME=str(home))
    assert f"licence: {home}/trec-robust04/trec45, here" in by_hand.stdout


def test_a_collection_that_is_wholly_here_says_the_command(heed: Heed, tmp_path: Path) -> None:
    folder = tmp_path / "FollowTable/data"
    folder.mkdir(parents=True)
    result = heed(FETCH, "followtable")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == "python -m pipelines.tables --data FollowTable/data/WTR"


def a_file(hub: Hub, tmp_path: Path, *names: str) -> File:
    content = bytes(range(256)) * 20_000
    hub.data["plain"] = {"file.gz": content}
    digest = f"md5:{hashlib.md5(content, usedforsecurity=False).hexdigest()}"
    urls = tuple(f"{hub.url}/plain/{name}" for name in names)
    return File("plain", tmp_path / "kept" / "file.gz", len(content), digest, urls)


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_goes_on_where_it_was_cut(hub: Hub, tmp_path: Path, ranges: bool) -> None:
    one = a_file(hub, tmp_path, "file.gz")
    hub.cut, hub.ranges = {"file.gz"}, ranges
    with pytest.raises(HeedError, match="cannot be fetched") as caught:
        fetch([one])
    assert f"{one.urls[0]} to {one.path} (5,120,000 bytes (4.9 MiB), md5:" in str(caught.value)
    assert 0 < one.fetched < 5_120_000 and not one.path.exists()
    started = one.fetched
    hub.cut.clear()
    fetch([one])
    assert hub.asked[-1] == ("GET", "file.gz", f"bytes={started}-")
    assert check(Download("", tmp_path, [one], fetch)) == []
    assert one.path.read_bytes() == hub.data["plain"]["file.gz"] and not one.part.exists()


def test_a_download_that_was_whole_but_not_yet_named_is_not_fetched_again(hub: Hub, tmp_path: Path) -> None:
    one = a_file(hub, tmp_path, "file.gz")
    one.path.parent.mkdir()
    one.part.write_bytes(hub.data["plain"]["file.gz"])
    fetch([one])
    assert one.path.stat().st_size == one.size


def test_the_mirror_is_asked_next_and_wrong_bytes_are_not_kept(hub: Hub, tmp_path: Path) -> None:
    fetch([a_file(hub, tmp_path, "gone", "file.gz")])
    one = a_file(hub, tmp_path / "second", "file.gz")
    hub.wrong = {"file.gz": b"x" * 5_120_000}
    with pytest.raises(HeedError, match="the digest is not md5:.* so what came was deleted"):
        fetch([one])
    assert not one.part.exists() and not one.path.exists()


def test_a_wrong_file_that_is_linked_from_elsewhere_loses_only_its_link(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("my own")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/link").symlink_to(tmp_path / "mine")
    one = File("link", tmp_path / "kept/link", 6, f"md5:{'0' * 32}")
    assert "so it was deleted" in check(Download("", tmp_path / "kept", [one], fetch))[0]
    assert not one.path.is_symlink() and (tmp_path / "mine").read_text() == "my own"


@pytest.mark.parametrize(
    ("size", "said"),
    [(None, "size unknown"), (0, "0 bytes"), (1023, "1,023 bytes"), (1 << 20, "1,048,576 bytes (1.0 MiB)")],
)
def test_sizes_are_told_in_bytes_and_units(size: int | None, said: str) -> None:
    assert size_text(size) == said


def test_a_blob_is_digested_as_git_does(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"hello\n")
    git = subprocess.run(
        ["git", "hash-object", str(tmp_path / "f")], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert file_digest(tmp_path / "f", "git") == git.stdout.strip()
