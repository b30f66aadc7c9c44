# SPDX-License-Identifier: Apache-2.0
r"""Names of 1, 2 and 4 bytes a character, lone surrogates, names longer than a page.

chain: <module>@run > main@turn
chain: <module>@run main@latin > größe_ÿ@latin_body spin@spin
chain: <module>@run main@wide > функция_名前@wide_body spin@spin
chain: <module>@run main@widest > 𐐨𐐩𐐪_é@widest_body spin@spin
chain: <module>@run main@nested > Größe.метод@nested_body spin@spin
chain: <module>@run main@surrogate > ~(?:plain|a[^;a-z]+b)@{plain_line}; spin@spin
chain: <module>@run main@long > ~(?:plain|n{1000,5000}…?)@{plain_line}; spin@spin
chain: <module>@run main@long_wide > ~(?:plain|ж{500,5000}…?)@{plain_line}; spin@spin
chain: <module>@run main@file > ~plain@/größe_файл_𐐨.py:{plain_line}; spin@spin
"""
import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def größe_ÿ():
    spin(1000)  #: latin_body


def функция_名前():
    spin(1000)  #: wide_body


def 𐐨𐐩𐐪_é():
    spin(1000)  #: widest_body


class Größe:
    def метод(self):
        spin(1000)  #: nested_body


def plain():  #: plain_line
    spin(1000)  #: plain_line


def named(name, file_name=__file__):
    """A copy of plain() under another name."""
    code = plain.__code__
    fields = {"co_name": name, "co_filename": file_name}
    if hasattr(code, "co_qualname"):
        fields["co_qualname"] = name
    if hasattr(code, "replace"):
        code = code.replace(**fields)
    else:
        order = ["argcount", "kwonlyargcount", "nlocals", "stacksize", "flags", "code", "consts",
                 "names", "varnames", "filename", "name", "firstlineno", "lnotab", "freevars",
                 "cellvars"]
        code = type(code)(*[fields.get("co_" + one, getattr(code, "co_" + one)) for one in order])
    return type(plain)(code, globals(), name)


surrogate, long, long_wide = named("a\udc80\ud800b"), named("n" * 5000), named("ж" * 5000)
other_file = named("plain", "/größe_файл_𐐨.py")


def main():
    while True:  #: turn
        größe_ÿ()  #: latin
        функция_名前()  #: wide
        𐐨𐐩𐐪_é()  #: widest
        Größe().метод()  #: nested
        surrogate()  #: surrogate
        long()  #: long
        long_wide()  #: long_wide
        other_file()  #: file


target.ready()
main()  #: run
