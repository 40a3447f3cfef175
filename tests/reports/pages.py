"""Pages read back by the parser of the standard library, and what must hold for every page."""

import base64
import html.parser
import re

VOID = {"meta", "img", "br"}


class Page(html.parser.HTMLParser):
    """Elements, attributes and texts of a page; unbalanced tags are an error."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.tables, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert len(dict(attributes)) == len(attributes)
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append({"caption": "", "rows": []})
        if tag == "tr":
            self.tables[-1]["rows"].append([])
        if tag in ("th", "td"):
            self.tables[-1]["rows"][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if "caption" in self.open:
            self.tables[-1]["caption"] += data
        elif {"th", "td"} & set(self.open):
            self.tables[-1]["rows"][-1][-1] += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def file(self, name):
        """Return the text of a file that can be saved."""
        [link] = [a["href"] for a in self.all("a") if a.get("download") == name]
        return base64.b64decode(link.partition("base64,")[2]).decode()

    def table(self, caption):
        [table] = [table for table in self.tables if caption in table["caption"]]
        return table["rows"]


def checked(text):
    """Parse a page, and assert what makes it accessible and self-contained."""
    assert text.startswith("<!DOCTYPE html>\n<html lang=")
    page = Page(text)
    tags = {name for name, _ in page.elements}
    assert not tags & {"script", "link", "iframe", "object", "embed", "form", "base", "img"}
    assert {"title", "h1", "nav", "main", "header", "footer"} <= tags
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for name, attributes in page.elements:
        assert not any(key.startswith("on") or key == "style" for key in attributes)
        if name == "a" and "download" in attributes:
            kind, _, content = attributes["href"].partition(";charset=utf-8;base64,")
            assert kind in ("data:text/csv", "data:application/x-tex")
            assert base64.b64decode(content, validate=True).decode()
        elif name == "a":
            assert attributes["href"][0] == "#"
            assert attributes["href"][1:] in ids
        if "aria-labelledby" in attributes:
            assert attributes["aria-labelledby"] in ids
        if name == "svg":
            assert attributes["role"] == "img"
            assert len(attributes["aria-label"]) > 20
        links = (
            attributes.get("href", ""),
            *re.findall(r"url\((.*?)\)", " ".join(attributes.values())),
        )
        assert all(link[1:] in ids for link in links if link[:1] == "#")
        if name == "th":
            assert attributes["scope"] in ("col", "row")
    assert all(table["caption"] for table in page.tables)
    assert all(len({len(row) for row in table["rows"]}) == 1 for table in page.tables)
    levels = [int(name[1]) for name, _ in page.elements if re.fullmatch("h[1-6]", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in zip(levels, levels[1:], strict=False))
    policies = [a["content"] for a in page.all("meta") if a.get("http-equiv")]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    return page
