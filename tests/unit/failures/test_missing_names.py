"""A name that a tool does not know is read out of its sentence, whatever the language."""

from __future__ import annotations

import pytest

from ratchet.failures.diagnostics import diagnostics
from ratchet.failures.missing_names import missing_name, name_in


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("undefined: errors", "errors"),
        ("undefined: paths.MetadataDir", "paths.MetadataDir"),
        ("env.run undefined (type *shop.TestEnv has no field or method run)", "shop.TestEnv.run"),
        ("Cannot find name 'useState'.", "useState"),
        ("Cannot find name 'Cart'. Did you mean 'Carts'?", "Cart"),
        ("Property 'total' does not exist on type 'Cart'.", "Cart.total"),
        ("Property 'total' does not exist on type '{ id: string; }'.", "total"),
        ("Module '\"./cart\"' has no exported member 'Total'.", "./cart.Total"),
        ("cannot find function, tuple struct or tuple variant `Total` in this scope", "Total"),
        ("failed to resolve: use of undeclared type `HashMap`", "HashMap"),
        ("no method named `total` found for struct `Cart` in the current scope", "Cart.total"),
        ("no field `total` on type `&mut Cart`", "Cart.total"),
        ("unresolved import `crate::cart::Total`", "crate::cart::Total"),
        ("NameError: name 'np' is not defined", "np"),
        ("AttributeError: module 'shop.cart' has no attribute 'total'", "shop.cart.total"),
        ("AttributeError: 'Cart' object has no attribute 'total'", "Cart.total"),
        ("ImportError: cannot import name 'Total' from 'shop.cart' (/w/shop/cart.py)", "shop.cart.Total"),
        ('Name "Cart" is not defined', "Cart"),
        ('"Cart" has no attribute "total"', "Cart.total"),
        ("Undefined name `Cart`", "Cart"),
        ("The method 'total' isn't defined for the type 'Cart'. Try correcting the name.", "Cart.total"),
        ("Undefined class 'Cart'. Try changing the name.", "Cart"),
        ('Cannot access attribute "total" for class "Cart"', "Cart.total"),
        ("'total' is not defined.", "total"),
        ("ReferenceError: total is not defined", "total"),
        ("‘total’ was not declared in this scope", "total"),
        ("‘total’ undeclared (first use in this function)", "total"),
        ("use of undeclared identifier 'total'", "total"),
        ("‘struct cart’ has no member named ‘total’", "cart.total"),
        ("no member named 'total' in 'shop::Cart'", "shop::Cart.total"),
        ("undefined reference to `total'", "total"),
        ("The name 'total' does not exist in the current context", "total"),
        ("'Cart' does not contain a definition for 'Total' and no accessible extension method", "Cart.Total"),
        ("Unresolved reference 'total'.", "total"),
        ("unresolved reference: total", "total"),
        ("cannot find 'total' in scope", "total"),
        ("value of type 'Cart' has no member 'total'", "Cart.total"),
        ("undefined function total/1 (expected Shop.Cart to define such a function)", "total"),
        ('undefined variable "total"', "total"),
        ("Shop.Cart.total/1 is undefined or private", "Shop.Cart.total"),
        ("uninitialized constant Shop::Cart", "Shop::Cart"),
        ("undefined method `total' for an instance of Cart", "Cart.total"),
        ("Call to undefined function total()", "total"),
    ],
)
def test_the_name_is_read_with_its_owner(said: str, name: str) -> None:
    assert missing_name(said) == name


@pytest.mark.parametrize(
    "said",
    [
        "AttributeError: 'NoneType' object has no attribute 'total'",  # a value is missing, no name
        "undefined method `total' for nil",
        "ModuleNotFoundError: No module named 'yaml'",  # a package to install
        "declared and not used: total",
        "Cannot read properties of undefined (reading 'total')",
        "expected total to be defined",
    ],
)
def test_a_missing_value_or_package_is_no_missing_name(said: str) -> None:
    assert missing_name(said) == ""


def test_javac_names_the_symbol_in_a_line_of_its_own() -> None:
    said = "Cart.java:9: error: cannot find symbol\n    total(2);\n    ^\n  symbol:   method total(int)\n"
    (found,) = diagnostics(said)
    assert name_in(found.key) == "total"


def test_what_two_tools_call_differently_is_told_apart_by_its_name_not_its_rule() -> None:
    lines = ["a.ts(2,1): error TS2304: Cannot find name 'foo'.", "a.ts(9,1): error TS2304: Cannot find name 'bar'."]
    assert [each.key for each in diagnostics("\n".join(lines))] == ["tsc:undefined: foo", "tsc:undefined: bar"]


def test_a_name_of_any_length_makes_a_key_of_a_bounded_one() -> None:
    assert len(missing_name(f"undefined: {'a' * 80}")) <= 60
