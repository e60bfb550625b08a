#!/usr/bin/env python3
"""Writes man pages, completions and the reference page of all programs, from what they say of their own command lines.

    make_manual.py BINARIES [--share FOLDER] [--page FILE] [--check FILE]

BINARIES is the folder of nearfield, nearfieldd and nearfield-bench, each of which prints its options with --describe-cli
(src/control/service/command_line.cpp); settings come from `nearfield settings --json`. --share writes FOLDER/man/man1/*.1,
FOLDER/man/man5/nearfield.yaml.5, FOLDER/bash-completion/completions/*, FOLDER/zsh/vendor-completions/_* and the JSON Schema of settings,
FOLDER/nearfield/nearfield.schema.json, --page the reference page docs/reference/cli.md, and --check ends with 1
where FILE is not that page. SOURCE_DATE_EPOCH is the date of the man pages; without it they have that of the commit.
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

ENVIRONMENT = (
    ("NEARFIELD_RUNTIME_DIR", "folder of the daemon's sockets, for the daemon and for the commands that connect to it"),
    ("XDG_RUNTIME_DIR", "without the former, of a user who is not root: nearfield/ in it is the folder of the sockets; else "
                        "/run/nearfield is"),
    ("NEARFIELD_CACHE_DIR", "folder of compiled OpenCL programs, of measured choices and of models of the imager operators; "
                            "empty: none are kept"),
    ("NO_COLOR", "set to anything: no colours; there are none either where TERM is dumb or the output is no terminal"),
    ("POCL_CACHE_DIR", "folder in which PoCL keeps machine code"),
)


# --- what the programs say -------------------------------------------------------------------------------------------


def output_of(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def read_programs(binaries):
    """The trees of the three programs; nearfield's `bench` gets what nearfield-bench says."""
    nearfield, daemon, bench = (json.loads(output_of(binaries / name, "--describe-cli"))
                                for name in ("nearfield", "nearfieldd", "nearfield-bench"))
    for command in nearfield["commands"]:
        if command["name"] == "bench":
            command.update(options=bench["options"], commands=bench["commands"])
    return nearfield, daemon, bench


def walk(command, path):
    """(path, command) of the command and of all below it."""
    yield path, command
    for below in command["commands"]:
        yield from walk(below, f"{path} {below['name']}")


def named_options(command):
    return [one for one in command["options"] if not one["positional"]]


def arguments_of(command):
    return [one for one in command["options"] if one["positional"]]


def value_of(option):
    """What stands behind the option's name: TEXT, {opencl,reference}, [SECONDS]; empty for a flag."""
    if not option["value"] and not option["choices"]:
        return ""
    value = "{" + ",".join(option["choices"]) + "}" if option["choices"] else option["value"]
    return value if not option["optional_value"] or value.startswith("[") else f"[{value}]"


def remarks_of(option):
    """What else there is to say of an option, in whole phrases."""
    remarks = []
    if option["range"]:
        remarks.append("range " + re.sub(r"^(INT|UINT|FLOAT) (bounded to|in) ", "", option["range"]))
    if option["default"]:
        remarks.append(f"default {option['default']}")
    if option["required"]:
        remarks.append("required")
    if option["excludes"]:
        remarks.append("not with " + ", ".join(option["excludes"]))
    if option["needs"]:
        remarks.append("only with " + ", ".join(option["needs"]))
    return remarks


def synopsis_of(path, command):
    words = [path]
    if any(not one["required"] for one in named_options(command)):
        words.append("[OPTION...]")
    words += [f"{one['names'][-1]} {value_of(one)}" for one in named_options(command) if one["required"]]
    for one in arguments_of(command):
        name = one["names"][-1].upper() + ("..." if one["repeats"] else "")
        words.append(name if one["required"] else f"[{name}]")
    if command["commands"]:
        words.append("COMMAND")
    return " ".join(words)


# --- the reference page ----------------------------------------------------------------------------------------------

