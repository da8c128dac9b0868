from hypothesis import given
from hypothesis import strategies as st

from gateway.processes.shares import BUCKETS, DELIVERY, bucket_of, surplus


def test_a_chat_is_in_the_same_part_in_every_process_and_so_are_its_topics() -> None:
    assert bucket_of("telegram:1001") == "deliver:12"
    assert bucket_of("telegram:-5/7") == bucket_of("telegram:-5") == bucket_of("telegram:-5/8")
    assert bucket_of("strangers") in BUCKETS


def test_a_terminal_is_sent_to_where_it_is() -> None:
    assert bucket_of("terminal:local") == "deliver:terminal"


def test_chats_are_spread_over_all_parts() -> None:
    assert {bucket_of(f"telegram:{number}") for number in range(1000)} == set(BUCKETS)


@given(st.integers(1, 40))
def test_fair_shares_hold_everything_and_nobody_has_much_more(processes: int) -> None:
    fair = DELIVERY.fair(processes)
    assert fair * processes >= len(BUCKETS) > (fair - 1) * processes


@given(st.sets(st.sampled_from(BUCKETS)), st.sets(st.sampled_from(BUCKETS)), st.integers(0, 32))
def test_what_is_under_way_is_let_go_of_last(mine: set[str], busy: set[str], fair: int) -> None:
    patient = surplus(sorted(mine), fair, frozenset(busy), patient=True)
    assert not set(patient) & busy
    gone = surplus(sorted(mine), fair, frozenset(busy), patient=False)
    assert len(gone) == max(len(mine) - fair, 0)
    assert set(patient) <= set(gone)
