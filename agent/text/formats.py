"""Ages, sums of money and days as people read them."""

DAY = 86_400


def dollars(amount: float) -> str:
    """ "$1.20", and as many digits as small sums need: "$0.00042"."""
    text = f"{amount:.2f}" if amount >= 1 else f"{amount:.6f}".rstrip("0")
    whole, _, cents = text.partition(".")
    return f"${whole}.{cents:0<2}"


def midnight(now: float) -> float:
    """When the day of a time began in UTC; both in Unix seconds."""
    return now - now % DAY


def age(seconds: float) -> str:
    """A rough span of time: "40 s", "5 min", "3 h", "2 d". Seconds in tens, so that a text that is
    kept up to date does not change all the time."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0) // 10 * 10:.0f} s"