PAGE_HEAD = """# Command-line reference

Each command with all its options, made by cmake/make_manual.py from what the programs say of themselves. `nearfield help COMMAND` and `man nearfield-COMMAND`
say the same. Results go to standard output, messages to standard error. Options that a command shares with most others are named last, and mean:

- `-c`, `--config` FILE: reads settings from a YAML file; `-` is standard input, which is read once, so that a daemon whose configuration came from there cannot reload it.
- `--set` KEY=VALUE: overrides one setting ([settings.md](settings.md)), also of the file; may be repeated, and of several for one key the last one counts.
- `--device` DEVICE: the OpenCL device: its number in `nearfield devices`, a part of its own or its platform's name, or NAME:NUMBER. `--set device.platform=...` wins over it.
- `--json`: prints on standard output as JSON what is printed as text without it: one object or list at the end; where a command goes on, one line for each frame, or, of `play`,
  one line at its start with the names of its sockets. Benchmarks also take the name of a file: `--json FILE`.
- `--frames`: of a file `A:B`, the frames A to B-1, counted from 0, or `N`, the first N; of a stream `N`, the first N, after which the command ends.
- `-h`, `--help` prints the options of every command; `-q`, `--quiet` leaves progress and notes out, and `-v`, `--verbose` adds what is done, of all commands but those below
  `ctl`, which take them before their name. These are not named again.
"""
COMMON = ("--config", "--set", "--device", "--json", "--quiet", "--verbose", "--help")
UNNAMED = COMMON[-3:]
USUAL = 4  # commands that say the same of such an option
LONG = 6  # words of an option's line that is not said twice


def plain(text):
    """Text as Markdown shows it."""
    return re.sub(r"([*<>])", r"\\\1", re.sub(r"(?<=\w)_(?=\w)|[\[\]]", r"\\\g<0>", text.replace("\n", " ")))


def said_of(option):
    remarks = [re.sub(r"^range \[(.*) - (.*)\]$", r"\1 to \2", one) for one in remarks_of(option) if one != "required"]  # the synopsis says this
    return option["about"] + (f" ({'; '.join(remarks)})" if remarks else "")


def text_of(option):
    """What the page says of an option; equal for options that mean the same."""
    value = value_of(option)
    return ", ".join(f"`{name}`" for name in option["names"]) + (f" {plain(value)}" if value and not option["positional"] else "") + f": {plain(said_of(option))}"


def page_of(programs):
    sections = [one for program in programs[:2] for one in walk(program, program["name"])]
    times = collections.Counter(text_of(one) for _, command in sections for one in command["options"] if one["names"][-1] in COMMON)
    common = {text for text, count in times.items() if count >= USUAL}
    commands = dict(sections)
    lines, said = [PAGE_HEAD], {}
    for path, command in sections:
        above = commands.get(path.rpartition(" ")[0], {"options": []})
        lines += section_of_page(path, command, common, {text_of(one) for one in above["options"]}, said)
    lines += ["## Exit codes\n"]
    lines += [f"- {one['code']}: {one['meaning']}" for one in programs[0]["exit_codes"]]
    lines += ["\n## Environment\n"]
    lines += [f"- `{name}`: {plain(meaning)}" for name, meaning in ENVIRONMENT]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines) + "\n")


def section_of_page(path, command, common, above, said):
    """What only this command has, then the names of what others have: of the command above it, of one before it, or of most.

    `said`: the command under which each long option stands so far, by its text; those of this one are added.
    """
    synopsis = synopsis_of(path, command)
    lines = [f"\n## {path}\n", f"{plain(command['about'])}{f': `{synopsis}`' if synopsis != f'{path} [OPTION...]' else '.'}\n"]
    if command["footer"]:
        lines += ["```text", command["footer"].rstrip(), "```\n"]
    if command["commands"]:
        lines += [f"Commands: {', '.join('`' + one['name'] + '`' for one in command['commands'])}.\n"]
    before = {}
    for text in (text_of(one) for one in command["options"]):
        if text in said and text not in common | above:
            before.setdefault(said[text], set()).add(text)
    own = [one for one in command["options"] if text_of(one) not in common | above | set().union(*before.values())]
    lines += [f"- {text_of(one)}" for one in own] + [""]
    said.update({text_of(one): path for one in own if len(text_of(one).split()) > LONG})
    for text, texts in ((f"As of `{path.rpartition(' ')[0]}`", above - common), *((f"As of `{other}`", texts) for other, texts in before.items()), ("Also", common)):
        names = [f"`{one['names'][-1]}`" for one in command["options"] if text_of(one) in texts and one["names"][-1] not in UNNAMED]
        lines += [f"{text}: {', '.join(names)}.\n"] if names else []
    return lines


# --- man pages -------------------------------------------------------------------------------------------------------


