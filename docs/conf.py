"""Sphinx makes the site build/docs/html of the pages in this folder: `./dev docs`.

Pages stay as GitHub shows them. What the site needs beyond them is made here, while Sphinx reads:

- The front page (index.md) is README.md of the repository, so that its text stands in one place.
- The navigation is the list of pages in README.md of this folder: each of its headings is a chapter, each link in a list a page. A page
  that is not listed there fails the build.
- Links to files of the repository that are no pages become downloads; links to its folders become plain text.
"""

import logging
import os
import pathlib
import re
import shutil

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent

project = "Nearfield"
author = "the authors of Nearfield"
project_copyright = author
_VERSION = re.search(r"project\(nearfield\s+VERSION\s+([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
version = release = _VERSION[1] if _VERSION else ""

extensions = ["myst_parser", "sphinx.ext.mathjax"]
source_suffix = {".md": "markdown"}
root_doc = "index"
nitpicky = True

myst_heading_anchors = 6  # the anchors that GitHub makes of headings
myst_enable_extensions = ["dollarmath"]
myst_update_mathjax = False
mathjax_path = "mathjax/MathJax.js?config=TeX-AMS_SVG"  # Debian's libjs-mathjax, 2.7: copied below, no host is asked
mathjax2_config = {"messageStyle": "none", "showMathMenu": False}

html_theme = "furo"
html_title = f"Nearfield {version}".strip()
html_copy_source = html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "monokai"

_LINK = re.compile(r"(?<=\])\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _outside_code(text, change):
    """`change` of all that is not in a fenced block."""
    ends = [0] + [end for match in _FENCE.finditer(text) for end in match.span()] + [len(text)]
    parts = [text[begin:end] for begin, end in zip(ends, ends[1:])]
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))


def _target(target, folder):
    """A link of a page in `folder`, as a page of docs/ would write it."""
    path, hash_sign, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", target):
        return target
    file = (folder / path).resolve()
    if file == ROOT / "README.md":
        file = FOLDER / "index.md"
    return os.path.relpath(file, FOLDER) + hash_sign + anchor


def front_page():
    """README.md of the repository, its links written from this folder."""
    text = (ROOT / "README.md").read_text()
    return _outside_code(text, lambda part: _LINK.sub(lambda match: f"({_target(match[1], ROOT)})", part))


def chapters(listing):
    """{heading: [page without suffix]} of the list of pages."""
    found, heading = {}, ""
    for line in listing.splitlines():
        if title := re.match(r"##+ (.*)", line):
            heading = title[1]
        elif link := re.match(r"- \[[^\]]*\]\((?!\.\.)([\w./-]+)\.md\)", line):
            found.setdefault(heading, []).append(link[1])
    found = {heading: [page for page in pages if page != "index"] for heading, pages in found.items()}
    return found


def unlisted():
    """Pages that no chapter has."""
    listed = {page for pages in chapters((FOLDER / "README.md").read_text()).values() for page in pages} | {"README", "index"}
    pages = {path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.md")}
    return sorted(pages - listed)


def navigation():
    """A hidden toctree for each chapter of the list of pages."""
    text = ""
    for heading, pages in chapters((FOLDER / "README.md").read_text()).items():
        text += f"\n```{{toctree}}\n:hidden:\n:caption: \"{heading}\"\n\n" + "\n".join(pages) + "\n```\n"
    return "\n```{toctree}\n:hidden:\n\nREADME\n```\n" + text


def _linked(text, folder):
    """Links of a page in `folder` to what is no page of the site: folders and pages elsewhere in the repository become plain text, the
    repository's README the front page."""
    def change(match):
        words, target = match[1], match[2]
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return match[0]
        file = (folder / target.partition("#")[0]).resolve()
        if file == ROOT / "README.md":
            return f"[{words}]({os.path.relpath(FOLDER / 'index.md', folder)})"
        if file.is_dir() or (file.suffix == ".md" and FOLDER not in file.parents):
            return words
        return match[0]
    return _outside_code(text, lambda part: re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", change, part))


def _check_list(app):
    del app
    for page in unlisted():
        logging.getLogger("sphinx.nearfield").warning(f"docs/{page}.md: expected a line in the list of pages, docs/README.md, found none")


def _read(app, docname, source):
    del app
    if docname == "index":
        source[0] = front_page() + navigation()
    source[0] = _linked(source[0], (FOLDER / docname).parent)


def _copy_mathjax(app, error):
    """What TeX-AMS_SVG.js loads of MathJax: the SVG output draws glyphs from tables, so that it needs no web fonts."""
    if error or app.builder.format != "html":
        return
    source, target = pathlib.Path("/usr/share/javascript/mathjax"), pathlib.Path(app.outdir) / "_static/mathjax"
    for name in ("MathJax.js", "config/TeX-AMS_SVG.js", "extensions", "jax/element", "jax/input/TeX", "jax/output/SVG"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            unused = shutil.ignore_patterns("Asana-Math", "Gyre-*", "Latin-Modern", "Neo-Euler", "STIX-Web", "a11y", "wiris*", "*.css")
            shutil.copytree(source / name, target / name, dirs_exist_ok=True, ignore=unused)
        else:
            shutil.copyfile(source / name, target / name)


def _mend_styles(app, error):
    """Two things that the furo of Debian 12 lacks. It imports the style sheet that evens out browsers from /javascript of a web server, which
    files have none of; and its dark colours follow the button alone, since its compiler of styles drops a rule within two @media."""
    if error or app.builder.format != "html":
        return
    absolute, styles = "/javascript/normalize.css/normalize.css", pathlib.Path(app.outdir) / "_static/styles"
    sheet = styles / "furo.css"
    text = sheet.read_text()
    if absolute in text:
        shutil.copyfile("/usr/share" + absolute, styles / "normalize.css")
        text = text.replace(absolute, "normalize.css")
    dark = re.search(r'body\[data-theme="dark"\] (\{[^{}]*--color-background-primary[^{}]*\})', text)
    if dark and "prefers-color-scheme: dark" not in text:
        text += f'\n@media screen and (prefers-color-scheme: dark) {{ body:not([data-theme="light"]) {dark[1]} }}\n'
    sheet.write_text(text)


def setup(app):
    app.connect("builder-inited", _check_list)
    app.connect("source-read", _read)
    app.connect("build-finished", _copy_mathjax)
    app.connect("build-finished", _mend_styles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
