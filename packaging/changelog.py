"""Debian's changelog out of CHANGELOG.md, which is the one source."""
import re
import textwrap
import time

MAINTAINER = "Nearfield developers <maintainers@nearfield.invalid>"


def releases(text):
    """[(title, [entry])] of the headings of level two, newest first; an entry is one line, with its heading of level three."""
    found = []
    group = ""
    for line in text.splitlines():
        if line.startswith("## "):
            found.append((line[3:].strip(), []))
        elif line.startswith("### "):
            group = line[4:].strip()
        elif line.startswith("- "):
            found[-1][1].append(f"{group}: {line[2:].strip()}")
        elif line.startswith("  ") and found and found[-1][1]:
            found[-1][1][-1] += " " + line.strip()
    return found


def version_of(title):
    """1.2.0 of "1.2.0 (2027-01-31)"; None of what is not released."""
    match = re.match(r"\[?v?(\d+(?:\.\d+)+)", title)
    return match.group(1) if match else None


def date_of(title, epoch):
    """That of "1.2.0 (2027-01-31)", at midnight; else the time of the commit. As Debian's changelogs write it."""
    day = re.search(r"\((\d{4}-\d\d-\d\d)\)", title)
    moment = time.strptime(day.group(1), "%Y-%m-%d") if day else time.gmtime(epoch)
    return time.strftime("%a, %d %b %Y %H:%M:%S +0000", moment)


def of_debian(text, package, version, epoch):
    """Entries of all releases; what is not released yet is `version`, and so is the newest release where that is all there is."""
    blocks = []
    for index, (title, entries) in enumerate(releases(text)):
        of_release = version_of(title)
        if not entries or (of_release is None and index > 0):
            continue
        lines = [f"{package} ({version if index == 0 else of_release}) unstable; urgency=medium", ""]
        for entry in entries:
            plain = entry.replace("`", "")
            lines += textwrap.wrap(plain, 76, initial_indent="  * ", subsequent_indent="    ", break_long_words=False,
                                   break_on_hyphens=False)
        blocks.append("\n".join([*lines, "", f" -- {MAINTAINER}  {date_of('' if index == 0 else title, epoch)}", ""]))
    if not blocks:
        raise SystemExit("CHANGELOG.md: expected headings of level two with entries, found none")
    return "\n".join(blocks)