def roff(text):
    """Text as roff prints it, whatever it begins with. Hyphens of options stay hyphens that can be searched for."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(("\\&" + line) if line[:1] in (".", "'") else line for line in text.split("\n"))


def sentence(text):
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", ":")) else ".")


def man_head(name, section, date, version, about):
    return [f'.TH {name.upper()} {section} "{date}" "nearfield {version}" "Nearfield"', ".SH NAME",
            f"{roff(name)} \\- {roff(about[:1].lower() + about[1:])}"]


def man_options(options):
    lines = []
    for one in options:
        remarks = remarks_of(one)
        value = value_of(one)
        names = ", ".join(f"\\fB{roff(name)}\\fR" for name in one["names"])
        lines += [".TP", names + (f" \\fI{roff(value)}\\fR" if value else ""),
                  roff(sentence(one["about"])) + (roff(" " + sentence("; ".join(remarks))) if remarks else "")]
    return lines


def man_command(path, command, level="SH"):
    """Synopsis, arguments and options; of commands below it likewise, each under a title of its own."""
    lines = []
    if level == "SH":
        lines += [".SH SYNOPSIS", roff(synopsis_of(path, command)), ".SH DESCRIPTION", roff(sentence(command["about"]))]
    else:
        lines += [f".SS {roff(synopsis_of(path, command))}", roff(sentence(command["about"]))]
    if command["footer"]:
        lines += [".PP", ".nf", roff(re.sub(r"\n\s*\n", "\n \n", command["footer"].rstrip())), ".fi"]
    if command["options"]:
        lines += ([".SH OPTIONS"] if level == "SH" else []) + man_options(arguments_of(command) + named_options(command))
    if command["commands"] and level == "SH":
        lines += [".SH COMMANDS"]
    for below in command["commands"]:
        lines += man_command(f"{path} {below['name']}", below, "SS")
    return lines


def man_tail(codes, see):
    lines = [".SH EXIT STATUS"]
    for one in codes:
        lines += [".TP", f"\\fB{one['code']}\\fR", roff(sentence(one["meaning"]))]
    lines += [".SH SEE ALSO"] + [f".BR {roff(name)} ({section}){',' if i + 1 < len(see) else ''}"
                                 for i, (name, section) in enumerate(see)]
    return lines


def man_page(lines):
    return "\n".join(lines) + "\n"


def man_of_nearfield(program, date, version):
    lines = man_head("nearfield", 1, date, version, program["about"])
    lines += [".SH SYNOPSIS", "\\fBnearfield\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]", ".SH DESCRIPTION", roff(sentence(program["about"])),
              "Each command has a manual page of its own, \\fBnearfield\\-\\fICOMMAND\\fR(1).", ".SH COMMANDS"]
    for command in program["commands"]:
        lines += [".TP", f"\\fB{roff(command['name'])}\\fR", roff(sentence(command["about"]))]
    lines += [".SH OPTIONS"] + man_options(program["options"]) + [".SH ENVIRONMENT"]
    for name, meaning in ENVIRONMENT:
        lines += [".TP", f"\\fB{roff(name)}\\fR", roff(sentence(meaning))]
    see = [("nearfieldd", 1), ("nearfield.yaml", 5)] + [(f"nearfield-{one['name']}", 1) for one in program["commands"]]
    return man_page(lines + man_tail(program["exit_codes"], see))


def man_pages(programs, settings, date):
    """File names below man/ and their texts."""
    nearfield, daemon, bench = programs
    version = nearfield["version"].split("\n")[0].split(" ")[-1] if nearfield["version"] else ""
    codes = nearfield["exit_codes"]
    see = [("nearfield", 1), ("nearfield.yaml", 5)]
    pages = {"man1/nearfield.1": man_of_nearfield(nearfield, date, version)}
    for command in nearfield["commands"]:
        name = f"nearfield-{command['name']}"
        about = command["about"]
        path = f"nearfield {command['name']}"
        pages[f"man1/{name}.1"] = man_page(man_head(name, 1, date, version, about) + man_command(path, command) + man_tail(codes, see))
    pages["man1/nearfieldd.1"] = man_page(man_head("nearfieldd", 1, date, version, daemon["about"]) + man_command("nearfieldd", daemon) +
                                          man_tail(codes, see))
    pages["man5/nearfield.yaml.5"] = man_of_settings(settings, date, version)
    return pages


def man_of_settings(settings, date, version):
    lines = man_head("nearfield.yaml", 5, date, version, "settings of nearfield and nearfieldd")
    lines += [".SH DESCRIPTION",
              roff("A configuration is a YAML file, which -c FILE reads; --set KEY=VALUE overrides one key of it. Every key may be left out. An "
                   "unknown key or a wrong value is an error. Keys of a processor stand below processors.NAME, where NAME is of your choice; here "
                   "it is the processor's kind. A running daemon follows a change of a key without restart unless it says so.")]
    section = None
    for one in settings:
        path, _, _ = one["key"].rpartition(".")
        if path != section:
            section = path
            lines.append(f".SH {roff(path.upper())}" if "." not in path else f".SS {roff(path)}")
        figures = [one["type"]] + [figure for figure in (one["unit"], one["range"]) if figure]
        words = [word["word"] + (f" ({word['meaning']})" if word["meaning"] else "") for word in one["words"]]
        default = json.dumps(one["default"], ensure_ascii=False)
        lines += [".TP", f"\\fB{roff(one['key'])}\\fR", roff(sentence(one["meaning"])),
                  roff(sentence(", ".join(figures) + (": " + ", ".join(words) if words else ""))),
                  roff(f"Default {default}." + (" A change needs a restart." if one["effect"] == "restart" else ""))]
    return man_page(lines + [".SH SEE ALSO", ".BR nearfield (1),", ".BR nearfieldd (1)"])


# --- completion ------------------------------------------------------------------------------------------------------


def pattern(*words):
    return " | ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def branch(words, body):
    """Of a case."""
    return f"    {pattern(*words)}) {body} ;;"


class Offers:
    """What there is to complete, whatever the shell: by the path of the innermost command, such as "nearfield ctl set"."""

    def __init__(self, program, name, settings):
        self.name = name
        self.settings = [(one["key"], one["meaning"]) for one in settings if not is_of_example(one["key"])]
        self.commands = []  # their paths
        self.words = {}  # path: [(command, option or value of an argument, what it means)]
        self.values = []  # ([path and option], values)
        self.takes_value = []  # "path option"
        self.set_options = []  # "path option" of --set
        self.key_paths = []  # commands whose arguments are settings
        around = {}
        for path, command in walk(program, name):
            parent = path.rpartition(" ")[0]
            # `nearfield ctl status --socket S`: options of ctl are taken behind its commands, too
            inherited = around.get(parent, []) if parent.split(" ")[1:2] == ["ctl"] else []
            options = named_options(command) + [one for one in inherited if one["names"] != ["-h", "--help"]]
            around[path] = options
            self.commands += [f"{path} {one['name']}" for one in command["commands"]]
            words = [(one["name"], one["about"]) for one in command["commands"]]
            words += sorted({(name, one["about"]) for one in options for name in one["names"]})
            words += [(choice, one["about"]) for one in arguments_of(command) for choice in one["choices"]]
            if path == f"{name} help":
                words += [(one["name"], one["about"]) for one in program["commands"]]
            self.words[path] = words
            for one in options:
                self.add_values(one, [f"{path} {name}" for name in one["names"]])
            if path in ("nearfield ctl set", "nearfield ctl get"):
                self.key_paths.append(path)

    def add_values(self, option, names):
        if option["choices"]:
            self.values.append((names, option["choices"]))
        elif option["names"][-1] == "--set":
            self.set_options += names
        if value_of(option) and not option["optional_value"]:
            self.takes_value += names


def completion_of(program, name, settings):
    """A function of bash, which needs nothing but bash. It walks the words to the innermost command, then offers the values of the
    option before the cursor, else the commands and options that fit, else files."""
    function = "_" + re.sub(r"\W", "_", name)
    offers = Offers(program, name, settings)
    lines = [f"# bash completion of {name}, made by cmake/make_manual.py", f"{function}() {{",
             "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} path=" + name + " i words='' values='' keys=''",
             "  for ((i = 1; i < COMP_CWORD; i++)); do", "    case \"$path ${COMP_WORDS[i]}\" in",
             f"    {pattern(*offers.commands)}) path+=\" ${{COMP_WORDS[i]}}\" ;;" if offers.commands else "    '') ;;", "    esac", "  done",
             "  [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}", "  [[ $cur == '=' ]] && cur=''",
             "  case \"$path $prev\" in", *(branch(names, f"values='{' '.join(choices)}'") for names, choices in offers.values),
             f"    {pattern(*offers.takes_value)}) values=' ' ;;" if offers.takes_value else "    '') ;;", "  esac",
             "  case \"$path $prev\" in", f"    {pattern(*(offers.set_options or ['']))}) keys=set ;;", "  esac",
             "  case \"$path\" in", *(branch([path], f"words='{' '.join(word for word, _ in words)}'") for path, words in offers.words.items()),
             "  esac"]
    if offers.key_paths:
        lines += ["  case \"$path\" in", f"    {pattern(*offers.key_paths)}) [[ $cur == -* ]] || keys=${{path##* }} ;;", "  esac"]
    lines += ["  if [[ -n $keys && $prev != *.* ]]; then",
              f"    COMPREPLY=($(compgen -W '{' '.join(key for key, _ in offers.settings)}' -- \"$cur\"))",
              "    if [[ $keys == set ]]; then", "      COMPREPLY=(\"${COMPREPLY[@]/%/=}\")", "      compopt -o nospace 2>/dev/null", "    fi",
              "  elif [[ -n ${values// /} ]]; then", "    COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))",
              "  elif [[ -n $values ]]; then", "    COMPREPLY=($(compgen -f -- \"$cur\"))", "    compopt -o filenames 2>/dev/null",
              "  else", "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))",
              "    if [[ ${#COMPREPLY[@]} -eq 0 && $cur != -* ]]; then", "      COMPREPLY=($(compgen -f -- \"$cur\"))",
              "      compopt -o filenames 2>/dev/null", "    fi", "  fi", "}", f"complete -F {function} {name}", ""]
    return "\n".join(lines)


def described(words):
    """As `_describe` of zsh takes them: WORD:MEANING."""
    texts = (word.replace(":", "\\:") + ":" + " ".join(about.split()) for word, about in words)
    return " ".join("'" + text.replace("'", "'\\''") + "'" for text in texts)


def zsh_completion_of(program, name, settings):
    """A function of zsh, in the file that `#compdef` names. It offers what that of bash does, with what each means."""
    function = "_" + name
    offers = Offers(program, name, settings)
    lines = [f"#compdef {name}", "# made by cmake/make_manual.py", f"{function}() {{",
             f"  local at={name} cur=${{words[CURRENT]}} prev=${{words[CURRENT-1]}} keys='' i", "  local -a offered",
             "  for ((i = 2; i < CURRENT; i++)); do", "    case \"$at ${words[i]}\" in",
             f"    {pattern(*offers.commands)}) at+=\" ${{words[i]}}\" ;;" if offers.commands else "    '') ;;", "    esac", "  done",
             "  if [[ $cur == --*=* ]]; then", "    prev=${cur%%=*} cur=${cur#*=}", "    compset -P 1 '*='", "  fi",
             "  case \"$at $prev\" in",
             *(branch(names, f"compadd -- {' '.join(choices)}; return") for names, choices in offers.values),
             *([branch(offers.set_options, "keys=set")] if offers.set_options else []),
             *([branch(offers.takes_value, "_files; return")] if offers.takes_value else []), "  esac",
             "  case \"$at\" in", *(branch([path], "[[ $cur == -* ]] || keys=${at##* }") for path in offers.key_paths), "  esac",
             "  if [[ -n $keys && $cur != *=* ]]; then",
             f"    offered=({described(offers.settings)})",
             "    if [[ $keys == set ]]; then", "      _describe -t settings setting offered -S =", "    else",
             "      _describe -t settings setting offered", "    fi", "    return", "  fi",
             "  case \"$at\" in", *(branch([path], f"offered=({described(words)})") for path, words in offers.words.items()), "  esac",
             "  _describe -t commands 'command or option' offered -o nosort || [[ $cur == -* ]] || _files", "}", f"{function} \"$@\"", ""]
    return "\n".join(lines)


def is_of_example(key):
    """Settings that stand below a name of the user's choice."""
    return key.startswith("processors.") or key.startswith("daemon.limits.")


