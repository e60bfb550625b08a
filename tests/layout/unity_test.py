#!/usr/bin/env python3
"""Files of a target can be compiled as one translation unit (docs/how/layout.md): what a .cpp file has in an anonymous namespace bears a name that
no other file of its target has in the same namespace, and so do its using-declarations and its macros, unless it undefines them. Functions of
other parameters are another name, and an alias may be repeated as it is.

    unity_test.py SOURCE_DIR LINK_GRAPH

LINK_GRAPH is written by cmake/link_graph.cmake: one line a target, with its name, what it links and its sources. The compiler says so too, but
only where two such files happen to share a unit, which changes with every file that is added.
"""
import collections
import itertools
import pathlib
import re
import sys
import tempfile
import unittest

# Raw strings, strings and characters (but no digit separators), comments.
TEXT = re.compile(r'R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
MACRO = re.compile(r"^[ \t]*#[ \t]*(define|undef)[ \t]+(\w+)", re.MULTILINE)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\b\s*([\w:]*)\s*(?:\[\[.*?\]\]\s*)?$")
TYPE = re.compile(r"(?:struct|class|union|enum(?:\s+class|\s+struct)?)\s+(?:\[\[.*?\]\]\s*)?(\w+)\s*(?:final\s*)?(?::[^:].*)?$", re.DOTALL)
SPECIAL = {"operator", "static_assert", "extern"}


def without_brackets(text):
    """A declaration without what lies between < and >, innermost first; comparisons stay."""
    before = None
    while before != text:
        before, text = text, re.sub(r"(?<=[\w>])\s*<[^<>;{}]*>", "", text)
    return text


def parameter_types(text):
    """Of a parameter list, without the parameters' names and defaults."""
    types = []
    for one in re.split(r",(?![^<]*>)", text):
        one = re.sub(r"=.*", "", " ".join(one.split()))
        types.append(re.sub(r"(?<=[\w>&*]) ?\b(?!int$|bool$|double$|float$|char$|auto$)\w+$", "", one).strip() if " " in one else one)
    return ",".join(types)


def declared(head):
    """The name that a declaration gives and what sets it apart from others of this name (parameters, an alias's meaning), from its text up to
    its body, initialiser or end; None where it gives none."""
    head = re.sub(r"\btemplate\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>", " ", head).strip()
    if not head or SPECIAL & set(re.findall(r"\w+", head)):
        return None
    if alias := re.match(r"namespace\s+(\w+)\s*=", head):
        return alias[1], " ".join(head.split())
    if using := re.match(r"using\s+(?:enum\s+|namespace\s+|typename\s+)?([\w:]+)", head):
        return using[1].split("::")[-1], " ".join(head.split())
    if kind := TYPE.match(head):
        return kind[1], None
    whole = re.sub(r"\[\[.*?\]\]", " ", head)
    head = without_brackets(whole)
    head = re.split(r"=", head, maxsplit=1)[0]
    head = re.sub(r"__attribute__\s*\(\(.*?\)\)|alignas\s*\([^)]*\)|decltype\s*\([^)]*\)", " ", head)
    if name := re.search(r"(~?[\w:]+)\s*\(", head):
        if "::" in name[1]:
            return None  # a member that is defined outside its class
        parameters = re.search(rf"\b{name[1]}\s*\((.*)\)", whole, re.DOTALL)
        return name[1], "(" + parameter_types(parameters[1]) + ")" if parameters else None
    words = re.findall(r"\w+", re.sub(r"\[[^\]]*\]", " ", head))
    return (words[-1], None) if len(words) > 1 else None


def names(text):
    """[(namespace, name, what sets it apart)] of what a file declares for itself."""
    found = []
    text = TEXT.sub(lambda match: '""' if match[0][0] in "\"'R" else " ", text)
    macros = collections.Counter()
    for what, name in MACRO.findall(text):
        macros[name] = 1 if what == "define" else 0
    found += [("macro", name, None) for name, is_left in macros.items() if is_left]
    stack, begin = [], 0  # namespaces: their names; anything else: None
    text = DIRECTIVE.sub(" ", text)

    def note(end):
        head = text[begin:end].strip()
        in_namespaces = all(one is not None for one in stack)
        if in_namespaces and ("" in stack or re.match(r"using\b(?!.*=)", head)):
            if name := declared(head):
                found.append(("::".join(one or "(anonymous)" for one in stack), *name))

    for place in re.finditer(r"[{};]", text):
        at = place.start()
        if place[0] == "{":
            head = text[begin:at].strip()
            space = NAMESPACE.match(head)
            if not space:
                note(at)
            stack.append(space[1] if space and all(one is not None for one in stack) else None)
            begin = at + 1
        elif place[0] == "}":
            if stack:
                stack.pop()
            begin = at + 1
        else:
            if all(one is not None for one in stack) and not text[begin:at].strip().startswith((")", ",")):
                note(at)
            begin = at + 1
    return found


def clash(one, other):
    """Whether two declarations of one name, by what sets them apart, cannot stand in one translation unit."""
    if one is None or other is None or one[0] != other[0]:
        return True
    return one == other if one.startswith("(") else one != other


def problems(graph):
    """graph: {target: [sources]}."""
    found = []
    for target, sources in sorted(graph.items()):
        places = collections.defaultdict(list)
        for source in sources:
            for space, name, apart in names(pathlib.Path(source).read_text(encoding="utf-8")):
                places[space, name].append((source, apart))
        found += [f"{target}: {name} in {space} is in {one} and in {other}" for (space, name), of in sorted(places.items())
                  for (one, apart), (other, others) in itertools.combinations(of, 2) if one != other and clash(apart, others)]
    return found


def read_graph(path, root):
    """{target of a folder of src/: its .cpp files}"""
    graph = {}
    for line in pathlib.Path(path).read_text().splitlines():
        target, _, sources = line.split("\t")
        own = [source for source in sources.split(";") if source.endswith(".cpp") and source.startswith(f"{root}/src/")]
        if target.startswith("nearfield_") and len(own) > 1:
            graph[target] = own
    return graph


class ThisTree(unittest.TestCase):
    maxDiff = None

    def test_names_are_unique_in_a_target(self):
        graph = read_graph(GRAPH, SOURCE)
        self.assertGreater(len(graph), 10, "targets of src/ with several files")
        self.assertEqual(problems(graph), [])


class TheCheck(unittest.TestCase):
    def test_finds_each_kind_of_name(self):
        text = """
            #include <vector>
            #define LEFT 1
            #define GONE(x) \\
              #x
            #undef GONE
            namespace outer {
            using other::Thing;
            namespace {
            constexpr char kText[] = "namespace { int no; }";  // int no;
            constexpr std::array<int, 2> kPair{1, 2};
            std::map<int, std::vector<int>> table;
            using Alias = int;
            using enum Colour;
            enum class Colour : int { kRed };
            struct Plain { int member = 0; void method() { int local; } };
            template <class T, class U = std::vector<T>>
            class Box final : public Base<T> {};
            std::function<void(int)> callback_of(const std::vector<int>& values) { return [] { int local; }; }
            [[nodiscard]] bool is_less(int a, int b) { if (a < b) { return true; } return a > b; }
            static_assert(sizeof(int) == 4);
            }  // namespace
            void public_function() { const int local = 1'000'000; }
            Box::Box() : value_{1} { int local; }
            }  // namespace outer
            """
        anonymous = ["kText", "kPair", "table", "Alias", "Colour", "Plain", "Box", "callback_of", "is_less"]
        self.assertEqual({(space, name) for space, name, _ in names(text)},
                         {("macro", "LEFT"), ("outer", "Thing")} | {("outer::(anonymous)", name) for name in anonymous})

    def clashes(self, one, other):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder, name) for name in ("one.cpp", "other.cpp")]
            for file, text in zip(files, (one, other)):
                file.write_text(f"namespace n {{ namespace {{ {text} }} }}")
            return len(problems({"target": [str(file) for file in files]}))

    def test_what_clashes(self):
        self.assertEqual(self.clashes("int x = 1;", "int x = 1;"), 1)
        self.assertEqual(self.clashes("struct x {};", "int x() {}"), 1)
        self.assertEqual(self.clashes("int f(int a, const T& b) {}", "int f(int b, const T& other) {}"), 1)
        self.assertEqual(self.clashes("using X = int;", "using X = long;"), 1)

    def test_what_does_not(self):
        self.assertEqual(self.clashes("int f(int a) {}", "int f(double a) {}"), 0)
        self.assertEqual(self.clashes("using X = int; namespace s = std;", "using X = int; namespace s = std;"), 0)
        self.assertEqual(self.clashes("int x = 1; } namespace m {", "} namespace m { int x = 1;"), 0)


if __name__ == "__main__":
    SOURCE, GRAPH = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
