"""What is on the pages of a built site: links, anchors, images and words, read from the HTML."""

import html.parser
import os
import pathlib
import urllib.parse

VOID = {"img", "input", "meta", "link", "br", "hr", "source", "path", "use", "wbr", "col"}


class Page(html.parser.HTMLParser):
    """One page: all of its links and ids, and the links and words of what is not navigation."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.links, self.article_links, self.ids, self.loaded, self.words = [], [], set(), [], []
        self._open, self._article = [], None
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag not in VOID:
            self._open.append(tag)
        if tag == "article" and found.get("id") == "furo-main-content":
            self._article = len(self._open)
        if "id" in found:
            self.ids.add(found["id"])
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
            if self._article:
                self.article_links.append(found["href"])
        if tag in ("img", "script") and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(found["href"])

    def handle_endtag(self, tag):
        if tag in VOID or tag not in self._open:
            return
        while self._open.pop() != tag:
            pass
        if self._article and len(self._open) < self._article:
            self._article = None

    def handle_data(self, text):
        if self._article:
            self.words += text.split()

    def target(self, link):
        """Tell the file and the anchor of a link, or None for one that leaves the site."""
        address = urllib.parse.urlsplit(link)
        if address.scheme or address.netloc:
            return None
        place = self.path
        if address.path:
            place = self.path.parent / urllib.parse.unquote(address.path)
        return pathlib.Path(os.path.normpath(place)), urllib.parse.unquote(address.fragment)

    def pages_in_article(self):
        """List the files that links of the text lead to."""
        targets = (self.target(link) for link in self.article_links)
        return {target[0] for target in targets if target}


def read_site(folder):
    """Read all pages of a site."""
    return {path: Page(path) for path in sorted(folder.rglob("*.html"))}
