"""A tree of Python files that nobody here knows, with an import that fails in three of them.

apply_discounts has moved from shop/pricing/rules.py to shop/pricing/discounts.py; what calls it
still imports it from the old place.
"""

from collections.abc import Iterator, Mapping

NAME = "apply_discounts"
OLD_IMPORT = f"from shop.pricing.rules import {NAME}"
NEW_IMPORT = f"from shop.pricing.discounts import {NAME}"
RULES = "src/shop/pricing/rules.py"
DISCOUNTS = "src/shop/pricing/discounts.py"
FAILING = "src/shop/checkout/cart.py"
CALLERS = (FAILING, "src/shop/billing/invoice.py", "src/shop/sales/quote.py")
TRACEBACK = f"""\
==================================== ERRORS ====================================
___________________ ERROR collecting tests/checkout/test_cart.py ___________________
ImportError while importing test module 'tests/checkout/test_cart.py'.
tests/checkout/test_cart.py:3: in <module>
    from shop.checkout.cart import Cart
src/shop/checkout/cart.py:6: in <module>
    {OLD_IMPORT}
E   ImportError: cannot import name '{NAME}' from 'shop.pricing.rules' (src/shop/pricing/rules.py)
=========================== short test summary info ============================
ERROR tests/checkout/test_cart.py
1 error in 0.31s"""

_PACKAGES: Mapping[str, tuple[str, ...]] = {
    "billing": ("invoice", "ledger", "payment", "refund", "tax"),
    "catalog": ("category", "image", "product", "search", "variant"),
    "checkout": ("address", "cart", "delivery", "order", "session"),
    "pricing": ("currency", "discounts", "margin", "rounding", "rules"),
    "sales": ("campaign", "customer", "quote", "report", "segment"),
    "stock": ("item", "movement", "reservation", "supplier", "warehouse"),
}
_VERBS = ("open", "check", "total", "change", "close", "merge", "describe")
"""A function for each in every file, which makes it about 3,000 characters long."""


def tree() -> dict[str, str]:
    """Path → text."""
    files = {"README.md": "# shop\n\nOrders, prices and stock of a small shop.\n"}
    for package, modules in _PACKAGES.items():
        files[f"src/shop/{package}/__init__.py"] = f'"""{package.capitalize()} of the shop."""\n'
        for module in modules:
            path = f"src/shop/{package}/{module}.py"
            files[path] = "\n".join(_lines(path, package, module)) + "\n"
            files[f"tests/{package}/test_{module}.py"] = _test(package, module)
    return files


def mended(text: str) -> str:
    """A caller with the import as it should be."""
    return text.replace(OLD_IMPORT, NEW_IMPORT)


def _lines(path: str, package: str, module: str) -> Iterator[str]:
    noun = module.rstrip("s")
    yield f'"""The {noun} in {package}: read, checked and changed."""'
    yield ""
    yield "from dataclasses import dataclass, replace"
    yield "from decimal import Decimal"
    yield ""
    if path in CALLERS:
        yield OLD_IMPORT
    if path == DISCOUNTS:
        yield "from shop.pricing.rules import offers"
    yield "from shop.core import Money, NotAllowed, Row, fetch, save"
    yield ""
    yield ""
    yield "@dataclass(frozen=True)"
    yield f"class {module.capitalize()}:"
    yield "    id: int"
    yield "    amount: Money"
    for verb in _VERBS:
        yield from _function(verb, noun, calls_it=path in CALLERS and verb == "total")
    if path == RULES:
        yield from ("", "", "def offers(row: Row, customer: int) -> list[Row]:")
        yield '    """The row at the price of each rule that holds for the customer."""'
        yield '    return [replace(row, amount=rule.amount) for rule in fetch("rules", customer)]'
    if path == DISCOUNTS:
        yield from ("", "", f"def {NAME}(rows: list[Row], customer: int) -> Money:")
        yield '    """The price of the rows after every discount that the customer has."""'
        yield "    best = [min(offers(row, customer), default=row.amount) for row in rows]"
        yield "    return Money(sum((offer.amount for offer in best), Decimal(0)))"


def _function(verb: str, noun: str, *, calls_it: bool) -> Iterator[str]:
    yield from ("", "", f"def {verb}_{noun}(row: Row, reason: str, limit: int = 100) -> Row:")
    yield f'    """{verb.capitalize()} one {noun}; NotAllowed where it is not open any more."""'
    yield f'    found = fetch("{noun}", row.id, limit=limit)'
    yield "    if found is None or found.closed and not reason:"
    yield f'        raise NotAllowed(f"{verb} {noun}: {{row.id}} is closed")'
    price = f"{NAME}(found.rows, found.customer)" if calls_it else "found.amount"
    yield f"    changed = replace(found, amount={price}, note=reason.strip())"
    yield f'    return save("{noun}", changed)'


def _test(package: str, module: str) -> str:
    name = module.capitalize()
    return (
        f"from decimal import Decimal\n\nfrom shop.{package}.{module} import {name}\n\n\n"
        f"def test_{module}() -> None:\n    assert {name}(1, Decimal(5)).amount == Decimal(5)\n"
    )
