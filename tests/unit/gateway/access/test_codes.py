from gateway.access.codes import ALPHABET, code_in, is_code, new_code, sealed


def test_a_code_has_eight_characters_none_of_which_is_taken_for_another() -> None:
    code = new_code()
    assert len(code.replace("-", "")) == 8
    assert set(code) <= {*ALPHABET, "-"}
    assert not set(ALPHABET) & set("01OI")


def test_no_two_codes_of_a_thousand_are_the_same() -> None:
    assert len({new_code() for _ in range(1000)}) == 1000


def test_a_code_is_known_by_its_digest_however_it_is_written() -> None:
    salt, digest = sealed("ABCD-EFGH")
    assert "ABCD" not in salt + digest
    for written in ("ABCD-EFGH", "abcdefgh", "AbCd-eFgH"):
        assert is_code(written, salt, digest)
    assert not is_code("ABCD-EFGJ", salt, digest)
    assert not is_code("ABCD-EFGH", salt, "")


def test_only_a_code_alone_is_one() -> None:
    for text in (" abcd-efgh ", "ABCD EFGH", "abcd\u2013efgh", "abcdEFGH"):
        assert code_in(text) == "ABCDEFGH"
    for text in ("", "ABCD-EFG", "ABCD-EFG0", "ABCD--EFGH", "code ABCD-EFGH", "ＡBCD-EFGH"):
        assert code_in(text) is None