def completions(programs, settings):
    """File names below share/ and their texts; where zsh looks is Debian's folder for packages."""
    files = {}
    for program, name in zip(programs, ("nearfield", "nearfieldd", "nearfield-bench")):
        files[f"bash-completion/completions/{name}"] = completion_of(program, name, settings)
        files[f"zsh/vendor-completions/_{name}"] = zsh_completion_of(program, name, settings)
    return files


# --- files -----------------------------------------------------------------------------------------------------------


def date_of_manual():
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        root = pathlib.Path(__file__).resolve().parent
        epoch = subprocess.run(["git", "-C", root, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False).stdout or "0"
    return datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%d")


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--share", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--check", type=pathlib.Path)
    options = parser.parse_args()
    programs = read_programs(options.binaries)
    settings = json.loads(output_of(options.binaries / "nearfield", "settings", "--json"))
    if options.share:
        write(options.share / "man", man_pages(programs, settings, date_of_manual()))
        write(options.share, completions(programs, settings))
        write(options.share, {"nearfield/nearfield.schema.json": output_of(options.binaries / "nearfield", "settings", "--schema")})
    if options.page:
        options.page.write_text(page_of(programs), encoding="utf-8")
    if options.check and options.check.read_text(encoding="utf-8") != page_of(programs):
        sys.exit(f"{options.check}: expected what the programs say, found something else; "
                 "cmake --build --preset release --target nearfield_cli_page writes it")


if __name__ == "__main__":
    main()
